//! A list without an end, in a page that does not grow.

use reqwest::Method;
use serde_json::json;

use crate::{
    browser::{Browser, DESK, with_browser},
    scene::{Scene, Store},
};

const MANY: usize = 600;

/// Elements of the whole page, however deep one is.
const ELEMENTS_MAX: u64 = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn u1_lists_are_endless_and_pages_bounded() {
    let scene = Scene::start(Store::Sqlite).await;
    let items: String = (1..=MANY)
        .map(|number| {
            let (minute, hour) = (number % 60, number / 60);
            format!(
                "<item><guid>{number}</guid><title>Grain {number}</title><description>One of many.</description>\
                 <pubDate>0{} Feb 2026 {:02}:{minute:02}:00 GMT</pubDate></item>",
                1 + hour / 24,
                hour % 24
            )
        })
        .collect();
    let url = scene.publish("Sand", "/sand", &items);
    let feed = scene.call(Method::POST, "/api/feeds", json!({ "url": url })).await["id"].to_string();
    with_browser("endless", DESK, async |browser| {
        scene.open(browser, &format!("/feed/{feed}")).await;
        let before = elements(browser).await;
        to_the_end(browser).await;
        browser.holds("document.querySelector('.chunk:last-child .row:last-child a')?.textContent === 'Grain 1'").await;
        assert!(elements(browser).await < ELEMENTS_MAX, "{} elements; {before} at first", elements(browser).await);
        // Keys go on from there, and an entry opens and closes where one was.
        browser.click(".chunk:last-child .row:last-child a").await;
        browser.says("article .title", "Grain 1").await;
        browser.press("k").await;
        browser.says("article .title", "Grain 2").await;
        browser.back().await;
        browser.is_at(&format!("/feed/{feed}")).await;
        browser.holds("document.querySelector('.list .scroll').scrollTop > 10000").await;
        // And at the top everything is as it was.
        browser.run("document.querySelector('.list .scroll').scrollTop = 0").await;
        browser.says(".chunk:first-child .row a", &format!("Grain {MANY}")).await;
        assert!(elements(browser).await < ELEMENTS_MAX);
        browser.assert_no_complaints().await;
    })
    .await;
}

async fn elements(browser: &Browser) -> u64 {
    browser.run("return document.querySelectorAll('*').length").await.as_u64().unwrap()
}

/// Scrolls until there is no more, and looks at the page all the way.
async fn to_the_end(browser: &Browser) {
    let scroll = "const list = document.querySelector('.list .scroll'); list.scrollTop = list.scrollHeight; \
                  return [document.querySelectorAll('*').length, list.scrollHeight]";
    let mut height = 0;
    while browser.run("return document.querySelector('.more').textContent").await != "That is all." {
        let grown = browser.wait("more rows", async || {
            let seen = browser.run(scroll).await;
            assert!(seen[0].as_u64().unwrap() < ELEMENTS_MAX, "{seen}");
            seen[1].as_u64().filter(|now| *now > height)
        });
        height = grown.await;
    }
}
