//! Finds the day that a date's numbers mean: which of them is the year, the month, the day.
//!
//! Every reading is tried against the calendar and never bent to fit it. Only where more than one is in range do the
//! marks between the numbers and the weekday decide.

use self::Order::{DayMonthYear, MonthDayYear, YearMonthDay};
use super::tokens::Number;
use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

/// What stands between the numbers of a date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Style {
    Space,
    Hyphen,
    Slash,
    Dot,
    /// Each number carries its unit, the year first: `2024年2月29日`.
    Units,
    /// Different marks, which no form has.
    Mixed,
}

/// The order of the three numbers.
#[derive(Clone, Copy)]
enum Order {
    YearMonthDay,
    DayMonthYear,
    MonthDayYear,
}

/// All that a text says of its day.
pub(super) struct Day<'a> {
    pub(super) numbers: &'a [Number],
    pub(super) style: Style,
    /// The month, where a word names it.
    pub(super) month: Option<i8>,
    pub(super) weekday: Option<Weekday>,
    /// Neither a weekday nor a time is given, so that the text may mean a whole month or year, which then stands for
    /// its first day. Otherwise a missing day is a fault.
    pub(super) alone: bool,
}

impl Day<'_> {
    pub(super) fn date(&self) -> Option<Date> {
        match (self.month, self.numbers) {
            (Some(month), &[year, day]) if year.digits > 2 => date(self::year(year)?, month, day.short()?),
            (Some(month), &[day, year]) => date(self::year(year)?, month, day.short()?),
            (Some(month), &[year]) if self.alone && year.digits == 4 => date(self::year(year)?, month, 1),
            (None, &[a, b, c]) => self.of_three(a, b, c),
            (None, &[a, b]) => self.of_two(a, b),
            (None, &[number]) => self.of_one(number),
            _ => None,
        }
    }

    fn of_three(&self, a: Number, b: Number, c: Number) -> Option<Date> {
        let readings = || orders(self.style, a, c).iter().filter_map(|order| order.date(a, b, c));
        // Weekdays are wrong too often to refuse a date for them.
        readings().find(|date| Some(date.weekday()) == self.weekday).or_else(|| readings().next())
    }

    fn of_two(&self, a: Number, b: Number) -> Option<Date> {
        match (a.digits, b.digits) {
            (2 | 4, 3) if self.style == Style::Hyphen => ordinal(year(a)?, b.value),
            _ if !self.alone || matches!(self.style, Style::Space | Style::Mixed) => None,
            (4, _) => date(year(a)?, b.short()?, 1),
            (_, 4) => date(year(b)?, a.short()?, 1),
            _ => None,
        }
    }

    /// The basic format of ISO 8601: year or century left out, month and day or the day of the year.
    fn of_one(&self, number: Number) -> Option<Date> {
        let Number { value, digits } = number;
        match digits {
            4 if self.alone => date(year(number)?, 1, 1),
            5 => ordinal(of_two_digits(i16::try_from(value / 1000).ok()?), value % 1000),
            7 => ordinal(i16::try_from(value / 1000).ok()?, value % 1000),
            6 | 8 => {
                let year = Number { value: value / 10_000, digits: digits - 4 };
                date(self::year(year)?, i8::try_from(value / 100 % 100).ok()?, i8::try_from(value % 100).ok()?)
            }
            _ => None,
        }
    }
}

impl Order {
    fn date(self, a: Number, b: Number, c: Number) -> Option<Date> {
        match self {
            YearMonthDay => date(year(a)?, padded_month(b)?, c.short()?),
            DayMonthYear => date(year(c)?, b.short()?, a.short()?),
            MonthDayYear => date(year(c)?, a.short()?, b.short()?),
        }
    }
}

/// The orders that may be meant, the likeliest first.
fn orders(style: Style, a: Number, c: Number) -> &'static [Order] {
    match (style, a.digits, c.digits) {
        (Style::Mixed, _, _) => &[],
        (Style::Units, _, _) | (_, 4, _) => &[YearMonthDay],
        (Style::Slash, _, 4) => &[MonthDayYear, DayMonthYear],
        (_, _, 4) => &[DayMonthYear, MonthDayYear],
        // ISO 8601 of 1988 lets the century go: `24-02-29`.
        (Style::Hyphen, 2, _) => &[YearMonthDay, DayMonthYear, MonthDayYear],
        (Style::Slash, _, _) => &[MonthDayYear, DayMonthYear, YearMonthDay],
        _ => &[DayMonthYear, MonthDayYear, YearMonthDay],
    }
}

pub(super) fn date(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

fn ordinal(year: i16, day: u64) -> Option<Date> {
    let first = date(year, 1, 1)?;
    let date = first.checked_add((i64::try_from(day).ok()? - 1).days()).ok()?;
    (date.year() == year).then_some(date)
}

/// RFC 5322, section 4.3: two digits mean 1950 to 2049, and three come from programs that count years from 1900.
fn year(number: Number) -> Option<i16> {
    let value = i16::try_from(number.value).ok()?;
    match number.digits {
        4 => Some(value),
        3 if (100..=199).contains(&value) => Some(value + 1900),
        2 => Some(of_two_digits(value)),
        _ => None,
    }
}

pub(super) fn of_two_digits(year: i16) -> i16 {
    if year < 50 { year + 2000 } else { year + 1900 }
}

/// Some write the month in three digits: `2024-002-29`.
fn padded_month(number: Number) -> Option<i8> {
    let digits = if number.digits == 3 && number.value <= 12 { 2 } else { number.digits };
    Number { digits, ..number }.short()
}
