//! Signing after Standard Webhooks: a receiver verifies with one of its public libraries.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::ports::Ids;

/// What a secret begins with.
const PREFIX: &str = "whsec_";

/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// A secret that a webhook's requests are signed with.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

impl std::fmt::Debug for WebhookSecret {
    /// Nothing of it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WebhookSecret")
    }
}

impl WebhookSecret {
    /// One that nobody can guess.
    pub fn new(ids: &dyn Ids) -> Self {
        let mut bytes = vec![0; SECRET_BYTES];
        ids.fill(&mut bytes);
        Self(bytes)
    }

    /// Reads one as it is shown and kept.
    pub fn parse(text: &str) -> Option<Self> {
        STANDARD.decode(text.strip_prefix(PREFIX)?).ok().filter(|bytes| !bytes.is_empty()).map(Self)
    }

    /// As it is shown once, and kept.
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        // A key of any length makes a MAC.
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        let mac = mac.chain_update(id).chain_update(".").chain_update(timestamp.to_string()).chain_update(".");
        format!("v1,{}", STANDARD.encode(mac.chain_update(body).finalize().into_bytes()))
    }
}

/// The value of `webhook-signature`: one signature for each secret, so that a receiver can change over. `timestamp` is
/// in seconds, that of the attempt.
pub fn signatures<'s>(
    secrets: impl IntoIterator<Item = &'s WebhookSecret>,
    id: &str,
    timestamp: i64,
    body: &[u8],
) -> String {
    let signed: Vec<String> = secrets.into_iter().map(|secret| secret.sign(id, timestamp, body)).collect();
    signed.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d3_a_signature_is_the_one_that_the_specification_shows() {
        // The example of the specification of Standard Webhooks.
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        let signed = signatures([&secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn d1_a_secret_is_32_random_bytes_and_two_sign_side_by_side() {
        #[derive(Debug)]
        struct Counting;
        impl Ids for Counting {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.iter_mut().zip(0..).for_each(|(byte, number)| *byte = number);
            }
        }
        let new = WebhookSecret::new(&Counting);
        assert_eq!(new.expose(), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        assert_eq!(WebhookSecret::parse(&new.expose()), Some(new.clone()));
        assert_eq!(format!("{new:?}"), "WebhookSecret");
        let old = WebhookSecret::parse("whsec_b2xk").unwrap();
        let signed = signatures([&new, &old], "e", 1, b"x");
        assert_eq!(signed.split(' ').count(), 2);
        assert_eq!(signed.split(' ').nth(1), Some(signatures([&old], "e", 1, b"x").as_str()));
        for bad in ["", "whsec_", "b2xk", "whsec_!"] {
            assert_eq!(WebhookSecret::parse(bad), None, "{bad}");
        }
    }
}
