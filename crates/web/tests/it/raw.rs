//! A client that writes and reads by hand: slowly, in part, or not at all.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// What takes longer than this does not end at all.
pub const LONG: Duration = Duration::from_mins(3);

/// A request whose answer ends in `}`.
pub const PROBE: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A connection that is written and read by hand.
pub struct Client(pub TcpStream);

impl Client {
    pub async fn connect(url: &str) -> Self {
        Self(TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap())
    }

    pub async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// What comes until the other side closes.
    pub async fn rest(&mut self) -> String {
        let mut text = Vec::new();
        let read = tokio::time::timeout(LONG, self.0.read_to_end(&mut text)).await;
        // A connection that is cut off while something was on its way is reset.
        let _ = read.expect("the connection is never closed");
        String::from_utf8(text).unwrap()
    }

    /// Reads until this has come.
    pub async fn until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let byte = tokio::time::timeout(LONG, self.0.read_u8()).await.expect("no answer");
            text.push(byte.unwrap());
        }
        String::from_utf8(text).unwrap()
    }
}
