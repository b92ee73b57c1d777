//! What a word is, in a text and in a search alike: whoever splits the two in different ways finds nothing.
//!
//! A word is a run of letters, digits and marks, folded (see [`fold`]); or one pictograph, because people search for
//! those too; or a run of characters of a script that puts no spaces between words (see [`script`]). Everything else
//! stands between words. So do the joiners, the variation selectors and the skin tones of pictographs, which makes a
//! thumb a thumb whatever its colour.
//!
//! A text is kept as its words with a space before, between and after them, and two where a line ends: there a part of
//! it ends (a title, the author), and no phrase goes on. All that a search asks is whether that form
//! holds a string: ` bread ` for a word, ` fresh bread ` for a phrase, ` conf` for a prefix, `京タワ` within a run. An
//! index answers that for single grams ([`grams`]): whole words, and pairs of neighbours in a run. Where a search has more
//! than one gram in a row, the index proposes and the form decides.

mod fold;
mod script;

use fold::for_each_folded;
use script::{Class, class_of};

pub use script::is_unspaced;

/// Characters of a word that count: nobody types more. A run without spaces has no such limit.
pub const WORD_CHARS_MAX: usize = 128;

/// Bytes of the words of a text; those after them are not found. Folding can make a text longer, seldom as much as this.
/// All different pairs of neighbours in it are less than the 1 MiB that PostgreSQL takes.
pub const WORDS_BYTES_MAX: usize = 480 * 1024;

/// The words of a text, folded, each followed by a space, and a space before the first of each line. Empty if there is none.
pub fn words_of(text: &str) -> String {
    if text.len() < WORDS_BYTES_MAX && text.is_ascii() {
        return words_of_ascii(text);
    }
    let mut cutter = Cutter { words: String::with_capacity(text.len() + 2), ..Cutter::default() };
    for line in text.split('\n') {
        for chunk in line.split_ascii_whitespace() {
            if cutter.words.len() >= WORDS_BYTES_MAX {
                return cutter.words;
            }
            if chunk.is_ascii() {
                cutter.push_ascii(chunk);
            } else {
                for_each_folded(chunk, |c| cutter.push(c));
                cutter.end_word();
            }
        }
        cutter.end_line();
    }
    cutter.words
}

/// The same of a text that is ASCII and too short to be cut: a byte at a time. Most texts are, or nearly all of them.
fn words_of_ascii(text: &str) -> String {
    /// What a byte is in a word; 0 if it stands between words.
    const FOLDED: [u8; 256] = {
        let mut folded = [0; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            if byte.is_ascii_alphanumeric() {
                folded[byte as usize] = byte.to_ascii_lowercase();
            }
            byte += 1;
        }
        folded
    };
    let mut words = Vec::with_capacity(text.len() + 2);
    words.push(b' ');
    let (mut chars, mut begins_line) = (0, false);
    for byte in text.bytes() {
        match FOLDED[usize::from(byte)] {
            0 => {
                if chars > 0 {
                    words.push(b' ');
                    chars = 0;
                }
                begins_line |= byte == b'\n' && words.len() > 1;
            }
            folded => {
                if begins_line {
                    words.push(b' ');
                    begins_line = false;
                }
                chars += 1;
                if chars <= WORD_CHARS_MAX {
                    words.push(folded);
                }
            }
        }
    }
    if chars > 0 {
        words.push(b' ');
    }
    if words.len() == 1 {
        words.clear();
    }
    String::from_utf8(words).unwrap_or_default()
}

/// The grams of words, as an index holds them: a word as it is, a run without spaces as all its pairs of neighbours and
/// its last character. So whatever stands in a run, one character too, is the start of a gram.
pub fn grams(words: &str) -> impl Iterator<Item = &str> {
    words.split_ascii_whitespace().flat_map(|word| {
        let is_run = word.starts_with(is_unspaced);
        let pairs = word.char_indices().map(|(at, _)| pair_at(word, at)).take(if is_run { usize::MAX } else { 0 });
        (!is_run).then_some(word).into_iter().chain(pairs)
    })
}

/// The character at a place and the one after it, if there is one.
fn pair_at(run: &str, at: usize) -> &str {
    let rest = &run[at..];
    let end = rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end);
    &rest[..end]
}

/// Puts folded characters together to words.
#[derive(Debug, Default)]
struct Cutter {
    words: String,
    /// Of what the word is that has not ended yet, and how many characters it has.
    open: Option<Class>,
    chars: usize,
    /// What follows begins a line, and not the first that has a word.
    begins_line: bool,
}

