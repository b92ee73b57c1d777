//! A list without an end, in a page that does not grow.

use reqwest::Method;
use serde_json::json;

use crate::{
    browser::{Browser, DESK, PHONE, TABLET, with_browser},
    scene::{Scene, Store, dated},
};

/// How many entries the list has, by width.
const PLACES: [(u32, Store, usize); 3] =
    [(PHONE, Store::Postgres, 200), (TABLET, Store::Sqlite, 200), (DESK, Store::Sqlite, 2_000)];

/// Elements of the whole page, however deep one is.
const ELEMENTS_MAX: u64 = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn u1_lists_are_endless_and_pages_bounded() {
    for (width, store, many) in PLACES {
        let scene = Scene::start(store).await;
        let url = scene.publish("Sand", "/sand", &grains(many));
        let feed = scene.call(Method::POST, "/api/feeds", json!({ "url": url })).await["id"].as_i64().unwrap();
        with_browser(&format!("endless-{width}"), width, async |browser| {
            scene.open(browser, &format!("/feed/{feed}")).await;
            let before = elements(browser).await;
            further_down(&scene, browser, feed, many).await;
            to_the_end(browser).await;
            browser.holds(&format!("{LAST}?.textContent === 'Dust'")).await;
            assert!(elements(browser).await < ELEMENTS_MAX, "{} elements; {before} at first", elements(browser).await);
            // Keys go on from there, and an entry opens and closes where one was.
            browser.click(".chunk:last-child .row:last-child a").await;
            browser.says("article .title", "Dust").await;
            browser.press("k").await;
            browser.says("article .title", "Grain 1").await;
            browser.back().await;
            browser.is_at(&format!("/feed/{feed}")).await;
            browser.holds("document.querySelector('.list .scroll').scrollTop > 5000").await;
            far_above(&scene, browser, feed, many).await;
            // And at the top everything is as it was.
            browser.run("document.querySelector('.list .scroll').scrollTop = 0").await;
            browser.says(".chunk:first-child .row a", &format!("Grain {many}")).await;
            assert!(elements(browser).await < ELEMENTS_MAX);
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

const LAST: &str = "document.querySelector('.chunk:last-child .row:last-child a')";

/// Entries a minute apart.
fn grains(many: usize) -> String {
    (1..=many).map(|number| dated(&format!("Grain {number}"), &time(number, 0))).collect()
}

fn time(minutes: usize, secs: usize) -> String {
    let (minute, hour) = (minutes % 60, minutes / 60);
    format!("0{} Feb 2026 {:02}:{minute:02}:{secs:02} GMT", 1 + hour / 24, hour % 24)
}

/// What a poll finds that is older than all that is loaded is told of, and comes with the rest.
async fn further_down(scene: &Scene, browser: &Browser, feed: i64, many: usize) {
    scene.publish("Sand", "/sand", &(grains(many) + &dated("Dust", "31 Jan 2026 00:00:00 GMT")));
    scene.poll(feed).await;
    browser.says("#news", "1 new").await;
    browser.press(".").await;
    browser.tells("1 new entry stands further down").await;
    browser.holds("document.querySelector('#news').hidden").await;
}

/// What comes where the page keeps no rows stands in its place all the same, and is shown.
async fn far_above(scene: &Scene, browser: &Browser, feed: i64, many: usize) {
    browser.holds("!document.querySelector('.chunk').firstElementChild").await;
    scene.publish("Sand", "/sand", &(grains(many) + &dated("Shell", &time(many - 1, 30))));
    scene.poll(feed).await;
    browser.says("#news", "1 new").await;
    browser.press(".").await;
    browser.says(".chunk .row:nth-child(2)", "Shell").await;
    browser.says(".chunk .row:nth-child(3)", &format!("Grain {}", many - 1)).await;
    browser.holds("document.querySelector('.list .scroll').scrollTop < 1000").await;
}

async fn elements(browser: &Browser) -> u64 {
    browser.run("return document.querySelectorAll('*').length").await.as_u64().unwrap()
}

/// Scrolls until there is no more, and looks at the page all the way.
async fn to_the_end(browser: &Browser) {
    let scroll = "const list = document.querySelector('.list .scroll'); list.scrollTop = list.scrollHeight; \
                  return [document.querySelectorAll('*').length, list.scrollHeight, document.querySelector('.more').textContent]";
    let mut height = 0;
    loop {
        let look = async || {
            let seen = browser.run(scroll).await;
            assert!(seen[0].as_u64().unwrap() < ELEMENTS_MAX, "{seen}");
            (seen[1].as_u64() > Some(height) || seen[2] == "That is all.").then_some(seen)
        };
        let seen = browser.wait("more rows", look).await;
        if seen[2] == "That is all." {
            return;
        }
        height = seen[1].as_u64().unwrap();
    }
}
