//! What the buttons of the dashboards and of the settings do, by mouse and by keyboard (requirements U3, A1).

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Answer, Page, Publisher, Receiver, fresh_postgres};

use crate::{
    browser::{Browser, DESK, Key, PHONE, key, with_browser},
    scene::{Scene, Store, item},
    server::{Data, Server, client},
};

const PASSWORD: &str = "a long enough password";
const NEW_PASSWORD: &str = "another long password";

/// How a page is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hand {
    Mouse,
    Keyboard,
}

/// Each way with a store and a width of its own.
const HANDS: [(Hand, Store, u32); 2] = [(Hand::Mouse, Store::Postgres, PHONE), (Hand::Keyboard, Store::Sqlite, DESK)];

impl Hand {
    async fn press(self, browser: &Browser, selector: &str) {
        match self {
            Self::Mouse => browser.click(selector).await,
            Self::Keyboard => {
                browser.tab_to(selector).await;
                browser.press_key(Key::Enter).await;
            }
        }
    }

    /// Presses a button of a form, and waits for what the next page says first.
    async fn perform(self, browser: &Browser, action: &str, says: &str) {
        self.submit(browser, &format!("main button[value='{action}']"), says).await;
    }

    async fn submit(self, browser: &Browser, button: &str, says: &str) {
        browser.turns_page(async || self.press(browser, button).await).await;
        browser.says("main .said", says).await;
    }

    /// The same for a button behind another.
    async fn confirm(self, browser: &Browser, action: &str, says: &str) {
        self.press(browser, &format!("main details:has(> form button[value='{action}']) > summary")).await;
        self.perform(browser, action, says).await;
    }

    /// Replaces what a field holds.
    async fn fill(self, browser: &Browser, selector: &str, text: &str) {
        match self {
            Self::Mouse => browser.click(selector).await,
            Self::Keyboard => browser.tab_to(selector).await,
        }
        browser.run("document.activeElement.select()").await;
        browser.press(text).await;
    }
}

