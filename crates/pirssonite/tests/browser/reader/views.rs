//! Every view has an address that can be opened and reloaded; axe finds nothing in any of them.

use reqwest::Method;
use serde_json::json;

use crate::{
    axe::assert_accessible,
    browser::{WIDTHS, with_browser},
    scene::{Scene, Store},
};

#[tokio::test(flavor = "multi_thread")]
async fn u1_u1a_every_view_has_an_address_and_is_accessible() {
    let scene = Scene::start(Store::Sqlite).await;
    let entries = scene.get("/api/entries?limit=1").await;
    let entry = entries["entries"][0]["id"].to_string();
    scene.call(Method::PATCH, &format!("/api/entries/{entry}"), json!({ "isStarred": true })).await;
    let folders = scene.get("/api/folders").await;
    let (folder, feed) = (folders[0]["id"].to_string(), scene.feed_id("Boats").await);
    let views = [
        ("/unread".to_owned(), "Unread"),
        ("/all".to_owned(), "All entries"),
        ("/starred".to_owned(), "Starred"),
        (format!("/feed/{feed}"), "Boats"),
        (format!("/folder/{folder}?show=unread"), "Daily"),
        (format!("/entry/{entry}"), ""),
        ("/search?q=bread".to_owned(), "Search: bread"),
        ("/search?q=nowhere".to_owned(), "Search: nowhere"),
    ];
    for width in WIDTHS {
        with_browser(&format!("views-{width}"), width, async |browser| {
            for (path, title) in &views {
                scene.open(browser, path).await;
                browser.assert_fits().await;
                browser.reload().await;
                browser.ready().await;
                if !title.is_empty() {
                    browser.says("#list-title", title).await;
                }
                assert_accessible(browser).await;
            }
            for (button, says) in [("help", "Keyboard"), ("opml", "Import and export"), ("add", "Add a feed")] {
                scene.open(browser, "/unread").await;
                // By script: on a phone the button lies in a column that is not open.
                browser.run(&format!("document.querySelector('.side [data-do={button}]').click()")).await;
                browser.says("dialog", says).await;
                browser.assert_fits().await;
                assert_accessible(browser).await;
            }
            for (path, button) in [(format!("/feed/{feed}"), "feed"), (format!("/folder/{folder}"), "folder")] {
                scene.open(browser, &path).await;
                browser.click(&format!(".list [data-do={button}]")).await;
                browser.find("dialog .button.bad").await;
                assert_accessible(browser).await;
            }
            browser.assert_no_complaints().await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_empty_reader_says_what_to_do() {
    let scene = Scene::start_empty(Store::Sqlite).await;
    with_browser("empty", 800, async |browser| {
        scene.open(browser, "/").await;
        browser.is_at("/unread").await;
        browser.says(".empty", "Add the first feed").await;
        assert_accessible(browser).await;
        scene.open(browser, "/no/such/page").await;
        assert_accessible(browser).await;
        browser.assert_no_complaints().await;
    })
    .await;
}
