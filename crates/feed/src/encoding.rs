//! Bytes to text. What a feed says of its encoding is often wrong, so each claim is tried in the order of its worth and
//! believed only if the bytes agree: BOM, HTTP charset, XML declaration, `<meta>`, then UTF-8, then windows-1252.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::memmem;

use crate::limits::ENCODING_PRESCAN_BYTES;

/// A document as text, with how it was read.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) encoding: &'static str,
    /// The claim that was made and not believed.
    pub(crate) lied: Option<String>,
}

/// Reads a document's bytes, given the `charset` of its HTTP content type.
pub(crate) fn decode<'a>(bytes: &'a [u8], http_charset: Option<&str>) -> Decoded<'a> {
    if let Some(decoded) = decode_by_shape(bytes) {
        return decoded;
    }
    let mut lied = None;
    for label in
        [http_charset.map(str::to_owned), declared_in_xml(bytes), declared_in_meta(bytes)].into_iter().flatten()
    {
        match decode_as(bytes, &label) {
            Some((text, encoding)) => return Decoded { text, encoding, lied },
            None => lied = lied.or(Some(label)),
        }
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Decoded { text: Cow::Borrowed(text), encoding: "utf-8", lied },
        Err(_) => Decoded { text: Cow::Owned(decode_mixed(bytes)), encoding: "windows-1252", lied },
    }
}

/// Encodings that show in the bytes themselves: a BOM, or the zeros of UTF-16 and UTF-32 around a first `<` or `{`.
fn decode_by_shape(bytes: &[u8]) -> Option<Decoded<'_>> {
    let decoded = |text, encoding| Some(Decoded { text, encoding, lied: None });
    let utf16 = |encoding: &'static Encoding, bytes| {
        decoded(
            encoding.decode_without_bom_handling(bytes).0,
            if encoding == UTF_16LE { "utf-16le" } else { "utf-16be" },
        )
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => decoded(utf8_or_mixed(rest), "utf-8"),
        [0xff, 0xfe, 0, 0, rest @ ..] => decoded(Cow::Owned(decode_utf32(rest, u32::from_le_bytes)), "utf-32le"),
        [0, 0, 0xfe, 0xff, rest @ ..] => decoded(Cow::Owned(decode_utf32(rest, u32::from_be_bytes)), "utf-32be"),
        [0xff, 0xfe, rest @ ..] => utf16(UTF_16LE, rest),
        [0xfe, 0xff, rest @ ..] => utf16(UTF_16BE, rest),
        [b'<' | b'{', 0, 0, 0, ..] => decoded(Cow::Owned(decode_utf32(bytes, u32::from_le_bytes)), "utf-32le"),
        [0, 0, 0, b'<' | b'{', ..] => decoded(Cow::Owned(decode_utf32(bytes, u32::from_be_bytes)), "utf-32be"),
        [b'<' | b'{', 0, _, 0, ..] => utf16(UTF_16LE, bytes),
        [0, b'<' | b'{', 0, _, ..] => utf16(UTF_16BE, bytes),
        _ => None,
    }
}

fn decode_utf32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> String {
    let (units, _) = bytes.as_chunks::<4>();
    units.iter().map(|bytes| char::from_u32(unit(*bytes)).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Tries one claim. `None` if the label is unknown or the bytes are not in that encoding.
fn decode_as<'a>(bytes: &'a [u8], label: &str) -> Option<(Cow<'a, str>, &'static str)> {
    let encoding = Encoding::for_label(label.trim().as_bytes())?;
    // An ASCII-compatible start was found, or this claim could not have been read.
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return None;
    }
    // Text that is well-formed UTF-8 beyond ASCII hardly ever is anything else by chance, and single-byte encodings
    // accept every byte: they never show that they are wrong.
    if encoding.is_single_byte()
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        let name = if text.is_ascii() { name_of(encoding) } else { "utf-8" };
        return Some((Cow::Borrowed(text), name));
    }
    encoding.decode_without_bom_handling_and_without_replacement(bytes).map(|text| (text, name_of(encoding)))
}

fn name_of(encoding: &'static Encoding) -> &'static str {
    if encoding == UTF_8 { "utf-8" } else { encoding.name() }
}

fn utf8_or_mixed(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| Cow::Owned(decode_mixed(bytes)), Cow::Borrowed)
}

