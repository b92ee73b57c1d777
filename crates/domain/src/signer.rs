//! Signatures of what stands in addresses that this server gives out. The key is that of the installation: all its nodes
//! know each other's, and nobody else can make one.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a signature: as many as nobody guesses.
const SIGNATURE_BYTES: usize = 16;

/// Signs texts, and knows its signatures again. What is signed has to say what it is for.
#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

impl std::fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Signer")
    }
}

impl Signer {
    /// With the key of the installation.
    #[expect(clippy::missing_panics_doc, reason = "HMAC takes keys of any length")]
    pub fn new(key: &str) -> Self {
        Self(Hmac::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length"))
    }

    /// The signature, in characters that an address takes as they are.
    pub fn sign(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(&self.mac(text).finalize().into_bytes()[..SIGNATURE_BYTES])
    }

    /// Whether a text was signed so, in constant time.
    pub fn is_signed(&self, text: &str, signature: &str) -> bool {
        // A shorter one would be guessed.
        let signature = URL_SAFE_NO_PAD.decode(signature).ok().filter(|bytes| bytes.len() == SIGNATURE_BYTES);
        signature.is_some_and(|signature| self.mac(text).verify_truncated_left(&signature).is_ok())
    }

    fn mac(&self, text: &str) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        mac
    }
}
