//! Webhooks and the outbox by command line, against a running server and without one (requirements D1, D10, U4, U5).

use std::process::Output;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::fresh_postgres;

use crate::{
    program::{answer, json_of, made, ok, on, stderr, stdout},
    server::{Data, Server},
};

const GOOD: &[u8] = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
const BAD: &[u8] = b"HTTP/1.1 500 Oh\r\nConnection: close\r\nContent-Length: 10\r\n\r\nno \x1b[31mno";
const HELD: &[u8] = b"HTTP/1.1 503 Later\r\nRetry-After: 3600\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// That it ended with this code, and said this.
#[track_caller]
fn check(output: &Output, code: i32, says: &str) {
    let said = format!("{}{}", stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(says), "{says}: {said}");
}

fn id_of(value: &Value) -> String {
    value["id"].as_str().map_or_else(|| value["id"].to_string(), str::to_owned)
}

/// All that is done with a webhook in its life.
fn life_of_a_webhook(data: Data<'_>) {
    assert!(ok(data, &["webhook", "list"]).contains("no webhooks yet"));
    assert!(ok(data, &["outbox"]).starts_with("0 pending (0 ready, 0 being sent), 0 failed"));
    let (url, receiver) = answer(vec![GOOD.to_vec(), BAD.to_vec()]);
    let added = json_of(data, &["webhook", "add", &url, "--header", "X-Key: a:b", "--event", "feed.gone", "--json"]);
    assert_eq!((&added["headers"], &added["eventTypes"]), (&json!({ "X-Key": "***" }), &json!(["feed.gone"])));
    assert!(added["secret"].as_str().unwrap().starts_with("whsec_"), "{added}");
    let id = id_of(&added);
    for shown in [ok(data, &["webhook", "list", "--json"]), ok(data, &["webhook", "list"])] {
        assert!(!shown.contains("a:b"), "{shown}");
    }
    let with = |command: &'static str| on(data, &["webhook", command, &id]);

    // What came of a test is waited for, with a server and without.
    check(&with("test"), 0, "delivered: it answered 204 in ");
    let failed = on(data, &["webhook", "test", &id, "--json"]);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    let failed: Value = serde_json::from_str(&stdout(&failed)).unwrap();
    assert_eq!((&failed["deliveryStatus"], &failed["lastStatusCode"]), (&json!("pending"), &json!(500)));
    let requests = receiver.join().unwrap();
    for request in &requests {
        let request = request.to_ascii_lowercase();
        assert!(request.contains("webhook-signature: v1,") && request.contains("x-key: a:b"), "{request}");
    }
    assert!(ok(data, &["webhook", "list"]).contains("failing: "));

    let listed = json_of(data, &["outbox", "list", "--json"]);
    let events = listed["events"].as_array().unwrap();
    assert_eq!(events.iter().map(id_of).next(), Some(id_of(&failed)), "the newest first");
    let delivered = json_of(data, &["outbox", "list", "--status", "delivered", "--webhook", &id, "--json"]);
    let delivered = id_of(&delivered["events"][0]);
    assert_eq!(ok(data, &["outbox", "list", "--limit", "1"]).lines().count(), 1);
    assert!(ok(data, &["outbox", "show", &delivered]).contains("attempt   1 at "));
    let shown = ok(data, &["outbox", "show", &id_of(&failed)]);
    assert!(shown.contains(r"no \u{1b}[31mno") && !shown.contains('\u{1b}'), "{shown}");
    check(&on(data, &["outbox", "cancel", &delivered]), 1, "this delivery was delivered: only");
    let reason = json_of(data, &["outbox", "cancel", &id_of(&failed), "--reason", "not now", "--json"]);
    assert_eq!((&reason["deliveryStatus"], &reason["reason"]), (&json!("cancelled"), &json!("not now")));
    check(&with("disable"), 0, "disabled");
    check(&with("test"), 1, "this webhook is disabled");
    check(&on(data, &["webhook", "replay", &id, "--since", "1h"]), 1, "this webhook is disabled");
    check(&on(data, &["outbox", "requeue", &delivered]), 0, "queued again");
    check(&on(data, &["outbox", "requeue", "--webhook", &id]), 0, "0 deliveries queued again");
    check(&on(data, &["outbox", "show", "dlv_0"]), 1, "there is no such delivery");
    assert!(ok(data, &["outbox", "status"]).starts_with("1 pending (0 ready"));
    let status = json_of(data, &["status", "--json"]);
    assert_eq!((&status["webhooks"]["all"], &status["webhooks"]["disabled"]), (&json!(1), &json!(1)));
    assert_eq!(status["outbox"]["pending"], 1);
    assert!(ok(data, &["status"]).contains("webhooks    1 (0 failing, 1 disabled)"));

    check(&with("enable"), 0, "enabled");
    check(&on(data, &["webhook", "replay", &id, "--since", "1h"]), 0, "0 deliveries queued");
    check(&on(data, &["webhook", "replay", &id, "--since", "2h", "--until", "1h"]), 0, "0 deliveries queued");
    let backwards = on(data, &["webhook", "replay", &id, "--since", "1h", "--until", "2h"]);
    check(&backwards, 1, "this time is before");
    check(&on(data, &["webhook", "replay", &id, "--since", "2999-01-01T00:00:00Z"]), 1, "yet to come");
    check(&with("rotate"), 0, "secret: whsec_");
    check(&with("remove"), 0, "removed");
    for command in ["test", "rotate", "enable", "remove"] {
        check(&with(command), 1, "there is no such webhook");
    }
}

