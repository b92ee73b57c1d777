//! What the reader has gathered of a date so far, and the instant it comes to.
//!
//! A field is set once; a second value refuses the date, save where a rule says which of the two holds.

use super::calendar::{Day, Style};
use super::names::Meaning;
use super::tokens::Number;
use super::zone::Zone;
use super::{Clock, instant};
use jiff::Timestamp;
use jiff::civil::Weekday;

const NUMBERS_MAX: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Half {
    Morning,
    Afternoon,
}

#[derive(Debug, Default)]
pub(super) struct Draft {
    numbers: Vec<Number>,
    style: Option<Style>,
    month: Option<i8>,
    weekday: Option<Meaning<Weekday>>,
    /// A word that is a month and a weekday, as `mar` (mars, mardi): which one it is, only the rest can tell.
    month_or_weekday: Option<(i8, Meaning<Weekday>)>,
    clock: Option<Clock>,
    half: Option<Half>,
    zone: Option<Zone>,
    zone_in_figures: bool,
    korean: bool,
}

impl Draft {
    pub(super) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    pub(super) fn has_time(&self) -> bool {
        self.clock.is_some()
    }

    pub(super) fn has_zone(&self) -> bool {
        self.zone.is_some()
    }

    pub(super) fn has_day(&self) -> bool {
        let by_word = usize::from(self.month.is_some() || self.month_or_weekday.is_some());
        self.numbers.len() + by_word >= NUMBERS_MAX
    }

    pub(super) fn hour(&self) -> Option<i8> {
        self.clock.map(|clock| clock.hour)
    }

    pub(super) fn number(&mut self, number: Number, style: Style) -> Option<()> {
        if self.numbers.len() == NUMBERS_MAX {
            return None;
        }
        if self.has_numbers() {
            let same = self.style.is_none_or(|before| before == style);
            self.style = Some(if same { style } else { Style::Mixed });
        }
        self.numbers.push(number);
        Some(())
    }

    /// A word that names a month, a weekday, or, in one language or another, both.
    pub(super) fn name(&mut self, month: Option<i8>, weekday: Option<Meaning<Weekday>>) -> Option<()> {
        match (month, weekday) {
            (Some(month), Some(weekday)) if self.month.is_none() => {
                match self.month_or_weekday.replace((month, weekday)) {
                    Some((_, earlier)) => set(&mut self.weekday, earlier),
                    None => Some(()),
                }
            }
            (_, Some(weekday)) => set(&mut self.weekday, weekday),
            (Some(month), None) => set(&mut self.month, month),
            (None, None) => None,
        }
    }

    pub(super) fn time(&mut self, clock: Clock) -> Option<()> {
        set(&mut self.clock, clock)
    }

    pub(super) fn half(&mut self, half: Half) -> Option<()> {
        set(&mut self.half, half)
    }

    /// Korean sites leave out the zone and mean their own.
    pub(super) fn korean(&mut self) {
        self.korean = true;
    }

    /// A zone by its name. After an offset it only explains it, as in `+0100 CET`.
    pub(super) fn zone_named(&mut self, zone: Zone) -> Option<()> {
        if self.zone_in_figures { Some(()) } else { set(&mut self.zone, zone) }
    }

    /// An offset in figures. It holds against the name before it: `GMT+2`, `EST -0400`.
    pub(super) fn zone_offset(&mut self, zone: Zone) -> Option<()> {
        if self.zone_in_figures && self.zone.as_ref() != Some(&zone) {
            return None;
        }
        (self.zone, self.zone_in_figures) = (Some(zone), true);
        Some(())
    }

    pub(super) fn finish(mut self) -> Option<Timestamp> {
        if let Some((month, weekday)) = self.month_or_weekday {
            if self.month.is_some() || self.numbers.len() == NUMBERS_MAX {
                set(&mut self.weekday, weekday)?;
            } else {
                self.month = Some(month);
            }
        }
        let weekday = match self.weekday {
            Some(Meaning::One(weekday)) => Some(weekday),
            _ => None,
        };
        let day = Day {
            numbers: &self.numbers,
            style: self.style.unwrap_or(Style::Space),
            month: self.month,
            weekday,
            alone: self.clock.is_none() && self.weekday.is_none(),
        };
        let date = day.date()?;
        let clock = match (self.clock, self.half) {
            (Some(clock), Some(half)) => Clock { hour: half.hour(clock.hour)?, ..clock },
            (Some(clock), None) => clock,
            (None, Some(_)) => return None,
            (None, None) => Clock::default(),
        };
        let local = if self.korean { Zone::KOREA } else { Zone::UTC };
        instant(date, clock, self.zone.as_ref().unwrap_or(&local))
    }
}

impl Half {
    /// The hour of the day. `19:30 PM` says the same twice; `19:30 AM` contradicts itself.
    fn hour(self, hour: i8) -> Option<i8> {
        match (self, hour) {
            (Self::Morning, 12) => Some(0),
            (Self::Morning, 0..=11) | (Self::Afternoon, 12..=23) => Some(hour),
            (Self::Afternoon, 0..=11) => Some(hour + 12),
            _ => None,
        }
    }
}

fn set<T>(field: &mut Option<T>, value: T) -> Option<()> {
    field.replace(value).is_none().then_some(())
}
