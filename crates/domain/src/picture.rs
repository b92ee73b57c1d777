//! Addresses of pictures in entries, where this server fetches them in the place of browsers (`image_proxy`). Each is
//! signed with a key of the installation: the server fetches what it has shown somebody, and nothing else.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::signer::Signer;

/// What the path of each begins with.
pub const PICTURE_PREFIX: &str = "/pictures/";

/// Bytes of a picture that is passed on.
pub const PICTURE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of the address of one.
const URL_BYTES_MAX: usize = 4096;

/// Signs and knows addresses of pictures. Nodes with the same key know each other's.
#[derive(Debug, Clone)]
pub struct PictureSigner(Signer);

impl PictureSigner {
    /// With the key of the installation.
    pub fn new(key: &str) -> Self {
        Self(Signer::new(key))
    }

    /// Where this server has a picture of the web; `None` for what is not on the web, or has too long an address.
    pub fn path_of(&self, url: &str) -> Option<String> {
        is_fit(url).then(|| format!("{PICTURE_PREFIX}{}/{}", self.0.sign(url), URL_SAFE_NO_PAD.encode(url)))
    }

    /// The picture that a signature and an address stand for; `None` if it was not signed here.
    pub fn url_of(&self, signature: &str, url: &str) -> Option<String> {
        let url = String::from_utf8(URL_SAFE_NO_PAD.decode(url).ok()?).ok()?;
        // Other things are signed with the same key.
        (is_fit(&url) && self.0.is_signed(&url, signature)).then_some(url)
    }
}

fn is_fit(url: &str) -> bool {
    (url.starts_with("https://") || url.starts_with("http://")) && url.len() <= URL_BYTES_MAX
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
        let icon = "icon of feed 1";
        assert_eq!(signer.url_of(&Signer::new("key").sign(icon), &URL_SAFE_NO_PAD.encode(icon)), None, "no picture");
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
