//! Values as people write them.

use std::{fmt::Display, str::FromStr, time::Duration};

use domain::push::{Algorithm, KnownHub};
use jiff::Timestamp;
use url::Url;

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

/// A duration that is at least this.
pub(crate) fn duration_from(text: &str, least: Duration, in_words: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration < least { Err(format!("write {in_words} or more")) } else { Ok(duration) }
}

/// A time, or how long ago it was, as in `2h`.
pub(crate) fn ago(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let at = duration(text).ok().and_then(|ago| now.checked_sub(ago).ok()).or_else(|| text.parse().ok());
    at.ok_or_else(|| "write a time with its zone, such as 2026-03-01T12:00:00Z, or how long ago, such as 2h".to_owned())
}

/// A time, or how long from now it is, as in `90d`.
pub(crate) fn later(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let at = duration(text).ok().and_then(|later| now.checked_add(later).ok()).or_else(|| text.parse().ok());
    at.ok_or_else(|| "write a time with its zone, such as 2027-03-01T12:00:00Z, or how long, such as 90d".to_owned())
}

/// A number within bounds.
pub(crate) fn parse_number<N: FromStr + PartialOrd + Display + Copy>(
    text: &str,
    least: N,
    most: N,
) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| (&least..=&most).contains(&number));
    number.ok_or_else(|| format!("write a number from {least} to {most}"))
}

/// A duration that is not zero.
pub(crate) fn some_time(text: &str) -> Result<Duration, String> {
    duration_from(text, Duration::from_millis(1), "a millisecond")
}

/// A part of a whole: `0.2` or `20%`.
pub(crate) fn part(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    let is_plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let part = number.parse::<f64>().ok().filter(|_| is_plain).map(|number| number / whole);
    part.filter(|part| (0.0..=1.0).contains(part)).ok_or_else(|| "write a number from 0 to 1, or 0% to 100%".to_owned())
}

pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" | "" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

/// The address of a web server: http or https, without a query and a fragment.
pub(crate) fn web_url(text: &str) -> Result<Url, String> {
    let is_web = |scheme: &str| text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
    if !is_web("http://") && !is_web("https://") {
        return Err("it does not begin with http:// or https://".to_owned());
    }
    let url = Url::parse(text)
        .map_err(|_| "write a name or an address, and a port if need be, such as https://example.org:8443")?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("write it without ? and #".to_owned());
    }
    Ok(url)
}

/// The same of an address that strangers are told.
pub(crate) fn public_url(text: &str) -> Result<Url, String> {
    let url = web_url(text)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("write it without a user and a password: hubs and publishers are told it".to_owned());
    }
    Ok(url)
}

/// Ways of signing, by name; at least one.
pub(crate) fn algorithms(text: &str) -> Result<Vec<Algorithm>, String> {
    let mut known = Vec::new();
    for name in parts(text) {
        let algorithm = Algorithm::by_name(name);
        let algorithm = algorithm.ok_or_else(|| format!("{name} is none of sha1, sha256, sha384 and sha512"))?;
        if !known.contains(&algorithm) {
            known.push(algorithm);
        }
    }
    if known.is_empty() { Err("write at least one of sha1, sha256, sha384 and sha512".to_owned()) } else { Ok(known) }
}

/// Hubs of feeds that do not name theirs: `PREFIX=HUB`. A prefix may have an equals sign in it, as in `?channel_id=`.
pub(crate) fn known_hubs(text: &str) -> Result<Vec<KnownHub>, String> {
    parts(text).map(known_hub).collect()
}

fn known_hub(pair: &str) -> Result<KnownHub, String> {
    let cut = pair.rfind("=http://").max(pair.rfind("=https://"));
    let cut = cut.ok_or_else(|| format!("{pair} is no pair such as https://example.org/=https://hub.example.org/"))?;
    let (prefix, hub) = (&pair[..cut], &pair[cut + 1..]);
    if !prefix.starts_with("http://") && !prefix.starts_with("https://") {
        return Err(format!("{prefix} does not begin with http:// or https://, as all feeds do"));
    }
    Url::parse(hub).map_err(|_| format!("{hub} is no hub such as https://example.org/"))?;
    Ok(KnownHub { prefix: prefix.to_owned(), hub: hub.to_owned() })
}

