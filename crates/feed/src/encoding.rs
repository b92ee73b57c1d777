//! Bytes to text. What a feed says of its encoding is often wrong, so each claim is tried in the order of its worth and
//! believed only if the bytes agree: BOM, HTTP charset, XML declaration, `<meta>`, then UTF-8, then what browsers guess.
//!
//! A document is read in one encoding. Only where it is UTF-8 but for a few bytes are those read in another.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, IBM866, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::memmem;

use crate::{
    entity::windows_1252,
    limits::{ENCODING_GUESS_BYTES, ENCODING_PRESCAN_BYTES},
};

/// An encoding that fails more often than at one in so many of its letters beyond ASCII is the wrong one.
const LETTERS_PER_FAULT_MIN: usize = 4;

/// How much speaks for UTF-8 besides the bytes, which decides how many of them may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Utf8Claim {
    Nothing,
    /// A charset or a declaration.
    Label,
    Bom,
}

impl Utf8Claim {
    /// Letters of other encodings are valid UTF-8 by chance only, and then far outnumbered by those that are not.
    fn allows(self, faults: usize, letters: usize) -> bool {
        match self {
            Self::Nothing => faults <= letters / LETTERS_PER_FAULT_MIN,
            Self::Label => faults <= letters,
            Self::Bom => faults <= letters.saturating_mul(2),
        }
    }
}

/// How letters of UTF-8 begin that make no sense in windows-1252: `Â©`, `Ã©`, `â€™`, `ðŸ˜€`.
const SURELY_UTF8: [&[u8]; 4] = [b"\xc2", b"\xc3", b"\xe2\x80", b"\xf0\x9f"];

/// Bytes beyond ASCII from which on a document may be in the Cyrillic of MS-DOS.
const IBM866_BYTES_MIN: usize = 32;

/// A document as text, with how it was read.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) encoding: &'static str,
    /// The claim that was made and not believed.
    pub(crate) rejected_label: Option<String>,
}

/// Reads a document's bytes, given the `charset` of its HTTP content type and where it is from.
pub(crate) fn decode<'a>(bytes: &'a [u8], http_charset: Option<&str>, url: Option<&str>) -> Decoded<'a> {
    let mut decoded = decode_bytes(bytes, http_charset, url);
    if has_c1(decoded.text.as_bytes()) {
        decoded.text = Cow::Owned(without_c1(&decoded.text));
    }
    decoded
}

fn decode_bytes<'a>(bytes: &'a [u8], http_charset: Option<&str>, url: Option<&str>) -> Decoded<'a> {
    if let Some(decoded) = decode_by_shape(bytes, url) {
        return decoded;
    }
    let claims = [http_charset.map(str::to_owned), declared_in_xml(bytes), declared_in_meta(bytes)];
    let claims: Vec<String> = claims.into_iter().flatten().collect();
    let is_utf8 = |label: &String| ascii_compatible(label) == Some(UTF_8);
    let claim = if claims.iter().any(is_utf8) { Utf8Claim::Label } else { Utf8Claim::Nothing };
    let (text, encoding) = claims
        .iter()
        .find_map(|label| decode_as(bytes, label))
        .unwrap_or_else(|| decode_faulty(bytes, claim, &claims, url));
    let is_believed = |label: &String| Encoding::for_label(label.as_bytes()).is_some_and(|it| name_of(it) == encoding);
    Decoded { text, encoding, rejected_label: claims.into_iter().next().filter(|first| !is_believed(first)) }
}

