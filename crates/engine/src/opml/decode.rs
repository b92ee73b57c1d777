//! The text of a file, whatever its encoding.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes at the start that are searched for the XML declaration.
const DECLARATION_BYTES_MAX: usize = 256;

/// Reads bytes as text: by their byte order mark, else as UTF-8 if they are that, else as they declare.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => declared(bytes).filter(|encoding| *encoding != UTF_8).unwrap_or(WINDOWS_1252).decode(bytes).0,
    }
}

fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION_BYTES_MAX)]);
    let declaration = &start[..start.find("?>")?];
    let value =
        declaration[declaration.find("encoding")? + "encoding".len()..].trim_start().strip_prefix('=')?.trim_start();
    let label = value.trim_start_matches(['"', '\'']);
    Encoding::for_label(label.split(['"', '\'', ' ']).next()?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_encoding_is_read() {
        for bytes in [
            &b"\xef\xbb\xbf<a>\xc3\xa4"[..],
            b"<a>\xc3\xa4",
            b"\xff\xfe<\0a\0>\0\xe4\0",
            b"<a>\xe4",
            b"<?xml version='1.0' encoding=\"ISO-8859-1\"?><a>\xe4",
            b"<?xml encoding='utf-8'?><a>\xe4",
            b"<?xml version='1.0' encoding='koi8-r' ?><a>\xa3",
        ] {
            let text = decode(bytes);
            assert!(text.ends_with("<a>ä") || text.ends_with("<a>ё"), "{text}");
        }
    }
}
