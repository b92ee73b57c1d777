//! Addresses of pictures in entries, where this server fetches them in the place of browsers (`image_proxy`). Each is
//! signed with a key of the installation: the server fetches what it has shown somebody, and nothing else.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What the path of each begins with.
pub const PICTURE_PREFIX: &str = "/pictures/";

/// Bytes of a picture that is passed on.
pub const PICTURE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of the address of one.
const URL_BYTES_MAX: usize = 4096;

/// Bytes of a signature: as many as nobody guesses.
const SIGNATURE_BYTES: usize = 16;

/// Signs and knows addresses of pictures. Nodes with the same key know each other's.
#[derive(Clone)]
pub struct PictureSigner(Hmac<Sha256>);

impl std::fmt::Debug for PictureSigner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PictureSigner")
    }
}

impl PictureSigner {
    /// With the key of the installation.
    #[expect(clippy::missing_panics_doc, reason = "HMAC takes keys of any length")]
    pub fn new(key: &str) -> Self {
        Self(Hmac::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length"))
    }

    /// Where this server has a picture of the web; `None` for what is not on the web, or has too long an address.
    pub fn path_of(&self, url: &str) -> Option<String> {
        let is_fit = (url.starts_with("https://") || url.starts_with("http://")) && url.len() <= URL_BYTES_MAX;
        let signature = self.mac(url).finalize().into_bytes();
        let [signature, url] =
            [&signature[..SIGNATURE_BYTES], url.as_bytes()].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        is_fit.then(|| format!("{PICTURE_PREFIX}{signature}/{url}"))
    }

    /// The picture that a signature and an address stand for; `None` if it was not signed here.
    pub fn url_of(&self, signature: &str, url: &str) -> Option<String> {
        let (signature, url) = (URL_SAFE_NO_PAD.decode(signature).ok()?, URL_SAFE_NO_PAD.decode(url).ok()?);
        let url = String::from_utf8(url).ok()?;
        // A shorter one would be guessed.
        let is_ours = signature.len() == SIGNATURE_BYTES && self.mac(&url).verify_truncated_left(&signature).is_ok();
        is_ours.then_some(url)
    }

    fn mac(&self, url: &str) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(url.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> (&str, &str) {
        path.strip_prefix(PICTURE_PREFIX).and_then(|rest| rest.split_once('/')).unwrap()
    }

    #[test]
    fn u8_picture_addresses_are_signed() {
        let signer = PictureSigner::new("key");
        let url = "https://e.org/a b?c=d&e=ä";
        let path = signer.path_of(url).unwrap();
        assert!(path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte)), "{path}");
        let (signature, place) = parts(&path);
        assert_eq!(signer.url_of(signature, place).as_deref(), Some(url));
        assert_eq!(PictureSigner::new("key").path_of(url).as_deref(), Some(&*path), "another node has the same");
        let other = signer.path_of("https://e.org/other").unwrap();
        for (signature, place) in [
            (parts(&other).0, place),
            (signature, parts(&other).1),
            ("", place),
            (&signature[..20], place),
            (signature, "!"),
            ("!", place),
        ] {
            assert_eq!(signer.url_of(signature, place), None, "{signature} {place}");
        }
        assert_eq!(PictureSigner::new("other key").url_of(signature, place), None);
    }

    #[test]
    fn u8_only_pictures_of_the_web_have_addresses() {
        let signer = PictureSigner::new("key");
        let long = format!("https://e.org/{}", "a".repeat(URL_BYTES_MAX));
        for url in ["data:image/png;base64,AA", "/pictures/x/y", "file:///etc/passwd", "", long.as_str()] {
            assert_eq!(signer.path_of(url), None, "{url}");
        }
    }
}