impl Cutter {
    /// The same as each character by itself, much faster; most texts hold little else.
    fn push_ascii(&mut self, chunk: &str) {
        for word in chunk.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            self.begin_word();
            let begin = self.words.len();
            let length = word.len().min(WORD_CHARS_MAX).min(WORDS_BYTES_MAX.saturating_sub(begin));
            if length > 0 {
                self.words.push_str(&word[..length]);
                self.words[begin..].make_ascii_lowercase();
                self.words.push(' ');
            }
        }
    }

    fn push(&mut self, c: char) {
        let class = class_of(c);
        match class {
            Class::Between => self.end_word(),
            Class::Pictograph => {
                self.end_word();
                self.add(class, c);
                self.end_word();
            }
            // One that follows nothing belongs to nothing.
            Class::Mark => {
                if let Some(open) = self.open {
                    self.add(open, c);
                }
            }
            // In Persian it ends a part of a word, and some write a space; elsewhere it is a matter of looks.
            Class::NonJoiner => {
                if self.words.ends_with(script::is_arabic) {
                    self.end_word();
                }
            }
            Class::Letter | Class::Unspaced => {
                if self.open.is_some_and(|open| open != class) {
                    self.end_word();
                }
                self.add(class, c);
            }
        }
    }

    fn add(&mut self, class: Class, c: char) {
        if self.words.len() >= WORDS_BYTES_MAX {
            return;
        }
        if self.open.is_none() {
            self.begin_word();
            self.open = Some(class);
        }
        self.chars += 1;
        if class == Class::Unspaced || self.chars <= WORD_CHARS_MAX {
            self.words.push(c);
        }
    }

    fn begin_word(&mut self) {
        if self.words.is_empty() || std::mem::take(&mut self.begins_line) {
            self.words.push(' ');
        }
    }

    fn end_line(&mut self) {
        self.begins_line = !self.words.is_empty();
    }

    fn end_word(&mut self) {
        if self.open.take().is_some() {
            self.words.push(' ');
            self.chars = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let words = words_of(text);
        assert_eq!(words.trim(), expect, "{text}");
        assert!(words.is_empty() || (words.starts_with(' ') && words.ends_with(' ')), "{words:?}");
    }

    #[test]
    fn f6_words_are_runs_of_letters_and_single_pictographs() {
        check("", "");
        check(" \u{301} -- ++ € ", "");
        check("One, two; ONE-three\n", "one two one three");
        check("Rust's \"AND\" (foo*) -bär", "rust s and foo bar");
        check("www.example.org/a-b?c=1", "www example org a b c 1");
        check("it's 'quoted' \\ & | ! <-> :* % _ \0", "it s quoted");
        check("a🦀b🎉🎉 c", "a 🦀 b 🎉 🎉 c");
        check("I ❤️ you → 👍🏽!", "i ❤ you → 👍");
        check("\nA title\nBär\n\nits text\n", "a title  bar  its text");
        check("\nA title\n\nits text\r\n", "a title  its text");
        check("👩\u{200d}🚀 🅰 ② 🏽 1\u{fe0f}\u{20e3}", "👩 🚀 🅰 2 1");
    }

    #[test]
    fn f6_runs_without_spaces_end_where_another_script_begins() {
        check("東京タワーへ行く。", "東京タワーへ行く");
        check("iPhone15の新機能、発表", "iphone15 の新機能 発表");
        check("서울의 날씨", "서울의 날씨");
        check("ภาษาไทย\u{200b}ง่าย", "ภาษาไทยง่าย");
        check("ខ្មែរ ລາວ မြန်မာ", "ខ្មែរ ລາວ မြန်မာ");
    }

    #[test]
    fn marks_belong_to_the_word_they_stand_in() {
        check("हिन्दी में", "हिन्दी में");
        check("Donau\u{ad}dampf", "donaudampf");
        check("می\u{200c}خواهم क्\u{200c}ष", "مي خواهم क्ष");
    }

    #[test]
    fn long_words_and_texts_are_cut() {
        check(&"x".repeat(9999), &"x".repeat(WORD_CHARS_MAX));
        check(&"É".repeat(9999), &"e".repeat(WORD_CHARS_MAX));
        check(&"東".repeat(9999), &"東".repeat(9999));
        // The longest of all foldings: 3 bytes become 33.
        assert!(words_of(&"\u{fdfa} ".repeat(60_000)).len() < WORDS_BYTES_MAX + 64);
        assert!(words_of(&"\u{fdfa}".repeat(60_000)).len() < WORDS_BYTES_MAX + 64, "without spaces, too");
    }

    /// As any other text is cut, character by character.
    fn cut_slowly(text: &str) -> String {
        let mut cutter = Cutter::default();
        for line in text.split('\n') {
            for chunk in line.split_ascii_whitespace() {
                for_each_folded(chunk, |c| cutter.push(c));
                cutter.end_word();
            }
            cutter.end_line();
        }
        cutter.words
    }

    #[test]
    fn f6_ascii_is_cut_as_any_other_text() {
        let every: String = (0..128_u8).map(char::from).collect();
        let (long, endless) = ("Ab9".repeat(99), "Word, ".repeat(WORDS_BYTES_MAX / 5));
        for text in
            ["", "--", "a", " a", "A-b__C9", "It's (so)", "\n a\n\n-b \nc\n", &every, &long, &long.repeat(9), &endless]
        {
            assert_eq!(words_of(text), cut_slowly(text), "{}", &text[..text.len().min(99)]);
        }
    }

    #[test]
    fn grams_are_words_and_pairs() {
        fn check(text: &str, expect: &[&str]) {
            assert_eq!(grams(&words_of(text)).collect::<Vec<_>>(), expect, "{text}");
        }
        check("", &[]);
        check("Fresh bread 🦀", &["fresh", "bread", "🦀"]);
        check("東京タ a 京", &["東京", "京タ", "タ", "a", "京"]);
    }
}
