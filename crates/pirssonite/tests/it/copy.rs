//! Everything moved from one store to the other and back, backed up and restored (requirement P4).

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Page, Publisher, Receiver, fresh_postgres};

use crate::{
    program::{json_of, ok, on, stderr, stdout},
    server::{Data, Server},
};

const HOOK: &str = "/hook";

/// What takes minutes in earnest takes moments.
const QUICK: [&str; 8] =
    ["--retry-first", "100ms", "--retry-max", "1s", "--probe-first", "100ms", "--probe-max", "500ms"];

/// A publisher with two feeds, and a receiver that fails until it is told otherwise.
struct Scene {
    publisher: Publisher,
    receiver: Receiver,
}

impl Scene {
    async fn start() -> Self {
        let scene = Self { publisher: Publisher::start().await, receiver: Receiver::start().await };
        scene.receiver.answer(HOOK, Page::status(503));
        scene
    }

    /// Folders, feeds, marks, a token, a webhook, and deliveries that have not arrived.
    async fn fill(&self, server: &Server) {
        let call = async |method: Method, path: &str, body: Value| {
            let (status, answer) = server.call(method, path, Some(body)).await;
            assert!((200..300).contains(&status), "{path}: {status} {answer}");
            answer
        };
        let hook = json!({ "url": self.receiver.url(HOOK), "eventTypes": ["entry.created"], "backlog": true });
        let hook = call(Method::POST, "/api/webhooks", hook).await;
        self.receiver.expect_secret(HOOK, hook["secret"].as_str().unwrap());
        let folder = call(Method::POST, "/api/folders", json!({ "name": "Daily" })).await;
        for (path, title) in [("/a", "東京 bread"), ("/b", "Ünïcödé")] {
            let item = |number| {
                format!(
                    "<item><guid>{path}{number}</guid><title>{title} {number}</title><description>fresh</description></item>"
                )
            };
            let items: String = (0..30).map(item).collect();
            self.publisher
                .set(path, Page::body(format!("<rss version='2.0'><channel><title>N</title>{items}</channel></rss>")));
            let feed = json!({ "url": self.publisher.url(path), "folderId": folder["id"] });
            call(Method::POST, "/api/feeds", feed).await;
        }
        let page = server.get("/api/entries?limit=3").await;
        for entry in page["entries"].as_array().unwrap() {
            call(Method::PATCH, &format!("/api/entries/{}", entry["id"]), json!({ "isRead": true, "isStarred": true }))
                .await;
        }
        call(Method::POST, "/api/tokens", json!({ "name": "app", "scope": "read" })).await;
        self.receiver.receipts(HOOK).wait_for(1).await;
    }
}

/// What a reader sees of all.
async fn seen(server: &Server) -> Value {
    let mut seen = json!({});
    for path in [
        "/api/feeds",
        "/api/folders",
        "/api/counts",
        "/api/entries?limit=500",
        "/api/entries?limit=500&starred=true",
        "/api/entries?limit=500&q=bread",
        "/api/entries?limit=500&q=東京",
        "/api/webhooks",
        "/api/tokens",
        "/api/accounts",
    ] {
        let mut answer = server.get(path).await;
        if path == "/api/webhooks" {
            // How its receiver stands changes while it is tried.
            answer = answer
                .as_array()
                .unwrap()
                .iter()
                .map(|hook| json!([hook["id"], hook["url"], hook["eventTypes"]]))
                .collect();
        }
        if path == "/api/entries?limit=500&q=bread" {
            assert!(!answer["entries"].as_array().unwrap().is_empty());
        }
        seen[path] = answer;
    }
    seen
}

