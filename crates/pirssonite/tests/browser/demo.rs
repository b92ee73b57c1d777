//! The demo from start to end: its page behind the scenes, its reader, its dashboards.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::{
    axe::assert_accessible,
    browser::{Browser, DESK, WIDTHS, with_browser},
    program::Running,
};

/// A demo, with the addresses of its reader and of its control page.
pub(crate) struct Demo {
    running: Running,
    pub(crate) reader: String,
    beside: String,
}

pub(crate) fn start(temporary: &std::path::Path) -> Demo {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.args(["demo", "--listen", "127.0.0.1:0", "--every", "1s"]).env("TMPDIR", temporary);
    let mut running = Running::start(command.stdout(Stdio::piped()));
    let mut lines = BufReader::new(running.process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut address = |what: &str| lines.find_map(|line| Some(line.strip_prefix(what)?.trim().to_owned()));
    let (reader, beside) = (address("the reader:"), address("behind the scenes:"));
    std::thread::spawn(move || lines.for_each(drop));
    let said = "it says where it is";
    Demo { running, reader: reader.expect(said), beside: beside.expect(said) }
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_demo_shows_posts_from_push_to_page_to_webhook_until_its_end() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = start(temporary.path());
    with_browser("demo", DESK, async |browser| {
        behind_the_scenes(&demo, browser).await;
        read(&demo, browser).await;
        end(&demo, browser).await;
        browser.assert_no_complaints().await;
    })
    .await;
    let mut running = demo.running;
    assert!(running.process.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "it left something behind");
}

async fn behind_the_scenes(demo: &Demo, browser: &Browser) {
    browser.open(&demo.beside).await;
    browser.says("#published", "The Harbour Log").await;
    browser.says("#subscriptions", "/harbour/feed.xml").await;
    browser.says("#receipts", "signature verified").await;
    browser.says("#receipts", "entry.created").await;
    // The buttons do what they say, and then offer the opposite.
    for (button, state, says) in [
        ("silence-hub", "#hub-state", "Silent"),
        ("wake-hub", "#hub-state", "It pushes"),
        ("refuse", "#receiver-state", "503"),
        ("accept", "#receiver-state", "accepts"),
        ("repair-press", "#press", "works"),
        ("break-press", "#press", "503"),
    ] {
        browser.click(&format!("form[action='/control/{button}'] button")).await;
        browser.says(state, says).await;
    }
    for width in WIDTHS {
        browser.resize(width).await;
        browser.assert_fits().await;
        assert_accessible(browser).await;
    }
}

/// A post comes by itself, and is read; the dashboards show how it came and where it went.
async fn read(demo: &Demo, browser: &Browser) {
    browser.resize(DESK).await;
    browser.open(&demo.reader).await;
    browser.says("#news", "new").await;
    browser.press(".jo").await;
    browser.find("article .title").await;
    browser.ready().await;
    assert_accessible(browser).await;
    for (path, says) in [("/push", "active"), ("/webhooks", "enabled"), ("/status", "503")] {
        browser.click(&format!(".foot a[href='{path}']")).await;
        browser.says("#main", says).await;
    }
}

/// It ends, and the page says that nobody is there.
async fn end(demo: &Demo, browser: &Browser) {
    browser.open(&demo.reader).await;
    browser.ready().await;
    demo.running.signal("-INT");
    browser.says("#status .lasting", "The connection is lost.").await;
}
