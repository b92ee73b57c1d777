//! Reads dates of any order and language: goes over the tokens once, from left to right, and gathers what each says.
//!
//! Every token must have a meaning where it stands; one that has none refuses the date.

mod clock;

use super::Clock;
use super::calendar::Style;
use super::draft::{Draft, Half};
use super::names;
use super::tokens::{self, Kind, Number, Token};
use super::zone::Zone;
use jiff::Timestamp;

pub(super) fn read(text: &str) -> Option<Timestamp> {
    let tokens = tokens::split(text)?;
    let mut reader = Reader { text, tokens: &tokens, at: 0, mark: None, draft: Draft::default() };
    while let Some(&token) = tokens.get(reader.at) {
        reader.at += 1;
        match token.kind {
            Kind::Number(number) => reader.number(number, token.spaced)?,
            Kind::Word(word) => reader.word(word, token)?,
            Kind::Mark(mark) => reader.mark(mark, token.spaced)?,
            Kind::End => return None,
        }
    }
    if matches!(reader.mark, Some(('-' | '/', _))) { None } else { reader.draft.finish() }
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    /// The token after the one being read.
    at: usize,
    /// The mark just before, and whether white space precedes it.
    mark: Option<(char, bool)>,
    draft: Draft,
}

impl<'a> Reader<'a> {
    fn ahead(&self, count: usize) -> Token<'a> {
        let end = Token { kind: Kind::End, start: self.text.len(), spaced: true };
        self.tokens.get(self.at + count).copied().unwrap_or(end)
    }

    /// The number that is ahead with nothing between.
    fn number_ahead(&self, count: usize) -> Option<Number> {
        match self.ahead(count) {
            Token { kind: Kind::Number(number), spaced: false, .. } => Some(number),
            _ => None,
        }
    }

    fn is_mark_ahead(&self, mark: char) -> bool {
        let next = self.ahead(0);
        next.kind == Kind::Mark(mark) && !next.spaced
    }

    fn number(&mut self, number: Number, spaced: bool) -> Option<()> {
        let mark = self.mark.take();
        // `Nov -0001` is how some programs write that they have no date; `-05:00` after a day may be a time or a zone.
        if matches!(mark, Some(('-', before)) if !spaced && (before || self.ahead(0).kind == Kind::Mark(':'))) {
            return None;
        }
        let style = match mark {
            Some(('-', _)) => Style::Hyphen,
            Some(('/', _)) => Style::Slash,
            Some(('.', _)) => Style::Dot,
            _ => Style::Space,
        };
        let dotted_minute = self.draft.has_day() && self.number_ahead(1).is_some_and(|minute| minute.digits == 2);
        match self.ahead(0).kind {
            Kind::Mark(':') if style != Style::Slash => self.time(number, ':'),
            Kind::Mark('.') if dotted_minute && self.is_mark_ahead('.') => self.time(number, '.'),
            Kind::Word(word) => self.number_and_word(number, &names::fold(word), style),
            _ if matches!(number.digits, 12 | 14) => self.day_and_time(number),
            _ => self.draft.number(number, style),
        }
    }

    /// A number before a word that may be its unit.
    fn number_and_word(&mut self, number: Number, word: &str, style: Style) -> Option<()> {
        let attached = !self.ahead(0).spaced;
        match word {
            "h" | "時" | "时" | "點" | "点" | "시" => return self.time_in_words(number),
            "년" | "월" | "일" | "年" | "月" | "日" => {
                if matches!(word, "년" | "월" | "일") {
                    self.draft.korean();
                }
                self.at += 1;
                return self.draft.number(number, Style::Units);
            }
            "st" | "nd" | "rd" | "th" | "er" | "º" | "ª" if attached && number.digits <= 2 => self.at += 1,
            _ if matches!(number.digits, 12 | 14) => return self.day_and_time(number),
            _ => {
                if let Some((half, after)) = self.half_at(self.at) {
                    self.at = after;
                    self.draft.time(Clock { hour: number.short()?, ..Clock::default() })?;
                    return self.draft.half(half);
                }
            }
        }
        self.draft.number(number, style)
    }

    fn word(&mut self, word: &str, token: Token<'_>) -> Option<()> {
        self.mark = None;
        let folded = names::fold(word);
        let timed = self.draft.has_time();
        if folded == "t" && !timed && self.draft.has_numbers() {
            return self.time_after_t();
        }
        if let Some(half) = self.half(&folded, token.spaced) {
            return self.draft.half(half);
        }
        let has_part = self.is_mark_ahead('/') && matches!(self.ahead(1).kind, Kind::Word(_));
        if has_part && names::month(&folded).is_none() {
            return self.region(token.start);
        }
        if timed && let Some(zone) = Zone::abbreviated(&folded) {
            return self.draft.zone_named(zone);
        }
        if names::FILLERS.contains(&folded.as_str()) {
            return Some(());
        }
        let (month, weekday) = (names::month(&folded), names::weekday(&folded));
        if month.is_some() || weekday.is_some() {
            return self.draft.name(month, weekday);
        }
        // Without a time, a letter may be anything.
        let zone = Zone::abbreviated(&folded).filter(|_| folded.len() > 1 || folded == "z")?;
        self.draft.zone_named(zone)
    }

    /// Morning or afternoon, in the word being read and those that go with it.
    fn half(&mut self, folded: &str, spaced: bool) -> Option<Half> {
        if let Some(half) = clock::half_before(folded) {
            if matches!(folded, "오전" | "오후") {
                self.draft.korean();
            }
            return Some(half);
        }
        // Without a time before it, `am` is German, as in `am 5. Januar`.
        let hour = self.draft.hour()?;
        if let Some((half, after)) = self.half_at(self.at - 1) {
            self.at = after;
            return Some(half);
        }
        match folded {
            "a" if !spaced && hour <= 12 => Some(Half::Morning),
            "p" if !spaced && hour <= 12 => Some(Half::Afternoon),
            _ => None,
        }
    }

    /// A region of the zone database, which may hold hyphens and signs: all up to a space.
    fn region(&mut self, start: usize) -> Option<()> {
        let rest = &self.text[start..];
        let name = &rest[..rest.find(|ch: char| ch.is_whitespace() || ",()[]".contains(ch)).unwrap_or(rest.len())];
        while self.tokens.get(self.at).is_some_and(|token| token.start < start + name.len()) {
            self.at += 1;
        }
        self.draft.zone_named(Zone::region(name)?)
    }

    fn mark(&mut self, mark: char, spaced: bool) -> Option<()> {
        match mark {
            '(' => return self.comment(),
            '+' => return self.offset(false),
            '-' if self.is_offset_ahead() => return self.offset(true),
            ',' | '.' => {}
            '-' | '/' if self.at > 1 => {}
            _ => return None,
        }
        if matches!(self.mark, Some(('-' | '/', _))) {
            return None;
        }
        self.mark = Some((mark, spaced));
        Some(())
    }

    /// Whether a `-` begins an offset, and does not part a day from a time.
    fn is_offset_ahead(&self) -> bool {
        let Token { kind: Kind::Number(number), spaced, .. } = self.ahead(0) else { return false };
        (self.draft.has_time() || self.draft.has_zone()) && (!spaced || (number.digits == 4 && self.draft.has_day()))
    }

    /// `+01:00`, `+0100`, `+100`, `+1`; the sign is behind.
    fn offset(&mut self, minus: bool) -> Option<()> {
        self.mark = None;
        let Kind::Number(number) = self.ahead(0).kind else { return None };
        self.at += 1;
        let field = |value: u64| i8::try_from(value).ok();
        let (hours, minutes) = match (number.digits, self.number_ahead(1).filter(|_| self.is_mark_ahead(':'))) {
            (1 | 2, Some(minutes)) if minutes.digits == 2 => {
                self.at += 2;
                (number.short()?, minutes.short()?)
            }
            (1 | 2, None) => (number.short()?, 0),
            (3 | 4, None) => (field(number.value / 100)?, field(number.value % 100)?),
            _ => return None,
        };
        self.draft.zone_offset(Zone::offset(minus, hours, minutes)?)
    }

    /// A comment in brackets. It may name the zone. After a time that has none it could say anything about it, so that
    /// it must be understood.
    fn comment(&mut self) -> Option<()> {
        let start = self.ahead(0).start;
        while self.ahead(0).kind != Kind::Mark(')') {
            self.tokens.get(self.at)?;
            self.at += 1;
        }
        let comment = self.text[start..self.ahead(0).start].trim();
        self.at += 1;
        if self.draft.has_zone() {
            return Some(());
        }
        match Zone::abbreviated(&names::fold(comment)).or_else(|| Zone::region(comment)) {
            Some(zone) => self.draft.zone_named(zone),
            None => (!self.draft.has_time()).then_some(()),
        }
    }
}
