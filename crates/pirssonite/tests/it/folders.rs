//! `pirssonite folder`, `move`, `rename` and `remove`: feeds and folders as people name them (requirements F6, U5).

use serde_json::{Value, json};
use testkit::{Page, Publisher, fresh_postgres};

use crate::{
    program::{json_of, made, ok, on, stderr},
    server::{Data, Server},
};

/// That it fails, and why.
#[track_caller]
fn refused(data: Data<'_>, arguments: &[&str], says: &str) {
    let output = on(data, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
}

async fn put_in_order(data: Data<'_>) {
    let publisher = Publisher::start().await;
    for (path, title) in [("/a", "Issue 10"), ("/b", "issue 9"), ("/c", "Äpfel")] {
        publisher.set(path, Page::body(format!("<rss><channel><title>{title}</title></channel></rss>")));
    }
    let (a, b, c) = (publisher.url("/a"), publisher.url("/b"), publisher.url("/c"));
    assert!(ok(data, &["folder"]).contains("no folders yet"));
    assert_eq!(ok(data, &["folder", "add", "Daily"]), "added folder 1: Daily\n");
    assert_eq!(json_of(data, &["folder", "add", " 1 ", "--json"])["name"], "1");
    refused(data, &["folder", "add", "Daily"], "another folder has this name");

    // By name, by name in another case, by id; a new name is made, a number is not.
    ok(data, &["add", &a, "--folder", "Daily"]);
    ok(data, &["add", &b, "--folder", "daily"]);
    refused(
        data,
        &["add", &c, "--folder", "7"],
        "there is no folder 7; to make one of that name, `pirssonite folder add 7`",
    );
    refused(
        data,
        &["add", &c, "--folder", "1"],
        "1 may mean more than one folder; write one of id:2 (1), id:1 (Daily)",
    );
    ok(data, &["add", &c, "--folder", "Weekly"]);
    assert_eq!(json_of(data, &["folder", "list", "--json"]).as_array().unwrap().len(), 3);
    let listed = ok(data, &["list"]);
    let ids: Vec<&str> = listed.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(ids, ["2", "1", "3"], "by folder, and by title as people sort: {listed}");
    assert!(listed.lines().next().unwrap().contains(&format!("issue 9   Daily   {b}")), "{listed}");
    assert_eq!(json_of(data, &["list", "--folder", "WEEKLY", "--json"]).as_array().unwrap().len(), 1);
    refused(data, &["list", "--folder", "None"], "there is no folder None; there are Daily, 1, Weekly");

    assert_eq!(ok(data, &["move", "issue 9", &a, "--folder", "weekly"]).lines().count(), 2);
    assert_eq!(json_of(data, &["move", "1", "--no-folder", "--json"])[0]["folderId"], Value::Null);
    refused(data, &["move", "1", "--folder", "Nowhere"], "there is no folder Nowhere");
    refused(data, &["move", "2", "99", "--folder", "Daily"], "there is no feed 99");
    assert_eq!(json_of(data, &["list", "--folder", "Weekly", "--json"]).as_array().unwrap().len(), 2, "none was moved");
    assert_eq!(ok(data, &["rename", "1", " My  own "]), "feed 1 is called My own now\n");
    assert_eq!(json_of(data, &["rename", "my own", "--reset", "--json"])["customTitle"], Value::Null);
    assert_eq!(on(data, &["rename", "1"]).status.code(), Some(2));

    let id = json_of(data, &["folder", "rename", "weekly", "Sundays", "--json"])["id"].clone();
    assert_eq!(ok(data, &["folder", "rename", "Sundays", "Sundays"]), format!("folder {id} is called Sundays now\n"));
    refused(data, &["folder", "rename", "Sundays", "Daily"], "has this name already");
    let webhook =
        json_of(data, &["webhook", "add", "https://8.8.8.8/", "--folder", "sundays", "--feed", "Issue 10", "--json"]);
    assert_eq!((&webhook["folderIds"], &webhook["feedIds"]), (&json!([id]), &json!([1])));
    refused(data, &["webhook", "add", "https://8.8.8.8/", "--folder", "Nowhere"], "there is no folder Nowhere");
    assert_eq!(
        ok(data, &["folder", "remove", "Sundays"]),
        format!("removed folder {id}: Sundays; 2 feeds are kept, in no folder\n")
    );
    assert_eq!(json_of(data, &["folder", "remove", "id:2", "--json"]), json!({ "removed": 2 }));

    refused(data, &["remove", "1", "nothing"], "there is no feed nothing");
    assert_eq!(ok(data, &["remove", "ISSUE 9"]), format!("removed feed 2 and its entries: issue 9 ({b})\n"));
    assert_eq!(json_of(data, &["remove", "1", &c, "--json"]), json!({ "removed": [1, 3] }));
    assert!(ok(data, &["list"]).contains("no feeds yet"));
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_f6_folders_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    put_in_order(made(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_f6_folders_by_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let _server = Server::start(data, &[]);
    put_in_order(data).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_f6_folders_on_postgres() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    put_in_order(Data::Database(database.url(), folder.path())).await;
}
