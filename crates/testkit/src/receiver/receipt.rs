//! A request that a receiver got.

use std::{fmt, sync::Arc};

use tokio::time::Instant;

use super::secrets::Secrets;
use crate::Request;

/// A request that a receiver got. Clones of it are cheap.
#[derive(Clone)]
pub struct Receipt {
    /// Its place among all that the receiver got, on whatever path. The first is 1.
    pub number: u64,
    /// The connection that it came on, by its place among all that were ever made to the receiver. The first is 1. Who
    /// connected later has a higher number, however late what was sent before is read.
    pub connection: u64,
    /// When all of it was there. It is never earlier than that of a receipt with a lower number.
    pub at: Instant,
    /// Whether its signature is good by a secret that the receiver knows; `None` if it knew none.
    pub is_verified: Option<bool>,
    /// The request itself: path, headers and body.
    pub http: Arc<Request>,
}

impl Receipt {
    /// The event's id: `webhook-id`, or nothing.
    pub fn event_id(&self) -> &str {
        self.http.header("webhook-id").unwrap_or_default()
    }

    /// `Pirssonite-Attempt`.
    pub fn attempt(&self) -> Option<u32> {
        self.http.header("pirssonite-attempt")?.parse().ok()
    }

    /// `webhook-timestamp`, in seconds.
    pub fn timestamp(&self) -> Option<i64> {
        self.http.header("webhook-timestamp")?.parse().ok()
    }

    /// Whether there is an `Idempotency-Key`, and it is the event's id.
    pub fn is_keyed_by_event(&self) -> bool {
        self.http.header("idempotency-key").is_some_and(|key| key == self.event_id())
    }

    /// Whether one of its signatures is made with this secret, however old it is.
    ///
    /// # Panics
    ///
    /// If it is no secret.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let mut secrets = Secrets::default();
        secrets.add(secret);
        secrets.verify(&self.http, true) == Some(true)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.http.header(name)
    }

    pub fn body(&self) -> &[u8] {
        &self.http.body
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.http.body).into_owned()
    }
}

impl fmt::Debug for Receipt {
    /// A line that tells it from others: bodies would fill the screen.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, connection, is_verified, http, .. } = self;
        let attempt = http.header("pirssonite-attempt").unwrap_or("-");
        let (id, bytes) = (self.event_id(), http.body.len());
        let path = &http.path;
        write!(formatter, "#{number} {path} {id:?} attempt {attempt}, {bytes} bytes, verified: {is_verified:?}")?;
        write!(formatter, ", connection {connection}")
    }
}
