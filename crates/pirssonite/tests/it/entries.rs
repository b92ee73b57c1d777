//! `pirssonite entries`: listed, searched, read as text and marked, with a server and without (requirements F6, U5).

use serde_json::{Value, json};
use testkit::{Page, Publisher, fresh_postgres};

use crate::{
    program::{json_of, made, ok, on, stderr, stdout},
    server::{Data, Server},
};

const FEED: &str = "<rss version='2.0'><channel><title>News</title>\
    <item><guid>1</guid><title>Fresh bread</title><link>https://e.org/1</link><pubDate>Mon, 02 Mar 2026 18:55:00 GMT</pubDate>\
    <description>&lt;p&gt;Warm &lt;a href='https://e.org/w'&gt;it&lt;/a&gt;&lt;/p&gt;&lt;ul&gt;&lt;li&gt;rye&lt;/li&gt;&lt;/ul&gt;</description></item>\
    <item><guid>2</guid><title>Old &amp;#x1b;[2J &#x9b;31m news</title><pubDate>Sun, 01 Mar 2026 18:55:00 GMT</pubDate>\
    <description>&lt;p&gt;a&amp;#27;[2Jb&amp;#x9b;0m&lt;/p&gt;</description></item></channel></rss>";

/// That nothing a terminal obeys is printed.
fn harmless(text: &str) -> &str {
    let bad: Vec<char> = text.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(bad.is_empty(), "{bad:?} {text:?}");
    text
}

async fn life_of_entries(data: Data<'_>) {
    let publisher = Publisher::start().await;
    publisher.set("/feed", Page::body(FEED));
    publisher.set("/other", Page::body(FEED.replace("News", "Other")));
    ok(data, &["add", &publisher.url("/feed"), "--folder", "Daily"]);
    ok(data, &["add", &publisher.url("/other")]);

    let all = ok(data, &["entries"]);
    assert_eq!(harmless(&all).lines().count(), 4, "{all}");
    let ids = |arguments: &[&str]| -> Vec<Value> {
        let listed = json_of(data, &[&["entries"], arguments, &["--json"]].concat());
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect()
    };
    let daily = ids(&["list", "--folder", "daily", "--oldest"]);
    assert_eq!((daily.len(), ids(&["list", "--feed", "News"]).len(), ids(&["list", "-n", "3"]).len()), (2, 2, 3));
    let (old, fresh) = (daily[0].to_string(), daily[1].to_string());
    assert_eq!(ids(&["search", "bread"]).len(), 2);
    assert_eq!(ids(&["search", "fresh", "bread", "--folder", "Daily"]), [daily[1].clone()]);
    assert_eq!(ok(data, &["entries", "search", "nothing"]), "no entry holds that\n");
    assert_eq!(ids(&["search", "\"fresh bread\"", "--folder", "Daily"]), [daily[1].clone()]);
    assert_eq!(ids(&["search", "\"bread fresh\""]).len(), 0);
    assert_eq!(ids(&["search", "-bread", "--folder", "Daily"]), [daily[0].clone()]);
    assert_eq!(ids(&["search", "-news", "warm", "-n", "1"]).len(), 1);
    assert_eq!(ids(&["search", "bread -warm"]).len(), 0);
    assert_eq!(on(data, &["entries", "--folder", "Nowhere"]).status.code(), Some(1));

    let shown = ok(data, &["entries", "show", &fresh]);
    let expect = "Fresh bread\nNews, 2026-03-02 18:55 UTC, unread\nhttps://e.org/1\n\nWarm it[1]\n\n- rye\n\n[1] https://e.org/w\n";
    assert_eq!(shown, expect);
    assert!(harmless(&ok(data, &["entries", "show", &old, "--mark-read"])).contains("a[2Jb"));
    let as_json = ok(data, &["entries", "show", &old, "--json"]);
    harmless(&as_json);
    let as_json: Value = serde_json::from_str(&as_json).unwrap();
    assert_eq!(as_json["isRead"], true);
    let missing = on(data, &["entries", "show", "9999"]);
    assert_eq!(
        (missing.status.code(), stderr(&missing)),
        (Some(1), "pirssonite: entry 9999: there is no such entry\n".into())
    );

    assert_eq!(ok(data, &["entries", "mark", "starred", &old, &fresh]), "2 entries marked as starred\n");
    assert_eq!(ids(&["list", "--starred"]).len(), 2);
    assert_eq!(json_of(data, &["entries", "mark", "unstarred", &old, "--json"]), json!({ "marked": 1 }));
    let missing = on(data, &["entries", "mark", "read", &fresh, "9999"]);
    assert_eq!(stderr(&missing), "pirssonite: there is no entry 9999; nothing is marked\n");
    assert_eq!(ids(&["list", "--unread"]).len(), 3);
    assert_eq!(ok(data, &["entries", "mark", "read", "--folder", "Daily"]), "1 entry marked as read\n");
    assert_eq!(ok(data, &["entries", "mark", "unread", &old]), "1 entry marked as unread\n");
    assert_eq!(ok(data, &["entries", "mark", "read", "--all", "--before", "1d"]), "0 entries marked as read\n");
    assert_eq!(ok(data, &["entries", "mark", "read", "--all"]), "3 entries marked as read\n");
    for wrong in
        [&["entries", "mark", "starred", "--all"][..], &["entries", "mark", "read"], &["entries", "mark", "blue", "1"]]
    {
        let output = on(data, wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}{}", stdout(&output), stderr(&output));
    }
    let of_what = stderr(&on(data, &["entries", "mark", "read"]));
    assert!(of_what.contains("<ID|--feed <FEED>|--folder <FOLDER>|--all>"), "{of_what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_f6_entries_are_read_and_marked_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    life_of_entries(made(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_f6_entries_are_read_and_marked_by_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let _server = Server::start(data, &[]);
    life_of_entries(data).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_f6_entries_are_read_and_marked_on_postgres() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    life_of_entries(Data::Database(database.url(), folder.path())).await;
}
