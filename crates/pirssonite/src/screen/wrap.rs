//! Lines that end between words.

use unicode_width::UnicodeWidthChar;

use super::cells::width;

/// Signs that do not begin a line, where lines end between any two characters.
const CLOSING: &str = "、。，．・：；？！）」』】〉》〕］｝ーっゃゅょぁぃぅぇぉッャュョァィゥェォ…‥々";
/// Signs that do not end one.
const OPENING: &str = "（「『【〈《〔［｛";
/// What joins two emoji into one.
const JOINER: char = '\u{200d}';

/// The lines of a text, each of so many cells at most; a newline in it ends a line. A word that is longer is broken, but
/// for an address: a terminal makes it clickable only as a whole.
pub(crate) fn wrap(text: &str, cells: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| wrap_line(line, cells.max(1))).collect()
}

fn wrap_line(text: &str, cells: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut taken) = (String::new(), 0);
    for word in text.split_whitespace() {
        for (number, piece) in pieces(word, cells).into_iter().enumerate() {
            let blank = usize::from(number == 0 && !line.is_empty());
            let wanted = width(piece);
            if !line.is_empty() && taken + blank + wanted > cells {
                lines.push(std::mem::take(&mut line));
                taken = 0;
            } else if blank == 1 {
                line.push(' ');
                taken += 1;
            }
            line.push_str(piece);
            taken += wanted;
        }
    }
    lines.push(line);
    lines
}

/// The pieces of a word between which a line may end.
fn pieces(word: &str, cells: usize) -> Vec<&str> {
    if word.contains("://") || word.is_ascii() && word.len() <= cells {
        return vec![word];
    }
    let (mut pieces, mut begin, mut taken) = (Vec::new(), 0, 0);
    let mut before: Option<char> = None;
    for (at, c) in word.char_indices() {
        let wanted = c.width().unwrap_or_default();
        if before.is_some_and(|before| may_end_between(before, c)) || taken > 0 && wanted > 0 && taken + wanted > cells
        {
            pieces.push(&word[begin..at]);
            (begin, taken) = (at, 0);
        }
        taken += wanted;
        before = Some(c);
    }
    pieces.push(&word[begin..]);
    pieces
}

/// Whether a line may end between two characters of a word: beside one that takes two cells, as in Chinese and Japanese.
fn may_end_between(before: char, after: char) -> bool {
    let is_wide = |c: char| c.width() == Some(2);
    let is_apart = before != JOINER && after != JOINER && after.width() != Some(0);
    is_apart && (is_wide(before) || is_wide(after)) && !CLOSING.contains(after) && !OPENING.contains(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_lines_break_between_words_and_wide_characters() {
        for (text, cells, expect) in [
            ("a quick brown fox", 7, &["a quick", "brown", "fox"][..]),
            ("a  quick\tfox", 80, &["a quick fox"]),
            ("one\ntwo three", 5, &["one", "two", "three"]),
            ("", 5, &[""]),
            ("unbreakable", 4, &["unbr", "eaka", "ble"]),
            ("see https://example.org/a/long/one now", 10, &["see", "https://example.org/a/long/one", "now"]),
            ("日本語の新聞", 6, &["日本語", "の新聞"]),
            ("日本語。の新聞", 6, &["日本", "語。の", "新聞"]),
            ("abc日本語", 5, &["abc日", "本語"]),
            ("ÄÖÜäöü", 3, &["ÄÖÜ", "äöü"]),
        ] {
            assert_eq!(wrap(text, cells), expect, "{text} {cells}");
        }
        assert!(wrap(&"新".repeat(1000), 0).iter().all(|line| line.chars().count() == 1));
    }
}
