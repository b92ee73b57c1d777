//! Values as people write them.

use std::time::Duration;

/// A hundred years: longer ones are mistakes.
const MILLIS_MAX: u64 = 100 * 365 * 24 * 60 * 60 * 1000;

/// A duration: a number and its unit, as in `500ms`, `10s`, `15m`, `6h`, `2d`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| "write a number and a unit, such as 10s, 15m, 6h or 2d".to_owned())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return Err("write the unit as ms, s, m, h or d".to_owned()),
    };
    let millis =
        number.checked_mul(millis).filter(|millis| *millis <= MILLIS_MAX).ok_or("longer than a hundred years")?;
    Ok(Duration::from_millis(millis))
}

/// A number within bounds.
pub(crate) fn number(text: &str, least: usize, most: usize) -> Result<usize, String> {
    text.parse::<usize>()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("write a number from {least} to {most}"))
}

/// Yes or no.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" | "" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_durations_are_a_number_and_a_unit() {
        for (text, expect) in [
            ("10s", Some(10_000)),
            ("15m", Some(900_000)),
            ("2d", Some(172_800_000)),
            ("500ms", Some(500)),
            ("0s", Some(0)),
            ("10", None),
            ("s", None),
            ("-1s", None),
            ("1.5h", None),
            ("10 s", None),
            ("99999999999999999999d", None),
            ("99999999999d", None),
        ] {
            assert_eq!(duration(text).ok().map(|value| value.as_millis()), expect, "{text}");
        }
    }
}
