//! The demo's receiver of webhooks: verifies every request as a receiver should (Standard Webhooks), keeps what it got,
//! and can be told to refuse everything, so that one sees retries.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::delivery::{WebhookSecret, signatures};
use jiff::Timestamp;
use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderValue},
};
use serde::Serialize;
use serde_json::Value;

/// Requests that it remembers.
const RECEIPTS_MAX: usize = 100;

/// How far a request's time may be from now.
const TOLERANCE_SECS: i64 = 5 * 60;

/// A request that it got.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Receipt {
    at: Timestamp,
    event_id: String,
    event_type: String,
    /// Which attempt it was, from 1.
    attempt: u32,
    feed: Option<String>,
    title: Option<String>,
    url: Option<String>,
    is_signature_good: bool,
    status: u16,
}

#[derive(Debug, Default)]
struct State {
    secret: Option<WebhookSecret>,
    is_refusing: bool,
    receipts: Vec<Receipt>,
}

#[derive(Debug, Default)]
pub(super) struct Receiver(Mutex<State>);

impl Receiver {
    /// Tells it the secret that requests are signed with from now on.
    pub(super) fn set_secret(&self, secret: WebhookSecret) {
        self.lock().secret = Some(secret);
    }

    pub(super) fn set_refusing(&self, is_refusing: bool) {
        self.lock().is_refusing = is_refusing;
    }

    pub(super) fn is_refusing(&self) -> bool {
        self.lock().is_refusing
    }

    /// What it got, newest first.
    pub(super) fn receipts(&self) -> Vec<Receipt> {
        self.lock().receipts.clone()
    }

    /// Takes a request; returns what it is answered with.
    pub(super) fn receive(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> StatusCode {
        let value =
            |name: &str| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
        let payload: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut state = self.lock();
        let is_signature_good = state.secret.as_ref().is_some_and(|secret| {
            is_good(secret, value("webhook-id"), value("webhook-timestamp"), value("webhook-signature"), body, now)
        });
        let status = match (is_signature_good, state.is_refusing) {
            (false, _) => StatusCode::UNAUTHORIZED,
            (true, true) => StatusCode::SERVICE_UNAVAILABLE,
            (true, false) => StatusCode::NO_CONTENT,
        };
        let data = &payload["data"];
        let receipt = Receipt {
            at: now,
            event_id: value("webhook-id").to_owned(),
            event_type: text(&payload["type"]).unwrap_or_default(),
            attempt: value("pirssonite-attempt").parse().unwrap_or_default(),
            feed: text(&data["feed"]["title"]),
            title: text(&data["entry"]["title"]),
            url: text(&data["entry"]["url"]),
            is_signature_good,
            status: status.as_u16(),
        };
        state.receipts.insert(0, receipt);
        state.receipts.truncate(RECEIPTS_MAX);
        status
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether one of the signatures is of this secret, and not an old one sent again.
fn is_good(secret: &WebhookSecret, id: &str, timestamp: &str, given: &str, body: &[u8], now: Timestamp) -> bool {
    let Ok(timestamp) = timestamp.parse::<i64>() else { return false };
    let expected = signatures([secret], id, timestamp, body);
    now.as_second().abs_diff(timestamp) <= TOLERANCE_SECS.unsigned_abs() && given.split(' ').any(|one| one == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_demo_receiver_verifies_signatures() {
        let (receiver, now) = (Receiver::default(), Timestamp::from_second(1_000_000).unwrap());
        let secret = WebhookSecret::parse("whsec_b2xk").unwrap();
        receiver.set_secret(secret.clone());
        let request = |signature: String, at: i64| {
            let mut headers = HeaderMap::new();
            headers.insert("webhook-id", HeaderValue::from_static("e"));
            headers.insert("webhook-timestamp", at.into());
            headers.insert("webhook-signature", signature.parse().unwrap());
            receiver.receive(&headers, b"{}", now)
        };
        let good = |at: i64| format!("v1,other {}", signatures([&secret], "e", at, b"{}"));
        assert_eq!(request(good(1_000_000), 1_000_000), StatusCode::NO_CONTENT);
        assert_eq!(request(good(1_000_000), 999_999), StatusCode::UNAUTHORIZED, "of another time");
        assert_eq!(request(good(900_000), 900_000), StatusCode::UNAUTHORIZED, "too old");
        receiver.set_refusing(true);
        assert_eq!(request(good(1_000_000), 1_000_000), StatusCode::SERVICE_UNAVAILABLE);
        let is_good: Vec<bool> = receiver.receipts().iter().map(|receipt| receipt.is_signature_good).collect();
        assert_eq!(is_good, [true, false, false, true]);
    }
}
