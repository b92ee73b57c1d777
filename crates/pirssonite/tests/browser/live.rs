//! What happens elsewhere is on every open page at once, also after the server was away, and across nodes (requirement U2).

use reqwest::Method;
use serde_json::{Value, json};
use testkit::Page;

use crate::{
    browser::{Browser, DESK, TABLET, with_browser, with_two_browsers},
    scene::{ENTRIES, Scene, Store, dated, id_of, item, items},
};

/// Waits until the page counts so many unread entries.
async fn counts(browser: &Browser, unread: usize) {
    browser.find(&format!("[data-count=unread][data-n='{unread}']")).await;
}

async fn shared_by_two_pages(store: Store) {
    let scene = Scene::start(store).await;
    with_two_browsers(&format!("live-{store:?}"), DESK, async |one, two| {
        tokio::join!(scene.open(one, "/unread"), scene.open(two, "/all"));
        scene.push("Storm warning").await;
        for page in [one, two] {
            page.says("#news", "1 new").await;
            counts(page, 2 * ENTRIES + 1).await;
            // What is being read does not move.
            page.says(".row", &format!("Boats {ENTRIES}")).await;
        }
        one.press(".").await;
        two.click("#news").await;
        for page in [one, two] {
            page.says(".row", "Storm warning").await;
        }
        // Marks of one in the other: read by opening it, starred, and unread again.
        one.press("jo").await;
        one.says("article .title", "Storm warning").await;
        let id = id_of(&one.path().await);
        two.find(&format!("#e{id}:not(.unread)")).await;
        counts(two, 2 * ENTRIES).await;
        one.press("s").await;
        two.find(&format!("#e{id}.starred")).await;
        two.press("jm").await;
        one.find("article [data-do=read][aria-pressed=true]").await;
        counts(one, 2 * ENTRIES + 1).await;
        // And all of them.
        one.press("A").await;
        one.tells("Marked").await;
        two.gone(".row.unread").await;
        one.click("#status [data-do=undo]").await;
        counts(two, 2 * ENTRIES + 1).await;
        polled(&scene, one, two).await;
        changed(&scene, one, two).await;
        renamed(&scene, one).await;
        oldest_first(&scene, two).await;
        for page in [one, two] {
            page.assert_no_complaints().await;
        }
    })
    .await;
}

/// What a poll finds is often older than what hubs have pushed meanwhile: it stands where its date puts it.
async fn polled(scene: &Scene, one: &Browser, two: &Browser) {
    scene.publish("Bread", "/bread", &(items("Bread", 8) + &dated("Crumbs", "Sun, 08 Mar 2026 05:30:00 GMT")));
    scene.poll(scene.feed_id("Bread").await).await;
    for page in [one, two] {
        page.says("#news", "1 new").await;
        counts(page, 2 * ENTRIES + 2).await;
        page.says(".row", "Storm warning").await;
        assert_eq!(page.count(".row").await, 2 * ENTRIES + 1);
    }
    one.click("#news").await;
    two.press(".").await;
    for page in [one, two] {
        page.holds(&format!("{TITLES}.includes('|Bread 6|Crumbs|Bread 5|')")).await;
        page.says(".row", "Storm warning").await;
    }
}

/// The titles of all rows that are on the page.
const TITLES: &str = "[...document.querySelectorAll('.row a')].map(link => link.textContent).join('|')";

/// An entry that is changed is as it is now in lists, where it is opened later, and, if wanted, where it is open.
async fn changed(scene: &Scene, one: &Browser, two: &Browser) {
    let tide = |title: &str, text: &str| format!("<item><guid>Tide</guid><title>{title}</title>{text}</item>");
    let body =
        |text: &str| format!("document.querySelector('article .body').shadowRoot.textContent.includes('{text}')");
    scene.push_item(&tide("Tide", "")).await;
    one.says("#news", "1 new").await;
    one.press(".").await;
    one.says(".row a", "Tide").await;
    one.click(".row a").await;
    one.says("article .title", "Tide").await;
    let id = id_of(&one.path().await);
    // The other page opens what stands above it, and fetches it ahead.
    scene.push("Foam").await;
    two.says("#news", "2 new").await;
    two.press(".").await;
    two.says(".row a", "Foam").await;
    two.click(".row a").await;
    let is_ahead = "performance.getEntriesByType('resource').some(({ name }) => name.includes('/api/entries/ID'))";
    two.holds(&is_ahead.replace("ID", &id.to_string())).await;
    scene.push_item(&tide("Tide table", "<description>High at noon.</description>")).await;
    for page in [one, two] {
        page.says(&format!("#e{id} a"), "Tide table").await;
        page.says(&format!("#e{id} p"), "High at noon.").await;
    }
    // Where it is open and had no text it has one by itself, and what was fetched ahead is fetched anew.
    one.holds(&body("High at noon.")).await;
    two.press("j").await;
    two.says("article .title", "Tide table").await;
    two.holds(&body("High at noon.")).await;
    // What is being read does not change by itself.
    scene.push_item(&tide("Tide table", "<description>High at one.</description>")).await;
    one.tells("This entry was changed.").await;
    one.holds(&body("High at noon.")).await;
    one.click("#status button").await;
    one.holds(&body("High at one.")).await;
}

/// Names that were given elsewhere.
async fn renamed(scene: &Scene, page: &Browser) {
    let (boats, folders) = (scene.feed_id("Boats").await, scene.get("/api/folders").await);
    scene.call(Method::PATCH, &format!("/api/feeds/{boats}"), json!({ "title": "Ships" })).await;
    scene.call(Method::PATCH, &format!("/api/folders/{}", folders[0]["id"]), json!({ "name": "Weekly" })).await;
    page.holds(&format!("document.querySelector('.tree [data-feed=\"{boats}\"] > a').textContent === 'Ships'")).await;
    page.holds("document.querySelector('.folder a.name').textContent === 'Weekly'").await;
}

