//! Texts of strangers, made fit for a terminal, and how many cells they take.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What stands for what was cut off.
const CUT: char = '…';

/// Cells that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text without what a terminal takes for a command. Much of what is printed comes from outside: what webhooks answer,
/// what feeds are called. All that is for people passes here, on its way out.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || is_reordering(c);
    if !text.contains(is_harmful) {
        return text.into();
    }
    let shown = |c: char| if is_harmful(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// A text of a feed's in one line, without control characters and without those that reorder what stands beside it.
pub(crate) fn clean(text: &str) -> String {
    let kept: String = text.chars().filter(|c| c.is_whitespace() || !c.is_control() && !is_reordering(*c)).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters that reverse the direction of what follows, beyond their own text: a title could rewrite its line.
pub(crate) fn is_reordering(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text in so many cells at most, with a sign where something was cut off.
pub(crate) fn cut(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return text.into();
    }
    let width = cells.saturating_sub(1);
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or_default();
        taken <= width
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}{CUT}", kept.trim_end()).into()
}

/// Fills a text up with blanks, behind or before it.
pub(crate) fn padded(text: &str, cells: usize, to_the_right: bool) -> String {
    let blanks = " ".repeat(cells.saturating_sub(width(text)));
    if to_the_right { format!("{blanks}{text}") } else { format!("{text}{blanks}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_control_characters_are_shown() {
        for (text, expect) in [
            ("two\nlines,\ta tab, é 👨\u{200d}👩\u{200d}👧", "two\nlines,\ta tab, é 👨\u{200d}👩\u{200d}👧"),
            ("\u{1b}[2J\u{1b}]0;mine\u{7}", "\\u{1b}[2J\\u{1b}]0;mine\\u{7}"),
            ("\u{9b}2J \u{7f} \0", "\\u{9b}2J \\u{7f} \\u{0}"),
            ("what it hides\r\u{8}", "what it hides\\r\\u{8}"),
            ("evil \u{202e}gpj.exe", "evil \\u{202e}gpj.exe"),
        ] {
            assert_eq!(escape_controls(text), expect);
        }
        assert_eq!(clean(" a\u{1b}[2J\n\tb \u{9b}0m\u{202e}c\u{2069} "), "a[2J b 0mc");
    }

    #[test]
    fn u5_texts_are_cut_and_padded_by_cells() {
        for (text, cells, expect) in [
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abcde…"),
            ("日本語", 6, "日本語"),
            ("日本語新聞", 6, "日本…"),
            ("日本語新聞", 7, "日本語…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("one two", 5, "one…"),
        ] {
            assert_eq!(cut(text, cells), expect, "{text} {cells}");
        }
        assert_eq!(padded("日本", 6, false), "日本  ");
        assert_eq!(padded("12", 4, true), "  12");
    }
}
