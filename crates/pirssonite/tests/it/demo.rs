//! `pirssonite demo`, the real program: a post travels from push to API to webhook, what fails is seen, and it ends without
//! a trace (requirement U5).

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use reqwest::Method;
use serde_json::Value;

use crate::{
    program::{Running, stderr},
    server::client,
};

/// How long a test waits for what never comes.
const WAIT_MAX: Duration = Duration::from_mins(3);

/// Time between two looks at what gives no sign.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// A demo that runs, its temporary files in a folder of the test's.
struct Demo {
    running: Running,
    /// The server's address, and that of the control page.
    server: String,
    beside: String,
}

impl Demo {
    /// Starts it and waits until it says where it is.
    fn start(temporary: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
        command.args(["demo", "--listen", "127.0.0.1:0", "--every", "1s"]).args(more);
        // What somebody has set for a server of his own is not the demo's.
        command.env("PIRSSONITE_DATABASE_URL", "postgres://nobody@127.0.0.1:1/none").env("TMPDIR", temporary);
        let mut running = Running::start(command.stdout(Stdio::piped()));
        let mut lines = BufReader::new(running.process.stdout.take().unwrap()).lines();
        let mut address = |what: &str| {
            let line = lines.next().expect("it says where it is").unwrap();
            let url = line.strip_prefix(what).unwrap_or_else(|| panic!("{line}")).trim();
            url.trim_end_matches('/').to_owned()
        };
        let (server, beside) = (address("the reader:"), address("behind the scenes:"));
        // Somebody has to read what it says, or it could not say it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { running, server, beside }
    }

    async fn get(&self, url: &str) -> Value {
        let answer = client().get(url).send().await.expect("it answers");
        let (status, text) = (answer.status(), answer.text().await.expect("it answers to the end"));
        assert!(status.is_success(), "{url}: {status} {text}");
        serde_json::from_str(&text).expect("it answers JSON")
    }

    async fn api(&self, path: &str) -> Value {
        self.get(&format!("{}{path}", self.server)).await
    }

    async fn state(&self) -> Value {
        self.get(&format!("{}/state", self.beside)).await
    }

    /// As a button of the control page does.
    async fn press(&self, button: &str) {
        let origin = self.beside.clone();
        let url = format!("{}/control/{button}", self.beside);
        let answer = client().request(Method::POST, url).header("origin", origin).send().await.expect("it answers");
        assert!(answer.status().is_success(), "{button}: {}", answer.status());
    }

    /// Looks at something until it shows what is waited for.
    async fn wait<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let looking = async {
            loop {
                if let Some(found) = look().await {
                    return found;
                }
                tokio::time::sleep(LOOK_PAUSE).await;
            }
        };
        tokio::time::timeout(WAIT_MAX, looking).await.unwrap_or_else(|_| panic!("waited for {what}"))
    }

    /// Sends a signal, and waits for the end.
    fn end(mut self, signal: &str) {
        self.running.signal(signal);
        let status = self.running.process.wait().expect("it ends");
        assert!(status.success(), "{signal}: {status}");
    }
}

