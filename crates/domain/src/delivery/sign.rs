//! Signing after Standard Webhooks: a receiver verifies with one of its public libraries.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;

use crate::ports::Ids;

/// What a secret begins with.
const PREFIX: &str = "whsec_";

/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// So many old secrets of a webhook are kept: each is another signature in every request.
const OLD_SECRETS_MAX: usize = 8;

/// A secret that a webhook's requests are signed with.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

impl std::fmt::Debug for WebhookSecret {
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

/// Secrets that a webhook had before, the newest first, each with the time until which it signs along. Another secret ends
/// none of them: whoever asks for one twice, because the first answer was lost, has a receiver that knows neither.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OldSecrets(pub Vec<(WebhookSecret, Timestamp)>);

impl OldSecrets {
    /// Those that sign along at this time.
    pub fn at(&self, now: Timestamp) -> impl Iterator<Item = &WebhookSecret> {
        self.0.iter().filter(move |(_, until)| *until > now).map(|(secret, _)| secret)
    }

    /// With one more, and without those whose time is over. Of too many the oldest goes.
    #[must_use]
    pub fn with(mut self, secret: WebhookSecret, until: Timestamp, now: Timestamp) -> Self {
        self.0.retain(|(_, until)| *until > now);
        self.0.insert(0, (secret, until));
        self.0.truncate(OLD_SECRETS_MAX);
        self
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

    #[test]
    fn d1_old_secrets_expire_and_are_bounded() {
        let secret = |number: u8| WebhookSecret(vec![number]);
        let second = |second: i64| Timestamp::from_second(second).unwrap();
        let old = OldSecrets::default().with(secret(1), second(10), second(0)).with(secret(2), second(12), second(2));
        for (now, expected) in [(9, vec![2, 1]), (10, vec![2]), (11, vec![2]), (12, vec![])] {
            let expected: Vec<_> = expected.into_iter().map(secret).collect();
            assert!(old.at(second(now)).eq(&expected), "{now}");
        }
        assert_eq!(old.with(secret(3), second(21), second(11)).0.len(), 2, "what is over is not kept");
        let many = (1..=9).fold(OldSecrets::default(), |old, number| old.with(secret(number), second(10), second(0)));
        assert!(many.at(second(0)).eq(&(2..=9).rev().map(secret).collect::<Vec<_>>()));
    }
}
