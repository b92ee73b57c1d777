//! The words of a text and of a search, made here and by neither database: what a letter is, and which letters are the
//! same, would depend on the database otherwise.
//!
//! They are those of [`domain::words`], in lower case, without the accents of Latin letters.

use domain::words::{is_accent, split_words};
use unicode_normalization::char::decompose_canonical;

/// Characters of a word that count: nobody types more.
const WORD_CHARS_MAX: usize = 128;

/// The words of a text, each followed by a space.
pub(crate) fn words_of(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 1);
    for word in split_words(text) {
        let start = words.len();
        push_folded(&mut words, word);
        if words.len() > start {
            words.push(' ');
        }
    }
    words.make_ascii_lowercase();
    words
}

fn push_folded(words: &mut String, word: &str) {
    if word.is_ascii() {
        words.push_str(&word[..word.len().min(WORD_CHARS_MAX)]);
    } else {
        let letters = word.chars().flat_map(char::to_lowercase).filter(|c| !is_accent(*c));
        words.extend(letters.map(without_accent).take(WORD_CHARS_MAX));
    }
}

/// The Latin letter under its accents; any other character as it is, but for the sigma that ends a Greek word.
fn without_accent(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    if c == 'ς' {
        return 'σ';
    }
    let mut base = None;
    decompose_canonical(c, |part| {
        base.get_or_insert(part);
    });
    base.filter(char::is_ascii_alphabetic).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_without_case_and_accents() {
        fn check(text: &str, expect: &str) {
            assert_eq!(words_of(text).trim_end(), expect, "{text}");
        }
        check("", "");
        check(" \u{301} -- ", "");
        check("One, two; ONE-three\n", "one two one three");
        check("www.example.org/a-b?c=1", "www example org a b c 1");
        check("Crème brûlée, cafe\u{301}s", "creme brulee cafes");
        check("ΟΔΟΣ οδος", "οδοσ οδοσ");
        check("Ελλάδα Йод Straße 東京", "ελλάδα йод straße 東京");
        check("Rust 🦀🎉, I ❤️ it", "rust 🦀 🎉 i ❤ it");
        check("it's 'quoted' \\ & | ! <-> :*", "it s quoted");
        check(&"x".repeat(9999), &"x".repeat(WORD_CHARS_MAX));
        check(&"É".repeat(9999), &"e".repeat(WORD_CHARS_MAX));
    }
}
