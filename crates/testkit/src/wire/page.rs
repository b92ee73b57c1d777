//! What is answered, and how the one who answers behaves while he does.

use std::time::Duration;

use bytes::Bytes;
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use tokio::sync::watch;

use super::{Request, gzip::gzip_stored, request::value_of};

/// What is answered on a path. Clones share the body.
#[derive(Debug, Clone)]
pub struct Page {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    pub(super) mode: ResponseMode,
    pub(super) gate: Option<watch::Receiver<bool>>,
    pub(super) delay: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseMode {
    Normal,
    Hang,
    Reset,
    Close,
    Garbage,
    Truncated,
    Endless,
    Huge(u64),
    Drip { every: Duration, piece_bytes: usize },
}

impl Page {
    /// A page with this status and nothing else.
    pub fn status(status: u16) -> Self {
        let mode = ResponseMode::Normal;
        Self { status, headers: Vec::new(), body: Bytes::new(), mode, gate: None, delay: Duration::ZERO }
    }

    /// All is well, and there is nothing to say.
    pub fn ok() -> Self {
        Self::status(200)
    }

    pub fn body(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into().into(), ..Self::ok() }
    }

    pub fn redirect(status: u16, to: &str) -> Self {
        Self::status(status).header("Location", to)
    }

    /// An answer that never comes. To hold one back until a test lets it go, see [`Self::behind`].
    pub fn hang() -> Self {
        Self { mode: ResponseMode::Hang, ..Self::ok() }
    }

    /// A connection that is reset instead of an answer.
    pub fn reset() -> Self {
        Self { mode: ResponseMode::Reset, ..Self::ok() }
    }

    /// A connection that is closed, in good order, instead of an answer.
    pub fn close() -> Self {
        Self { mode: ResponseMode::Close, ..Self::ok() }
    }

    /// These bytes instead of HTTP, and then the end of the connection.
    pub fn garbage(bytes: impl Into<Vec<u8>>) -> Self {
        Self { mode: ResponseMode::Garbage, ..Self::body(bytes) }
    }

    /// A body that breaks off before its announced end.
    pub fn break_off(body: impl Into<Vec<u8>>) -> Self {
        Self { mode: ResponseMode::Truncated, ..Self::body(body) }
    }

    /// A body that goes on for ever, repeating this.
    pub fn endless(piece: impl Into<Vec<u8>>) -> Self {
        Self { mode: ResponseMode::Endless, ..Self::body(piece) }
    }

    /// A body of so many bytes, of which no more is made than is read.
    pub fn huge(body_bytes: u64) -> Self {
        Self { mode: ResponseMode::Huge(body_bytes), ..Self::ok() }
    }

    /// The head at once, and then a byte of the body at a time, each after this long.
    pub fn drip(body: impl Into<Vec<u8>>, every: Duration) -> Self {
        Self::trickle(body, every, 1)
    }

    /// The same with so many bytes at a time.
    pub fn trickle(body: impl Into<Vec<u8>>, every: Duration, piece_bytes: usize) -> Self {
        Self { mode: ResponseMode::Drip { every, piece_bytes }, ..Self::body(body) }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With an `ETag`: asked with it, 304 is the answer.
    #[must_use]
    pub fn etag(self, etag: &str) -> Self {
        self.header("ETag", etag)
    }

    /// With a `Last-Modified`: asked with just that, 304 is the answer.
    #[must_use]
    pub fn last_modified(self, time: &str) -> Self {
        self.header("Last-Modified", time)
    }

    /// With a `Retry-After` of so many seconds.
    #[must_use]
    pub fn with_retry_after(self, secs: u64) -> Self {
        self.header("Retry-After", &secs.to_string())
    }

    /// With a `Retry-After` that is a date, in the form that HTTP has for it.
    ///
    /// # Panics
    ///
    /// Before the year 0.
    #[must_use]
    pub fn with_retry_at(self, time: Timestamp) -> Self {
        let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&time).expect("a date of our era");
        self.header("Retry-After", &date)
    }

    #[must_use]
    pub fn gzip(mut self) -> Self {
        self.body = gzip_stored(&self.body).into();
        self.header("Content-Encoding", "gzip")
    }

    /// Answered only once the gate is open.
    #[must_use]
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.0.subscribe());
        self
    }

    /// Answered only after a while.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits as long as the answer is to wait.
    pub(crate) async fn wait_until_due(&self) {
        if let Some(mut gate) = self.gate.clone() {
            // A gate that is gone will never open: like one that is open.
            let _ = gate.wait_for(|is_open| *is_open).await;
        }
        // Also a sleep of no time takes some.
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        if self.mode == ResponseMode::Hang {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn is_not_modified_for(&self, request: &Request) -> bool {
        let matches =
            |asked, stated| value_of(&self.headers, stated).is_some_and(|stated| request.header(asked) == Some(stated));
        if self.status != 200 {
            return false;
        }
        match request.header("if-none-match") {
            Some(_) => matches("if-none-match", "etag"),
            None => matches("if-modified-since", "last-modified"),
        }
    }
}

/// Holds answers back until it is opened.
#[derive(Debug)]
pub struct Gate(watch::Sender<bool>);

impl Default for Gate {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Gate {
    /// Lets everybody through from now on.
    pub fn open(&self) {
        self.0.send_replace(true);
    }
}
