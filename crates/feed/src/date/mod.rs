//! Reads the instant out of any date that a feed publishes (requirement F2).
//!
//! The way of a text: the two common shapes are read byte by byte (`rfc`); bare figures have their own rules
//! (`figures`); all else is cut into tokens (`tokens`) that a tolerant reader (`loose`) gathers into a `draft`, from
//! which `calendar` and `zone` make the instant. Words of other languages are in `names`.
//!
//! It never guesses: a field out of range, an unknown word or zone, two contradicting times or a missing year refuse
//! the whole text. It never reads a clock, never panics, and its work is bounded by [`TEXT_BYTES_MAX`].

mod calendar;
mod draft;
mod figures;
mod loose;
mod names;
mod rfc;
#[cfg(test)]
mod tests;
mod tokens;
mod zone;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use zone::Zone;

/// The longest text that is looked at, without the white space around it. The longest real ones, with a zone spelled
/// out in a comment, stay under 80.
pub const TEXT_BYTES_MAX: usize = 128;

const DAY_SECS: i64 = 24 * 60 * 60;

/// The instant that `text` names, or nothing where it names none for certain.
///
/// A value without a zone is UTC, unless it is written in Korean. `05/06/2020` is the 6th of May, `05.06.2020` the 5th
/// of June; a weekday beside it that agrees with only one of the two decides. Years of two digits are those of RFC
/// 2822: 1950 to 2049. An hour of 24 is refused, because half of those who write it mean the midnight before.
///
/// ```
/// let instant = feed::date::parse("Tue, 5 Mar 2019 07:08 PM EST").map(|it| it.to_string());
/// assert_eq!(instant.as_deref(), Some("2019-03-06T00:08:00Z"));
/// ```
pub fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        return None;
    }
    rfc::rfc822(text.as_bytes())
        .or_else(|| rfc::rfc3339(text.as_bytes()))
        .or_else(|| figures::read(text))
        .or_else(|| loose::read(text))
}

/// The time of a day as written, not yet known to be in range.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    hour: i8,
    minute: i8,
    second: i8,
    nanos: i32,
}

fn instant(date: Date, clock: Clock, zone: &Zone) -> Option<Timestamp> {
    // Unix time has no name for a leap second: it counts as the second before it.
    let leap = clock.second == 60;
    let second = if leap { 59 } else { clock.second };
    let time = Time::new(clock.hour, clock.minute, second, clock.nanos).ok()?;
    let instant = zone.instant(date.to_datetime(time))?;
    // Leap seconds end a day of UTC; a 60 anywhere else is only out of range.
    (!leap || instant.as_second().rem_euclid(DAY_SECS) == DAY_SECS - 1).then_some(instant)
}
