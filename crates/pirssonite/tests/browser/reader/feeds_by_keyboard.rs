//! Feeds and folders without a mouse.

use testkit::Page;

use super::{
    PLACES,
    feeds_by_mouse::{downloaded, publish_site},
};
use crate::{
    browser::{Browser, Key, key, with_browser},
    scene::{Scene, item},
};

#[tokio::test(flavor = "multi_thread")]
async fn u1_u1a_feeds_by_keyboard() {
    for (width, store) in PLACES {
        let scene = Scene::start(store).await;
        with_browser(&format!("feeds-by-keyboard-{width}-{store:?}"), width, async |browser| {
            add(&scene, browser).await;
            settings(&scene, browser).await;
            folder(&scene, browser).await;
            opml(&scene, browser).await;
            failing(&scene, browser).await;
            unsubscribe(&scene, browser).await;
            choose(&scene, browser).await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

/// Presses the button of a dialog.
async fn submit(browser: &Browser, button: &str) {
    browser.tab_to(button).await;
    browser.press_key(Key::Enter).await;
}

/// The same of one that leads to another page, which says this.
async fn submit_and_go(browser: &Browser, button: &str, says: &str) {
    browser.turns_page(async || submit(browser, button).await).await;
    browser.tells(says).await;
}

async fn add(scene: &Scene, browser: &Browser) {
    let url = scene.publish("Clouds", "/clouds", &item("Rain", "Drops."));
    scene.open(browser, "/unread").await;
    browser.press("a").await;
    browser.says("dialog", "Add a feed").await;
    // What cannot be followed is said, and what was typed stays.
    let missing = scene.publisher.url("/nothing-here");
    browser.press(&format!("{missing}{}", key(Key::Enter))).await;
    browser.says("dialog [role=alert]", "404").await;
    browser.run("document.querySelector('dialog [name=url]').select()").await;
    browser.tab_to("dialog [name=url]").await;
    browser.turns_page(async || browser.press(&format!("{url}{}", key(Key::Enter))).await).await;
    browser.says("#list-title", "Clouds").await;
    browser.says(".row", "Rain").await;
}

/// Another name, into a folder, another interval, no push.
async fn settings(scene: &Scene, browser: &Browser) {
    browser.press("e").await;
    browser.says("dialog", "Clouds").await;
    browser.tab_to("dialog [name=title]").await;
    browser.press("Sky").await;
    browser.tab_to("dialog [name=folder]").await;
    browser.press("Dai").await;
    browser.tab_to("dialog [name=interval]").await;
    browser.press("An").await;
    browser.tab_to("dialog [name=push]").await;
    browser.press(" ").await;
    submit_and_go(browser, "dialog .button:not(.bad)", "Saved.").await;
    browser.says("#list-title", "Sky").await;
    let feed = scene.feed("Sky").await.unwrap();
    assert_eq!((&feed["pollInterval"], &feed["pushEnabled"]), (&3600.into(), &false.into()), "{feed}");
    assert!(feed["folderId"].is_i64(), "{feed}");
}

/// A new folder for the feed; it is named, moved up and removed.
async fn folder(scene: &Scene, browser: &Browser) {
    browser.press("e").await;
    browser.tab_to("dialog [name=folder]").await;
    browser.press("New").await;
    browser.tab_to("dialog [name=folderName]").await;
    browser.press("Weather").await;
    browser.turns_page(async || browser.press_key(Key::Enter).await).await;
    browser.tells("Saved.").await;
    let folders = scene.get("/api/folders").await;
    assert_eq!(folders[1]["name"], "Weather", "{folders}");
    let id = folders[1]["id"].to_string();
    scene.open(browser, &format!("/folder/{id}")).await;
    browser.press("e").await;
    browser.tab_to("dialog [name=name]").await;
    browser.press(&format!("{} report", key(Key::End))).await;
    browser.turns_page(async || browser.press_key(Key::Enter).await).await;
    browser.tells("Saved.").await;
    browser.says("#list-title", "Weather report").await;
    browser.press("e").await;
    submit_and_go(browser, "dialog .button.quiet", "Moved.").await;
    assert_eq!(scene.get("/api/folders").await[0]["id"].to_string(), id);
    browser.press("e").await;
    submit_and_go(browser, "dialog .button.bad", "The folder was removed.").await;
    browser.is_at("/unread").await;
    scene.feed_is(browser, "Sky", |feed| feed["folderId"].is_null()).await;
}

/// OPML by the menu, which on a narrow screen has to be opened first.
async fn opml(scene: &Scene, browser: &Browser) {
    let url = scene.publish("Stones", "/stones", &item("Granite", "Grey."));
    let file = tempfile::Builder::new().suffix(".opml").tempfile().unwrap();
    let downloads = tempfile::tempdir().unwrap();
    let opml = format!("<opml version='2.0'><body><outline text='Stones' xmlUrl='{url}'/></body></opml>");
    std::fs::write(file.path(), opml).unwrap();
    scene.open(browser, "/unread").await;
    if !browser.find("#side").await.is_displayed().await.unwrap() {
        submit(browser, ".menu").await;
    }
    submit(browser, "#side [data-do=opml]").await;
    browser.type_into("dialog [name=file]", file.path().to_str().unwrap()).await;
    submit(browser, "dialog form .button").await;
    browser.says("dialog", "1 feed is new").await;
    browser.says("dialog", "All were asked for.").await;
    let export = async || submit(browser, "dialog a[download]").await;
    let exported = downloaded(browser, downloads.path(), export).await;
    assert!(exported.contains("Stones") && exported.contains("Bread"), "{exported}");
    browser.turns_page(async || browser.press_key(Key::Escape).await).await;
    browser.holds("document.querySelector('.tree').textContent.includes('Stones')").await;
}

/// Why a feed fails is told where it is read, and in its settings.
async fn failing(scene: &Scene, browser: &Browser) {
    scene.publisher.set("/clouds", Page::status(503));
    scene.open(browser, &format!("/feed/{}", scene.feed_id("Sky").await)).await;
    browser.press("r").await;
    browser.tells("503").await;
    browser.reload().await;
    browser.ready().await;
    browser.says(".warning", "503").await;
    browser.press("e").await;
    browser.says("dialog .problem-text", "503").await;
    browser.press_key(Key::Escape).await;
    browser.gone("dialog").await;
}

async fn unsubscribe(scene: &Scene, browser: &Browser) {
    browser.press("e").await;
    submit(browser, "dialog .button.bad").await;
    browser.says("dialog:last-of-type h2", "Unsubscribe from Sky?").await;
    submit_and_go(browser, "dialog:last-of-type .button.bad", "Unsubscribed from Sky.").await;
    browser.is_at("/unread").await;
    scene.feed_is_gone(browser, "Sky").await;
}

/// A page that offers several: the first is there, the second instead of it.
async fn choose(scene: &Scene, browser: &Browser) {
    browser.press("a").await;
    browser.says("dialog", "Add a feed").await;
    browser.press(&format!("{}{}", publish_site(scene), key(Key::Enter))).await;
    browser.says("dialog h2", "This page offers several feeds").await;
    for (place, says) in [(2, "Remove"), (1, "Add")] {
        let button = format!("dialog .offers li:nth-child({place}) button");
        submit(browser, &button).await;
        browser.says(&button, says).await;
    }
    browser.turns_page(async || submit(browser, "dialog .buttons .button").await).await;
    browser.says("#list-title", "Offer two").await;
    assert!(scene.feed("Offer one").await.is_none());
}
