//! Secrets that are made by chance: what browsers and programs come in with.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use md5::Md5;
use sha2::{Digest, Sha256};

use super::SecretHash;
use crate::ports::Ids;

/// How long a session lives after it was last used.
pub const SESSION_LIFETIME: Duration = Duration::from_hours(30 * 24);

/// What every token begins with, so that people and programs that look for secrets recognise one.
pub const TOKEN_PREFIX: &str = "pir_";

/// Bytes of chance in a secret.
const SECRET_BYTES: usize = 32;
/// Characters that they are written with.
const SECRET_CHARS: usize = 43;

/// A secret of a session, for the browser's cookie.
pub fn new_session_secret(ids: &dyn Ids) -> String {
    let mut bytes = [0; SECRET_BYTES];
    ids.fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A token, as it is shown once.
pub fn new_token(ids: &dyn Ids) -> String {
    format!("{TOKEN_PREFIX}{}", new_session_secret(ids))
}

/// The hash of what may be the secret of a session; `None` of what cannot be one, and need not be looked for.
pub fn session_hash(text: &str) -> Option<SecretHash> {
    is_secret(text).then(|| SecretHash::of(text))
}

/// The hash of what may be a token; `None` of what cannot be one, and need not be looked for.
pub fn token_hash(text: &str) -> Option<SecretHash> {
    text.strip_prefix(TOKEN_PREFIX).is_some_and(is_secret).then(|| SecretHash::of(text))
}

/// The key that Fever's clients make of an account's name and a token, hashed.
pub fn fever_key_hash(name: &str, token: &str) -> SecretHash {
    let key = Md5::digest(format!("{name}:{token}"));
    SecretHash::of(&crate::push::hex(&key))
}

fn is_secret(text: &str) -> bool {
    text.len() == SECRET_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

impl SecretHash {
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chance that is none.
    #[derive(Debug)]
    struct Same(u8);

    impl Ids for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn a5_tokens_are_their_prefix_and_32_bytes() {
        assert_eq!(new_token(&Same(0)), format!("pir_{}", "A".repeat(43)));
        assert_eq!(new_token(&Same(255)), format!("pir_{}8", "_".repeat(42)));
        assert_ne!(token_hash(&new_token(&Same(1))), token_hash(&new_token(&Same(2))));
        assert_eq!(session_hash(&new_session_secret(&Same(7))), Some(SecretHash::of(&new_session_secret(&Same(7)))));
    }

    #[test]
    fn a5_only_what_looks_like_a_secret_is_looked_for() {
        let secret = "A".repeat(43);
        for (text, is_session, is_token) in [
            (secret.clone(), true, false),
            (format!("pir_{secret}"), false, true),
            (format!("PIR_{secret}"), false, false),
            (format!("pir_{secret}A"), false, false),
            (format!("pir_{}", "A".repeat(42)), false, false),
            (format!("pir_{}=", "A".repeat(42)), false, false),
            (format!("{} ", "A".repeat(42)), false, false),
            ("é".repeat(21) + "A", false, false),
            (String::new(), false, false),
        ] {
            assert_eq!((session_hash(&text).is_some(), token_hash(&text).is_some()), (is_session, is_token), "{text}");
        }
    }

    #[test]
    fn a5_hashes_are_the_known_ones() {
        let hex = |hash: SecretHash| crate::push::hex(&hash.0);
        assert_eq!(hex(SecretHash::of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        // md5 of `ann:pir_x` is what a client sends, in hex.
        let sent = crate::push::hex(&Md5::digest(b"ann:pir_x"));
        assert_eq!(fever_key_hash("ann", "pir_x"), SecretHash::of(&sent));
        assert_eq!(crate::push::hex(&Md5::digest(b"abc")), "900150983cd24fb0d6963f7d28e17f72");
    }
}
