//! chromedriver and the chromium that it starts: a new one, with nothing in it, for every test.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Running;

/// What chromium is told: to run without a screen, also as root, and to leave the network alone.
const FLAGS: [&str; 13] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--lang=en",
];

/// How often it is started: it ends if another takes the port that it has chosen.
const PORT_TRIES_MAX: u32 = 5;

/// What is said if there is no browser.
const MISSING: &str = "chromedriver cannot be started: `scripts/with-browser` installs chromium and chromium-driver";

/// A chromedriver that runs. It ends with this, and so does its chromium.
#[derive(Debug)]
pub(super) struct Chromium {
    _driver: Running,
    url: String,
    profile: TempDir,
}

impl Chromium {
    /// Starts chromedriver and waits until it listens.
    pub(super) fn start() -> Self {
        assert!(Command::new("chromedriver").arg("--version").output().is_ok(), "{MISSING}");
        let (driver, port) = (0..PORT_TRIES_MAX).find_map(|_| start_driver()).expect(MISSING);
        Self {
            _driver: driver,
            url: format!("http://127.0.0.1:{port}"),
            profile: tempfile::tempdir().expect("there is a place for temporary files"),
        }
    }

    /// Opens a window, which may note all that it asks for.
    pub(super) async fn open(&self, notes_requests: bool) -> Client {
        let capabilities = capabilities(self.profile.path(), notes_requests);
        let Value::Object(capabilities) = capabilities else { unreachable!("it is written as one") };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities).connect(&self.url).await.expect("chromium starts")
    }
}

/// A chromedriver that listens, and its port; none if it has ended.
fn start_driver() -> Option<(Running, u16)> {
    let mut command = Command::new("chromedriver");
    let mut driver = Running::start(command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut lines = BufReader::new(driver.process.stdout.take()?).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("started successfully on port ")?;
        rest.trim_end_matches('.').parse().ok()
    })?;
    // Somebody has to read what it says, or it could not say it.
    std::thread::spawn(move || lines.for_each(drop));
    Some((driver, port))
}

fn capabilities(profile: &Path, notes_requests: bool) -> Value {
    let requests = if notes_requests { "ALL" } else { "OFF" };
    let profile = format!("--user-data-dir={}", profile.display());
    let flags: Vec<&str> = FLAGS.into_iter().chain([profile.as_str()]).collect();
    json!({
        "browserName": "chrome",
        "goog:chromeOptions": { "args": flags },
        "goog:loggingPrefs": { "browser": "ALL", "performance": requests },
    })
}
