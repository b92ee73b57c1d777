//! S4: a real client, Debian's newsboat, on each of its sources that are served here. It is installed by `scripts/test`; where
//! it is missing, these tests fail.

use std::{
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::json;
use tokio::sync::watch;

use super::Reader;
use crate::{accounts::PASSWORD, events::Events, raw::LONG};

/// The sources that are served here, and what follows the server's address for each.
const SOURCES: [(&str, &str); 3] = [("feedhq", "/api/greader.php"), ("miniflux", ""), ("freshrss", "/api/greader.php")];

/// Debian's newsboat 2.21 has these; that of FreshRSS came with 2.24.
const ALWAYS_THERE: [&str; 2] = ["feedhq", "miniflux"];

/// How newsboat is told of an account.
async fn config(source: &str, url: &str, secret: &str) -> String {
    let mut config = format!(
        "urls-source \"{source}\"\n{source}-url \"{url}\"\n{source}-login \"reader\"\n{source}-password \"{secret}\"\n\
         auto-reload no\nreload-threads 1\nshow-read-feeds yes\nshow-read-articles yes\n\
         feed-sort-order title-asc\narticle-sort-order title-asc\n",
    );
    // Lists of its own among the feeds.
    let special = format!("{source}-show-special-feeds no\n");
    if Newsboat::knows(&special).await {
        config.push_str(&special);
    }
    config
}

/// newsboat with a folder of its own.
struct Newsboat {
    folder: tempfile::TempDir,
}

impl Newsboat {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), config).unwrap();
        std::fs::write(folder.path().join("urls"), "").unwrap();
        Self { folder }
    }

    /// Whether the one that is installed has this setting.
    async fn knows(setting: &str) -> bool {
        let boat = Self::new(setting);
        // Without any feed it has nothing to print.
        std::fs::write(boat.folder.path().join("urls"), "http://127.0.0.1:1/\n").unwrap();
        boat.output("print-unread").await.status.success()
    }

    fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let named = [("-C", "config"), ("-u", "urls"), ("-c", "cache.db")];
        named.into_iter().flat_map(|(flag, name)| [flag.to_owned(), path(name)]).collect()
    }

    /// Runs it without a terminal.
    async fn output(&self, command: &str) -> Output {
        let mut newsboat = Command::new("newsboat");
        newsboat.args(self.arguments()).args(["-x", command]);
        in_folder(&mut newsboat, self.folder.path());
        let run = tokio::task::spawn_blocking(move || newsboat.output().expect("newsboat is installed"));
        tokio::time::timeout(LONG, run).await.expect("newsboat does not end").unwrap()
    }

    async fn sync(&self) {
        let output = self.output("reload").await;
        assert!(output.status.success(), "{output:?}");
    }

    /// What it has that is unread, as far as it has heard.
    async fn unread(&self) -> u64 {
        let output = self.output("print-unread").await;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = said.split(' ').next().and_then(|number| number.parse().ok());
        number.unwrap_or_else(|| panic!("{output:?}"))
    }

    /// Opens it on a terminal.
    fn open(&self) -> Terminal {
        let command = format!("newsboat {}", self.arguments().join(" "));
        let mut script = Command::new("script");
        script.args(["-qfc", &command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        in_folder(&mut script, self.folder.path());
        Terminal::of(script.spawn().expect("`script` gives it a terminal"))
    }
}

fn in_folder(command: &mut Command, folder: &Path) {
    command.env("HOME", folder).env("XDG_CONFIG_HOME", folder).env("XDG_DATA_HOME", folder);
    command.env("TERM", "xterm").env("LINES", "40").env("COLUMNS", "120").env("LC_ALL", "C.UTF-8");
}

/// A program on a terminal: what it has shown so far, and its keyboard.
struct Terminal {
    child: Child,
    shown: watch::Receiver<String>,
}

impl Terminal {
    fn of(mut child: Child) -> Self {
        let mut output = child.stdout.take().unwrap();
        let (sender, shown) = watch::channel(String::new());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                sender.send_modify(|shown| shown.push_str(&String::from_utf8_lossy(&bytes[..read])));
            }
        });
        Self { child, shown }
    }

    /// Waits until it has shown this.
    async fn until(&mut self, text: &str) {
        let shows = self.shown.wait_for(|shown| shown.contains(text));
        let is_shown = matches!(tokio::time::timeout(LONG, shows).await, Ok(Ok(_)));
        assert!(is_shown, "no {text:?} in {:?}", self.shown.borrow().as_str());
    }

    fn press(&mut self, keys: &str) {
        let keyboard = self.child.stdin.as_mut().unwrap();
        keyboard.write_all(keys.as_bytes()).unwrap();
        keyboard.flush().unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Its terminal goes with it, and newsboat with that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Syncs, marks one entry and then the other feed, each seen by an open page, and syncs what was marked elsewhere. Versions
/// differ in what they list first.
async fn drive(reader: &Reader, source: &str, path: &str, secret: &str) {
    let feeds: [(i64, &str, u64); 2] = {
        let (alpha, beta) = reader.filled().await;
        [(alpha, "Alpha", 2), (beta, "Beta", 3)]
    };
    let boat = Newsboat::new(&config(source, &format!("{}{path}", reader.server.url), secret).await);
    boat.sync().await;
    assert_eq!(boat.unread().await, 5, "{source}");
    let mut events = Events::of(reader.server.request("GET", "/api/events").header("cookie", &reader.cookie)).await;
    let mut terminal = boat.open();
    terminal.until("Beta").await;
    // The first feed, and its first entry.
    terminal.press("1\r\r1\rN");
    let marks = events.until("marks").await.data;
    let is_first = |feed: &&(i64, &str, u64)| marks["feedId"] == feed.0;
    let (first, other) = (feeds.iter().find(is_first).unwrap(), feeds.iter().find(|feed| !is_first(feed)).unwrap());
    assert_eq!(marks["ids"].as_array().unwrap().len(), 1, "{source}: {marks}");
    let marked = reader.get(&format!("/api/entries/{}", marks["ids"][0])).await;
    assert_eq!(marked["isRead"], true, "{source}: {marked}");
    // Newer ones ask whether all of the feed is meant.
    terminal.press("q2\rAy");
    let counts = loop {
        let counts = events.until("counts").await.data;
        if counts["byFeed"][other.0.to_string()] == 0 {
            break counts;
        }
    };
    assert_eq!(counts["total"], first.2 - 1, "{source}: and no other feed");
    drop(terminal);
    reader.mark(&format!("{} 1", other.1), &json!({ "isRead": false })).await;
    boat.sync().await;
    assert_eq!(boat.unread().await, first.2, "{source}: with what was marked elsewhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_newsboat_by_each_of_its_sources() {
    let mut driven = Vec::new();
    for (source, path) in SOURCES {
        if !Newsboat::knows(&format!("{source}-url \"http://127.0.0.1:1/\"\n")).await {
            continue;
        }
        for (number, reader) in Reader::each().await.iter().enumerate() {
            // By either of the two that let in.
            let secret = if (number + driven.len()).is_multiple_of(2) { PASSWORD } else { &*reader.token };
            drive(reader, source, path, secret).await;
        }
        driven.push(source);
    }
    assert!(ALWAYS_THERE.iter().all(|source| driven.contains(source)), "newsboat knows only {driven:?}");
}