/// Runs a test by mouse and by keyboard, each with a server of its own.
async fn with_servers(name: &str, first: &str, test: impl AsyncFn(Hand, &Server, &Browser)) {
    for (hand, store, width) in HANDS {
        let folder = tempfile::tempdir().unwrap();
        let database = if store == Store::Postgres { Some(fresh_postgres().await) } else { None };
        let data = match &database {
            Some(database) => Data::Database(database.url(), folder.path()),
            None => Data::Folder(folder.path()),
        };
        let server = Server::start_after(first, data);
        with_browser(&format!("{name}-{hand:?}"), width, async |browser| {
            test(hand, &server, browser).await;
            browser.assert_fits().await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u3_subscriptions_are_renewed_ended_and_begun() {
    for (hand, store, width) in HANDS {
        let scene = Scene::start(store).await;
        let topic = scene.publisher.url("/boats");
        scene.hub.subscribed(&topic).await;
        with_browser(&format!("push-actions-{hand:?}"), width, async |browser| {
            scene.open(browser, "/push").await;
            browser.says("#push-hubs .badge", "working").await;
            hand.perform(browser, "renew", "were renewed:").await;
            let asked = scene.hub.requests().len();
            hand.perform(browser, "subscribe", "The hub is being asked.").await;
            browser.wait("another request", async || (scene.hub.requests().len() > asked).then_some(())).await;
            assert_eq!(scene.hub.requests().last().unwrap().mode, "subscribe");
            hand.confirm(browser, "unsubscribe", "Push is off for this feed").await;
            scene.hub.unsubscribed(&topic).await;
            scene.feed_is(browser, "Boats", |feed| feed["pushEnabled"] == false).await;
            browser.reload().await;
            browser.ready().await;
            hand.perform(browser, "subscribe", "The hub is being asked.").await;
            scene.hub.subscribed(&topic).await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

async fn make_webhook(server: &Server, body: Value) -> String {
    let (status, webhook) = server.call(Method::POST, "/api/webhooks", Some(body)).await;
    assert_eq!(status, 201, "{webhook}");
    webhook["id"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn u3_webhook_is_tested_rotated_disabled_replayed_changed_and_removed() {
    with_servers("webhook-actions", "export PIRSSONITE_RETRY_ATTEMPTS=1", async |hand, server, browser| {
        let (receiver, publisher) = (Receiver::start().await, Publisher::start().await);
        let receipts = receiver.receipts("/hook");
        let id = make_webhook(server, json!({ "url": receiver.url("/hook"), "backlog": true })).await;
        let path = format!("/api/webhooks/{id}");
        browser.open(&format!("{}/webhooks/{id}", server.url)).await;
        browser.ready().await;
        hand.perform(browser, "test", "A test was queued").await;
        receipts.wait_for(1).await;
        hand.perform(browser, "disable", "The webhook is disabled").await;
        assert_eq!(server.get(&path).await["enabled"], false);
        hand.perform(browser, "enable", "The webhook is enabled").await;
        assert_eq!(server.get(&path).await["enabled"], true);
        // What is sent from then on is signed with the secret that is shown.
        hand.confirm(browser, "rotate", "The new secret.").await;
        let secret = browser.find(".secret").await.text().await.unwrap();
        hand.perform(browser, "test", "A test was queued").await;
        assert!(receipts.wait_for(2).await[1].is_signed_with(&secret));
        // What happened is told once more.
        let feed = format!("<rss version='2.0'><channel><title>One</title>{}</channel></rss>", item("First", "Text."));
        publisher.set("/feed", Page::body(feed));
        server.call(Method::POST, "/api/feeds", Some(json!({ "url": publisher.url("/feed") }))).await;
        let is_told = |times: usize| {
            move |all: &[testkit::Receipt]| {
                all.iter().filter(|one| one.text().contains("entry.created")).count() >= times
            }
        };
        receipts.wait_until("the entry", is_told(1)).await;
        hand.perform(browser, "replay", "queued once more:").await;
        receipts.wait_until("the entry again", is_told(2)).await;
        // What failed for good is queued again.
        receiver.answer("/hook", Answer::status(500));
        hand.perform(browser, "test", "A test was queued").await;
        browser.says("#webhook-deliveries tbody", "failed").await;
        receiver.answer("/hook", Answer::status(204));
        let before = receipts.count();
        browser.reload().await;
        browser.ready().await;
        hand.perform(browser, "requeue", "were queued again: 1.").await;
        receipts.wait_for(before + 1).await;
        hand.press(browser, "details.form > summary").await;
        hand.fill(browser, "details.form [name=description]", "For the harbour").await;
        hand.perform(browser, "change", "Saved.").await;
        assert_eq!(server.get(&path).await["description"], "For the harbour");
        hand.confirm(browser, "remove", "Removed.").await;
        assert_eq!(browser.path().await, "/webhooks");
        assert_eq!(server.call(Method::GET, &path, None).await.0, 404);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u3_delivery_is_cancelled_and_queued_again() {
    with_servers("delivery-actions", ":", async |hand, server, browser| {
        let receiver = Receiver::start().await;
        // The second waits for a quarter of an hour.
        let id = make_webhook(server, json!({ "url": receiver.url("/hook"), "ratePerSecond": 0.001 })).await;
        for _ in 0..2 {
            server.call(Method::POST, &format!("/api/webhooks/{id}/test"), None).await;
        }
        receiver.receipts("/hook").wait_for(1).await;
        browser.open(&format!("{}/webhooks/{id}?status=pending", server.url)).await;
        browser.ready().await;
        hand.press(browser, "#webhook-deliveries tbody a").await;
        browser.find("#delivery-state").await;
        browser.ready().await;
        hand.fill(browser, "[name=reason]", "not needed").await;
        hand.perform(browser, "cancel", "The delivery was cancelled.").await;
        browser.says("#delivery-state", "because: not needed").await;
        // The one that arrived is sent once more, when its turn comes.
        browser.open(&format!("{}/webhooks/{id}?status=delivered", server.url)).await;
        browser.ready().await;
        hand.press(browser, "#webhook-deliveries tbody a").await;
        browser.find("#delivery-state").await;
        browser.ready().await;
        hand.perform(browser, "requeue", "The delivery was queued again.").await;
        browser.says("#delivery-state .badge", "pending").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u3_feed_that_fails_is_tried_now() {
    for (hand, store, width) in HANDS {
        let scene = Scene::start(store).await;
        let id = scene.feed_id("Bread").await;
        let page = scene.publish("Bread", "/bread", &item("Bun", "Warm."));
        with_browser(&format!("status-actions-{hand:?}"), width, async |browser| {
            scene.open(browser, "/status").await;
            browser.says("#status-feeds", "All feeds can be fetched.").await;
            scene.publisher.set("/bread", Page::status(503));
            scene.call(Method::POST, &format!("/api/feeds/{id}/refresh"), json!({})).await;
            // It begins to fail on the open page.
            browser.says("#status-feeds", "503").await;
            assert_eq!(scene.publish("Bread", "/bread", &item("Bun", "Warm.")), page);
            hand.perform(browser, "refresh", "The feed was asked for again.").await;
            browser.says("#status-feeds", "All feeds can be fetched.").await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a1_u3_account_tokens_sessions_and_accounts_are_managed() {
    let first = format!("export PIRSSONITE_PASSWORD='{PASSWORD}'");
    with_servers("account-actions", &first, async |hand, server, browser| {
        browser.open(&format!("{}/login?next=/settings", server.url)).await;
        browser.press(&format!("reader{}{PASSWORD}{}", key(Key::Tab), key(Key::Enter))).await;
        browser.is_at("/settings").await;
        browser.ready().await;
        hand.fill(browser, "#account [name=name]", "keeper").await;
        hand.perform(browser, "rename", "The account has another name now.").await;
        for (name, text) in [("password", PASSWORD), ("newPassword", NEW_PASSWORD), ("again", NEW_PASSWORD)] {
            hand.fill(browser, &format!("#account [name={name}]"), text).await;
        }
        hand.perform(browser, "password", "The password was changed.").await;
        token(hand, server, browser).await;
        accounts(hand, browser).await;
        // Its own session: the page asks for the new name and the new password.
        hand.press(browser, "#sessions button[value=end-session]").await;
        browser.is_at("/login").await;
        browser.type_into("#name", "keeper").await;
        browser.type_into("#password", &format!("{NEW_PASSWORD}{}", key(Key::Enter))).await;
        browser.find(".tree, .empty, #main").await;
    })
    .await;
}

/// A token lets a program in until it is revoked.
async fn token(hand: Hand, server: &Server, browser: &Browser) {
    hand.fill(browser, "#tokens form.fields [name=name]", "Phone").await;
    browser.turns_page(async || hand.press(browser, "#tokens form.fields button").await).await;
    let secret = browser.find(".secret").await.text().await.unwrap();
    let asked = async || {
        let request = client().get(format!("{}/api/feeds", server.url)).bearer_auth(&secret);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(asked().await, 200);
    hand.confirm(browser, "revoke", "The token is worth nothing now.").await;
    assert_eq!(asked().await, 401);
}

/// Another account is made, raised, given a password, and removed.
async fn accounts(hand: Hand, browser: &Browser) {
    hand.fill(browser, "#accounts form.fields [name=name]", "guest").await;
    hand.fill(browser, "#accounts form.fields [name=password]", PASSWORD).await;
    hand.perform(browser, "add-account", "The account was made.").await;
    browser.says("#accounts tr:has(button[value=admin]) [data-name=May]", "read").await;
    hand.perform(browser, "admin", "Saved.").await;
    browser.gone("#accounts button[value=admin]").await;
    let guest = "#accounts tbody tr:last-child";
    hand.submit(browser, &format!("{guest} button[value=no-admin]"), "Saved.").await;
    let guest = "#accounts tr:has(button[value=admin])";
    hand.press(browser, &format!("{guest} details:has(button[value=set-password]) > summary")).await;
    hand.fill(browser, &format!("{guest} [name=password]"), NEW_PASSWORD).await;
    hand.submit(browser, &format!("{guest} button[value=set-password]"), "Saved.").await;
    hand.press(browser, &format!("{guest} details:has(button[value=remove-account]) > summary")).await;
    hand.submit(browser, &format!("{guest} button[value=remove-account]"), "Removed.").await;
    browser.gone(guest).await;
}
