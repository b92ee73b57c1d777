//! The demo's page behind the scenes.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::{
    axe::assert_accessible,
    browser::{WIDTHS, with_browser},
    program::Running,
};

/// Starts a demo; returns it with the address that it prints after this.
pub(crate) fn start(temporary: &std::path::Path, name: &str) -> (Running, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.args(["demo", "--listen", "127.0.0.1:0", "--every", "1s"]).env("TMPDIR", temporary);
    let mut running = Running::start(command.stdout(Stdio::piped()));
    let mut lines = BufReader::new(running.process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
    std::thread::spawn(move || lines.for_each(drop));
    (running, address.expect("it says where it is"))
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_demo_shows_posts_from_push_to_webhook() {
    let temporary = tempfile::tempdir().unwrap();
    let (_demo, url) = start(temporary.path(), "behind the scenes:");
    with_browser("demo", 1400, async |browser| {
        browser.open(&url).await;
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
        browser.assert_no_complaints().await;
    })
    .await;
}
