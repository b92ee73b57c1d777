//! Reading with a mouse.

use super::PLACES;
use crate::{
    browser::{Browser, Key, key, with_browser},
    scene::{ENTRIES, Scene, id_of},
};

#[tokio::test(flavor = "multi_thread")]
async fn u1_reading_by_mouse() {
    for (width, store) in PLACES {
        let scene = Scene::start(store).await;
        with_browser(&format!("reading-by-mouse-{width}-{store:?}"), width, async |browser| {
            read(&scene, browser).await;
            go_back(&scene, browser).await;
            mark_all(&scene, browser).await;
            bring_in(&scene, browser).await;
            go(&scene, browser).await;
            look(&scene, browser).await;
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

/// Opens the column of feeds, where that is not there by itself.
pub(super) async fn show_side(browser: &Browser) {
    browser.ready().await;
    let is_shown = browser.find("#side").await.is_displayed().await.unwrap();
    if !is_shown {
        browser.click(".menu").await;
    }
}

async fn read(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/unread").await;
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
    browser.click("article .original").await;
    browser.close_opened().await;
}

/// Back by the browser's own button, and forward again; and by ours, where the list is not beside it.
async fn go_back(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/all").await;
    browser.click(".row a").await;
    browser.find("article .title").await;
    let path = browser.path().await;
    browser.back().await;
    browser.is_at("/all").await;
    browser.forward().await;
    browser.is_at(&path).await;
    browser.says("article .title", &format!("Boats {ENTRIES}")).await;
    if browser.find(".back").await.is_displayed().await.unwrap() {
        browser.click(".back").await;
        browser.is_at("/all").await;
    }
}

async fn mark_all(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/unread").await;
    let unread = scene.unread().await;
    browser.click("[data-do=mark-all]").await;
    browser.tells("Marked").await;
    assert_eq!(scene.unread().await, 0);
    browser.click("#status [data-do=undo]").await;
    browser.wait("the undoing", async || (scene.unread().await == unread).then_some(())).await;
}

/// What has come is shown when it is asked for, and nothing moves before.
async fn bring_in(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/all").await;
    scene.push("Fresh boats").await;
    browser.says("#news", "1 new").await;
    browser.says(".row", &format!("Boats {ENTRIES}")).await;
    browser.click("#news").await;
    browser.says(".row", "Fresh boats").await;
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
    let boats = scene.feed_id("Boats").await;
    browser.click(&format!(".tree [data-feed='{boats}'] a")).await;
    browser.is_at(&format!("/feed/{boats}")).await;
    browser.says("#list-title", "Boats").await;
    show_side(browser).await;
    browser.click("#q").await;
    browser.press(&format!("boats 3{}", key(Key::Enter))).await;
    browser.is_at("/search").await;
    browser.says(".row", "Boats 3").await;
}

/// How lists look, by their form; then rows that are scrolled past are read.
async fn look(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/all").await;
    browser.click("[popovertarget=options]").await;
    for (name, value) in [("order", "oldest"), ("excerpts", "off"), ("theme", "dark"), ("size", "l"), ("scroll", "on")]
    {
        browser.choose(&format!("#options [name={name}]"), value).await;
    }
    browser.turns_page(async || browser.click("#options button").await).await;
    browser.find("html[data-theme=dark][data-size=l][data-scroll]").await;
    browser.says(".row a", "Bread 1").await;
    assert_eq!(browser.count(".row p").await, 0);
    let first = first_of_list(browser).await;
    scene.entry_is(browser, first, "isRead", false).await;
    browser.wheel(".list .scroll", 400).await;
    scene.entry_is(browser, first, "isRead", true).await;
}

/// The id of the first entry of the list.
pub(super) async fn first_of_list(browser: &Browser) -> i64 {
    let row = browser.find(".row").await.attr("id").await.unwrap().unwrap();
    id_of(&format!("/entry/{}", &row[1..]))
}
