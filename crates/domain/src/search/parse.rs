//! Reads the search language. It has no syntax errors: signs that mean nothing where they stand stand between words.
//!
//! Terms are separated by white space, commas and brackets. What is in quotes is a phrase, and so are words that other
//! signs join (`o'neill`, `1.91`, `well-known`): nobody who searches for a version wants its digits anywhere. A `-` before
//! a term excludes it; a `*` after its last word makes that a prefix. A quote that is not closed goes on to the end.

use super::{Gram, SEARCH_CHARS_MAX, SEARCH_TERMS_MAX, Search, SearchError, Term};
use crate::words::words_of;

pub(super) fn parse(query: &str) -> Result<Option<Search>, SearchError> {
    if query.trim().is_empty() {
        return Ok(None);
    }
    let signs: Vec<char> = query.chars().take(SEARCH_CHARS_MAX + 1).map(plain_sign).collect();
    if signs.len() > SEARCH_CHARS_MAX {
        return Err(SearchError::TooLong);
    }
    let mut search = Search::default();
    let mut rest = signs.as_slice();
    while let Some(part) = next_part(&mut rest) {
        for term in terms_of(&part)? {
            let terms = if part.is_unwanted { &mut search.unwanted } else { &mut search.wanted };
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        if search.wanted.len() + search.unwanted.len() > SEARCH_TERMS_MAX {
            return Err(SearchError::TooManyTerms);
        }
    }
    Ok(Some(search))
}

/// Signs as other keyboards write them.
fn plain_sign(c: char) -> char {
    match c {
        '“' | '”' | '„' | '‟' | '«' | '»' | '＂' => '"',
        '－' => '-',
        '＊' => '*',
        _ => c,
    }
}

/// A piece of a search between two separators, or between two quotes.
#[derive(Debug)]
struct Part {
    text: String,
    is_unwanted: bool,
    is_quoted: bool,
    is_prefix: bool,
}

fn next_part(rest: &mut &[char]) -> Option<Part> {
    skip(rest, is_separator);
    if rest.is_empty() {
        return None;
    }
    let dashes = skip(rest, |c| c == '-');
    let is_quoted = skip_one(rest, '"');
    let text: String = if is_quoted { take(rest, |c| c != '"') } else { take(rest, |c| c != '"' && !is_separator(c)) };
    let is_closed = is_quoted && skip_one(rest, '"');
    let stars = skip(rest, |c| is_closed && c == '*');
    // A `*` belongs to the word that it follows.
    let without_star = text.trim_end_matches('*');
    let is_prefix = stars > 0 || (without_star.len() < text.len() && without_star.ends_with(is_of_word));
    Some(Part { is_unwanted: dashes > 0, is_quoted, is_prefix, text })
}

fn skip(rest: &mut &[char], which: impl Fn(char) -> bool) -> usize {
    let count = rest.iter().take_while(|c| which(**c)).count();
    *rest = &rest[count..];
    count
}

fn skip_one(rest: &mut &[char], which: char) -> bool {
    let has = rest.first() == Some(&which);
    *rest = &rest[usize::from(has)..];
    has
}

fn take(rest: &mut &[char], which: impl Fn(char) -> bool) -> String {
    let before = *rest;
    let count = skip(rest, which);
    before[..count].iter().collect()
}

fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '、' | '。' | '，' | '；' | '،')
}

fn is_of_word(c: char) -> bool {
    !words_of(c.encode_utf8(&mut [0; 4])).is_empty() || unicode_normalization::char::is_combining_mark(c)
}

/// The terms of a part: a phrase if it is quoted; else pictographs are terms of their own, and what is between them.
fn terms_of(part: &Part) -> Result<Vec<Term>, SearchError> {
    let words = words_of(&part.text);
    let words: Vec<&str> = words.split_ascii_whitespace().collect();
    let is_alone = |word: &&str| !part.is_quoted && is_pictograph(word);
    let mut terms = Vec::new();
    let mut groups = words.chunk_by(|one, other| !is_alone(one) && !is_alone(other)).peekable();
    while let Some(group) = groups.next() {
        let is_last = groups.peek().is_none();
        let term = Term::new(group, part.is_prefix && is_last && !group.last().is_some_and(|last| is_pictograph(last)));
        if let [gram @ Gram::Start(start)] = term.grams.as_slice()
            && gram.is_short_start()
        {
            return Err(SearchError::ShortPrefix(start.clone()));
        }
        terms.push(term);
    }
    Ok(terms)
}

