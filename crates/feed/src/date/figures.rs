//! Texts that are nothing but figures and need no tokens: Unix times, and the ISO 8601 months whose century is left out.
//!
//! Dates in figures only (`20240229`) are not for here: a time or a zone may follow them.

use super::calendar;
use super::zone::Zone;
use super::{Clock, instant};
use jiff::Timestamp;

pub(super) fn read(text: &str) -> Option<Timestamp> {
    unix(text).or_else(|| century_month(text))
}

/// Seconds since 1970, with or without a fraction, or milliseconds. The number of digits tells them apart: ten digits
/// of seconds last until 2286, thirteen of milliseconds began in 2001.
fn unix(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let count: i64 = whole.parse().ok()?;
    match whole.len() {
        9 | 10 => Timestamp::from_second(count).ok()?.checked_add(nanos(fraction)).ok(),
        13 => Timestamp::from_millisecond(count).ok(),
        _ => None,
    }
}

fn nanos(fraction: &str) -> jiff::SignedDuration {
    let padded = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    jiff::SignedDuration::from_nanos(padded.fold(0, |nanos, digit| nanos * 10 + i64::from(digit - b'0')))
}

/// `-2402` and `-24-02`: a month of ISO 8601 (1988) without its century.
fn century_month(text: &str) -> Option<Timestamp> {
    let text = text.strip_prefix('-')?;
    let (year, month) = text.split_once('-').or_else(|| text.split_at_checked(2))?;
    if year.len() != 2 || month.len() != 2 || !all_digits(year) || !all_digits(month) {
        return None;
    }
    let date = calendar::date(calendar::of_two_digits(year.parse().ok()?), month.parse().ok()?, 1)?;
    instant(date, Clock::default(), &Zone::UTC)
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
