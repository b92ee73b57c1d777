//! Entries that attack whoever reads them stay harmless on the page.

use reqwest::Method;
use serde_json::json;

use super::scene::Scene;
use crate::browser::{WIDTHS, with_browser};

/// What entries try: scripts, handlers, styles that cover the page, forms, frames, and texts that break a layout.
fn attacks() -> Vec<(String, String)> {
    let long = "x".repeat(100_000);
    let pictures = "<img src='http://127.0.0.1:9/p.png' width='10' height='10'>".repeat(5_000);
    [
        ("script", "<script>document.title = 'owned'</script><svg onload=\"document.title='owned'\"></svg>"),
        ("handlers", "<img src=x onerror=\"document.title='owned'\"><body onload=alert(1)><a href='javascript:document.title=1'>x</a>"),
        ("cover", "<div style='position:fixed;inset:0;z-index:9999;background:red'>over</div><style>body{display:none}</style>"),
        ("closes", "</div></template></article></section></main><h1 id='main' class='row'>out</h1>"),
        ("form", "<form action='http://evil.example/'><input name=password autofocus><button>Log in</button></form>"),
        ("frame", "<iframe src='http://127.0.0.1:9/'></iframe><object data='x'></object><embed src='x'><base href='http://evil.example/'>"),
        ("classes", "<p class='status side dialog' id='status'>mine</p><p id='q'>mine</p>"),
        ("direction", "<p dir='rtl'>שלום \u{202e}abc\u{202c} مرحبا</p><p>Latin \u{2067}עברית\u{2069} Latin</p>"),
        ("long", long.as_str()),
        ("pictures", pictures.as_str()),
    ]
    .map(|(title, html)| (title.to_owned(), html.to_owned()))
    .into()
}

#[tokio::test(flavor = "multi_thread")]
async fn u1b_hostile_entries_stay_harmless() {
    let scene = Scene::start().await;
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let mut items: String = attacks()
        .iter()
        .map(|(title, html)| {
            format!(
                "<item><guid>{title}</guid><title>{title}</title><description>{}</description></item>",
                escape(html)
            )
        })
        .collect();
    let title = "t".repeat(10_000);
    items.extend(["<item><guid>t</guid><title>", &title, "</title><description>x</description></item>"]);
    items += "<item><guid>n</guid><description>no title at all</description></item>";
    let url = scene.publish("&lt;script>alert(1)&lt;/script>", "/hostile", &items);
    let feed = scene.call(Method::POST, "/api/feeds", json!({ "url": url })).await["id"].to_string();
    let entries = scene.server.get(&format!("/api/entries?feedId={feed}&content=false")).await;
    let ids: Vec<String> = entries["entries"].as_array().unwrap().iter().map(|entry| entry["id"].to_string()).collect();
    assert_eq!(ids.len(), attacks().len() + 2);
    for width in WIDTHS {
        with_browser(&format!("hostile-{width}"), width, async |browser| {
            scene.open(browser, &format!("/feed/{feed}")).await;
            browser.ready().await;
            browser.assert_fits().await;
            for id in &ids {
                // As the server writes it.
                scene.open(browser, &format!("/entry/{id}?in=/feed/{feed}")).await;
                browser.ready().await;
                browser.assert_fits().await;
                assert_ne!(browser.run("return document.title").await, "owned");
                // Its controls are on top, and work.
                browser.click("article [data-do=star]").await;
                scene.entry_is(browser, id.parse().unwrap(), "isStarred", true).await;
                browser.click("article [data-do=star]").await;
                scene.entry_is(browser, id.parse().unwrap(), "isStarred", false).await;
            }
            // As the script shows it, one after the other.
            scene.open(browser, &format!("/feed/{feed}")).await;
            browser.ready().await;
            browser.press("jo").await;
            for _ in &ids {
                browser.find("article .body").await;
                browser.assert_fits().await;
                browser.press("j").await;
            }
            browser.assert_no_complaints().await;
        })
        .await;
    }
}
