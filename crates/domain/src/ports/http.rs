//! Requests to strangers. The adapter guards them: no address that is not public, every redirect checked, time and size
//! bounded.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;

#[async_trait]
pub trait Http: Send + Sync + std::fmt::Debug {
    /// Sends a request, follows its redirects and reads the answer, whatever its status.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError>;

    /// Refuses a URL that no request may go to, as far as can be told now: a name that is not found may be found later.
    async fn check(&self, _url: &str) -> Result<(), HttpError> {
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
}

#[derive(Clone)]
pub struct HttpRequest {
    pub method: Method,
    pub url: String,
    /// `user:password`, sent only to the host of `url`.
    pub credentials: Option<String>,
    /// Headers besides those that every request has.
    pub headers: Headers,
    /// What is sent along.
    pub body: Bytes,
    /// The size from which an answer is refused, counted after decompression.
    pub body_bytes_max: usize,
    /// Redirects that are followed.
    pub redirects_max: usize,
    /// How long it may take in all.
    pub timeout: Duration,
    /// Is told how much of the answer has arrived.
    pub arrived: Arrived,
}

/// The bytes of an answer's body that have arrived so far, decompressed, for whoever waits for it. Clones count the same.
#[derive(Debug, Clone, Default)]
pub struct Arrived(Arc<AtomicUsize>);

impl Arrived {
    /// So many more have.
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for HttpRequest {
    /// Without what may be secret: credentials, headers, body, and the URL's path and query.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HttpRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Headers in order, names in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// The first value of a header by its lower-case name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a header by its lower-case name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// Its status, of the last hop.
    pub status: u16,
    pub headers: Headers,
    /// Its body, decompressed.
    pub body: Vec<u8>,
    /// Where it came from, after redirects, without user and password.
    pub url: String,
    /// Where the resource is for good: the URL that the permanent redirects (301, 308) at the start of the chain lead to.
    pub moved_to: Option<String>,
    /// Memory for the body; to be kept as long as that is.
    pub memory_permit: MemoryPermit,
}

/// Memory of a budget, released when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct MemoryPermit(pub Option<Arc<dyn Any + Send + Sync>>);

/// Why there is no answer. Each says what happened in words that a user understands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// Not an http or https URL.
    #[error("not a web address: {0}")]
    BadUrl(String),
    /// An address that requests may not go to.
    #[error("the address of {0} is not public; `allow_networks` can allow it")]
    Forbidden(String),
    /// An address of this server, which sends itself nothing.
    #[error("{0} is this server itself")]
    OwnServer(String),
    #[error("the host {0} was not found")]
    NotFound(String),
    /// The name service did not answer: it says nothing about the host.
    #[error("the name service of this machine does not answer")]
    NoNameService,
    /// The host did not take the connection; the code is as the system names it, such as `ECONNREFUSED`.
    #[error("could not connect to {host}: {code}")]
    Connect { host: String, code: String },
    /// This machine has no file, port or memory for another connection: it says nothing about the host.
    #[error("this machine is out of connections: {0}")]
    Exhausted(String),
    /// This server has no memory left for another document: it says nothing about the host.
    #[error("this server has no memory left for another document; it is asked again soon")]
    NoMemory,
    /// The TLS handshake failed.
    #[error("could not connect to {host}: the TLS handshake failed: {reason}")]
    Tls { host: String, reason: String },
    /// It took too long.
    #[error("no whole answer came from {0} in time")]
    TimedOut(String),
    /// Too many redirects, or one that leads nowhere.
    #[error("the redirects of {0} lead nowhere")]
    Redirects(String),
    /// A redirect to an address that is not fetched, such as `ftp:`.
    #[error("{0} redirects to an address that is not http or https")]
    RedirectScheme(String),
    /// The answer is larger than this many bytes, which are allowed.
    #[error("the answer is larger than {}", in_words(*.0))]
    TooLarge(usize),
    /// The answer is not compressed in the way that it says.
    #[error("the answer of {0} could not be decompressed")]
    Compression(String),
    /// The answer ended in the middle or was not HTTP.
    #[error("the answer of {0} broke off")]
    BrokenOff(String),
}

/// A number of bytes for people.
fn in_words(bytes: usize) -> String {
    const KIB: usize = 1024;
    const MIB: usize = 1024 * KIB;
    let (unit, name) = match bytes {
        0..KIB => return format!("{bytes} bytes"),
        KIB..MIB => (KIB, "KiB"),
        MIB.. => (MIB, "MiB"),
    };
    match (bytes / unit, bytes % unit * 10 / unit) {
        (whole, 0) => format!("{whole} {name}"),
        (whole, tenths) => format!("{whole}.{tenths} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u8_sizes_have_units_that_people_know() {
        for (bytes, expect) in [
            (0, "0 bytes"),
            (1000, "1000 bytes"),
            (1024, "1 KiB"),
            (200_000, "195.3 KiB"),
            (1024 * 1024 - 1, "1023.9 KiB"),
            (16 * 1024 * 1024, "16 MiB"),
            (5 * 1024 * 1024 / 2, "2.5 MiB"),
        ] {
            assert_eq!(HttpError::TooLarge(bytes).to_string(), format!("the answer is larger than {expect}"));
        }
        assert!(HttpError::TooLarge(usize::MAX).to_string().ends_with("MiB"));
    }
}
