//! S4: a real client, Debian's newsboat, on each source that it has. It is installed by `scripts/test`; where it is missing,
//! these tests fail.

use std::{
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

use tokio::sync::watch;

use super::Reader;
use crate::{events::Events, raw::LONG};

/// How newsboat is told of an account.
fn config(source: &str, url: &str, token: &str) -> String {
    format!(
        "urls-source \"{source}\"\n{source}-url \"{url}\"\n{source}-login \"reader\"\n{source}-password \"{token}\"\n\
         auto-reload no\nreload-threads 1\nshow-read-feeds yes\nshow-read-articles yes\nconfirm-exit no\n\
         feed-sort-order none\narticle-sort-order title-asc\n{}",
        // Lists of its own before the feeds, which other sources have not.
        if source == "feedhq" { "feedhq-show-special-feeds no\n" } else { "" },
    )
}

/// newsboat with a folder of its own.
struct Newsboat {
    folder: tempfile::TempDir,
}

impl Newsboat {
    fn new(source: &str, url: &str, token: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), config(source, url, token)).unwrap();
        std::fs::write(folder.path().join("urls"), "").unwrap();
        Self { folder }
    }

    fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let named = [("-C", "config"), ("-u", "urls"), ("-c", "cache.db")];
        named.into_iter().flat_map(|(flag, name)| [flag.to_owned(), path(name)]).collect()
    }

    /// Runs it without a terminal.
    async fn run(&self, command: &str) -> String {
        let mut newsboat = Command::new("newsboat");
        newsboat.args(self.arguments()).args(["-x", command]);
        in_folder(&mut newsboat, self.folder.path());
        let run = tokio::task::spawn_blocking(move || newsboat.output().expect("newsboat is installed"));
        let output = tokio::time::timeout(LONG, run).await.expect("newsboat does not end").unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
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

/// Syncs, reads, marks one entry and then a feed, and syncs again.
async fn drive(reader: &Reader, source: &str, path: &str) {
    let (alpha, beta) = reader.filled().await;
    let boat = Newsboat::new(source, &format!("{}{path}", reader.server.url), &reader.token);
    boat.run("reload").await;
    let unread = boat.run("print-unread").await;
    assert!(unread.starts_with("5 "), "{unread}");
    let mut events = Events::of(reader.server.request("GET", "/api/events").header("cookie", &reader.cookie)).await;
    let mut terminal = boat.open();
    terminal.until("Beta").await;
    terminal.press("1\r\r");
    terminal.until("Alpha 1").await;
    terminal.press("1\rN");
    let marks = events.until("marks").await.data;
    let first = reader.entry("Alpha 1").await;
    assert_eq!((&marks["feedId"], &marks["ids"][0], &first["isRead"]), (&alpha.into(), &first["id"], &true.into()));
    // Newer ones ask whether that is meant.
    terminal.press("q2\rAy");
    let counts = loop {
        let counts = events.until("counts").await.data;
        if counts["byFeed"][beta.to_string()] == 0 {
            break counts;
        }
    };
    assert_eq!(counts["total"], 1, "and no other feed");
    drop(terminal);
    reader.mark("Beta 1", &serde_json::json!({ "isRead": false })).await;
    boat.run("reload").await;
    let unread = boat.run("print-unread").await;
    assert!(unread.starts_with("2 "), "what was marked elsewhere: {unread}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_newsboat_by_its_source_feedhq() {
    for reader in Reader::each().await {
        reader.filled().await;
        let boat = Newsboat::new("feedhq", &format!("{}/api/greader.php", reader.server.url), &reader.token);
        boat.run("reload").await;
        let unread = boat.run("print-unread").await;
        assert!(unread.starts_with("5 "), "{unread}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "versions of newsboat order their feeds differently: run by hand"]
async fn s4_newsboat_marks_on_a_terminal() {
    for reader in Reader::each().await {
        drive(&reader, "feedhq", "/api/greader.php").await;
    }
}
