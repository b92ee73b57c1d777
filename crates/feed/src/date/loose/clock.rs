//! The reader's part for times of day: with marks, with words for the units, in figures only, and the halves of the day.
//!
//! Fields are gathered as they stand; that they are in range is seen to when the instant is made.

use super::Reader;
use crate::date::Clock;
use crate::date::calendar::Style;
use crate::date::draft::Half;
use crate::date::names;
use crate::date::tokens::{Kind, Number};

impl Reader<'_> {
    /// `7:08`, `07:08:09.123`; the mark between hour and minute is ahead.
    pub(super) fn time(&mut self, hour: Number, mark: char) -> Option<()> {
        let Kind::Number(minute) = self.ahead(1).kind else { return None };
        self.at += 2;
        let mut clock = Clock { hour: hour.short()?, minute: minute.short()?, ..Clock::default() };
        if let Some(second) = self.number_ahead(1).filter(|_| self.is_mark_ahead(mark)) {
            self.at += 2;
            clock.second = second.short()?;
            clock.nanos = self.fraction();
        }
        self.draft.time(clock)
    }

    /// `7h08`, `7 h`, `7時8分9秒`; the word for the hour is ahead.
    pub(super) fn time_in_words(&mut self, hour: Number) -> Option<()> {
        self.at += 1;
        let mut clock = Clock { hour: hour.short()?, ..Clock::default() };
        if let Some(minute) = self.counted(&["min", "mn", "分", "분"]) {
            self.at += 2;
            clock.minute = minute.short()?;
        } else if let Some(minute) = self.number_ahead(0) {
            self.at += 1;
            clock.minute = minute.short()?;
        }
        if let Some(second) = self.counted(&["s", "sec", "秒", "초"]) {
            self.at += 2;
            clock.second = second.short()?;
        }
        self.draft.time(clock)
    }

    /// The number ahead, if one of these words counts it.
    fn counted(&self, units: &[&str]) -> Option<Number> {
        let (Kind::Number(number), Kind::Word(unit)) = (self.ahead(0).kind, self.ahead(1).kind) else { return None };
        units.contains(&names::fold(unit).as_str()).then_some(number)
    }

    /// `20240229073000`, with or without its seconds.
    pub(super) fn day_and_time(&mut self, number: Number) -> Option<()> {
        let digits = number.digits - 8;
        let day = number.value / if digits == 6 { 1_000_000 } else { 10_000 };
        self.draft.number(Number { value: day, digits: 8 }, Style::Space)?;
        self.basic_time(Number { value: number.value % if digits == 6 { 1_000_000 } else { 10_000 }, digits })
    }

    /// What follows the `T` of ISO 8601, in its basic format or the extended one.
    pub(super) fn time_after_t(&mut self) -> Option<()> {
        let number = self.number_ahead(0)?;
        self.at += 1;
        if self.is_mark_ahead(':') { self.time(number, ':') } else { self.basic_time(number) }
    }

    fn basic_time(&mut self, number: Number) -> Option<()> {
        let (hour, minute, second) = match number.digits {
            2 => (number.value, 0, 0),
            4 => (number.value / 100, number.value % 100, 0),
            6 => (number.value / 10_000, number.value / 100 % 100, number.value % 100),
            _ => return None,
        };
        let nanos = if number.digits == 6 { self.fraction() } else { 0 };
        let field = |value: u64| i8::try_from(value).ok();
        self.draft.time(Clock { hour: field(hour)?, minute: field(minute)?, second: field(second)?, nanos })
    }

    /// The nanoseconds of the fraction ahead, if there is one.
    fn fraction(&mut self) -> i32 {
        let (true, Some(number)) = (self.is_mark_ahead('.') || self.is_mark_ahead(','), self.number_ahead(1)) else {
            return 0;
        };
        self.at += 2;
        let (mut value, mut digits) = (number.value, number.digits);
        while digits > 9 {
            (value, digits) = (value / 10, digits - 1);
        }
        while digits < 9 {
            (value, digits) = (value * 10, digits + 1);
        }
        i32::try_from(value).expect("nine digits fit")
    }

    /// Morning or afternoon in the words at this place, which follow a time, and the place after them: `pm`, `P. M.`.
    pub(super) fn half_at(&self, index: usize) -> Option<(Half, usize)> {
        let word = |index: usize| match self.tokens.get(index)?.kind {
            Kind::Word(word) => Some(names::fold(word)),
            _ => None,
        };
        let first = word(index)?;
        if let Some(half) = half_after(&first) {
            return Some((half, index + 1));
        }
        let dotted = matches!(self.tokens.get(index + 1)?.kind, Kind::Mark('.'));
        let second = index + 1 + usize::from(dotted);
        Some((half_after(&(first + &word(second)?))?, second + 1))
    }
}

fn half_after(word: &str) -> Option<Half> {
    match word {
        "am" | "πμ" => Some(Half::Morning),
        "pm" | "μμ" => Some(Half::Afternoon),
        _ => None,
    }
}

/// Morning or afternoon in the words that stand before a time.
pub(super) fn half_before(word: &str) -> Option<Half> {
    match word {
        "오전" | "午前" | "上午" => Some(Half::Morning),
        "오후" | "午後" | "下午" => Some(Half::Afternoon),
        _ => None,
    }
}
