//! Folders: names that feeds are sorted under, in an order of the user's.

use crate::ids::FolderId;

/// Characters of a folder's name.
pub const FOLDER_NAME_CHARS_MAX: usize = 200;

/// A name as it is kept: in one line, one space between two words, without the characters that no XML can hold, so that
/// it survives every file that it is written to.
pub fn one_line(text: &str) -> String {
    let is_kept = |c: &char| c.is_whitespace() || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'));
    let kept: String = text.chars().filter(is_kept).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    pub id: FolderId,
    /// Its name, which no other folder has.
    pub name: String,
    /// Its place among the others, from 0.
    pub order: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f6_a_name_is_one_line_of_what_xml_can_hold() {
        for (text, expect) in [
            (" a\r\n\tb\u{a0} \u{2028}c ", "a b c"),
            ("a\0b \u{7} c\u{1b}\u{9f}\u{ffff}", "ab c"),
            ("\u{1}\n", ""),
            ("\"&<>' \u{1f980}\u{200d}\u{fe0f} é", "\"&<>' \u{1f980}\u{200d}\u{fe0f} é"),
        ] {
            assert_eq!(one_line(text), expect, "{text:?}");
        }
    }
}
