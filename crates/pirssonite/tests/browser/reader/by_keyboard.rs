//! Without a mouse.

use fantoccini::key::Key;
use serde_json::Value;

use super::scene::{ENTRIES, Scene, id_of};
use crate::browser::{Browser, WIDTHS, key, with_browser};

#[tokio::test(flavor = "multi_thread")]
async fn u1_u1a_reader_by_keyboard() {
    for width in WIDTHS {
        let scene = Scene::start().await;
        with_browser(&format!("reader-by-keyboard-{width}"), width, async |browser| {
            read(&scene, browser).await;
            go(&scene, browser).await;
            manage(&scene, browser).await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

/// Opens, marks and stars entries.
async fn read(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/unread").await;
    browser.find(".row").await;
    // The first, the second, the first again; then it is opened, and read.
    browser.press("jjk").await;
    browser.says(".row.current", &format!("Boats {ENTRIES}")).await;
    browser.press("o").await;
    browser.says("article .title", &format!("Boats {ENTRIES}")).await;
    let id = id_of(&browser.path().await);
    scene.entry_is(browser, id, "isRead", true).await;
    browser.press("m").await;
    scene.entry_is(browser, id, "isRead", false).await;
    browser.press("s").await;
    scene.entry_is(browser, id, "isStarred", true).await;
    // The next in its place; then back to the list.
    browser.press("j").await;
    browser.says("article .title", &format!("Boats {}", ENTRIES - 1)).await;
    let next = id_of(&browser.path().await);
    scene.entry_is(browser, next, "isRead", true).await;
    browser.press(&key(Key::Escape)).await;
    browser.is_at("/unread").await;
    browser.press(&key(Key::Enter)).await;
    browser.is_at(&format!("/entry/{next}")).await;
    // The original opens beside it.
    browser.press("v").await;
    browser.close_opened().await;
    browser.press(&key(Key::Escape)).await;
    browser.is_at("/unread").await;
    // All, and back.
    let unread = scene.unread().await;
    browser.press("A").await;
    browser.says("#status", "Marked").await;
    assert_eq!(scene.unread().await, 0);
    browser.find("#status [data-do=undo]").await.send_keys(&key(Key::Enter)).await.unwrap();
    browser.wait("the undoing", async || (scene.unread().await == unread).then_some(())).await;
}

/// Goes from view to view.
async fn go(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/unread").await;
    for (keys, path, title) in
        [("ga", "/all", "All entries"), ("gs", "/starred", "Starred"), ("gu", "/unread", "Unread")]
    {
        browser.find("html[data-keys]").await;
        browser.ready().await;
        browser.press(keys).await;
        browser.is_at(path).await;
        browser.says("#list-title", title).await;
    }
    browser.ready().await;
    browser.press("/").await;
    browser.wait("the search", async || (browser.focused().await == "q").then_some(())).await;
    browser.press(&format!("bread 7{}", key(Key::Enter))).await;
    browser.is_at("/search").await;
    browser.says(".row", "Bread 7").await;
    assert_eq!(browser.count(".row").await, 1);
    browser.ready().await;
    browser.press("?").await;
    browser.says("dialog", "Keyboard").await;
    browser.press(&key(Key::Escape)).await;
    browser.gone("dialog").await;
    browser.press("r").await;
    browser.says("#status", "Nothing new.").await;
}

/// Adds, renames and removes a feed.
async fn manage(scene: &Scene, browser: &Browser) {
    let url = scene.publish("Clouds", "/clouds", "<item><guid>1</guid><title>Rain</title></item>");
    scene.open(browser, "/unread").await;
    browser.ready().await;
    browser.press("a").await;
    browser.says("dialog", "Add a feed").await;
    browser.press(&format!("{url}{}", key(Key::Enter))).await;
    browser.says("#list-title", "Clouds").await;
    browser.says(".row", "Rain").await;
    browser.ready().await;
    browser.press("e").await;
    browser.says("dialog", "Clouds").await;
    browser.find("dialog [name=title]").await.send_keys(&format!("Sky{}", key(Key::Enter))).await.unwrap();
    browser.says("#list-title", "Sky").await;
    assert_eq!(scene.feed("Sky").await.unwrap()["customTitle"], "Sky");
    browser.ready().await;
    browser.press("e").await;
    for _ in 0..2 {
        browser.find("dialog:last-of-type .button.bad").await.send_keys(&key(Key::Enter)).await.unwrap();
    }
    browser.is_at("/unread").await;
    browser.wait("the end of it", async || scene.feed("Sky").await.is_none().then_some(Value::Null)).await;
}