/// UTF-8 where it is UTF-8 and windows-1252 where it is not: pages put together from several sources, and documents cut
/// off inside a character, lose nothing.
fn decode_mixed(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(&WINDOWS_1252.decode_without_bom_handling(chunk.invalid()).0);
    }
    text
}

/// The `encoding` of `<?xml version="1.0" encoding="..."?>`.
fn declared_in_xml(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(ENCODING_PRESCAN_BYTES)];
    let from = memmem::find(head, b"<?xml")?;
    let declaration = &head[from..];
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    quoted_after(declaration, b"encoding")
}

/// The charset of `<meta charset=...>` or `<meta http-equiv=... content="text/html; charset=...">`.
fn declared_in_meta(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(ENCODING_PRESCAN_BYTES)].to_ascii_lowercase();
    memmem::find_iter(head, b"<meta").find_map(|from| {
        let tag = &head[from..];
        let tag = &tag[..memchr::memchr(b'>', tag).unwrap_or(tag.len())];
        quoted_after(tag, b"charset")
    })
}

/// The word after `name=`, quoted or not.
fn quoted_after(text: &[u8], name: &[u8]) -> Option<String> {
    let after = &text[memmem::find(text, name)? + name.len()..];
    let value = after.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let end = value.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"-_.:+".contains(byte)));
    let label = &value[..end.unwrap_or(value.len())];
    (!label.is_empty()).then(|| String::from_utf8_lossy(label).into_owned())
}

/// The `charset` parameter of a content type.
pub(crate) fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], charset: Option<&str>, encoding: &str, text: &str) {
        let decoded = decode(bytes, charset);
        assert_eq!((decoded.encoding, &*decoded.text), (encoding, text));
    }

    #[test]
    fn claims_are_believed_in_order_if_the_bytes_agree() {
        check(b"<a>", None, "utf-8", "<a>");
        check("é".as_bytes(), None, "utf-8", "é");
        check(b"\xe9", None, "windows-1252", "é");
        check(b"\xef\xbb\xbf\xc3\xa9", Some("koi8-r"), "utf-8", "é");
        check(
            b"<?xml version='1.0' encoding='koi8-r'?>\xc1",
            None,
            "KOI8-R",
            "<?xml version='1.0' encoding='koi8-r'?>а",
        );
        check(b"<?xml encoding='koi8-r'?>\xe9", Some("iso-8859-1"), "windows-1252", "<?xml encoding='koi8-r'?>é");
        check(b"<meta charset=euc-kr>\xb3\xe2", None, "EUC-KR", "<meta charset=euc-kr>년");
        check(b"\xb3\xe2", Some("euc-kr"), "EUC-KR", "년");
    }

    #[test]
    fn a_claim_that_lies_is_passed_over() {
        check("é".as_bytes(), Some("iso-8859-1"), "utf-8", "é");
        check(b"\xe9t\xe9", Some("utf-8"), "windows-1252", "été");
        check(b"<?xml encoding='utf-16'?>", None, "utf-8", "<?xml encoding='utf-16'?>");
        check(b"x", Some("no-such-charset"), "utf-8", "x");
        assert_eq!(decode(b"\xe9", Some("utf-8")).lied.as_deref(), Some("utf-8"));
    }

    #[test]
    fn wide_encodings_are_seen_with_and_without_a_bom() {
        let wide = |units: fn(u32) -> [u8; 4], bom: bool| -> Vec<u8> {
            let bom = if bom { "\u{feff}" } else { "" };
            format!("{bom}<é😀").chars().flat_map(|c| units(c as u32)).collect()
        };
        check(&wide(u32::to_le_bytes, true), None, "utf-32le", "<é😀");
        check(&wide(u32::to_be_bytes, false), None, "utf-32be", "<é😀");
        let utf16: Vec<u8> = "<é😀".encode_utf16().flat_map(u16::to_le_bytes).collect();
        check(&utf16, Some("utf-8"), "utf-16le", "<é😀");
    }

    #[test]
    fn bytes_of_two_encodings_in_one_document_lose_nothing() {
        check(b"\xef\xbb\xbf\xc3\xa9 \xe9", None, "utf-8", "é é");
    }
}
