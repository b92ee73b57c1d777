//! Reading without a mouse: every key of the list that `?` shows.

use reqwest::Method;
use serde_json::json;

use super::{PLACES, by_mouse::first_of_list};
use crate::{
    browser::{Browser, Key, key, with_browser},
    scene::{ENTRIES, Scene, id_of},
};

#[tokio::test(flavor = "multi_thread")]
async fn u1_u1a_reading_by_keyboard() {
    for (width, store) in PLACES {
        let scene = Scene::start(store).await;
        with_browser(&format!("reading-by-keyboard-{width}-{store:?}"), width, async |browser| {
            read(&scene, browser).await;
            mark_all(&scene, browser).await;
            bring_in(&scene, browser).await;
            go(&scene, browser).await;
            look(&scene, browser).await;
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
    // The next in its place, which is told to who cannot see it; then back to the list.
    browser.run("window.told = []; document.querySelector('.reading').addEventListener('focus', (event) => told.push(event.target.ariaLabel))").await;
    browser.press("j").await;
    browser.says("article .title", &format!("Boats {}", ENTRIES - 1)).await;
    browser.holds(&format!("told.join() === 'Boats {}'", ENTRIES - 1)).await;
    browser.press("k").await;
    browser.says("article .title", &format!("Boats {ENTRIES}")).await;
    browser.press("j").await;
    browser.says("article .title", &format!("Boats {}", ENTRIES - 1)).await;
    let next = id_of(&browser.path().await);
    scene.entry_is(browser, next, "isRead", true).await;
    browser.press_key(Key::Escape).await;
    browser.find(".panes:not([data-open])").await;
    browser.is_at("/unread").await;
    browser.press_key(Key::Enter).await;
    browser.is_at(&format!("/entry/{next}")).await;
    // The original opens beside it.
    browser.press("v").await;
    browser.close_opened().await;
    browser.press_key(Key::Escape).await;
    browser.find(".panes:not([data-open])").await;
    browser.is_at("/unread").await;
    // A row is marked without being opened.
    browser.press("j").await;
    let row = browser.run("return document.querySelector('.row.current').id.slice(1)").await;
    browser.press("m").await;
    browser.holds("document.querySelector('.row.current') && !document.querySelector('.row.current.unread')").await;
    // What follows counts what is unread.
    scene.entry_is(browser, row.as_str().unwrap().parse().unwrap(), "isRead", true).await;
}

async fn mark_all(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/unread").await;
    let unread = scene.unread().await;
    browser.press("A").await;
    browser.tells("Marked").await;
    assert_eq!(scene.unread().await, 0);
    browser.tab_to("#status [data-do=undo]").await;
    browser.press_key(Key::Enter).await;
    browser.wait("the undoing", async || (scene.unread().await == unread).then_some(())).await;
}

/// What has come is shown when it is asked for.
async fn bring_in(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/all").await;
    scene.push("Fresh boats").await;
    browser.says("#news", "1 new").await;
    browser.says("#news-said[role=status]", "New entries have come.").await;
    browser.press(".").await;
    browser.says(".row", "Fresh boats").await;
    browser.holds("document.querySelector('#news-said').textContent === ''").await;
}

/// Presses keys of which the next has to come soon, which on a busy machine nobody can promise: all in one script.
async fn press_at_once(browser: &Browser, keys: &str) {
    let press = "for (const key of 'KEYS') \
                 document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))";
    browser.run(&press.replace("KEYS", keys)).await;
}

/// Goes from view to view.
async fn go(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/unread").await;
    for (keys, path, title) in
        [("ga", "/all", "All entries"), ("gs", "/starred", "Starred"), ("gu", "/unread", "Unread")]
    {
        browser.turns_page(async || press_at_once(browser, keys).await).await;
        browser.is_at(path).await;
        browser.says("#list-title", title).await;
    }
    // Before any is chosen, the first is.
    browser.press("o").await;
    browser.says(".row.current", "Fresh boats").await;
    browser.press("/").await;
    browser.wait("the search", async || (browser.focused().await == "q").then_some(())).await;
    browser.press_key(Key::Escape).await;
    browser.press("j").await;
    browser.holds("document.querySelector('.row.current')?.previousElementSibling").await;
    browser.press("/").await;
    browser.wait("the search again", async || (browser.focused().await == "q").then_some(())).await;
    browser.turns_page(async || browser.press(&format!("bread 7{}", key(Key::Enter))).await).await;
    browser.is_at("/search").await;
    browser.says(".row", "Bread 7").await;
    assert_eq!(browser.count(".row").await, 1);
    browser.press("?").await;
    browser.says("dialog", "Keyboard").await;
    browser.press_key(Key::Escape).await;
    browser.gone("dialog").await;
    // What was not asked for is not said to have nothing new.
    let polled = async || scene.call(Method::POST, "/api/refresh", json!({})).await["polled"].as_u64();
    browser.wait("nothing to be due", async || (polled().await == Some(0)).then_some(())).await;
    browser.press("r").await;
    browser.tells("Nothing was due.").await;
}

/// How lists look, by their form. Then single keys are off, and do nothing.
async fn look(scene: &Scene, browser: &Browser) {
    scene.open(browser, "/all").await;
    browser.tab_to("[popovertarget=options]").await;
    browser.press_key(Key::Enter).await;
    // The beginning of a word chooses it.
    for (name, begin) in
        [("order", "Old"), ("excerpts", "Tit"), ("theme", "Dar"), ("size", "Lar"), ("scroll", "Als"), ("keys", "Off")]
    {
        browser.tab_to(&format!("#options [name={name}]")).await;
        browser.press(begin).await;
    }
    browser.tab_to("#options button").await;
    browser.turns_page(async || browser.press_key(Key::Enter).await).await;
    browser.find("html[data-theme=dark][data-size=l][data-scroll]:not([data-keys])").await;
    browser.says(".row a", "Bread 1").await;
    assert_eq!(browser.count(".row p").await, 0);
    browser.press("?j").await;
    assert_eq!(browser.count("dialog, .row.current").await, 0);
    // What is scrolled past is read, now that it is to be so.
    let first = first_of_list(browser).await;
    scene.entry_is(browser, first, "isRead", false).await;
    browser.tab_to(".row a").await;
    browser.press_key(Key::End).await;
    scene.entry_is(browser, first, "isRead", true).await;
}