/// Reads bytes that no claim explains as a whole: by the encoding that explains them but for a few.
fn decode_faulty<'a>(
    bytes: &'a [u8],
    claim: Utf8Claim,
    claims: &[String],
    url: Option<&str>,
) -> (Cow<'a, str>, &'static str) {
    let fault = match std::str::from_utf8(bytes) {
        Ok(text) => return decode_escaped(bytes).unwrap_or((Cow::Borrowed(text), "utf-8")),
        Err(fault) => fault,
    };
    let valid = &bytes[..fault.valid_up_to()];
    if fault.error_len().is_none() && proves_utf8(valid) {
        // Cut off inside its last character, which is lost.
        return (String::from_utf8_lossy(valid), "utf-8");
    }
    if is_nearly_utf8(bytes, claim) {
        return (Cow::Owned(decode_mixed(bytes)), "utf-8");
    }
    claims.iter().find_map(|label| decode_nearly_as(bytes, label)).unwrap_or_else(|| decode_guessed(bytes, url))
}

/// Whether bytes are UTF-8 but for a few.
fn is_nearly_utf8(bytes: &[u8], claim: Utf8Claim) -> bool {
    let (mut faults, mut letters) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        faults += usize::from(!chunk.invalid().is_empty());
        // The first byte of each letter: bytes are counted many at a time, characters one by one.
        letters += chunk.valid().bytes().filter(|byte| *byte >= 0xc0).count();
    }
    claim.allows(faults, letters) && proves_utf8(bytes)
}

/// Whether what is valid UTF-8 hardly is so by chance, as a single letter may be: `é »` is one of three bytes.
fn proves_utf8(bytes: &[u8]) -> bool {
    let mut letters = bytes.utf8_chunks().flat_map(|chunk| chunk.valid().matches(|c: char| !c.is_ascii()));
    let Some(first) = letters.next() else { return false };
    letters.next().is_some() || SURELY_UTF8.iter().any(|start| first.as_bytes().starts_with(start))
}

/// Reads bytes in the encoding that a browser would guess. The country in an address tells much about it.
fn decode_guessed<'a>(bytes: &'a [u8], url: Option<&str>) -> (Cow<'a, str>, &'static str) {
    let from = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default().saturating_sub(16);
    let told = &bytes[from..];
    let is_whole = told.len() <= ENCODING_GUESS_BYTES;
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&told[..told.len().min(ENCODING_GUESS_BYTES)], is_whole);
    let host = url.and_then(|url| url::Url::parse(url).ok()).and_then(|url| url.domain().map(str::to_owned));
    let country = host.as_deref().and_then(|host| host.rsplit('.').next());
    // The detector panics at what is no such label.
    let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let country = country.map(str::as_bytes).filter(|label| label.iter().copied().all(is_label));
    let encoding = detector.guess(country, Utf8Detection::Deny);
    // A few odd bytes look like the line drawing of MS-DOS, in which hardly any feed was ever written.
    let is_odd = encoding == IBM866 && told.iter().filter(|byte| !byte.is_ascii()).count() < IBM866_BYTES_MIN;
    let encoding = if is_odd { WINDOWS_1252 } else { encoding };
    (encoding.decode_without_bom_handling(bytes).0, name_of(encoding))
}

/// ISO-2022-JP is ASCII with escape sequences, which stand in no other document.
fn decode_escaped(bytes: &[u8]) -> Option<(Cow<'_, str>, &'static str)> {
    memchr::memmem::find(bytes, b"\x1b$")?;
    let text = ISO_2022_JP.decode_without_bom_handling_and_without_replacement(bytes)?;
    Some((text, name_of(ISO_2022_JP)))
}

/// Whether UTF-8 has a control character from U+0080 to U+009F.
fn has_c1(text: &[u8]) -> bool {
    memchr::memchr_iter(0xc2, text).any(|at| text.get(at + 1).is_some_and(|next| (0x80..=0x9f).contains(next)))
}

/// Nobody means these control characters: they are bytes of UTF-8, or the quotes and dashes of windows-1252, taken for
/// Latin-1 on their way.
pub(crate) fn without_c1(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone();
        let byte = |c: char| u8::try_from(u32::from(c)).ok();
        if let Some(letter) = byte(c).and_then(|first| misread_utf8(first, || rest.next().and_then(byte))) {
            out.push(letter);
            continue;
        }
        rest = after;
        let is_c1 = |c: char| ('\u{80}'..='\u{9f}').contains(&c);
        let meant = if is_c1(c) { windows_1252(u32::from(c)) } else { c };
        out.extend((!is_c1(meant)).then_some(meant));
    }
    out
}

