//! With a mouse.

use fantoccini::key::Key;
use serde_json::Value;

use super::scene::{ENTRIES, Scene, id_of};
use crate::browser::{Browser, WIDTHS, key, with_browser};

#[tokio::test(flavor = "multi_thread")]
async fn u1_reader_by_mouse() {
    for width in WIDTHS {
        let scene = Scene::start().await;
        with_browser(&format!("reader-by-mouse-{width}"), width, async |browser| {
            read(&scene, browser).await;
            go(&scene, browser).await;
            manage(&scene, browser).await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

/// Opens the column of feeds, where that is not there by itself.
async fn show_side(browser: &Browser) {
    browser.ready().await;
    let is_shown = browser.find("#side").await.is_displayed().await.unwrap();
    if !is_shown {
        browser.click(".menu").await;
    }
}

async fn read(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/unread").await;
    browser.ready().await;
    browser.click(".row a").await;
    browser.says("article .title", &format!("Boats {ENTRIES}")).await;
    let id = id_of(&browser.path().await);
    scene.entry_is(browser, id, "isRead", true).await;
    browser.click("article [data-do=read]").await;
    scene.entry_is(browser, id, "isRead", false).await;
    browser.click("article [data-do=star]").await;
    scene.entry_is(browser, id, "isStarred", true).await;
    browser.click("article [data-do=next]").await;
    browser.says("article .title", &format!("Boats {}", ENTRIES - 1)).await;
    browser.click("article [data-do=previous]").await;
    browser.says("article .title", &format!("Boats {ENTRIES}")).await;
    // Back by the browser's own button, and forward again.
    browser.back().await;
    browser.is_at("/unread").await;
    browser.forward().await;
    browser.is_at(&format!("/entry/{id}")).await;
    browser.says("article .title", &format!("Boats {ENTRIES}")).await;
    scene.open(browser, "/unread").await;
    browser.ready().await;
    let unread = scene.unread().await;
    browser.click("[data-do=mark-all]").await;
    browser.says("#status", "Marked").await;
    assert_eq!(scene.unread().await, 0);
    browser.click("#status [data-do=undo]").await;
    browser.wait("the undoing", async || (scene.unread().await == unread).then_some(())).await;
}

async fn go(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/unread").await;
    for (name, path) in [("All", "/all"), ("Starred", "/starred"), ("Unread", "/unread")] {
        browser.click(&format!(".tabs a[href='{path}']")).await;
        browser.is_at(path).await;
        browser.says(".tabs [aria-current=page]", name).await;
    }
    show_side(browser).await;
    browser.click(".tree .folder[data-folder]:not([data-folder='']) > a.name").await;
    browser.says("#list-title", "Daily").await;
    assert_eq!(browser.count(".row").await, ENTRIES);
    show_side(browser).await;
    let boats = scene.feed("Boats").await.unwrap()["id"].to_string();
    browser.click(&format!(".tree [data-feed='{boats}'] a")).await;
    browser.is_at(&format!("/feed/{boats}")).await;
    browser.says("#list-title", "Boats").await;
    show_side(browser).await;
    browser.click("#q").await;
    browser.press(&format!("boats 3{}", key(Key::Enter))).await;
    browser.is_at("/search").await;
    browser.says(".row", "Boats 3").await;
    // How it looks, by its form.
    scene.open(browser, "/all").await;
    browser.ready().await;
    browser.click("[popovertarget=options]").await;
    for (name, value) in [("order", "oldest"), ("excerpts", "off"), ("theme", "dark"), ("size", "l")] {
        browser.find(&format!("#options [name={name}]")).await.select_by_value(value).await.unwrap();
    }
    browser.click("#options button").await;
    browser.find("html[data-theme=dark][data-size=l]").await;
    browser.says(".row a", "Bread 1").await;
    assert_eq!(browser.count(".row p").await, 0);
}

async fn manage(scene: &Scene, browser: &Browser) {
    let url = scene.publish("Clouds", "/clouds", "<item><guid>1</guid><title>Rain</title></item>");
    scene.open(browser, "/unread").await;
    show_side(browser).await;
    browser.click(".brand [data-do=add]").await;
    browser.says("dialog", "Add a feed").await;
    browser.click("dialog [name=url]").await;
    browser.press(&url).await;
    browser.click("dialog .buttons .button").await;
    browser.says("#list-title", "Clouds").await;
    browser.ready().await;
    browser.click(".list [data-do=refresh]").await;
    browser.says("#status", "Nothing new.").await;
    browser.click(".list [data-do=feed]").await;
    browser.says("dialog", "It has no hub").await;
    // Into the folder, and another name.
    browser.find("dialog [name=folder]").await.select_by_label("Daily").await.unwrap();
    browser.click("dialog [name=title]").await;
    browser.press("Sky").await;
    browser.click("dialog .buttons .button:not(.bad)").await;
    browser.says("#list-title", "Sky").await;
    assert!(scene.feed("Sky").await.unwrap()["folderId"].is_i64());
    browser.ready().await;
    browser.click(".list [data-do=feed]").await;
    browser.click("dialog .button.bad").await;
    browser.says("dialog:last-of-type h2", "Unsubscribe from Sky?").await;
    browser.click("dialog:last-of-type .button.bad").await;
    browser.is_at("/unread").await;
    browser.wait("the end of it", async || scene.feed("Sky").await.is_none().then_some(Value::Null)).await;
}
