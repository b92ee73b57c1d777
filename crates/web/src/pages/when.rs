//! Times in few words. Within a week they are told by how long ago, which needs no zone.

use jiff::{Timestamp, tz::TimeZone};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

/// `5 min`, `3 h`, `2 d`, `18 Nov`, `18 Nov 2024`.
pub(super) fn short(at: Timestamp, now: Timestamp) -> String {
    let ago = now.as_second() - at.as_second();
    match ago {
        ..MINUTE => "now".to_owned(),
        MINUTE..HOUR => format!("{} min", ago / MINUTE),
        HOUR..DAY => format!("{} h", ago / HOUR),
        DAY..WEEK => format!("{} d", ago / DAY),
        _ => {
            let (then, today) = (at.to_zoned(TimeZone::UTC), now.to_zoned(TimeZone::UTC));
            let form = if then.year() == today.year() { "%-d %b" } else { "%-d %b %Y" };
            then.strftime(form).to_string()
        }
    }
}

/// `18 November 2026, 09:30 UTC`; a script shows it in the reader's zone.
pub(super) fn long(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%-d %B %Y, %H:%M UTC").to_string()
}

/// `1:02:03` or `4:05`.
pub(super) fn duration(secs: u32) -> String {
    let (hours, minutes, secs) = (secs / 3600, secs / 60 % 60, secs % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{secs:02}") } else { format!("{minutes}:{secs:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_times_are_told_in_few_words() {
        let now: Timestamp = "2026-11-18T09:30:00Z".parse().unwrap();
        for (at, expect) in [
            ("2026-11-18T09:29:30Z", "now"),
            ("2026-11-18T10:00:00Z", "now"),
            ("2026-11-18T09:25:00Z", "5 min"),
            ("2026-11-18T06:00:00Z", "3 h"),
            ("2026-11-16T06:00:00Z", "2 d"),
            ("2026-11-01T06:00:00Z", "1 Nov"),
            ("2024-02-29T06:00:00Z", "29 Feb 2024"),
        ] {
            assert_eq!(short(at.parse().unwrap(), now), expect, "{at}");
        }
        assert_eq!(long(now), "18 November 2026, 09:30 UTC");
        assert_eq!((duration(3723), duration(245)), ("1:02:03".to_owned(), "4:05".to_owned()));
    }
}
