//! What `doctor` finds out about push (requirements U5, W3).

use serde_json::Value;
use testkit::{Behaviour, Page, Verify, fresh_postgres};

use super::{Scene, subscription_becomes, until};
use crate::{
    program::{ok, on, stdout},
    server::{Data, Place, Server},
};

/// What it says of one check: its mark and its words.
fn finding(data: Data<'_>, more: &[&str], check: &str) -> (String, String) {
    let output = on(data, &[&["doctor", "--listen", "127.0.0.1:0"], more].concat());
    let said = stdout(&output);
    let line = said.lines().find(|line| line[5..].trim_start().starts_with(check));
    let line = line.unwrap_or_else(|| panic!("nothing of {check}: {said}"));
    let (mark, words) = line.split_at(5);
    let is_wrong = said.lines().any(|line| line.starts_with("WRONG"));
    assert_eq!(output.status.code(), Some(i32::from(is_wrong)), "{said}");
    (mark.trim().to_owned(), words.trim()[check.len()..].trim().to_owned())
}

fn check(data: Data<'_>, more: &[&str], what: &str, mark: &str, words: &[&str]) {
    let (marked, said) = finding(data, more, what);
    assert_eq!(marked, mark, "{said}");
    assert!(words.iter().all(|expect| said.contains(expect)), "{words:?}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_w3_doctor_says_whether_hubs_reach_this_server() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::reserve());
    let data = Data::Folder(folder.path());
    check(data, &[], "base_url", "note", &["push is off", "no base_url is set"]);
    check(data, &["--base-url", &place.url()], "base_url", "note", &["shows when a server runs"]);

    let server = Server::start(data, &[]);
    check(data, &[], "base_url", "note", &["push is off"]);
    check(data, &["--base-url", &place.url()], "base_url", "note", &["started without it", "restart", &place.url()]);
    server.kill();

    let server = Server::start_at(&place, data, &[]);
    let leads_here = [&format!("{} leads to this server", place.url()), "127.0.0.1 is no public address"];
    check(data, &[], "base_url", "note", &leads_here);
    check(data, &[], "push", "ok", &["no feed names a hub yet"]);
    let output = on(data, &["doctor", "--json"]);
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let of_base_url = json["checks"].as_array().unwrap().iter().find(|check| check["check"] == "base_url").unwrap();
    assert!(json["ok"] == true && of_base_url["ok"] == true && of_base_url["note"] == true, "{json}");
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_w3_doctor_names_who_answers_instead() {
    let scene = Scene::start().await;
    let nobody = Place::reserve();
    let (folder, other_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let data = Data::Folder(folder.path());
    let other = Server::start(Data::Folder(other_folder.path()), &[]);
    let callback = "/api/websub/callback";
    scene.publisher.set(&format!("/moved{callback}"), Page::redirect(301, "https://e.org/"));
    // A proxy that lets only the callback through, and numbers requests in its own way.
    let ours = Page::body(r#"{"error": "hub.mode is missing"}"#).with_status(400).header("X-Request-Id", "abc-1");
    scene.publisher.set(&format!("/strict{callback}"), ours);
    for (base_url, mark, words) in [
        (nobody.url(), "WRONG", ["nobody answers", "Connection refused"]),
        ("http://no-such-host.invalid".to_owned(), "WRONG", ["nobody answers", "no-such-host.invalid"]),
        (other.url.clone(), "WRONG", ["another server", "let it lead to the server at"]),
        (scene.publisher.url("/elsewhere"), "WRONG", ["answers 404 Not Found", callback]),
        (scene.publisher.url("/moved"), "WRONG", ["redirects to https://e.org/", callback]),
        (scene.publisher.url("/strict/"), "note", ["leads to a piRSSonite", "does not show"]),
    ] {
        let server = Server::start(data, &["--base-url", &base_url]);
        check(data, &[], "base_url", mark, &words);
        drop(server);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_w3_doctor_accepts_nodes_of_one_database() {
    let database = fresh_postgres().await;
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third] = [0, 1, 2].map(|place| Data::Database(database.url(), folders[place].path()));
    let place = Place::reserve();
    let base_url = place.url();
    check(first, &["--base-url", &base_url], "base_url", "note", &["nobody answers"]);
    let _first = Server::start_at(&place, first, &[]);
    let _second = Server::start(second, &["--base-url", &base_url]);
    check(first, &[], "base_url", "note", &["leads to this server"]);
    check(second, &[], "base_url", "note", &["leads to a node"]);
    check(third, &["--base-url", &base_url], "base_url", "note", &["leads to a node"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_w9_doctor_lists_hubs_that_fail() {
    let (scene, place, folder) = (Scene::start().await, Place::reserve(), tempfile::tempdir().unwrap());
    let data = Data::Folder(folder.path());
    let server = Server::start_at(&place, data, &[]);
    ok(data, &["add", &scene.publish("/one", &["first"])]);
    subscription_becomes(&server, "active").await;
    check(data, &[], "push", "ok", &["1 active", "0 received, 0 missed"]);
    scene.hub.next(Behaviour { answer: Page::status(500), ..Behaviour::verifying(Verify::Never) });
    ok(data, &["add", &scene.publish("/two", &["second"])]);
    until("a failure", async || (server.log().contains("hub request failed")).then_some(())).await;
    until("it is stored", async || {
        let all = server.get("/api/websub/subscriptions").await;
        all.as_array().unwrap().iter().any(|subscription| subscription["lastError"].is_string()).then_some(())
    })
    .await;
    let words = [&scene.hub.url(), "1 of 2 subscriptions, of feed 2", "Hub subscription failed: 500"];
    check(data, &[], "hub", "note", &words);
    check(data, &[], "push", "ok", &["1 active, 1 pending"]);
}