/// Oldest first, what has come stands at the end.
async fn oldest_first(scene: &Scene, page: &Browser) {
    scene.open(page, "/all?order=oldest").await;
    page.says(".row", "Bread 1").await;
    scene.push("Low tide").await;
    page.says("#news", "1 new").await;
    page.press(".").await;
    page.holds(&format!("{TITLES}.endsWith('|Foam|Low tide')")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_two_pages_share_entries_and_marks_sqlite() {
    shared_by_two_pages(Store::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_two_pages_share_entries_and_marks_postgres() {
    shared_by_two_pages(Store::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_news_that_somebody_else_has_read_is_none_any_more() {
    let scene = Scene::start(Store::Sqlite).await;
    with_browser("news-read-elsewhere", DESK, async |browser| {
        scene.open(browser, "/unread").await;
        for title in ["High tide", "Slack water", "Low tide"] {
            scene.push(title).await;
        }
        browser.says("#news", "3 new").await;
        let newest = scene.get("/api/entries?limit=3&content=false").await["entries"].clone();
        let ids: Vec<&Value> = newest.as_array().unwrap().iter().map(|entry| &entry["id"]).collect();
        scene.call(Method::PATCH, "/api/entries", json!({ "ids": ids[..1], "isRead": true })).await;
        browser.says("#news", "2 new").await;
        scene.call(Method::PATCH, "/api/entries", json!({ "ids": ids, "isRead": true })).await;
        browser.holds("document.querySelector('#news').hidden").await;
        browser.assert_no_complaints().await;
    })
    .await;
}

async fn survives_a_restart(store: Store) {
    let scene = Scene::start(store).await;
    with_browser(&format!("restart-{store:?}"), TABLET, async |browser| {
        scene.open(browser, "/unread").await;
        scene.push("Before").await;
        browser.says("#news", "1 new").await;
        scene.kill_server();
        browser.says("#status .lasting", "The connection is lost.").await;
        // What cannot be done is said, and taken back.
        browser.press("js").await;
        browser.tells("Not marked.").await;
        browser.gone(".row.starred").await;
        scene.start_server();
        browser.gone("#status .lasting").await;
        // It was never loaded anew, and goes on by itself.
        scene.push("After").await;
        browser.says("#news", "2 new").await;
        counts(browser, 2 * ENTRIES + 2).await;
        browser.press("s").await;
        browser.find(".row.starred").await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_page_goes_on_after_a_restart_sqlite() {
    survives_a_restart(Store::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_page_goes_on_after_a_restart_postgres() {
    survives_a_restart(Store::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_page_at_one_node_shows_what_is_pushed_to_another() {
    let scene = Scene::start(Store::Postgres).await;
    let folder = tempfile::tempdir().unwrap();
    let node = scene.another_node(&folder);
    with_browser("two-nodes", DESK, async |browser| {
        browser.open(&format!("{}/all", node.url)).await;
        browser.ready().await;
        scene.push("Elsewhere").await;
        browser.says("#news", "1 new").await;
        browser.press(".").await;
        browser.says(".row", "Elsewhere").await;
        // Marked at the first node, seen at the page of the second, and the other way round.
        let entries = scene.get("/api/entries?limit=1").await;
        let id = entries["entries"][0]["id"].as_i64().unwrap();
        scene.call(Method::PATCH, &format!("/api/entries/{id}"), json!({ "isStarred": true, "isRead": true })).await;
        browser.find(&format!("#e{id}.starred:not(.unread)")).await;
        browser.press("jm").await;
        scene.entry_is(browser, id, "isRead", false).await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u2_page_without_a_network_says_so_and_goes_on() {
    let scene = Scene::start(Store::Sqlite).await;
    with_browser("offline", DESK, async |browser| {
        scene.open(browser, "/unread").await;
        let network = async |is_offline: bool| {
            let conditions =
                json!({ "offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
            browser.devtools("Network.enable", json!({})).await;
            browser.devtools("Network.emulateNetworkConditions", conditions).await;
        };
        network(true).await;
        browser.says("#status .lasting", "There is no network.").await;
        network(false).await;
        browser.gone("#status .lasting").await;
        scene.push("Back again").await;
        browser.says("#news", "1 new").await;
        browser.assert_no_complaints().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u1_u2_icon_that_is_found_later_shows_by_itself() {
    let scene = Scene::start(Store::Sqlite).await;
    // Nobody looks for the icon of a feed that could not be fetched yet.
    scene.publisher.set("/late", Page::status(503));
    scene.import(&format!("<outline text='Late' xmlUrl='{}'/>", scene.publisher.url("/late"))).await;
    let icon = include_bytes!("../../../web/assets/icon-192.png");
    scene.publisher.set("/favicon.ico", Page::body(icon).header("Content-Type", "image/png"));
    let id = scene.feed_id("Late").await;
    with_browser("icons", DESK, async |browser| {
        scene.open(browser, "/all").await;
        let style = format!("getComputedStyle(document.querySelector('.tree [data-feed=\"{id}\"]'))");
        browser.holds(&format!("!{style}.getPropertyValue('--icon')")).await;
        scene.publish("Late", "/late", &item("Now", "Text."));
        scene.call(Method::POST, &format!("/api/feeds/{id}/refresh"), json!({})).await;
        browser.holds(&format!("{style}.getPropertyValue('--icon')")).await;
        browser.assert_no_complaints().await;
    })
    .await;
}
