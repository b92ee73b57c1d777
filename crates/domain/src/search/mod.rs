//! What a user searches for: the search language, cut as texts are (see [`words`](crate::words)), so that neither
//! database's own query language ever sees what a user typed.
//!
//! Both stores keep the words of each entry as one text, and an index of their grams. A term is a string that this text
//! must hold, the needle, and the grams that an index must hold for that. Where a term is one gram the two are the same;
//! where it is more, the index proposes and the needle decides. So both stores find the same, whatever an index can tell.

mod parse;

use crate::words::is_unspaced;

/// Characters of a search.
pub const SEARCH_CHARS_MAX: usize = 1_000;
/// Terms of a search: words, phrases and prefixes, wanted or not.
pub const SEARCH_TERMS_MAX: usize = 32;
/// Characters before a `*`: fewer would be the start of a good part of all words.
pub const PREFIX_CHARS_MIN: usize = 2;
/// Grams of one term that an index is asked for. More would find no fewer entries to speak of.
pub const TERM_GRAMS_MAX: usize = 16;

/// Which entries a search finds: those that hold all terms of the first list and none of the second. Without any term it
/// finds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    wanted: Vec<Term>,
    unwanted: Vec<Term>,
}

/// Why a search cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    #[error("longer than {SEARCH_CHARS_MAX} characters; search for less")]
    TooLong,
    #[error("more than {SEARCH_TERMS_MAX} words and phrases; leave some out")]
    TooManyTerms,
    #[error("`{0}*` is too short: write at least {PREFIX_CHARS_MIN} characters before the `*`")]
    ShortPrefix(String),
}

/// A word, a prefix or a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    needle: String,
    grams: Vec<Gram>,
}

/// What an index can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gram {
    Whole(String),
    /// Any gram that starts so.
    Start(String),
}

impl Search {
    /// Reads the search language. `None` if nothing but white space was typed.
    pub fn parse(query: &str) -> Result<Option<Self>, SearchError> {
        parse::parse(query)
    }

    /// Whether it finds nothing, because there is no word in it.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }

    /// Whether it only says what is not wanted. No index lists that.
    pub fn is_exclusion(&self) -> bool {
        self.wanted.is_empty() && !self.unwanted.is_empty()
    }

    /// Whether it finds a text, by its words as [`words_of`](crate::words::words_of) gives them. This is what both stores
    /// must agree with.
    pub fn finds(&self, words: &str) -> bool {
        !self.is_empty()
            && self.wanted.iter().all(|term| words.contains(&term.needle))
            && !self.unwanted.iter().any(|term| words.contains(&term.needle))
    }

    /// Grams that every entry found has. All of them together are only a first choice if there are needles, too.
    pub fn grams(&self) -> Vec<&Gram> {
        let mut grams = Vec::new();
        for gram in self.wanted.iter().flat_map(|term| &term.grams) {
            if !grams.contains(&gram) {
                grams.push(gram);
            }
        }
        grams
    }

    /// Strings that the words of every entry found hold, where grams alone do not tell.
    pub fn needles(&self) -> Vec<&str> {
        self.wanted.iter().filter(|term| term.whole().is_none() && term.start().is_none()).map(Term::needle).collect()
    }

    /// Grams that no entry found has.
    pub fn unwanted_grams(&self) -> Vec<&str> {
        self.unwanted.iter().filter_map(Term::whole).collect()
    }

    /// Strings that the words of no entry found hold, where grams alone do not tell. Starts are among them: that an index
    /// has none of many grams costs it more than to look at the words of what is wanted.
    pub fn unwanted_needles(&self) -> Vec<&str> {
        self.unwanted.iter().filter(|term| term.whole().is_none()).map(Term::needle).collect()
    }

    /// Whether entries have to be looked at, because an index of grams does not tell.
    pub fn has_needles(&self) -> bool {
        !self.needles().is_empty() || !self.unwanted_needles().is_empty()
    }
}

impl Term {
    /// A term of these words in a row, of which the last may go on.
    fn new(words: &[&str], is_prefix: bool) -> Self {
        let mut needle = words.join(" ");
        if words.first().is_some_and(|first| !first.starts_with(is_unspaced)) {
            needle.insert(0, ' ');
        }
        if words.last().is_some_and(|last| !is_prefix && !last.starts_with(is_unspaced)) {
            needle.push(' ');
        }
        let last = words.len().saturating_sub(1);
        let grams = words.iter().enumerate().flat_map(|(at, word)| grams_within(word, is_prefix && at == last));
        let mut grams: Vec<Gram> = grams.take(TERM_GRAMS_MAX).collect();
        if grams.len() > 1 {
            grams.retain(|gram| !gram.is_short_start());
        }
        Self { needle, grams }
    }

    fn needle(&self) -> &str {
        &self.needle
    }

