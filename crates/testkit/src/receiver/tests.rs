//! Each answer of the receiver as a plain client sees it, and what the receiver keeps.

mod answers;
mod examples;
mod receipts;
mod troubles;

use domain::{
    delivery::{WebhookSecret, signatures},
    ports::Clock as _,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::*;
use crate::{CallbackAnswer, SeededIds, SimulatedClock, hub::client};

const BODY: &str = r#"{"type":"entry.created","data":{"title":"Grüße"}}"#;

/// A request as piRSSonite sends it.
#[derive(Debug, Clone)]
struct Sent {
    id: String,
    attempt: u32,
    timestamp: i64,
    secrets: Vec<WebhookSecret>,
    body: String,
}

impl Sent {
    /// The first attempt, unsigned.
    fn new(id: &str) -> Self {
        let timestamp = SimulatedClock::default().now().as_second();
        Self { id: id.to_owned(), attempt: 1, timestamp, secrets: Vec::new(), body: BODY.to_owned() }
    }

    fn attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    fn signed_with(mut self, secrets: &[&WebhookSecret]) -> Self {
        self.secrets = secrets.iter().copied().cloned().collect();
        self
    }

    fn at(mut self, timestamp: i64) -> Self {
        self.timestamp = timestamp;
        self
    }

    fn headers(&self) -> Vec<(String, String)> {
        let headers = [
            ("Content-Type", "application/json".to_owned()),
            ("webhook-id", self.id.clone()),
            ("webhook-timestamp", self.timestamp.to_string()),
            ("webhook-signature", signatures(&self.secrets, &self.id, self.timestamp, self.body.as_bytes())),
            ("Idempotency-Key", self.id.clone()),
            ("Pirssonite-Attempt", self.attempt.to_string()),
        ];
        headers.map(|(name, value)| (name.to_owned(), value)).into()
    }

    async fn to(&self, url: &str) -> CallbackAnswer {
        self.with_body(url, &self.body).await
    }

    /// With a body that was not signed.
    async fn with_body(&self, url: &str, body: &str) -> CallbackAnswer {
        client::send("POST", url, &self.headers(), body.as_bytes(), None).await
    }
}

fn secret(seed: u64) -> WebhookSecret {
    WebhookSecret::new(&SeededIds::new(seed))
}

async fn ask(receiver: &Receiver, path: &str) -> CallbackAnswer {
    Sent::new("evt_1").to(&receiver.url(path)).await
}

/// A connection on which a request for this path was sent, and of whose answer nothing was read.
async fn asked(receiver: &Receiver, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(receiver.address()).await.unwrap();
    write(&mut stream, path).await;
    stream
}

async fn write(stream: &mut TcpStream, path: &str) {
    let request = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{{}}");
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// What comes up to the end of a head, and a body of so many bytes.
async fn read(stream: &mut TcpStream, body_bytes: usize) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await.unwrap());
    }
    let head_bytes = read.len();
    read.resize(head_bytes + body_bytes, 0);
    stream.read_exact(&mut read[head_bytes..]).await.unwrap();
    String::from_utf8(read).unwrap()
}
