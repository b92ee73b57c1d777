//! Verifying as a receiver does it: with the public library of Standard Webhooks, not with what signs.

use std::{fmt, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use standardwebhooks::{HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook};

use crate::Request;

/// The secrets that a receiver knows of a sender: several while one takes the place of the other.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<Arc<Webhook>>);

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    pub(super) fn add(&mut self, secret: &str) {
        self.0.push(Arc::new(Webhook::new(secret).expect("a secret is `whsec_` and base64")));
    }

    /// Whether one of them verifies a request; `None` if there is none.
    pub(super) fn verify(&self, request: &Request, is_any_age_good: bool) -> Option<bool> {
        if self.0.is_empty() {
            return None;
        }
        let verifies = |webhook: &Webhook| {
            if is_any_age_good { is_signed_by(webhook, request) } else { is_verified_by(webhook, request) }
        };
        Some(self.0.iter().any(|webhook| verifies(webhook)))
    }
}

fn is_verified_by(webhook: &Webhook, request: &Request) -> bool {
    let stated = [HEADER_WEBHOOK_ID, HEADER_WEBHOOK_TIMESTAMP, HEADER_WEBHOOK_SIGNATURE];
    let header = |name| Some((HeaderName::from_static(name), HeaderValue::from_str(request.header(name)?).ok()?));
    let headers: HeaderMap = stated.into_iter().filter_map(header).collect();
    webhook.verify(&request.body, &headers).is_ok()
}

/// The library verifies no signature that is older than five minutes, but it signs for any time.
fn is_signed_by(webhook: &Webhook, request: &Request) -> bool {
    let right = || {
        let timestamp = request.header(HEADER_WEBHOOK_TIMESTAMP)?.parse().ok()?;
        webhook.sign(request.header(HEADER_WEBHOOK_ID)?, timestamp, &request.body).ok()
    };
    let stated = request.header(HEADER_WEBHOOK_SIGNATURE).unwrap_or_default();
    right().is_some_and(|right| stated.split(' ').any(|stated| stated == right))
}
