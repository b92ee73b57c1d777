//! Encodings whose characters take more bytes as UTF-8, and bytes that are of no encoding.

use super::{CHANNEL_CLOSE, CHANNEL_OPEN, Case, NEARLY_MAX};

pub(super) const CASES: [Case; 8] = [
    Case { name: "utf-32.xml", make: || wide(|c| (c as u32).to_le_bytes().to_vec(), 'x', 4) },
    Case { name: "utf-32-no-characters.xml", make: || [vec![0xff, 0xfe, 0, 0], vec![0xff; NEARLY_MAX]].concat() },
    Case { name: "utf-16.xml", make: || wide(|c| (c as u16).to_le_bytes().to_vec(), '中', 2) },
    Case { name: "windows-1252-euros.xml", make: || narrow("<?xml version='1.0' encoding='windows-1252'?>", &[0x80]) },
    Case { name: "bytes-of-no-encoding.xml", make: || narrow("", &[0x80]) },
    Case { name: "bytes-of-two-encodings.xml", make: || narrow("", &[0x80, 0xc3, 0xa9]) },
    Case { name: "shift-jis-katakana.xml", make: || narrow("<?xml version='1.0' encoding='shift_jis'?>", &[0xb1]) },
    Case { name: "zeros.xml", make: || vec![0; NEARLY_MAX] },
];

/// Four entries, so that none of their texts is longer than what is kept of one.
fn entries(text: &str) -> String {
    let entries: String =
        (0..4).map(|n| format!("<item><guid>{n}</guid><description>{text}</description></item>")).collect();
    [CHANNEL_OPEN, &entries, CHANNEL_CLOSE].concat()
}

fn wide(unit: fn(char) -> Vec<u8>, character: char, unit_bytes: usize) -> Vec<u8> {
    let text = character.to_string().repeat(NEARLY_MAX / unit_bytes / 4 - 200);
    entries(&text).chars().flat_map(unit).collect()
}

/// Entries whose texts, one byte a character, come close to the longest that is kept once they are UTF-8.
fn narrow(declaration: &str, piece: &[u8]) -> Vec<u8> {
    const TEXT_BYTES: usize = 1_300_000;
    let mut document = [declaration, CHANNEL_OPEN].concat().into_bytes();
    for guid in 0..NEARLY_MAX / (TEXT_BYTES + 100) {
        document.extend_from_slice(format!("<item><guid>{guid}</guid><description>").as_bytes());
        document.extend_from_slice(&piece.repeat(TEXT_BYTES / piece.len()));
        document.extend_from_slice(b"</description></item>");
    }
    document.extend_from_slice(CHANNEL_CLOSE.as_bytes());
    document
}