    /// The gram that it is, and no more.
    fn whole(&self) -> Option<&str> {
        match self.grams.as_slice() {
            [Gram::Whole(gram)] if self.needle.trim() == gram => Some(gram),
            _ => None,
        }
    }

    /// The start of a gram that it is, and no more.
    fn start(&self) -> Option<&str> {
        match self.grams.as_slice() {
            [Gram::Start(start)] if self.needle.trim() == start => Some(start),
            _ => None,
        }
    }
}

impl Gram {
    /// A letter with a `*`. One character of a script without spaces is no such thing: few grams start with it.
    fn is_short_start(&self) -> bool {
        matches!(self, Self::Start(start) if !start.starts_with(is_unspaced) && start.chars().count() < PREFIX_CHARS_MIN)
    }
}

/// The grams that an entry has if it holds this word, or this part of a run.
fn grams_within(word: &str, is_prefix: bool) -> Vec<Gram> {
    if !word.starts_with(is_unspaced) {
        let gram = if is_prefix { Gram::Start } else { Gram::Whole };
        return vec![gram(word.to_owned())];
    }
    let pairs: Vec<Gram> = crate::words::grams(word).map(|pair| Gram::Whole(pair.to_owned())).collect();
    match pairs.split_last() {
        // The last is one character, and need not be the last of the run in the text.
        Some((_, pairs)) if !pairs.is_empty() => pairs.to_vec(),
        _ => vec![Gram::Start(word.to_owned())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words_of;

    fn search(query: &str) -> Search {
        Search::parse(query).unwrap().unwrap()
    }

    #[test]
    fn f6_terms_are_found_in_texts() {
        fn check(query: &str, text: &str, expect: bool) {
            assert_eq!(search(query).finds(&words_of(text)), expect, "{query}: {text}");
        }
        check("bread", "Fresh bread.", true);
        check("bread", "Breadth", false);
        check("bread*", "Breadth", true);
        check("\"fresh bread\"", "Fresh, bread", true);
        check("\"fresh bread\"", "fresh breadth", false);
        check("\"fresh bread*\"", "fresh breadth", true);
        check("\"fresh bread\"", "bread, fresh", false);
        check("fresh -bread", "fresh butter", true);
        check("fresh -bread", "fresh bread", false);
        check("-bread", "fresh butter", true);
        check("-bread", "", true);
        check("++", "fresh butter", false);
        check("京タ", "東京タワー", true);
        check("京", "東京タワー", true);
        check("ー", "東京タワー", true);
        check("東タ", "東京タワー", false);
        check("東京ワー", "東京、京タ、タワー", false);
        check("\"新機能 iphone\"", "の新機能 iPhone", true);
        check("\"fresh bread\"", "Fresh\nBread", false);
        check("fresh -\"fresh bread\"", "Fresh\nBread", true);
        check("\"新機能 iphone\"", "の新機能\niPhone", false);
    }

    #[test]
    fn a_search_splits_into_grams_and_needles() {
        let whole = |gram: &str| Gram::Whole(gram.to_owned());
        let start = |gram: &str| Gram::Start(gram.to_owned());
        for (query, grams, needles) in [
            ("bread bread Butter", vec![whole("bread"), whole("butter")], vec![]),
            ("conf*", vec![start("conf")], vec![]),
            ("\"fresh bread\"", vec![whole("fresh"), whole("bread")], vec![" fresh bread "]),
            ("\"bread bread\"", vec![whole("bread"), whole("bread")], vec![" bread bread "]),
            ("\"fresh b*\"", vec![whole("fresh")], vec![" fresh b"]),
            ("東", vec![start("東")], vec![]),
            ("東京", vec![whole("東京")], vec![]),
            ("東京*", vec![whole("東京")], vec![]),
            ("東京タ", vec![whole("東京"), whole("京タ")], vec!["東京タ"]),
            ("x東", vec![whole("x"), start("東")], vec![" x 東"]),
        ] {
            let search = search(query);
            let mut expect: Vec<Gram> = Vec::new();
            for gram in grams {
                if !expect.contains(&gram) {
                    expect.push(gram);
                }
            }
            assert_eq!(search.grams(), expect.iter().collect::<Vec<_>>(), "{query}");
            assert_eq!(search.needles(), needles, "{query}");
        }
        let search = search("a -bread -\"fresh butter\" -conf* -東京 -東");
        assert_eq!(search.unwanted_grams(), ["bread", "東京"]);
        assert_eq!(search.unwanted_needles(), [" fresh butter ", " conf", "東"]);
    }

    #[test]
    fn u8_an_index_is_asked_for_so_many_grams() {
        let long = search(&"東京".repeat(100));
        assert_eq!(long.grams().len(), 2);
        let han: String = ('\u{4e00}'..).take(500).collect();
        assert_eq!(search(&han).grams().len(), TERM_GRAMS_MAX);
        assert!(search(&han).finds(&words_of(&han)));
    }
}
