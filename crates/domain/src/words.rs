//! What a word is, in a text and in a search alike: whoever splits the two in different ways finds nothing.
//!
//! A word is a run of letters and digits with the accents that follow them, or one pictograph: people search for those
//! too. Everything else stands between words. So do the joiners, the variation selectors and the skin tones of
//! pictographs, which makes a thumb a thumb whatever its colour.

/// The words of a text, as they stand there.
pub fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !is_accent(c) && !is_pictograph(c)).flat_map(|run| {
        run.split_inclusive(is_pictograph).flat_map(|part| {
            let is_last = part.char_indices().next_back().filter(|(_, c)| is_pictograph(*c));
            let (letters, pictograph) = part.split_at(is_last.map_or(part.len(), |(at, _)| at));
            [letters, pictograph].into_iter().filter(|word| !word.chars().all(is_accent))
        })
    })
}

/// Accents that stand after their letter.
pub fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// Arrows, technical and geometric signs, dingbats, and all blocks of pictographs. Some of their characters are letters
/// in a frame, and count as letters.
fn is_pictograph(c: char) -> bool {
    let is_within = matches!(c,
        '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1f3fa}'
        // The five between are the skin tones.
        | '\u{1f400}'..='\u{1faff}');
    is_within && !c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f6_words_are_runs_of_letters_and_single_pictographs() {
        fn check(text: &str, expect: &[&str]) {
            assert_eq!(split_words(text).collect::<Vec<_>>(), expect, "{text}");
        }
        check("", &[]);
        check("Rust's \"AND\" (foo*) -bär", &["Rust", "s", "AND", "foo", "bär"]);
        check(" \u{301} -- ++ € ", &[]);
        check("cafe\u{301}s 東京", &["cafe\u{301}s", "東京"]);
        check("a🦀b🎉🎉 c", &["a", "🦀", "b", "🎉", "🎉", "c"]);
        check("I ❤️ you → 👍🏽!", &["I", "❤", "you", "→", "👍"]);
        check("👩\u{200d}🚀", &["👩", "🚀"]);
        check("🅰 ② 🏽", &["🅰", "②"]);
    }
}