fn is_pictograph(word: &str) -> bool {
    word.chars().all(|c| !c.is_alphanumeric() && !unicode_normalization::char::is_combining_mark(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The needles that are wanted, and those that are not.
    fn check(query: &str, wanted: &[&str], unwanted: &[&str]) {
        let search = parse(query).unwrap().unwrap_or_default();
        let needles = |terms: &[Term]| terms.iter().map(|term| term.needle.clone()).collect::<Vec<_>>();
        assert_eq!(needles(&search.wanted), wanted, "{query}");
        assert_eq!(needles(&search.unwanted), unwanted, "not {query}");
    }

    #[test]
    fn f6_words_phrases_prefixes_and_exclusions_are_read() {
        check("Fresh bread", &[" fresh ", " bread "], &[]);
        check("bread BREAD", &[" bread "], &[]);
        check("\"fresh bread\" butter", &[" fresh bread ", " butter "], &[]);
        check("a\"fresh bread\"butter", &[" a ", " fresh bread ", " butter "], &[]);
        check("“fresh bread” «a b» „c d“", &[" fresh bread ", " a b ", " c d "], &[]);
        check("conf* \"fresh br*\" \"fresh br\"*", &[" conf", " fresh br"], &[]);
        check("bread -jumps -\"a phrase\" -conf*", &[" bread "], &[" jumps ", " a phrase ", " conf"]);
        check("o'neill 1.91 well-known www.e.org", &[" o neill ", " 1 91 ", " well known ", " www e org "], &[]);
        check("bread,butter;(tea|milk)", &[" bread ", " butter ", " tea ", " milk "], &[]);
        check("東京タワー 新機能、発表", &["東京タワー", "新機能", "発表"], &[]);
        check("-東京 iPhoneの", &[" iphone の"], &["東京"]);
        check("a🦀🎉 \"🦀 rust\"", &[" a ", " 🦀 ", " 🎉 ", " 🦀 rust "], &[]);
        check("－ｂａｄ　ｃｏｎｆ＊", &[" conf"], &[" bad "]);
    }

    #[test]
    fn f6_odd_searches_are_read_as_far_as_they_have_a_meaning() {
        for nothing in [
            "", " ", "\"", "\"\"", "-", "--", "- -", "*", "-*", "\"*\"", "\0", "++", "-\"", "\"-\"", "%_\\'", "\u{301}",
        ] {
            check(nothing, &[], &[]);
        }
        assert_eq!(parse(" \t\u{3000}"), Ok(None));
        assert!(parse("\"").unwrap().unwrap().is_empty());
        check("\"fresh bread", &[" fresh bread "], &[]);
        check("fresh\" bread", &[" fresh ", " bread "], &[]);
        check("fresh - bread", &[" fresh ", " bread "], &[]);
        check("fresh -", &[" fresh "], &[]);
        check("--bread", &[], &[" bread "]);
        check("-bread", &[], &[" bread "]);
        check("* bread *", &[" bread "], &[]);
        check("foo*bar foo-* foo**", &[" foo bar ", " foo ", " foo"], &[]);
        check("🦀* 東*", &[" 🦀 ", "東"], &[]);
        check("a\0b", &[" a b "], &[]);
        check("OR AND NOT NEAR(a)", &[" or ", " and ", " not ", " near ", " a "], &[]);
    }

    #[test]
    fn u8_what_is_too_much_is_refused() {
        assert_eq!(parse(&"x".repeat(SEARCH_CHARS_MAX + 1)), Err(SearchError::TooLong));
        assert_eq!(parse(&"\"".repeat(10_000)), Err(SearchError::TooLong));
        assert!(parse(&"é".repeat(SEARCH_CHARS_MAX)).is_ok());
        let words = |count: usize| (0..count).map(|number| format!("w{number} ")).collect::<String>();
        assert!(parse(&words(SEARCH_TERMS_MAX)).is_ok());
        assert_eq!(parse(&words(SEARCH_TERMS_MAX + 1)), Err(SearchError::TooManyTerms));
        assert_eq!(parse("fresh -B*"), Err(SearchError::ShortPrefix("b".to_owned())));
        assert_eq!(
            SearchError::ShortPrefix("b".to_owned()).to_string(),
            "`b*` is too short: write at least 2 characters before the `*`"
        );
    }
}
