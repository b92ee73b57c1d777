//! Which characters make words, and which scripts put no spaces between them.

use unicode_normalization::char::is_combining_mark;

/// What a folded character is to a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter or digit of a script with spaces between words.
    Letter,
    /// A character of a script without.
    Unspaced,
    /// A sign that belongs to the letter before it.
    Mark,
    /// A word of its own.
    Pictograph,
    /// U+200C.
    NonJoiner,
    /// Stands between words.
    Between,
}

pub(super) fn class_of(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Class::Letter } else { Class::Between };
    }
    match c {
        '\u{200c}' => Class::NonJoiner,
        // Letters by their category; apostrophes to whoever writes them, and those end a word.
        '\u{2b9}'..='\u{2bf}' => Class::Between,
        _ if is_combining_mark(c) => {
            if is_in_unspaced_block(c) {
                Class::Unspaced
            } else {
                Class::Mark
            }
        }
        _ if !c.is_alphanumeric() => {
            if is_in_pictograph_block(c) {
                Class::Pictograph
            } else {
                Class::Between
            }
        }
        _ if is_in_unspaced_block(c) => Class::Unspaced,
        _ => Class::Letter,
    }
}

/// Whether a word that begins with this character is a run of a script without spaces.
pub fn is_unspaced(c: char) -> bool {
    class_of(c) == Class::Unspaced
}

pub(super) fn is_arabic(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}')
}

/// Han, Kana, Bopomofo, Hangul; Thai, Lao, Myanmar, Khmer and their neighbours. Hangul has spaces, but its particles are
/// written to the word.
fn is_in_unspaced_block(c: char) -> bool {
    matches!(c,
        // Thai, Lao.
        '\u{e00}'..='\u{eff}'
        // Myanmar.
        | '\u{1000}'..='\u{109f}'
        // Hangul letters.
        | '\u{1100}'..='\u{11ff}'
        // Khmer.
        | '\u{1780}'..='\u{17ff}'
        // Tai Le, New Tai Lue, Tai Tham.
        | '\u{1950}'..='\u{19df}'
        | '\u{1a20}'..='\u{1aaf}'
        // Radicals, Kana, Bopomofo, Hangul letters, Han.
        | '\u{2e80}'..='\u{9fff}'
        // Hangul letters, Javanese, Myanmar, Tai Viet.
        | '\u{a960}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aadf}'
        // Hangul.
        | '\u{ac00}'..='\u{d7ff}'
        // Han for compatibility.
        | '\u{f900}'..='\u{faff}'
        // Kana.
        | '\u{1aff0}'..='\u{1b16f}'
        // Han.
        | '\u{20000}'..='\u{3ffff}')
}

/// Arrows, technical and geometric signs, dingbats, and all blocks of pictographs. Some of their characters are letters
/// in a frame, and count as letters.
fn is_in_pictograph_block(c: char) -> bool {
    matches!(c,
        '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1f3fa}'
        // The five between are the skin tones.
        | '\u{1f400}'..='\u{1faff}')
}
