//! The words of a text and of a search as PostgreSQL takes them. Its own parser is not used: it keeps hosts, addresses
//! and hyphenated words whole, and what it takes for a letter depends on the database's locale.

use std::collections::HashSet;

use crate::words::words_of;

/// The different words of a text, joined by spaces. A text within `SEARCH_TEXT_BYTES_MAX` gives far less than the
/// 1 MiB that PostgreSQL takes.
pub(super) fn lexemes_of(text: &str) -> String {
    let words = words_of(text);
    let mut seen = HashSet::new();
    let different: Vec<&str> = words.split_whitespace().filter(|word| seen.insert(*word)).collect();
    different.join(" ")
}

/// A search as a `tsquery`: all words, each quoted. `None` if there is no word in it, which nothing matches.
pub(super) fn query_of(words: &[String]) -> Option<String> {
    let lexemes = lexemes_of(&words.join(" "));
    let quoted: Vec<String> = lexemes.split_whitespace().map(|word| format!("'{word}'")).collect();
    if quoted.is_empty() { None } else { Some(quoted.join(" & ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_gives_each_word_once() {
        assert_eq!(lexemes_of("One, two; ONE-three\n"), "one two three");
        assert_eq!(lexemes_of("it's 'quoted' \\ & | ! <-> :*"), "it s quoted");
        assert_eq!(lexemes_of(" - "), "");
    }

    #[test]
    fn a_search_is_quoted_words() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert_eq!(query_of(&words(&["bär", "o'x"])).as_deref(), Some("'bar' & 'o' & 'x'"));
        assert_eq!(query_of(&words(&["&", "'"])), None);
    }
}