/// The subscription of a feed of this title.
async fn subscription_of(demo: &Demo, title: &str) -> Option<Value> {
    let feeds = demo.api("/api/feeds").await;
    let feed = feeds.as_array()?.iter().find(|feed| feed["title"] == title)?;
    Some(feed["subscription"].clone()).filter(|subscription| !subscription.is_null())
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_demo_post_travels_from_push_to_api_to_webhook() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = Demo::start(temporary.path(), &[]);
    let feeds = demo.api("/api/feeds").await;
    assert!(feeds.as_array().unwrap().len() >= 12, "{feeds}");
    assert!(demo.api("/api/folders").await.as_array().unwrap().len() >= 5);
    assert_eq!(names_in(temporary.path()).len(), 1);

    // Pushed, not polled: the subscription counts it.
    let pushed = demo.wait("a push", async || {
        let subscription = subscription_of(&demo, "The Harbour Log").await?;
        (subscription["pushCount"].as_u64()? > 0).then_some(subscription)
    });
    assert_eq!(pushed.await["isActive"], true);
    // In the API, and at the receiver with a good signature.
    let receipt = demo.wait("a webhook", async || {
        let state = demo.state().await;
        let receipts = state["receipts"].as_array()?.clone();
        receipts
            .into_iter()
            .find(|receipt| receipt["eventType"] == "entry.created" && receipt["feed"] == "The Harbour Log")
    });
    let receipt = receipt.await;
    assert_eq!((&receipt["isSignatureGood"], &receipt["status"]), (&Value::Bool(true), &204.into()), "{receipt}");
    let entries = demo.api("/api/entries?limit=200").await;
    let entry = entries["entries"].as_array().unwrap().iter().find(|entry| entry["url"] == receipt["url"]);
    let content = entry.expect("it is stored")["content"].as_str().unwrap().to_owned();
    assert!(!content.is_empty());

    // One feed fails, and it is said why.
    let failing = demo.wait("a feed that fails", async || {
        let feeds = demo.api("/api/feeds").await;
        feeds.as_array()?.iter().find(|feed| feed["failureCount"].as_u64() > Some(0)).cloned()
    });
    let failing = failing.await;
    assert_eq!(failing["title"], "A Gazeta que Falha");
    assert!(failing["lastError"].as_str().unwrap().contains("503"), "{failing}");
    // What the original looks like, for whoever opens it.
    let original = client().get(receipt["url"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(original.status().as_u16(), 200);
    demo.end("-TERM");
    assert_eq!(names_in(temporary.path()), Vec::<String>::new(), "it ends without a trace");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_w12_demo_hub_that_falls_silent_is_noticed_and_polled() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = Demo::start(temporary.path(), &[]);
    let pushed = demo.wait("a push", async || {
        subscription_of(&demo, "The Harbour Log")
            .await
            .filter(|subscription| subscription["pushCount"].as_u64() > Some(0))
    });
    pushed.await;
    demo.press("silence-hub").await;
    // Two misses in a row: from then on it is polled. The hub still verifies and renews.
    let missed = demo.wait("two misses", async || {
        subscription_of(&demo, "The Harbour Log")
            .await
            .filter(|subscription| subscription["missCount"].as_u64() > Some(1))
    });
    let missed = missed.await;
    assert_eq!(missed["isActive"], true, "{missed}");
    // What is published now arrives all the same.
    let published = demo.wait("a post of the silent time", async || {
        let state = demo.state().await;
        let post = state["published"].as_array()?.iter().find(|post| post["feed"] == "The Harbour Log").cloned();
        post.filter(|post| post["at"].as_str() > missed["lastPushAt"].as_str())
    });
    let url = published.await["url"].clone();
    demo.wait("it, polled", async || {
        let entries = demo.api("/api/entries?limit=200&content=false").await;
        entries["entries"].as_array()?.iter().find(|entry| entry["url"] == url).cloned()
    })
    .await;
    demo.press("wake-hub").await;
    let count = missed["pushCount"].as_u64();
    demo.wait("a push again", async || {
        subscription_of(&demo, "The Harbour Log").await.filter(|now| now["pushCount"].as_u64() > count)
    })
    .await;
    demo.end("-INT");
    assert_eq!(names_in(temporary.path()), Vec::<String>::new(), "it ends without a trace");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_d8_demo_receiver_that_refuses_is_tried_again() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = Demo::start(temporary.path(), &[]);
    demo.press("refuse").await;
    let refused = demo.wait("a refusal", async || {
        let state = demo.state().await;
        state["receipts"].as_array()?.iter().find(|receipt| receipt["status"] == 503).cloned()
    });
    let event = refused.await["eventId"].clone();
    demo.press("accept").await;
    let delivered = demo.wait("its delivery", async || {
        let state = demo.state().await;
        let is_it = |receipt: &&Value| receipt["eventId"] == event && receipt["status"] == 204;
        state["receipts"].as_array()?.iter().find(is_it).cloned()
    });
    let delivered = delivered.await;
    assert_eq!(delivered["isSignatureGood"], true, "{delivered}");
    demo.end("-HUP");
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_demo_that_was_killed_is_cleaned_up_by_the_next() {
    let temporary = tempfile::tempdir().unwrap();
    let mut killed = Demo::start(temporary.path(), &[]);
    killed.running.process.kill().unwrap();
    killed.running.process.wait().unwrap();
    let left = names_in(temporary.path());
    assert_eq!(left.len(), 1, "a kill leaves it");
    let running = Demo::start(temporary.path(), &[]);
    let other = Demo::start(temporary.path(), &[]);
    let names = names_in(temporary.path());
    assert_eq!((names.len(), names.contains(&left[0])), (2, false), "and one that runs is left alone");
    running.end("-TERM");
    other.end("-TERM");
    assert_eq!(names_in(temporary.path()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_u8_demo_is_for_this_machine_and_its_own_pages() {
    let temporary = tempfile::tempdir().unwrap();
    let demo = Demo::start(temporary.path(), &[]);
    let control = |name: &'static str, value: &str| {
        client().post(format!("{}/control/silence-hub", demo.beside)).header(name, value.to_owned()).send()
    };
    assert_eq!(control("origin", "http://evil.example").await.unwrap().status().as_u16(), 403);
    assert_eq!(control("host", "evil.example").await.unwrap().status().as_u16(), 421);
    assert_eq!(demo.state().await["isHubSilent"], false);
    // The hub calls nobody else.
    let form = "hub.mode=subscribe&hub.callback=http://evil.example/&hub.topic=x";
    let asked = client().post(format!("{}/hub", demo.beside)).body(form).send().await.unwrap();
    assert_eq!(asked.status().as_u16(), 403);
    demo.end("-TERM");
}

#[test]
fn u5_demo_takes_no_settings_of_others() {
    for (arguments, said) in [
        (&["demo", "--data-dir", "x"][..], "leave out --data-dir"),
        (&["demo", "--config", "x"], "leave out --config"),
        (&["demo", "--listen", "0.0.0.0:0"], "loopback"),
        (&["demo", "--every", "1ms"], "100ms or more"),
    ] {
        let output = crate::program::run(arguments, b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}
