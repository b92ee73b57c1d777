//! Cuts a date into numbers, words and marks, and levels the characters that only look different.
//!
//! It gives no meaning to any of them; that is the reader's.

/// Digits of the longest number: a value of this many always fits.
const NUMBER_DIGITS_MAX: usize = 19;

/// Where a word that begins with one of these follows a number at once, it is a unit of one character, whatever comes
/// after: year, month, day, hour, minute and second of Chinese, Japanese and Korean are written without spaces.
const UNITS: &str = "年月日時时點点分秒년월일시분초";

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// Where it begins, in bytes of the text.
    pub(super) start: usize,
    /// Whether white space precedes it.
    pub(super) spaced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    Number(Number),
    Word(&'a str),
    Mark(char),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) value: u64,
    pub(super) digits: usize,
}

impl Number {
    /// The value of a field of one or two digits.
    pub(super) fn short(self) -> Option<i8> {
        if self.digits > 2 {
            return None;
        }
        i8::try_from(self.value).ok()
    }
}

pub(super) fn split(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens: Vec<Token<'_>> = Vec::with_capacity(16);
    let (mut start, mut spaced) = (0, false);
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let after_number = !spaced && matches!(tokens.last(), Some(Token { kind: Kind::Number(_), .. }));
        let (kind, length) = if first.is_whitespace() {
            (start, spaced) = (start + first.len_utf8(), true);
            continue;
        } else if is_invisible(first) {
            start += first.len_utf8();
            continue;
        } else if first.is_ascii_digit() {
            number(rest)?
        } else if first.is_alphabetic() && !(after_number && UNITS.contains(first)) {
            let length = rest.find(|ch: char| !is_letter(ch)).unwrap_or(rest.len());
            (Kind::Word(&rest[..length]), length)
        } else if first.is_alphabetic() {
            (Kind::Word(&rest[..first.len_utf8()]), first.len_utf8())
        } else {
            (Kind::Mark(plain_mark(first)), first.len_utf8())
        };
        tokens.push(Token { kind, start, spaced });
        (start, spaced) = (start + length, false);
    }
    Some(tokens)
}

fn number(rest: &str) -> Option<(Kind<'_>, usize)> {
    let digits = rest.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(rest.len());
    if digits > NUMBER_DIGITS_MAX {
        return None;
    }
    Some((Kind::Number(Number { value: rest[..digits].parse().ok()?, digits }), digits))
}

/// Letters, and the accents that decomposed text writes after them.
fn is_letter(ch: char) -> bool {
    ch.is_alphabetic() || ('\u{300}'..='\u{36f}').contains(&ch)
}

/// Direction marks and the like, which browsers write into local dates.
fn is_invisible(ch: char) -> bool {
    matches!(ch, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

fn plain_mark(ch: char) -> char {
    match ch {
        '\u{2010}'..='\u{2015}' | '−' | '－' => '-',
        '：' => ':',
        '／' => '/',
        '．' => '.',
        '（' | '[' => '(',
        '）' | ']' => ')',
        '，' | '、' | '|' | ';' | '·' | '•' => ',',
        _ => ch,
    }
}
