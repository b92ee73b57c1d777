//! The login page.

use serde_json::json;

use crate::{
    axe::assert_accessible,
    browser::{DESK, Key, WIDTHS, key, with_browser},
    server::{Data, Server},
};

const PASSWORD: &str = "a long enough password";

/// A server with a password, which turns the login on.
fn start(folder: &std::path::Path) -> Server {
    Server::start_after(&format!("export PIRSSONITE_PASSWORD='{PASSWORD}'"), Data::Folder(folder))
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_u1a_login_by_keyboard() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    with_browser("login-by-keyboard", 800, async |browser| {
        browser.open(&format!("{}/login", server.url)).await;
        assert_eq!(browser.focused().await, "name");
        browser.press(&format!("reader{}wrong{}", key(Key::Tab), key(Key::Enter))).await;
        browser.says("[role=alert]", "The name or the password is wrong.").await;
        // The name is kept, and the password can be typed at once.
        assert_eq!(browser.focused().await, "password");
        assert_accessible(browser).await;
        browser.press(&format!("{PASSWORD}{}", key(Key::Enter))).await;
        browser.is_at("/unread").await;
        browser.open(&format!("{}/login", server.url)).await;
        browser.is_at("/unread").await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_u1a_login_by_mouse_at_every_width() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    for width in WIDTHS {
        with_browser(&format!("login-by-mouse-{width}"), width, async |browser| {
            browser.open(&format!("{}/login?next=/healthz", server.url)).await;
            browser.assert_fits().await;
            assert_accessible(browser).await;
            browser.click("#name").await;
            browser.press("reader").await;
            browser.click("#password").await;
            browser.press(PASSWORD).await;
            browser.click("button").await;
            browser.is_at("/healthz").await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a1_u1a_settings_are_accessible_with_all_that_they_can_hold() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    with_browser("settings", DESK, async |browser| {
        browser.open(&format!("{}/login?next=/settings", server.url)).await;
        browser.type_into("#name", "reader").await;
        browser.type_into("#password", &format!("{PASSWORD}{}", key(Key::Enter))).await;
        browser.is_at("/settings").await;
        browser.ready().await;
        for (path, body) in [
            ("/api/accounts", json!({ "name": "guest", "password": PASSWORD })),
            ("/api/tokens", json!({ "name": "Phone", "scope": "read", "expiresAt": "2100-01-01T00:00:00Z" })),
        ] {
            let ask = format!(
                "fetch('{path}', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, \
                 body: JSON.stringify({body}) }}).then((answer) => arguments[0](answer.status))"
            );
            assert_eq!(browser.run_async(&ask).await, 201, "{path}");
        }
        // And a secret that is shown this once.
        browser.type_into("#tokens form.fields [name=name]", "Tablet").await;
        browser.turns_page(async || browser.click("#tokens form.fields button").await).await;
        browser.run("document.querySelectorAll('details').forEach(one => one.open = true)").await;
        for shown in [".secret", "#sessions tbody tr", "#tokens .confirm[open]", "#accounts .confirm[open]"] {
            browser.find(shown).await;
        }
        for width in WIDTHS {
            browser.resize(width).await;
            browser.assert_fits().await;
            assert_accessible(browser).await;
        }
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_u2_session_that_ends_leads_to_the_login_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    with_browser("session", 1400, async |browser| {
        let log_in = async || {
            browser.type_into("#name", "reader").await;
            browser.type_into("#password", &format!("{PASSWORD}{}", key(Key::Enter))).await;
            browser.is_at("/all").await;
            browser.ready().await;
        };
        browser.open(&format!("{}/all?order=oldest", server.url)).await;
        browser.is_at("/login").await;
        log_in().await;
        // It ends without this page having done anything.
        browser.run("fetch('/logout', { method: 'POST' })").await;
        browser.is_at("/login").await;
        browser.says("main", "Your login has ended.").await;
        assert_accessible(browser).await;
        log_in().await;
        assert_eq!(browser.url().await.query(), Some("order=oldest"));
        // And in the middle of something.
        browser
            .run("fetch('/logout', { method: 'POST' }).then(() => document.querySelector('[data-do=refresh]').click())")
            .await;
        browser.is_at("/login").await;
        browser.says("main", "Your login has ended.").await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u1b_violated_policy_and_failed_script_are_noticed() {
    // What the other tests rely on.
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    with_browser("complaints", 800, async |browser| {
        browser.open(&format!("{}/login", server.url)).await;
        assert_eq!(browser.log().await.complaints(), Vec::<String>::new());
        let inline =
            "const script = document.createElement('script'); script.textContent = '1'; document.body.append(script)";
        browser.run(inline).await;
        browser
            .wait("the complaint", async || {
                let complaints = browser.log().await.complaints();
                complaints.into_iter().find(|complaint| complaint.contains("Content Security Policy"))
            })
            .await;
    })
    .await;
}
