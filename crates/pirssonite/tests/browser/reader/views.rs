//! Every view has an address that can be opened and reloaded; axe finds nothing in any of them.

use reqwest::Method;
use serde_json::json;
use testkit::Page;

use super::feeds_by_mouse::publish_site;
use crate::{
    axe::assert_accessible,
    browser::{Browser, Key, PHONE, WIDTHS, key, with_browser},
    scene::{Scene, Store, item},
};

#[tokio::test(flavor = "multi_thread")]
async fn u1_u1a_every_view_has_an_address_and_is_accessible() {
    let scene = Scene::start(Store::Sqlite).await;
    let entries = scene.get("/api/entries?limit=1").await;
    let entry = entries["entries"][0]["id"].to_string();
    scene.call(Method::PATCH, &format!("/api/entries/{entry}"), json!({ "isStarred": true })).await;
    let folders = scene.get("/api/folders").await;
    let (folder, feed) = (folders[0]["id"].to_string(), scene.feed_id("Boats").await);
    let broken = scene.publish("Broken", "/broken", &item("Whole", "Text."));
    let broken = scene.call(Method::POST, "/api/feeds", json!({ "url": broken })).await["id"].as_i64().unwrap();
    scene.publisher.set("/broken", Page::status(503));
    scene.poll(broken).await;
    let views = [
        ("/unread".to_owned(), "Unread"),
        ("/all".to_owned(), "All entries"),
        ("/starred".to_owned(), "Starred"),
        (format!("/feed/{feed}"), "Boats"),
        (format!("/folder/{folder}?show=unread"), "Daily"),
        (format!("/entry/{entry}"), ""),
        (format!("/feed/{broken}"), "Broken"),
        ("/search?q=bread".to_owned(), "Search: bread"),
        ("/search?q=nowhere".to_owned(), "Search: nowhere"),
    ];
    for width in WIDTHS {
        with_browser(&format!("views-{width}"), width, async |browser| {
            for (path, title) in &views {
                scene.open(browser, path).await;
                browser.assert_fits().await;
                browser.reload().await;
                browser.ready().await;
                if !title.is_empty() {
                    browser.says("#list-title", title).await;
                }
                assert_accessible(browser).await;
            }
            for (button, says) in [("help", "Keyboard"), ("opml", "Import and export"), ("add", "Add a feed")] {
                scene.open(browser, "/unread").await;
                // By script: on a phone the button lies in a column that is not open.
                browser.run(&format!("document.querySelector('.side [data-do={button}]').click()")).await;
                browser.says("dialog", says).await;
                browser.assert_fits().await;
                assert_accessible(browser).await;
            }
            for (path, button) in [(format!("/feed/{feed}"), "feed"), (format!("/folder/{folder}"), "folder")] {
                scene.open(browser, &path).await;
                browser.click(&format!(".list [data-do={button}]")).await;
                browser.find("dialog .button.bad").await;
                assert_accessible(browser).await;
            }
            asked_and_told(&scene, browser, feed).await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

/// What is asked, and what is told of what happens.
async fn asked_and_told(scene: &Scene, browser: &Browser, feed: i64) {
    scene.open(browser, &format!("/feed/{feed}")).await;
    browser.click(".list [data-do=feed]").await;
    browser.click("dialog .button.bad").await;
    browser.says("dialog:last-of-type h2", "Unsubscribe from Boats?").await;
    assert_accessible(browser).await;
    scene.open(browser, "/unread").await;
    browser.click("[popovertarget=options]").await;
    browser.find("#options:popover-open").await;
    browser.assert_fits().await;
    assert_accessible(browser).await;
    scene.open(browser, "/unread").await;
    browser.press("a").await;
    browser.press(&format!("{}{}", publish_site(scene), key(Key::Enter))).await;
    browser.says("dialog h2", "This page offers several feeds").await;
    browser.assert_fits().await;
    assert_accessible(browser).await;
    browser.click("dialog .offers button").await;
    browser.says("dialog .offers button", "Add").await;
    browser.turns_page(async || browser.click("dialog .buttons .button").await).await;
    scene.push(&format!("News for {}", browser.run("return innerWidth").await)).await;
    browser.says("#news", "1 new").await;
    browser.press("A").await;
    browser.find("#status [data-do=undo]").await;
    browser.assert_fits().await;
    assert_accessible(browser).await;
    browser.click("#status [data-do=undo]").await;
    browser.tells("unread again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_empty_reader_says_what_to_do() {
    let scene = Scene::start_empty(Store::Sqlite).await;
    with_browser("empty", 800, async |browser| {
        scene.open(browser, "/").await;
        browser.is_at("/unread").await;
        browser.says(".empty", "Add the first feed").await;
        assert_accessible(browser).await;
        scene.open(browser, "/no/such/page").await;
        assert_accessible(browser).await;
        browser.assert_no_complaints().await;
    })
    .await;
}

/// A phone that is held sideways, and what is left of a desk where everything is shown four times as large (WCAG 1.4.10).
const SMALL: [(u32, u32); 2] = [(740, 340), (320, 256)];

#[tokio::test(flavor = "multi_thread")]
async fn u1a_everything_is_in_reach_in_small_windows() {
    let scene = Scene::start(Store::Sqlite).await;
    let webhook = scene.call(Method::POST, "/api/webhooks", json!({ "url": "http://127.0.0.1:9/hook" })).await;
    let feed = scene.feed_id("Boats").await;
    with_browser("small", PHONE, async |browser| {
        for (width, height) in SMALL {
            browser.resize_to(width, height).await;
            // The last of how lists look, and the last below the feeds.
            scene.open(browser, "/unread").await;
            browser.click("[popovertarget=options]").await;
            browser.assert_fits().await;
            browser.turns_page(async || browser.click("#options button").await).await;
            browser.click(".menu").await;
            browser.assert_fits().await;
            browser.click(".foot [data-do=help]").await;
            browser.says("dialog", "Keyboard").await;
            browser.assert_fits().await;
            for path in ["/push", "/webhooks", &format!("/webhooks/{}", webhook["id"]), "/status", "/settings"] {
                scene.open(browser, path).await;
                browser.assert_fits().await;
                assert_accessible(browser).await;
            }
            // What a search is for can be changed where it is shown.
            scene.open(browser, "/search?q=bread").await;
            browser.click(".top [name=q]").await;
            browser.run("document.activeElement.select()").await;
            browser.turns_page(async || browser.press(&format!("boats 3{}", key(Key::Enter))).await).await;
            browser.says(".row", "Boats 3").await;
            browser.assert_fits().await;
            assert_accessible(browser).await;
            scene.open(browser, &format!("/feed/{feed}")).await;
            browser.assert_fits().await;
        }
        browser.assert_no_complaints().await;
    })
    .await;
}

/// Whether the Tab key stops at what this selector finds in the open entry.
async fn takes_focus(browser: &Browser, selector: &str, is_focusable: bool) {
    let has = format!(
        "document.querySelector('article .body').shadowRoot.querySelector('{selector}').hasAttribute('tabindex')"
    );
    browser.holds(&format!("{has} === {is_focusable}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u1a_wide_code_and_tables_are_scrolled_by_keyboard() {
    let scene = Scene::start(Store::Sqlite).await;
    let wide = "long_name ".repeat(30);
    let html = format!(
        "<pre id='wide'><code>{wide}</code></pre><pre id='narrow'>let x;</pre><table><tr><td>{}</td><td>{}</td></tr></table>",
        "a".repeat(80),
        "b".repeat(80)
    );
    let url = scene.publish("Code", "/code", &(item("First", &html) + &item("Second", &html)));
    let feed = scene.call(Method::POST, "/api/feeds", json!({ "url": url })).await["id"].to_string();
    with_browser("scrollers", PHONE, async |browser| {
        let entries = scene.get(&format!("/api/entries?feedId={feed}&content=false")).await;
        // As the server writes it, and then as the script shows it.
        scene.open(browser, &format!("/entry/{}?in=/feed/{feed}", entries["entries"][0]["id"])).await;
        for next in [entries["entries"][1]["id"].to_string(), String::new()] {
            takes_focus(browser, "pre[id$=wide]", true).await;
            takes_focus(browser, "table", true).await;
            takes_focus(browser, "pre[id$=narrow]", false).await;
            assert_accessible(browser).await;
            if !next.is_empty() {
                browser.press("j").await;
                browser.is_at(&format!("/entry/{next}")).await;
            }
        }
        browser.assert_no_complaints().await;
    })
    .await;
}