fn tables(printed: &Value) -> Vec<(String, u64)> {
    let table = |table: &Value| (table["table"].as_str().unwrap().to_owned(), table["rows"].as_u64().unwrap());
    printed.as_array().unwrap().iter().map(table).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_everything_moves_to_postgres_and_back_and_is_delivered_once() {
    let (scene, old, new) = (Scene::start().await, tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (database, nodes) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let sqlite = Data::Folder(old.path());
    let server = Server::start(sqlite, &QUICK);
    scene.fill(&server).await;
    let before = seen(&server).await;
    let refused = stderr(&on(sqlite, &["copy", "--to", database.url()]));
    assert!(refused.contains("another process uses"), "{refused}");
    server.terminate();
    let mistyped = database.url().replace("postgres", "postgress");
    let refused = stderr(&on(sqlite, &["copy", "--to", &mistyped]));
    assert!(refused.contains("is no address of a database"), "{refused}");
    // The test's own store is a node: it must be gone before the database can be filled.
    let refused = stderr(&on(sqlite, &["copy", "--to", database.url()]));
    assert!(refused.contains("stop all nodes first"), "{refused}");
    let url = database.leave();

    let copied = json_of(sqlite, &["copy", "--json", "--to", url.url()]);
    let rows = tables(&copied);
    assert!(rows.contains(&("entries".to_owned(), 60)) && rows.contains(&("deliveries".to_owned(), 60)), "{rows:?}");
    let moved = stderr(&on(sqlite, &["serve", "--listen", "127.0.0.1:0"]));
    assert!(moved.contains("was moved to PostgreSQL at 127.0.0.1"), "{moved}");
    let judged = stdout(&on(sqlite, &["doctor", "--listen", "127.0.0.1:0"]));
    assert!(judged.contains("copy --undo") && !judged.contains("you may write to"), "{judged}");
    let elsewhere = nodes.path().join("elsewhere");
    let refused = stderr(&on(sqlite, &["copy", "--to", elsewhere.to_str().unwrap()]));
    assert!(refused.contains("it was already moved to PostgreSQL"), "{refused}");
    let sent_by_old = scene.receiver.receipts(HOOK).count();

    scene.receiver.answer(HOOK, Page::status(200));
    let postgres = Data::Database(url.url(), nodes.path());
    let server = Server::start(postgres, &QUICK);
    assert_eq!(seen(&server).await, before);
    // Each arrives once, by the new one.
    let arrived = |receipts: &[testkit::Receipt]| delivered(&receipts[sent_by_old..]).len() == 60;
    let receipts = scene.receiver.receipts(HOOK).wait_until("all deliveries", arrived).await;
    assert!(receipts.iter().all(|receipt| receipt.is_verified == Some(true)));
    let pending = async || server.get("/api/outbox/overview").await["pending"] == 0;
    while !pending().await {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(scene.receiver.receipts(HOOK).count() - sent_by_old, 60, "none arrives twice");
    let before = seen(&server).await;
    server.terminate();

    // And back, with ids that go on.
    let back = Data::Folder(new.path());
    let folder = new.path().to_str().unwrap();
    let copied = ok(postgres, &["copy", "--to", folder]);
    assert!(copied.contains("all of it is in the folder"), "{copied}");
    assert!(stderr(&on(postgres, &["list"])).contains("was moved to the folder"));
    let server = Server::start(back, &QUICK);
    assert_eq!(seen(&server).await, before);
    let (_, folder) = server.call(Method::POST, "/api/folders", Some(json!({ "name": "Later" }))).await;
    assert_eq!(folder["id"], 2, "{folder}");
    server.terminate();

    assert_eq!(stdout(&on(sqlite, &["copy", "--undo"])), "the database can be used again\n");
    assert_eq!(json_of(sqlite, &["copy", "--undo", "--json"]), json!({ "wasMoved": false }));
    assert_eq!(json_of(sqlite, &["list", "--json"]).as_array().unwrap().len(), 2);
}

/// The ids of events that were taken.
fn delivered(receipts: &[testkit::Receipt]) -> std::collections::BTreeSet<String> {
    receipts.iter().map(|receipt| receipt.event_id().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_target_that_holds_something_or_is_half_full_is_no_place_to_serve_from() {
    let (old, nodes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sqlite = crate::program::made(old.path());
    let database = fresh_postgres().await.leave();
    let client = database.client().await;
    client.batch_execute("INSERT INTO folders (account_id, name, position) VALUES (1, 'mine', 1)").await.unwrap();
    let refused = stderr(&on(sqlite, &["copy", "--to", database.url()]));
    assert!(refused.contains("already holds"), "{refused}");
    // Broken off, it is as good as empty, and says so to whoever starts there.
    client.batch_execute("INSERT INTO maintenance (name, at) VALUES ('incomplete', 0)").await.unwrap();
    let postgres = Data::Database(database.url(), nodes.path());
    let refused = stderr(&on(postgres, &["serve", "--listen", "127.0.0.1:0"]));
    assert!(refused.contains("is not complete"), "{refused}");
    ok(sqlite, &["copy", "--to", database.url()]);
    assert_eq!(json_of(postgres, &["folder", "list", "--json"]), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_postgres_backup_is_made_while_it_runs_and_restored_into_either_store() {
    let (scene, folder) = (Scene::start().await, tempfile::tempdir().unwrap());
    let database = fresh_postgres().await.leave();
    let postgres = Data::Database(database.url(), folder.path());
    let server = Server::start(postgres, &QUICK);
    scene.fill(&server).await;
    let before = seen(&server).await;
    assert!(ok(postgres, &["doctor", "--listen", "127.0.0.1:0"]).contains("none was made yet"));
    let backup = folder.path().join("backup.db");
    let file = backup.to_str().unwrap();
    assert!(ok(postgres, &["backup", file]).starts_with(&format!("{file} written: ")));
    assert!(stderr(&on(postgres, &["backup", file])).contains("already exists: --force replaces it"));
    ok(postgres, &["backup", file, "--force"]);
    assert!(ok(postgres, &["doctor", "--listen", "127.0.0.1:0"]).contains("the last was made on"));
    let refused = stderr(&on(postgres, &["restore", file, "--replace"]));
    assert!(refused.contains("stop all nodes first"), "{refused}");
    server.call(Method::DELETE, "/api/feeds/1", None).await;
    server.terminate();

    let refused = stderr(&on(postgres, &["restore", file]));
    assert!(refused.contains("--replace"), "{refused}");
    let said = ok(postgres, &["restore", file, "--replace"]);
    assert!(said.ends_with(&format!("PostgreSQL restored from {file}\n")), "{said}");
    let restored = json_of(postgres, &["restore", file, "--replace", "--json"]);
    assert_eq!(restored, json!({ "database": "PostgreSQL", "file": file, "old": null }));
    let server = Server::start(postgres, &QUICK);
    assert_eq!(seen(&server).await, before);
    server.terminate();

    let other = tempfile::tempdir().unwrap();
    let restored = json_of(Data::Folder(other.path()), &["restore", file, "--json"]);
    assert_eq!(restored, json!({ "database": other.path().join("pirssonite.db"), "file": file, "old": null }));
    let server = Server::start(Data::Folder(other.path()), &[]);
    assert_eq!(seen(&server).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_sqlite_backup_is_restored_in_place() {
    let (scene, folder) = (Scene::start().await, tempfile::tempdir().unwrap());
    let data_folder = folder.path().join("data");
    let data = Data::Folder(&data_folder);
    let server = Server::start(data, &[]);
    scene.fill(&server).await;
    let before = seen(&server).await;
    let backup = folder.path().join("backup.db");
    let file = backup.to_str().unwrap();
    assert!(stderr(&on(data, &["backup", "-"])).contains("does not go into a pipe"));
    ok(data, &["backup", file]);
    assert!(ok(data, &["doctor", "--listen", "127.0.0.1:0"]).contains("the last was made on"));
    let refused = stderr(&on(data, &["restore", file, "--replace"]));
    assert!(refused.contains("another process uses"), "{refused}");
    server.call(Method::DELETE, "/api/feeds/1", None).await;
    server.terminate();

    assert!(stderr(&on(data, &["restore", file])).contains("--replace"));
    let damaged = folder.path().join("damaged.db");
    fs::write(&damaged, "no database ".repeat(1000)).unwrap();
    assert!(!on(data, &["restore", damaged.to_str().unwrap(), "--replace"]).status.success());
    assert_eq!(json_of(data, &["list", "--json"]).as_array().unwrap().len(), 1, "nothing was changed");
    let said = ok(data, &["restore", file, "--replace"]);
    assert!(said.contains("pirssonite.db.old"), "{said}");
    let server = Server::start(data, &[]);
    assert_eq!(seen(&server).await, before);
    server.terminate();

    // The wrong backup, and then the right one: what was there first is kept.
    let first = fs::read(data_folder.join("pirssonite.db.old")).unwrap();
    let said = ok(data, &["restore", file, "--replace"]);
    assert!(said.contains("pirssonite.db.old.2"), "{said}");
    assert!(fs::read(data_folder.join("pirssonite.db.old")).unwrap() == first, "it is another");
    let restored = json_of(data, &["restore", file, "--replace", "--json"]);
    assert_eq!(restored["old"], json!(data_folder.join("pirssonite.db.old.3")));
}
