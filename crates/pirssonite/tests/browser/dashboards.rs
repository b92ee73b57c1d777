//! The dashboards in the browser: reachable, accessible, whole at every width, and alive (requirement U3).

use testkit::{Answer, Behaviour, Receiver};

use crate::{
    axe::assert_accessible,
    browser::{Browser, DESK, WIDTHS, with_browser},
    scene::{Scene, Store, item},
};

/// The pages at the foot of the menu.
const PAGES: [(&str, &str); 4] =
    [("/push", "Push"), ("/webhooks", "Webhooks"), ("/status", "Status"), ("/settings", "Settings")];

/// That a page is whole at every width, and accessible.
async fn assert_good(browser: &Browser) {
    for width in WIDTHS {
        browser.resize(width).await;
        browser.assert_fits().await;
        assert_accessible(browser).await;
    }
    browser.resize(DESK).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u3_dashboards_are_reached_and_accessible() {
    let scene = Scene::start(Store::Postgres).await;
    with_browser("dashboards", DESK, async |browser| {
        scene.open(browser, "/unread").await;
        for (path, title) in PAGES {
            browser.click(&format!(".foot a[href='{path}']")).await;
            browser.is_at(path).await;
            browser.ready().await;
            browser.says("#main h1", title).await;
            assert_good(browser).await;
        }
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u3_webhook_is_made_and_its_deliveries_seen() {
    let (scene, receiver) = (Scene::start(Store::Sqlite).await, Receiver::start().await);
    receiver.answer("/hook", Answer::status(500));
    with_browser("webhook", DESK, async |browser| {
        scene.open(browser, "/webhooks").await;
        browser.click("[name=url]").await;
        browser.press(&receiver.url("/hook")).await;
        browser.click("form.fields > .button").await;
        browser.find(".secret").await;
        browser.click("#webhooks-list a").await;
        browser.ready().await;
        let path = browser.path().await;
        assert!(path.starts_with("/webhooks/"), "{path}");
        // The page is alive: a delivery appears on it without being loaded anew.
        scene.push("Hooked").await;
        receiver.receipts("/hook").wait_for(1).await;
        browser.says("#main", "entry.created").await;
        // And so does what becomes of it, attempt by attempt.
        browser.says("#main", "500").await;
        receiver.answer("/hook", Answer::status(204));
        browser.says("#main", "204").await;
        assert_good(browser).await;
        browser.click("#main a[href^='/deliveries/']").await;
        browser.ready().await;
        browser.says("#main", "204").await;
        assert_good(browser).await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u3_hub_that_refuses_is_explained() {
    let scene = Scene::start(Store::Sqlite).await;
    scene.hub.script(Behaviour::denying(Some("not from here")));
    let url = scene.publish_pushed("Quiet", "/quiet", &item("Hush", "Text."));
    with_browser("hub", DESK, async |browser| {
        scene.open(browser, "/push").await;
        scene.call(reqwest::Method::POST, "/api/feeds", serde_json::json!({ "url": url })).await;
        browser.says("#push-hubs", "not from here").await;
        assert_good(browser).await;
        browser.assert_no_complaints().await;
    })
    .await;
}
