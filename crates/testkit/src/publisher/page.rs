//! What a publisher answers on a path, and how it behaves while it does.

use std::time::Duration;

use tokio::sync::watch;

use super::Request;

/// What is answered on a path.
#[derive(Debug, Clone)]
pub struct Page {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) manner: Manner,
    pub(super) gate: Option<watch::Receiver<bool>>,
    pub(super) delay: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Proper,
    Hang,
    Reset,
    BreakOff,
    Endless,
}

impl Page {
    /// A page with this status and nothing else.
    pub fn status(status: u16) -> Self {
        let manner = Manner::Proper;
        Self { status, headers: Vec::new(), body: Vec::new(), manner, gate: None, delay: Duration::ZERO }
    }

    /// A document.
    pub fn body(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::status(200) }
    }

    /// A redirect.
    pub fn redirect(status: u16, to: &str) -> Self {
        Self::status(status).header("Location", to)
    }

    /// An answer that never comes.
    pub fn hang() -> Self {
        Self { manner: Manner::Hang, ..Self::status(200) }
    }

    /// A connection that is reset instead of an answer.
    pub fn reset() -> Self {
        Self { manner: Manner::Reset, ..Self::status(200) }
    }

    /// A body that breaks off before its announced end.
    pub fn break_off(body: impl Into<Vec<u8>>) -> Self {
        Self { manner: Manner::BreakOff, ..Self::body(body) }
    }

    /// A body that goes on for ever, repeating this.
    pub fn endless(piece: impl Into<Vec<u8>>) -> Self {
        Self { manner: Manner::Endless, ..Self::body(piece) }
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With another status.
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

    /// Compressed.
    #[must_use]
    pub fn gzip(mut self) -> Self {
        self.body = gzip_stored(&self.body);
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

    fn value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_known_by(&self, request: &Request) -> bool {
        let matches = |asked, stated| self.value(stated).is_some_and(|stated| request.header(asked) == Some(stated));
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

/// Gzip without compression: a header, stored blocks, checksum and length.
fn gzip_stored(body: &[u8]) -> Vec<u8> {
    const BLOCK_BYTES_MAX: usize = 0xffff;
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    for block in body.chunks(BLOCK_BYTES_MAX) {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(0);
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend([1, 0, 0, 0xff, 0xff]);
    out.extend(crc32(body).to_le_bytes());
    out.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
