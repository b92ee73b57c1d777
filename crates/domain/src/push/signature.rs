//! `X-Hub-Signature`: that a push comes from the hub that was given a secret (WebSub, section 7.1).

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

/// A method of signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Google's hub, and so `YouTube`'s, knows no other.
    Sha1,
    /// What most hubs use.
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// All that the standard names.
    pub const ALL: [Self; 4] = [Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512];

    /// By its name, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| name.eq_ignore_ascii_case(algorithm.name()))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }
}

/// A signature as a push carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    algorithm: Algorithm,
    digest: Vec<u8>,
}

/// Why a push is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsigned {
    /// There is no signature, or nothing that could be one.
    Missing,
    /// By a method that is unknown, or not allowed.
    Algorithm,
    /// With another secret, or of another body.
    Wrong,
}

impl fmt::Display for Unsigned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Missing => "the signature is missing",
            Self::Algorithm => "the signature's algorithm is not allowed",
            Self::Wrong => "the signature is wrong",
        })
    }
}

impl Signature {
    /// Reads `method=hex`.
    pub fn parse(header: Option<&str>, allowed: &[Algorithm]) -> Result<Self, Unsigned> {
        let header = header.map(str::trim).filter(|header| !header.is_empty()).ok_or(Unsigned::Missing)?;
        let (method, hex) = header.split_once('=').ok_or(Unsigned::Wrong)?;
        let algorithm = Algorithm::by_name(method.trim()).filter(|known| allowed.contains(known));
        let algorithm = algorithm.ok_or(Unsigned::Algorithm)?;
        let digest = decode_hex(hex.trim()).ok_or(Unsigned::Wrong)?;
        Ok(Self { algorithm, digest })
    }

    /// Whether a body is signed so with this secret. It takes the same time wherever the two differ.
    pub fn is_of(&self, body: &[u8], secret: &str) -> bool {
        let secret = secret.as_bytes();
        match self.algorithm {
            Algorithm::Sha1 => verifies(Hmac::<Sha1>::new_from_slice(secret).ok(), body, &self.digest),
            Algorithm::Sha256 => verifies(Hmac::<Sha256>::new_from_slice(secret).ok(), body, &self.digest),
            Algorithm::Sha384 => verifies(Hmac::<Sha384>::new_from_slice(secret).ok(), body, &self.digest),
            Algorithm::Sha512 => verifies(Hmac::<Sha512>::new_from_slice(secret).ok(), body, &self.digest),
        }
    }
}

/// Signs a body as a hub does.
pub fn sign(algorithm: Algorithm, body: &[u8], secret: &str) -> String {
    let secret = secret.as_bytes();
    let digest = match algorithm {
        Algorithm::Sha1 => digest(Hmac::<Sha1>::new_from_slice(secret).ok(), body),
        Algorithm::Sha256 => digest(Hmac::<Sha256>::new_from_slice(secret).ok(), body),
        Algorithm::Sha384 => digest(Hmac::<Sha384>::new_from_slice(secret).ok(), body),
        Algorithm::Sha512 => digest(Hmac::<Sha512>::new_from_slice(secret).ok(), body),
    };
    format!("{}={}", algorithm.name(), super::hex(&digest))
}

/// A key of any length makes a MAC, so there always is one.
fn verifies(mac: Option<impl Mac>, body: &[u8], digest: &[u8]) -> bool {
    mac.is_some_and(|mac| mac.chain_update(body).verify_slice(digest).is_ok())
}

fn digest(mac: Option<impl Mac>, body: &[u8]) -> Vec<u8> {
    mac.map(|mac| mac.chain_update(body).finalize().into_bytes().to_vec()).unwrap_or_default()
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    // No digest is longer.
    const HEX_DIGITS_MAX: usize = 128;
    if text.is_empty() || text.len() % 2 == 1 || text.len() > HEX_DIGITS_MAX {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "Jefe";
    const BODY: &[u8] = b"what do ya want for nothing?";

    fn check(header: &str) -> Result<bool, Unsigned> {
        Signature::parse(Some(header), &Algorithm::ALL).map(|signature| signature.is_of(BODY, KEY))
    }

    #[test]
    fn w5_each_algorithm_gives_what_the_rfcs_give() {
        // RFC 2202 and RFC 4231, test case 2.
        let sha1 = "sha1=effcdf6ae5eb2fa2d27416d5f184df9c259a7c79";
        let sha256 = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(sign(Algorithm::Sha1, BODY, KEY), sha1);
        assert_eq!(sign(Algorithm::Sha256, BODY, KEY), sha256);
        for algorithm in Algorithm::ALL {
            let signed = sign(algorithm, BODY, KEY);
            assert_eq!(check(&signed), Ok(true), "{algorithm:?}");
            assert_eq!(check(&signed.to_uppercase()), Ok(true), "{algorithm:?}");
            let other = Signature::parse(Some(&signed), &Algorithm::ALL).unwrap();
            assert!(!other.is_of(BODY, "other") && !other.is_of(b"other", KEY));
        }
    }

    #[test]
    fn w5_missing_wrong_and_forbidden_signatures_differ() {
        let sha256 = sign(Algorithm::Sha256, BODY, KEY);
        assert_eq!(Signature::parse(None, &Algorithm::ALL), Err(Unsigned::Missing));
        assert_eq!(check(" "), Err(Unsigned::Missing));
        assert_eq!(check("md5=00"), Err(Unsigned::Algorithm));
        assert_eq!(Signature::parse(Some(&sha256), &[Algorithm::Sha1]), Err(Unsigned::Algorithm));
        assert_eq!(check(&format!("{sha256}abcd")), Ok(false), "four digits too many");
        assert_eq!(check(&sha256[..sha256.len() - 2]), Ok(false));
        for wrong in ["sha256", "sha256=", "sha256=xyz", "sha256=abc", "sha256=é", &format!("sha1={}", "0".repeat(500))]
        {
            assert_eq!(check(wrong), Err(Unsigned::Wrong), "{wrong}");
        }
        assert_eq!(check("sha256=00"), Ok(false));
    }
}