/// The letter of UTF-8 whose bytes were each taken for a character of Latin-1: quotes, dashes and signs (`0xe2`), emoji
/// (`0xf0`). Its second byte is then a control character, and no text has one after these letters. Of letters of two
/// bytes nobody can tell: `É` before a quote of windows-1252 looks the same.
pub(crate) fn misread_utf8(first: u8, mut next: impl FnMut() -> Option<u8>) -> Option<char> {
    let length = match first {
        0xe2 => 3,
        0xf0 => 4,
        _ => return None,
    };
    let mut bytes = [first, next().filter(|second| (0x80..=0x9f).contains(second))?, 0, 0];
    for byte in &mut bytes[2..length] {
        *byte = next()?;
    }
    std::str::from_utf8(&bytes[..length]).ok()?.chars().next()
}

/// Tries one claim on bytes of which a few are wrong: a slip of the generator must not make all the others unreadable.
fn decode_nearly_as<'a>(bytes: &'a [u8], label: &str) -> Option<(Cow<'a, str>, &'static str)> {
    let encoding = ascii_compatible(label).filter(|encoding| *encoding != UTF_8)?;
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    let faults = text.matches(char::REPLACEMENT_CHARACTER).count();
    let letters = text.chars().filter(|c| !c.is_ascii()).count();
    (faults <= letters / LETTERS_PER_FAULT_MIN).then_some((text, name_of(encoding)))
}

/// Encodings that show in the bytes themselves: a BOM, or the zeros of UTF-16 and UTF-32 around a first `<` or `{`.
fn decode_by_shape<'a>(bytes: &'a [u8], url: Option<&str>) -> Option<Decoded<'a>> {
    let decoded = |text, encoding| Some(Decoded { text, encoding, rejected_label: None });
    let utf16 = |encoding: &'static Encoding, bytes| {
        decoded(
            encoding.decode_without_bom_handling(bytes).0,
            if encoding == UTF_16LE { "utf-16le" } else { "utf-16be" },
        )
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            let (text, encoding) = decode_faulty(rest, Utf8Claim::Bom, &[], url);
            decoded(text, encoding)
        }
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
    let encoding = ascii_compatible(label)?;
    // Text that is well-formed UTF-8 beyond ASCII hardly ever is anything else by chance, and single-byte encodings
    // accept every byte: they never show that they are wrong.
    if encoding.is_single_byte() {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let name = if text.is_ascii() { name_of(encoding) } else { "utf-8" };
                return Some((Cow::Borrowed(text), name));
            }
            Err(_) if is_nearly_utf8(bytes, Utf8Claim::Nothing) => {
                return Some((Cow::Owned(decode_mixed(bytes)), "utf-8"));
            }
            Err(_) => {}
        }
    }
    encoding.decode_without_bom_handling_and_without_replacement(bytes).map(|text| (text, name_of(encoding)))
}

/// The encoding of a label, unless it is UTF-16: its shape would have shown in the bytes.
fn ascii_compatible(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != UTF_16LE && *encoding != UTF_16BE)
}