#[test]
fn u5_d1_d10_webhook_commands_without_server() {
    let folder = tempfile::tempdir().unwrap();
    life_of_a_webhook(made(folder.path()));
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_d1_d10_webhook_commands_with_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let _server = Server::start(data, &[]);
    tokio::task::block_in_place(|| life_of_a_webhook(data));
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_d1_d10_webhook_commands_on_postgres() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    tokio::task::block_in_place(|| life_of_a_webhook(Data::Database(database.url(), folder.path())));
}

#[test]
fn u5_d1_offline_test_sends_nothing_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    let add_and_test = || {
        let (url, receiver) = answer(vec![GOOD.to_vec()]);
        let id = id_of(&json_of(data, &["webhook", "add", &url, "--json"]));
        let delivery = json_of(data, &["webhook", "test", &id, "--json"]);
        assert_eq!(delivery["deliveryStatus"], "delivered");
        receiver.join().unwrap();
        id_of(&delivery)
    };
    let other = add_and_test();
    check(&on(data, &["outbox", "requeue", &other]), 0, "queued again");
    add_and_test();
    let other = json_of(data, &["outbox", "show", &other, "--json"]);
    assert_eq!((&other["deliveryStatus"], &other["attempts"]), (&json!("pending"), &json!(0)), "{other}");
}

#[test]
fn u5_d1_test_of_held_webhook_says_until_when() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    let (url, receiver) = answer(vec![HELD.to_vec()]);
    let id = id_of(&json_of(data, &["webhook", "add", &url, "--json"]));
    check(&on(data, &["webhook", "test", &id]), 1, "not delivered: it answered 503");
    receiver.join().unwrap();
    let until = json_of(data, &["webhook", "list", "--json"])[0]["heldUntil"].as_str().unwrap().to_owned();
    check(&on(data, &["webhook", "test", &id]), 1, &format!("asked to be sent nothing until {until}"));
    assert!(ok(data, &["webhook", "list"]).contains(&format!("held until {until}")));
    let doctor = on(data, &["doctor"]);
    assert!(stdout(&doctor).contains(&format!("held until {until}")), "{}", stdout(&doctor));
}

#[test]
fn u5_d1_bad_webhook_is_refused_with_reason() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    for (arguments, code, says) in [
        (&["webhook", "add", "r.example"][..], 1, "pirssonite: not a URL"),
        (&["webhook", "add", "https://r.example/", "--event", "entry.read"], 1, "entry.created"),
        (&["webhook", "add", "https://r.example/", "--feed", "9"], 1, "there is no feed 9"),
        (&["webhook", "add", "https://r.example/", "--header", "X-A"], 2, "a colon and its value"),
        (&["webhook", "add", "https://r.example/", "--header", "a: 1", "--header", "a: 2"], 2, "more than once"),
        (&["webhook", "add", "https://r.example/", "--header", "Host: a"], 1, "set by this server itself"),
        (&["webhook", "test", "one"], 2, "one"),
        (&["webhook", "replay", "1"], 2, "--since"),
        (&["webhook", "replay", "1", "--since", "yesterday"], 2, "a time with its zone"),
        (&["webhook", "replay", "1", "--since", "2026-03-01"], 2, "a time with its zone"),
        (&["webhook", "replay", "1", "--since", "2h", "--until", "yesterday"], 2, "a time with its zone"),
        (&["outbox", "requeue"], 2, "--webhook"),
        (&["outbox", "list", "--status", "open"], 2, "pending"),
        (&["outbox", "show", "../../feeds"], 1, "there is no such delivery"),
    ] {
        check(&on(data, arguments), code, says);
    }
    assert_eq!(json_of(data, &["webhook", "list", "--json"]), json!([]));
}

/// How many deliveries a node has made that arrived.
async fn delivered_by(server: &Server) -> u64 {
    let metrics = server.get("/metrics").await;
    let is_it = |line: &&str| line.starts_with("pirssonite_delivery_attempts_total") && line.contains("\"delivered\"");
    let counts =
        metrics.as_str().unwrap().lines().filter(is_it).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn u4_a_worker_delivers_and_a_web_node_does_not() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let data = Data::Database(database.url(), folder.path());
    let (url, _receiver) = answer(vec![GOOD.to_vec()]);
    let web = Server::start(data, &["--role", "web"]);
    let (status, webhook) = web.call(Method::POST, "/api/webhooks", Some(json!({ "url": url }))).await;
    assert_eq!(status, 201, "{webhook}");
    let worker = Server::start(data, &["--role", "worker"]);
    let tested = tokio::task::block_in_place(|| on(data, &["webhook", "test", &id_of(&webhook)]));
    check(&tested, 0, "delivered: it answered 204");
    assert_eq!((delivered_by(&worker).await, delivered_by(&web).await), (1, 0));
}
