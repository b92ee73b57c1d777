//! `pirssonite add` as people type it: a host, a page that offers several feeds, a page that offers none (requirements
//! F1, U5).

use serde_json::{Value, json};
use testkit::{Page, Publisher, fresh_postgres};

use crate::{
    program::{json_of, ok, on, stderr, stdout},
    server::{Data, Server},
};

fn feed(title: &str) -> Page {
    Page::body(format!("<rss><channel><title>{title}</title><item><guid>1</guid></item></channel></rss>"))
}

fn publish(publisher: &Publisher) {
    let links = "<link rel=alternate type=application/rss+xml title='News \u{1b}[2J » Comments Feed' href=/comments>\
                 <link rel=alternate type=application/rss+xml title=News href=/news>";
    publisher.set("/", Page::body(format!("<html><head>{links}</head></html>")));
    publisher.set("/comments", feed("Comments"));
    publisher.set("/news", feed("News"));
    publisher.set("/plain/", Page::body("<html><body>nothing"));
    publisher.set("/plain/index.xml", feed("Plain"));
    publisher.set("/bare", Page::body("<html><body>nothing"));
}

async fn add_as_typed(data: Data<'_>) {
    let publisher = Publisher::start().await;
    publish(&publisher);
    let host = publisher.url("").replace("http://", "");
    let url = |path: &str| publisher.url(path);
    let added = on(data, &["add", host.trim_end_matches('/')]);
    assert_eq!(
        stdout(&added),
        format!(
            "added feed 1: News (1 entry) from {}\nthe page also offers 1 feed:\n  {}  News [2J » Comments Feed\n",
            url("/news"),
            url("/comments")
        ),
        "{}",
        stderr(&added)
    );
    let plain = format!("{host}/plain/");
    let plain = json_of(data, &["add", plain.trim_start_matches('/'), "--json"]);
    assert_eq!((&plain["url"], &plain["offered"]), (&json!(url("/plain/index.xml")), &Value::Null));
    // Another that the page offers can be chosen.
    assert!(ok(data, &["add", &url("/comments")]).starts_with("added feed 3: Comments (1 entry)\n"));
    for (typed, says) in [
        (host.as_str(), "this feed is already there: feed 1"),
        (&url("/bare"), "not a feed: it is a web page that offers no feed, and there is none where feeds usually are"),
        ("news", "not a URL: expected an address such as example.org or https://example.org/feed"),
        ("me@example.org", "not a URL"),
    ] {
        let refused = on(data, &["add", typed]);
        assert_eq!(refused.status.code(), Some(1), "{typed}");
        assert!(stderr(&refused).starts_with(&format!("pirssonite: {says}")), "{typed}: {}", stderr(&refused));
    }
    assert_eq!(json_of(data, &["list", "--json"]).as_array().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_f1_add_takes_typed_addresses_without_server() {
    let folder = tempfile::tempdir().unwrap();
    add_as_typed(Data::Folder(&folder.path().join("data"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_f1_add_takes_typed_addresses_on_postgres() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let data = Data::Database(database.url(), folder.path());
    let _server = Server::start(data, &[]);
    add_as_typed(data).await;
}
