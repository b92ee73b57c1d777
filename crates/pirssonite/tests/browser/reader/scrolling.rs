//! What is scrolled past is marked as read, if that is wanted: while the scrolling goes on, and also for whoever leaves at
//! once.

use reqwest::Method;
use serde_json::json;

use super::by_mouse::first_of_list;
use crate::{
    browser::{DESK, with_browser},
    scene::{ENTRIES, Scene, Store},
};

/// Rows that are scrolled past. With the pause after each it takes twice as long as the page waits before it marks some.
const PASSED: usize = 12;

/// Scrolls past the first rows, one after the other, each when the page has heard of the one before. Then it tells whether
/// the first is still unread.
const SCROLL: &str = "
    const [done] = arguments, list = document.querySelector('.list .scroll');
    const rows = [...list.querySelectorAll('.row')].slice(0, ROWS);
    const pass = (row) => new Promise((passed) => {
        const observer = new IntersectionObserver((seen) => {
            if (seen.at(-1).isIntersecting) return;
            observer.disconnect();
            passed();
        }, { root: list });
        list.scrollTop += row.getBoundingClientRect().bottom - list.getBoundingClientRect().top + 2;
        observer.observe(row);
    });
    const scroll = async () => {
        for (const row of rows) {
            await pass(row);
            await new Promise((on) => setTimeout(on, PAUSE));
        }
        done(rows[0].classList.contains('unread'));
    };
    scroll()";

/// From now on nothing happens in the page that it has put off, by up to some seconds.
const STOP_TIMERS: &str = "
    const later = setTimeout;
    window.setTimeout = (run, ms, ...more) => (ms > 0 && ms < 5_000 ? 0 : later(run, ms, ...more))";

fn scroll(rows: usize, pause_ms: u32) -> String {
    SCROLL.replace("ROWS", &rows.to_string()).replace("PAUSE", &pause_ms.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_what_is_scrolled_past_is_read_at_once_and_for_whoever_leaves() {
    let scene = Scene::start(Store::Sqlite).await;
    scene.call(Method::PATCH, "/api/account/settings", json!({ "markOnScroll": true })).await;
    with_browser("scrolling", DESK, async |browser| {
        scene.open(browser, "/unread").await;
        browser.find("html[data-scroll]").await;
        let is_unread = browser.run_async(&scroll(PASSED, 100)).await;
        assert_eq!(is_unread, false, "it waits until the scrolling ends");
        let left = u64::try_from(2 * ENTRIES - PASSED).unwrap();
        browser.wait("all that was passed to be read", async || (scene.unread().await == left).then_some(())).await;
        // Another is passed, and the page is left before it was marked.
        scene.open(browser, "/unread").await;
        let next = first_of_list(browser).await;
        browser.run(STOP_TIMERS).await;
        assert_eq!(browser.run_async(&scroll(1, 0)).await, true, "it is not marked yet");
        scene.entry_is(browser, next, "isRead", false).await;
        scene.open(browser, "/starred").await;
        scene.entry_is(browser, next, "isRead", true).await;
        browser.assert_no_complaints().await;
    })
    .await;
}
