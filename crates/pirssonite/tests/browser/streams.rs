//! The event stream of an open page: what the page does when it cannot be told what it missed, and when nobody sees it
//! (requirement U2). The page's own stream is watched, and the page made deaf to it.

use reqwest::Method;
use serde_json::json;

use crate::{
    browser::{Browser, DESK, with_browser},
    scene::{ENTRIES, Scene, Store},
};

/// Keeps the streams that a page opens. While it is deaf, what comes is noted and not told.
const WATCH: &str = "
    Object.assign(window, { streams: [], isDeaf: false, unheard: [] });
    window.EventSource = class extends EventSource {
        constructor(url) {
            super(url);
            streams.push(this);
        }
        addEventListener(kind, listener) {
            super.addEventListener(kind, (event) => (isDeaf ? unheard.push(kind) : listener(event)));
        }
    }";

/// The minute after which a page lets go of its stream is over at once.
const NO_MINUTE: &str = "
    const later = setTimeout;
    window.setTimeout = (run, ms, ...more) => later(run, ms === 60_000 ? 0 : ms, ...more)";

/// Runs a script before those of every page that is opened from now on.
async fn prepare(browser: &Browser, script: &str) {
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": format!("{{{script}}}") })).await;
}

/// Waits until the page has opened so many streams, and the last is open.
async fn has_opened(browser: &Browser, count: usize) {
    browser.holds(&format!("streams.length === {count} && streams.at(-1).readyState === EventSource.OPEN")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_page_that_is_told_to_load_anew_shows_all_that_it_missed() {
    let scene = Scene::start(Store::Sqlite).await;
    let id = scene.get("/api/entries?limit=1").await["entries"][0]["id"].as_i64().unwrap();
    let (boats, bread) = (scene.feed_id("Boats").await, scene.feed_id("Bread").await);
    with_browser("reset", DESK, async |browser| {
        prepare(browser, WATCH).await;
        scene.open(browser, "/all").await;
        has_opened(browser, 1).await;
        browser.run("isDeaf = true").await;
        for title in ["Missed", "Missed as well"] {
            scene.push(title).await;
        }
        scene.call(Method::PATCH, &format!("/api/entries/{id}"), json!({ "isStarred": true, "isRead": true })).await;
        scene.call(Method::PATCH, &format!("/api/feeds/{bread}"), json!({ "title": "Loaves" })).await;
        browser.holds("['entries', 'marks', 'feed'].every((kind) => unheard.includes(kind))").await;
        assert_eq!(browser.count(&format!("#e{id}.unread:not(.starred)")).await, 1, "it has heard nothing");
        browser.run("isDeaf = false; streams[0].dispatchEvent(new MessageEvent('reset', { data: '{}' }))").await;
        browser.says("#news", "2 new").await;
        browser.find(&format!("#e{id}.starred:not(.unread)")).await;
        let names = format!("document.querySelector('.tree [data-feed=\"{bread}\"] > a').textContent === 'Loaves'");
        browser.holds(&names).await;
        // Two came, and one was read.
        browser.find(&format!(".tree [data-feed='{boats}'] > a[data-n='{}']", ENTRIES + 1)).await;
        browser.find("[data-count=starred][data-n='1']").await;
        browser.press(".").await;
        browser.says(".row", "Missed").await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_page_that_nobody_sees_lets_go_of_its_stream_and_catches_up() {
    let scene = Scene::start(Store::Sqlite).await;
    with_browser("hidden", DESK, async |browser| {
        prepare(browser, WATCH).await;
        prepare(browser, NO_MINUTE).await;
        let hide = async |is_hidden: bool| {
            let script = "Object.defineProperty(document, 'hidden', { get: () => IS_HIDDEN, configurable: true }); \
                          document.dispatchEvent(new Event('visibilitychange'))";
            browser.run(&script.replace("IS_HIDDEN", &is_hidden.to_string())).await;
        };
        scene.open(browser, "/all").await;
        has_opened(browser, 1).await;
        hide(true).await;
        browser.holds("streams[0].readyState === EventSource.CLOSED").await;
        scene.push("While nobody looked").await;
        hide(false).await;
        has_opened(browser, 2).await;
        browser.says("#news", "1 new").await;
        browser.assert_no_complaints().await;
    })
    .await;
}
