//! `pirssonite import`: what is stored, what is fetched, what is said, and how it ends (requirements U5, F6).

use std::{
    fs,
    io::Read,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Gate, Page, Publisher, fresh_postgres};

use crate::{
    program::{Background, Running, json_of, ok, on, stderr, stdout},
    server::{Data, Server},
};

const FEED: &str = "<rss version='2.0'><channel><title>News</title><item><guid>1</guid><title>One</title></item>\
    <item><guid>2</guid><title>Two</title></item></channel></rss>";

/// A folder with a file that lists feeds.
struct List {
    folder: TempDir,
}

impl List {
    fn of(urls: &[&str]) -> Self {
        let list = Self { folder: tempfile::tempdir().unwrap() };
        list.write(urls);
        list
    }

    fn write(&self, urls: &[&str]) {
        let outlines: String = urls.iter().map(|url| format!("<outline xmlUrl='{url}'/>")).collect();
        fs::write(self.file(), format!("<opml>{outlines}</opml>")).unwrap();
    }

    fn file(&self) -> String {
        self.folder.path().join("feeds.opml").display().to_string()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

/// The same with a server and without.
fn check_that_it_fetches(publisher: &Publisher, list: &List, data: Data<'_>) {
    for path in ["/a", "/b", "/c"] {
        publisher.set(path, Page::body(FEED));
    }
    let [a, b, c, missing] = ["/a", "/b", "/c", "/missing"].map(|path| publisher.url(path));
    list.write(&[&a, &missing, "ftp://e.org/"]);
    let report = json_of(data, &["import", &list.file(), "--json"]);
    let errors = json!([{ "url": "ftp://e.org/", "error": "only http and https feeds can be read, not ftp" }]);
    let expect = json!({ "imported": 2, "skipped": 0, "errors": errors, "fetched": 1, "failed": 1, "waiting": 0, "newEntries": 2 });
    assert_eq!(report, expect);
    assert_eq!((publisher.requests("/a").len(), publisher.requests("/missing").len()), (1, 1));

    list.write(&[&a, &b, "ftp://e.org/"]);
    let said = ok(data, &["import", &list.file()]);
    let expect = "problem: ftp://e.org/: only http and https feeds can be read, not ftp\n\
         1 imported, 1 already there, 1 problem\n1 fetched, 0 failed; 2 new entries\n";
    assert_eq!(said, expect);
    assert_eq!(publisher.requests("/a").len(), 1, "what was there is not fetched again");

    list.write(&[&c]);
    let said = ok(data, &["import", &list.file(), "--no-wait"]);
    assert!(said.starts_with("1 imported, 0 already there, 0 problems\n1 not fetched yet: "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_import_without_a_server_fetches_what_it_imported() {
    let list = List::of(&[]);
    let folder = list.data();
    let data = Data::Folder(&folder);
    let publisher = Publisher::start().await;
    check_that_it_fetches(&publisher, &list, data);
    assert!(ok(data, &["list"]).contains("not fetched yet"), "what was not waited for is left to the next refresh");
    assert_eq!(ok(data, &["refresh"]), "1 feed polled: 1 fetched, 0 unchanged, 0 failed; 2 new entries, 0 changed\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_import_watches_the_server_fetch_what_it_imported() {
    let list = List::of(&[]);
    let folder = list.data();
    let data = Data::Folder(&folder);
    let _server = Server::start(data, &[]);
    let publisher = Publisher::start().await;
    check_that_it_fetches(&publisher, &list, data);
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_import_into_web_node_promises_nothing() {
    let (database, list) = (fresh_postgres().await, List::of(&["http://127.0.0.1:1/"]));
    let folder = list.data();
    let data = Data::Database(database.url(), &folder);
    let _server = Server::start(data, &["--role", "web"]);
    let said = ok(data, &["import", &list.file(), "--no-wait"]);
    assert!(said.ends_with("1 not fetched yet: a worker fetches them, if one runs\n"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_import_shows_on_a_terminal_how_far_it_is() {
    for is_served in [false, true] {
        let publisher = Publisher::start().await;
        let gate = Gate::default();
        publisher.set("/quick", Page::body(FEED));
        publisher.set("/slow", Page::body(FEED).behind(&gate));
        let list = List::of(&[&publisher.url("/quick"), &publisher.url("/slow")]);
        let folder = list.data();
        let server = is_served.then(|| Server::start(Data::Folder(&folder), &[]));
        let program = env!("CARGO_BIN_EXE_pirssonite");
        let command =
            format!("{program} import {} --data-dir {} --allow-networks 127.0.0.0/8", list.file(), folder.display());
        // It gives the command a terminal, and prints what appears there.
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
        let mut terminal = Running::start(terminal.stdout(Stdio::piped()));
        let mut screen = terminal.process.stdout.take().unwrap();
        let mut shown = Vec::new();
        let mut wait_for = |what: &str| {
            while !String::from_utf8_lossy(&shown).contains(what) {
                let mut more = [0; 1024];
                let length = screen.read(&mut more).unwrap_or_default();
                assert!(length > 0, "{what} was not shown: {}", String::from_utf8_lossy(&shown));
                shown.extend_from_slice(&more[..length]);
            }
        };
        wait_for("fetching");
        wait_for("1/2");
        gate.open();
        wait_for("2 imported, 0 already there, 0 problems");
        wait_for("2 fetched, 0 failed; 4 new entries");
        drop(server);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_import_interrupted_keeps_what_it_has() {
    let publisher = Publisher::start().await;
    publisher.set("/quick", Page::body(FEED));
    publisher.set("/never", Page::hang());
    let list = List::of(&[&publisher.url("/quick"), &publisher.url("/never")]);
    let folder = list.data();
    let data = Data::Folder(&folder);
    let import = Background::start(data, &["import", &list.file(), "--json"]);
    publisher.asked("/never", 1).await;
    import.interrupt();
    let (status, printed, said) = import.end();
    assert_eq!(status.code(), Some(130), "{said}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&report["imported"], &report["failed"]), (&json!(2), &json!(0)), "{report}");
    // The other goes on where it was.
    publisher.set("/never", Page::body(FEED));
    ok(data, &["refresh"]);
    assert_eq!(json_of(data, &["status", "--json"])["unread"], 4);
}

#[test]
fn u5_import_fails_if_every_outline_is_refused() {
    let list = List::of(&["ftp://e.org/", "nonsense"]);
    let folder = list.data();
    let data = Data::Folder(&folder);
    let code = |arguments: &[&str]| on(data, arguments).status.code();
    let refused = on(data, &["import", &list.file()]);
    assert_eq!((refused.status.code(), stdout(&refused).contains("0 imported")), (Some(1), true));
    assert_eq!(code(&["import", &list.file(), "--json"]), Some(1));
    list.write(&["ftp://e.org/", "http://127.0.0.1:1/"]);
    assert_eq!(code(&["import", &list.file(), "--no-wait"]), Some(0), "one of them is a feed");
    assert_eq!(code(&["import", &list.file(), "--no-wait"]), Some(0), "and then it is there already");
    list.write(&[]);
    assert_eq!(code(&["import", &list.file()]), Some(0), "an empty list is none that is refused");
    fs::write(list.file(), "hello").unwrap();
    let no_opml = on(data, &["import", &list.file()]);
    assert_eq!((no_opml.status.code(), stderr(&no_opml).contains("not an OPML file")), (Some(1), true));
    assert_eq!(code(&["import", "/no/such/file"]), Some(1));
}