fn name_of(encoding: &'static Encoding) -> &'static str {
    if encoding == UTF_8 { "utf-8" } else { encoding.name() }
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
        let decoded = decode(bytes, charset, None);
        assert_eq!((decoded.encoding, &*decoded.text), (encoding, text));
    }

    #[test]
    fn f2_encoding_claims_tried_in_order() {
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
    fn f2_false_encoding_claims_rejected() {
        check("é".as_bytes(), Some("iso-8859-1"), "utf-8", "é");
        check(b"\xe9t\xe9", Some("utf-8"), "windows-1252", "été");
        check(b"<?xml encoding='utf-16'?>", None, "utf-8", "<?xml encoding='utf-16'?>");
        check(b"x", Some("no-such-charset"), "utf-8", "x");
        for (bytes, charset, rejected_label) in [
            (&b"\xe9"[..], "utf-8", Some("utf-8")),
            ("é".as_bytes(), "iso-8859-1", Some("iso-8859-1")),
            ("é".as_bytes(), "UTF8", None),
            (b"\xe9", "latin1", None),
            (b"e", "koi8-r", None),
        ] {
            assert_eq!(
                decode(bytes, Some(charset), None).rejected_label.as_deref(),
                rejected_label,
                "{bytes:?} as {charset}"
            );
        }
    }

    /// Bytes that nothing declares, as they are in feeds: a title and some words in an ASCII frame.
    #[test]
    fn f2_undeclared_encodings_guessed_as_browsers_do() {
        for (label, url, words) in [
            ("shift_jis", None, "日本語のニュースをお届けします。今日の天気は晴れです。"),
            ("euc-jp", None, "日本語のニュースをお届けします。今日の天気は晴れです。"),
            ("iso-2022-jp", None, "日本語のニュースをお届けします。"),
            ("gbk", None, "中国的新闻和天气预报，今天晴转多云。"),
            ("big5", None, "台灣的新聞與天氣預報，今天晴時多雲。"),
            ("euc-kr", None, "한국어로 쓴 오늘의 뉴스와 날씨입니다."),
            ("windows-1251", None, "Новости и погода на сегодня"),
            ("koi8-u", None, "Новости и погода на сегодня, ясно"),
            ("windows-874", None, "ข่าวและพยากรณ์อากาศวันนี้"),
            ("windows-1255", None, "חדשות ותחזית מזג האוויר להיום"),
            ("windows-1253", None, "Ειδήσεις και καιρός σήμερα"),
            ("windows-1252", None, "Actualités et météo : l’été est doué »"),
            ("windows-1250", Some("https://zpravy.cz/rss"), "Zprávy a počasí: dnes žluťoučký kůň"),
            ("windows-1254", Some("https://haber.com.tr/rss"), "Haberler ve hava durumu: bugün güneşli, şehir içi"),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).expect("a known label");
            let text = format!("<rss><channel><title>{words}</title></channel></rss>");
            let bytes = encoding.encode(&text).0;
            let decoded = decode(&bytes, None, url);
            assert_eq!((decoded.encoding, &*decoded.text), (name_of(encoding), text.as_str()), "{label}");
            if encoding != ISO_2022_JP {
                let lying = decode(&bytes, Some("utf-8"), url);
                assert_eq!((lying.encoding, &*lying.text), (name_of(encoding), text.as_str()), "{label} as UTF-8");
            }
        }
    }

    #[test]
    fn f2_no_document_decoded_half_as_utf_8() {
        // These three bytes are a character of UTF-8 as well.
        check(b"dou\xe9\xa0\xbb, \xe9t\xe9", None, "windows-1252", "doué\u{a0}», été");
        check(b"dou\xe9\xa0\xbb, \xe9t\xe9", Some("utf-8"), "windows-1252", "doué\u{a0}», été");
        check(b"dou\xe9\xa0\xbb, \xe9t\xe9", Some("iso-8859-1"), "windows-1252", "doué\u{a0}», été");
        for charset in [None, Some("utf-8"), Some("iso-8859-1")] {
            check(b"dou\xe9\xa0\xbb caf\xe9", charset, "windows-1252", "doué\u{a0}» café");
            check(b"dou\xe9\xa0\xbb caf\xe9.", charset, "windows-1252", "doué\u{a0}» café.");
        }
        // A single letter of UTF-8 that windows-1252 would not spell, beside one that was cut.
        for one in ["It’s", "café", "© me", "ah 😀"] {
            let bytes = [one.as_bytes(), b" and \xe2\x80</p>"].concat();
            check(&bytes, Some("utf-8"), "utf-8", &format!("{one} and â€</p>"));
        }
    }

    #[test]
    fn f2_utf_8_survives_some_invalid_bytes() {
        let items = b"<item>It\xe2\x80\x99s \xe2\x80\x9cnews\xe2\x80\x9d\xe2\x80</item>".repeat(20);
        let words = [&"naïve café ".repeat(3).into_bytes()[..], b"caf\xe9."].concat();
        let cyrillic = ["Новости и погода на сегодня: ".as_bytes(), b"\xff\xf1\xed\xee"].concat();
        for (bytes, shown) in
            [(items, "<item>It’s “news”â€</item>"), (words, "naïve café café"), (cyrillic, "на сегодня: ÿñíî")]
        {
            let declared = [b"<?xml version='1.0' encoding='UTF-8'?>", &bytes[..]].concat();
            let with_bom = [b"\xef\xbb\xbf", &bytes[..]].concat();
            for decoded in
                [decode(&bytes, Some("utf-8"), None), decode(&declared, None, None), decode(&with_bom, None, None)]
            {
                assert_eq!((decoded.encoding, decoded.rejected_label.as_deref()), ("utf-8", None), "{shown}");
                assert!(decoded.text.contains(shown), "{}", decoded.text);
            }
        }
        check(b"na\xc3\xafve caf\xc3\xa9 caf\xe9 \xe9t\xe9", None, "windows-1252", "naÃ¯ve cafÃ© café été");
        check(b"\xef\xbb\xbfna\xc3\xafve caf\xc3\xa9 \xe9t\xe9 \xe9", None, "utf-8", "naïve café été é");
        check(b"\xef\xbb\xbf\xe9t\xe9 dou\xe9", None, "windows-1252", "été doué");
        let one = [&"naïve café ".repeat(3).into_bytes()[..], b"caf\xe9."].concat();
        check(&one, Some("iso-8859-1"), "utf-8", "naïve café naïve café naïve café café.");
    }

    #[test]
    fn f2_c1_control_characters_are_windows_1252() {
        check("\u{93}a\u{94} \u{85}\u{81}é".as_bytes(), None, "utf-8", "“a” …é");
        check("a\u{a0}é".as_bytes(), None, "utf-8", "a\u{a0}é");
    }

    #[test]
    fn f2_utf_8_taken_for_latin_1_is_utf_8() {
        for (text, expect) in [
            ("it\u{e2}\u{80}\u{99}s \u{e2}\u{80}\u{a6}", "it’s …"),
            ("\u{f0}\u{9f}\u{98}\u{80}.", "😀."),
            ("\u{e2}\u{80}", "â€"),
            ("\u{e2}\u{80}\u{e2}\u{80}\u{99}", "â€’"),
            ("â\u{94} Papâ\u{85}", "â” Papâ…"),
            ("CAF\u{c9}\u{85} é\u{94}\u{96}", "CAFÉ… é”–"),
            ("â€™ \u{85}", "â€™ …"),
        ] {
            check(text.as_bytes(), None, "utf-8", expect);
        }
    }

    #[test]
    fn f2_encoding_guess_takes_any_url() {
        for url in ["", "http://", "http://127.0.0.1/", "http://[::1]/", "http://E.ORG./", "http://e.рф/", "x:y"] {
            assert_eq!(decode(b"\xe9t\xe9", None, Some(url)).encoding, "windows-1252", "{url}");
        }
    }

    #[test]
    fn f2_utf_16_and_32_detected_without_bom() {
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
    fn f2_invalid_bytes_affect_only_themselves() {
        check(b"\xef\xbb\xbf\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \xe9.", None, "utf-8", "éééé é.");
        check(b"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \xe9.", Some("utf-8"), "utf-8", "éééé é.");
        check(b"\xc3\xa9 \xc3", Some("utf-8"), "utf-8", "é ");
        let korean = encoding_rs::EUC_KR.encode("한국어로 쓴 글").0;
        check(&[&korean, &b"\xff"[..]].concat(), Some("euc-kr"), "EUC-KR", "한국어로 쓴 글\u{fffd}");
    }
}
