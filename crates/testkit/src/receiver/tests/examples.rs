//! The receivers in `examples/verify`, which users copy: each takes what we sign, and nothing else.

use std::process::Stdio;

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpListener,
    process::Command,
};

use super::*;

#[path = "../../../../../examples/verify/rust/receiver.rs"]
#[expect(dead_code, reason = "here it is served by the test")]
mod in_rust;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/verify");

#[tokio::test]
async fn d3_the_receiver_in_rust_takes_what_we_sign_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async { axum::serve(listener, in_rust::receiver(&secret(1).expose())).await.unwrap() });
    check(&url).await;
    server.abort();
}

#[tokio::test]
#[ignore = "needs python3 on the path, with the package standardwebhooks"]
async fn d3_python_receiver_takes_only_what_we_sign() {
    run("python3", "python/receiver.py").await;
}

#[tokio::test]
#[ignore = "needs node on the path, and `npm install` in examples/verify/javascript"]
async fn d3_javascript_receiver_takes_only_what_we_sign() {
    run("node", "javascript/receiver.mjs").await;
}

async fn run(program: &str, file: &str) {
    let mut command = Command::new(program);
    command.arg(format!("{EXAMPLES}/{file}")).env("WEBHOOK_SECRET", secret(1).expose()).env("PORT", "0");
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next_line().await.unwrap().expect("it says where it listens");
    check(first.strip_prefix("listening on ").unwrap()).await;
    let told = lines.next_line().await.unwrap().unwrap();
    assert_eq!(told, "evt_1 entry.created", "what was accepted is what was sent");
    child.kill().await.unwrap();
}

async fn check(url: &str) {
    let (right, old, wrong) = (secret(1), secret(2), secret(3));
    let sent = Sent::new("evt_1").signed_with(&[&right]);
    let now = sent.timestamp;
    let accepted = [sent.clone(), sent.clone().attempt(2), sent.clone().signed_with(&[&old, &right])];
    for sent in accepted {
        assert_eq!(sent.to(url).await.status, 204, "{sent:?}");
    }
    let large = Sent { body: BODY.replace("Grüße", &"ü".repeat(4 << 20)), ..sent.clone() };
    assert_eq!(large.to(url).await.status, 204, "8 MiB");

    let refused = [
        sent.clone().signed_with(&[]),
        sent.clone().signed_with(&[&wrong, &old]),
        sent.clone().at(now - 3600),
        sent.clone().at(now + 3600),
    ];
    for sent in refused {
        assert_eq!(sent.to(url).await.status, 401, "{sent:?}");
    }
    for tampered in [BODY.replace("created", "updated"), format!("{BODY} "), BODY[1..].to_owned(), String::new()] {
        assert_eq!(sent.with_body(url, &tampered).await.status, 401, "{tampered}");
    }
    let unsigned = client::send("POST", url, &[], BODY.as_bytes(), None).await;
    assert_eq!(unsigned.status, 401, "no headers at all");
}