pub(crate) fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
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

    #[test]
    fn u5_times_may_be_relative() {
        let now: Timestamp = "2026-03-03T12:00:00Z".parse().unwrap();
        for (text, expect) in [
            ("2h", Some("2026-03-03T10:00:00Z")),
            ("2d", Some("2026-03-01T12:00:00Z")),
            ("2026-03-01T00:00:00Z", Some("2026-03-01T00:00:00Z")),
            ("2026-03-01T00:00:00", None),
            ("yesterday", None),
        ] {
            assert_eq!(ago(text, now).ok().map(|at| at.to_string()).as_deref(), expect, "{text}");
        }
    }

    #[test]
    fn u4_fractions_are_numbers_or_percentages() {
        for (text, expect) in [
            ("0.2", Some(0.2)),
            ("20%", Some(0.2)),
            ("20 %", Some(0.2)),
            ("0", Some(0.0)),
            ("1", Some(1.0)),
            ("100%", Some(1.0)),
            ("12.5%", Some(0.125)),
            ("", None),
            ("%", None),
            ("-0.1", None),
            ("1.1", None),
            ("101%", None),
            ("20", None),
            ("nan", None),
            ("1e-1", None),
        ] {
            assert_eq!(part(text).ok(), expect, "{text}");
        }
    }

    #[test]
    fn u4_algorithms_are_known_by_name() {
        use Algorithm::{Sha1, Sha256};
        for (text, expect) in [
            ("sha1,sha256,sha384,sha512", Some(Algorithm::ALL.to_vec())),
            (" SHA256 , sha1,sha256,", Some(vec![Sha256, Sha1])),
            ("", None),
            (",", None),
            ("sha256,md5", None),
            ("sha256 sha1", None),
        ] {
            assert_eq!(algorithms(text).ok(), expect, "{text}");
        }
        assert!(algorithms("md5").unwrap_err().contains("md5"));
    }

    #[test]
    fn u4_known_hubs_are_pairs_of_a_prefix_and_a_hub() {
        for (text, expect) in [
            ("", Some(vec![])),
            ("https://e.org/=https://h.org/", Some(vec![("https://e.org/", "https://h.org/")])),
            (
                "https://e.org/f?id==http://h.org/?a=b, http://f.org=https://h.org",
                Some(vec![("https://e.org/f?id=", "http://h.org/?a=b"), ("http://f.org", "https://h.org")]),
            ),
            ("https://e.org/", None),
            ("https://e.org/=h.org", None),
            ("e.org=https://h.org/", None),
            ("=https://h.org/", None),
            ("https://e.org/=https://", None),
            ("https://e.org/=https://h.org/,x", None),
        ] {
            let read = known_hubs(text).ok();
            let pair = |known: &KnownHub| (known.prefix.clone(), known.hub.clone());
            let read: Option<Vec<_>> = read.map(|known| known.iter().map(pair).collect());
            let pair = |(prefix, hub): (&str, &str)| (prefix.to_owned(), hub.to_owned());
            let expect: Option<Vec<_>> = expect.map(|known| known.into_iter().map(pair).collect());
            assert_eq!(read, expect, "{text}");
        }
    }

    #[test]
    fn u4_w3_base_url_is_plain() {
        for (text, expect) in [
            ("https://reader.example.org", true),
            ("https://reader.example.org/", true),
            ("http://127.0.0.1:3000/reader/", true),
            ("reader.example.org", false),
            ("ftp://reader.example.org", false),
            ("https://", false),
            ("https://reader.example.org/?a=b", false),
            ("https://reader.example.org/#top", false),
            ("https://me:hunter2@reader.example.org/", false),
        ] {
            assert_eq!(public_url(text).is_ok(), expect, "{text}");
        }
        assert!(web_url("http://me:hunter2@proxy:3128").is_ok(), "a proxy may want a password");
    }
}
