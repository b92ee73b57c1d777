//! What `doctor` says where things are not as they should be (requirements U5, U6).

use std::{
    fs,
    process::{Command, Output},
    time::Duration,
};

use serde_json::json;
use testkit::{Page, Publisher};

use crate::{
    program::{answer, json_of, made, ok, on, stderr, stdout},
    server::{Data, Place, Server},
};

/// How long a server may take to notice that nothing answers.
const NOTICED_MAX: Duration = Duration::from_mins(3);

const FEED: &str = "<rss><channel><title>News</title></channel></rss>";

fn doctor(data: Data<'_>) -> Output {
    on(data, &["doctor", "--listen", "127.0.0.1:0"])
}

/// The same where no file may become longer than 50 KiB: enough for the database to be opened and read.
fn doctor_on_full_disk(data: Data<'_>) -> Output {
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_pirssonite"), "doctor", "--listen", "127.0.0.1:0"]);
    command.args(data.flags()).output().unwrap()
}

fn check(output: &Output, is_well: bool, words: &[&str]) {
    let said = stdout(output);
    assert_eq!(output.status.code(), Some(i32::from(!is_well)), "{said}{}", stderr(output));
    assert!(words.iter().all(|expect| said.contains(expect)), "{words:?}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_u6_doctor_notices_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    let expect = ["WRONG  database", "nothing more can be written to", "make room"];
    check(&doctor(data), true, &["can be used"]);
    check(&doctor_on_full_disk(data), false, &expect);
    let server = Server::start(data, &[]);
    check(&doctor_on_full_disk(data), false, &expect);
    check(&doctor(data), true, &["can be used"]);
    drop(server);
    assert!(!folder.path().join("doctor.tmp").exists());
}

#[test]
fn u5_u6_doctor_asks_the_server_whether_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let reply = |status: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    let (url, server) = answer(vec![
        reply("200 OK", r#"{"instance": "me"}"#),
        reply("200 OK", "[]"),
        reply("503 Service Unavailable", r#"{"error": "the store is not available now"}"#),
        reply("200 OK", "[]"),
    ]);
    fs::write(folder.path().join("server.url"), format!("{url}\nme\n\n")).unwrap();
    let output = doctor(Data::Folder(folder.path()));
    check(&output, false, &["WRONG  database", "is not ready: the store is not available now; why, its log says"]);
    assert!(server.join().unwrap()[2].starts_with("GET /readyz "));
}

#[test]
fn u5_doctor_advises_on_damaged_database() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pirssonite.db"), "no database ".repeat(1000)).unwrap();
    let output = doctor(Data::Folder(folder.path()));
    check(&output, false, &["WRONG  database", "is damaged", "move the folder", "backup"]);
    assert!(!stdout(&output).contains("you may write to"), "{}", stdout(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_doctor_and_status_count_alike() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let publisher = Publisher::start().await;
    for path in ["/fine", "/failing", "/gone"] {
        publisher.set(path, Page::body(FEED.replace("News", path)));
        ok(data, &["add", &publisher.url(path)]);
    }
    publisher.set("/failing", Page::status(500));
    publisher.set("/gone", Page::status(410));
    ok(data, &["refresh", "--all"]);
    let status = json_of(data, &["status", "--json"]);
    assert_eq!((&status["failing"], &status["gone"]), (&json!(1), &json!(1)));
    let expect = ["3, of which 1 fails and 1 is gone:", "everything works here; 1 feed fails: see `pirssonite list`"];
    check(&doctor(data), true, &expect);
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_u6_outage_is_named_and_blames_no_feed() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let server = Server::start(data, &[]);
    check(&doctor(data), true, &["all is well"]);
    // Nobody listens at any of them: most hosts fail in the same way.
    let places: Vec<Place> = (0..5).map(|_| Place::reserve()).collect();
    let outlines: String = places.iter().map(|place| format!("<outline xmlUrl='{}/feed'/>", place.url())).collect();
    let opml = folder.path().join("feeds.opml");
    fs::write(&opml, format!("<opml><body>{outlines}</body></opml>")).unwrap();
    ok(data, &["import", "--no-wait", &opml.display().to_string()]);
    let noticed = async {
        loop {
            let ready = server.get("/readyz").await;
            if ready.get("outage").is_some() {
                return ready;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let ready = tokio::time::timeout(NOTICED_MAX, noticed).await.expect("the outage is noticed");
    assert_eq!((&ready["status"], &ready["outage"]["reason"]), (&json!("ready"), &json!("no host takes a connection")));
    let status = json_of(data, &["status", "--json"]);
    assert_eq!(status["outage"]["reason"], ready["outage"]["reason"]);
    // Those that were asked before three hosts were known may be: one or two are no sign of an outage.
    let blamed = status["failing"].as_u64().unwrap();
    assert!(blamed <= 2, "{status}");
    assert!(ok(data, &["status"]).contains("outage      no host takes a connection"));
    check(&doctor(data), false, &["WRONG  network", "no host takes a connection"]);
}
