//! The grams of a text and of a search as PostgreSQL takes them. Its own parser is not used: it keeps hosts, addresses
//! and hyphenated words whole, and what it takes for a letter depends on the database's locale.
//!
//! Differs from the other store: SQLite's index (`search_index`) takes words and searches as texts.

use std::collections::HashSet;

use domain::{
    Search,
    search::Gram,
    words::{WORDS_BYTES_MAX, grams},
};

// Each character is in two grams at most, and a text has no more than this many bytes of them.
const _: () = assert!(2 * WORDS_BYTES_MAX < 1024 * 1024, "PostgreSQL takes less than 1 MiB of grams");

/// The different grams of words, joined by spaces.
pub(crate) fn different_grams(words: &str) -> String {
    let mut seen = HashSet::new();
    let different: Vec<&str> = grams(words).filter(|gram| seen.insert(*gram)).collect();
    different.join(" ")
}

/// What a search asks of the grams, as a `tsquery`. Grams hold none of its signs. A search for a phrase that is not
/// wanted, and nothing else, asks nothing of them: that is `None`.
pub(crate) fn query_of(search: &Search) -> Option<String> {
    let wanted = search.grams().into_iter().map(|gram| match gram {
        Gram::Whole(gram) => format!("'{gram}'"),
        Gram::Start(start) => format!("'{start}':*"),
    });
    let unwanted = search.unwanted_grams().into_iter().map(|gram| format!("!'{gram}'"));
    let parts: Vec<String> = wanted.chain(unwanted).collect();
    if parts.is_empty() { None } else { Some(parts.join(" & ")) }
}

/// Strings as patterns for `LIKE`, of whose signs they hold none.
pub(crate) fn patterns_of(needles: &[&str]) -> Vec<String> {
    needles.iter().map(|needle| format!("%{needle}%")).collect()
}

#[cfg(test)]
mod tests {
    use domain::words::words_of;

    use super::*;

    #[test]
    fn a_text_gives_each_gram_once() {
        assert_eq!(different_grams(&words_of("One, two; ONE-three\n")), "one two three");
        assert_eq!(different_grams(&words_of("it's 'quoted' \\ & | ! <-> :*")), "it s quoted");
        assert_eq!(different_grams(&words_of("東東東")), "東東 東");
        assert_eq!(different_grams(&words_of(" - ")), "");
    }

    #[test]
    fn a_search_is_quoted_grams() {
        let check = |query: &str, expect: Option<&str>| {
            assert_eq!(query_of(&Search::parse(query).unwrap().unwrap()).as_deref(), expect, "{query}");
        };
        check("bär o'x", Some("'bar' & 'o' & 'x'"));
        check("conf* -東京 -x*y -ab*", Some("'conf':* & !'東京'"));
        check("-\"a b\"", None);
        check("& '", None);
        assert_eq!(patterns_of(&[" a b "]), ["% a b %"]);
    }
}
