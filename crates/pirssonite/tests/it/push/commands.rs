//! `renew`, `status` and `list`, with push on, off and failing (requirements U5, W7, W13).

use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::fresh_postgres;

use super::{DAY, Scene, leasing, subscription_becomes, until};
use crate::{
    program::{json_of, made, ok, on, stderr, stdout},
    server::{Data, Place, Server},
};

/// Times are compared as such: their texts have as many digits as they need.
fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap_or_else(|| panic!("no time: {value}")).parse().unwrap()
}

async fn renew_and_status(data: Data<'_>) {
    let (scene, place) = (Scene::start().await, Place::reserve());
    let server = Server::start_at(&place, data, &[]);
    assert!(ok(data, &["renew"]).contains("nothing to renew"));
    let nothing = json!({ "renewed": 0, "failed": 0, "pending": 0, "results": [] });
    assert_eq!(json_of(data, &["renew", "--json"]), nothing);

    scene.hub.script(leasing(DAY));
    let url = scene.publish("/feed", &["first"]);
    let feed = json_of(data, &["add", &url, "--json"])["id"].clone();
    let subscription = subscription_becomes(&server, "active").await;
    assert!(ok(data, &["list"]).contains(&format!("{url}  pushed")), "{}", ok(data, &["list"]));

    // Whoever has asked the hub lets go of the subscription a moment after it is verified.
    let renewed = until("a renewal", async || {
        let summary = json_of(data, &["renew", "--json"]);
        (summary["results"] != json!([])).then_some(summary)
    });
    let renewed = renewed.await;
    let result = json!({ "feedId": feed, "status": "renewed", "newExpiresAt": renewed["results"][0]["newExpiresAt"] });
    assert_eq!(renewed, json!({ "renewed": 1, "failed": 0, "pending": 0, "results": [result] }));
    assert!(time(&renewed["results"][0]["newExpiresAt"]) > time(&subscription["expiresAt"]));
    let told = ok(data, &["renew"]);
    assert!(told.contains("News of /feed  renewed until 20") && told.contains("1 subscription: 1 renewed"), "{told}");

    scene.hub.publish(&url, scene.push("/feed", &["pushed"])).await;
    let push = &json_of(data, &["status", "--json"])["push"];
    let ends = &server.get("/api/websub/subscriptions").await[0]["expiresAt"];
    let expect = json!({
        "active": 1, "pending": 0, "inactive": 0, "unsubscribing": 0, "nextLeaseEndsAt": ends, "pushes": 1, "misses": 0,
        "failingHubs": [], "isOn": true, "baseUrl": place.url(),
    });
    assert_eq!(*push, expect);
    let status = ok(data, &["status"]);
    let on_at = format!("push        on: hubs are told to push to {}", place.url());
    for expect in [&on_at, "1 active; the next lease ends at 20", "1 received, 0 missed"] {
        assert!(status.contains(expect), "{expect}: {status}");
    }

    scene.hub.stop().await;
    let failed = on(data, &["renew"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stdout(&failed).contains("failed: Hub unreachable\n"), "{}", stdout(&failed));
    let failed = on(data, &["renew", "--json"]);
    assert!(!failed.status.success() && stdout(&failed).contains("\"errorCount\": 2"), "{}", stdout(&failed));
    let hub = json!([{
        "hubUrl": scene.hub.url(), "subscriptions": 1, "failing": 1, "lastError": "Hub unreachable: ECONNREFUSED",
    }]);
    assert_eq!(json_of(data, &["status", "--json"])["push"]["failingHubs"], hub);
    let status = ok(data, &["status"]);
    assert!(status.contains(&format!("failing     {} (its subscription", scene.hub.url())), "{status}");

    // Without a server the hub could ask nobody back.
    server.kill();
    let alone = on(data, &["renew", "--base-url", &place.url()]);
    assert_eq!(alone.status.code(), Some(1));
    assert!(stderr(&alone).contains("no server is running"), "{}", stderr(&alone));
    let alone = json_of(data, &["status", "--base-url", &place.url(), "--json"]);
    assert_eq!((&alone["push"]["isOn"], &alone["push"]["active"]), (&json!(false), &json!(1)));
    assert!(ok(data, &["status", "--base-url", &place.url()]).contains("push        waits for a server"));
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_w7_w13_sqlite_renew_and_status() {
    let folder = tempfile::tempdir().unwrap();
    renew_and_status(Data::Folder(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_w7_w13_postgres_renew_and_status() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    renew_and_status(Data::Database(database.url(), folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_w3_commands_say_that_push_is_off_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    let check = |what: &str| {
        // What the server was started with counts, not what is set now.
        for more in [&[][..], &["--base-url", "http://127.0.0.1:1"]] {
            if what == "alone" && !more.is_empty() {
                continue;
            }
            let with = |command: &'static str| [&[command], more].concat();
            let refused = on(data, &with("renew"));
            assert_eq!(refused.status.code(), Some(1), "{what} {more:?}");
            assert!(stderr(&refused).contains("push is off, because no base_url is set"), "{}", stderr(&refused));
            let status = ok(data, &with("status"));
            assert!(status.contains("push        off: no base_url is set"), "{what} {more:?}: {status}");
            let json = json_of(data, &[&with("status")[..], &["--json"]].concat());
            assert_eq!((&json["push"]["isOn"], &json["push"]["baseUrl"]), (&json!(false), &json!(null)));
        }
    };
    check("alone");
    let server = Server::start(data, &[]);
    check("served");
    until("the log", async || server.log().contains("push off").then_some(())).await;
}
