//! The two shapes that nearly all feeds use, straight from the bytes and without allocating.
//!
//! Only the exact shapes are read here; whatever differs is left to [`super::loose`], which gives the same answer for
//! these shapes too, only slower. So nothing here may accept what the other refuses.

use super::zone::Zone;
use super::{Clock, instant};
use jiff::Timestamp;
use jiff::civil::Date;

/// `2024-02-29T12:34:56.789+01:00`
pub(super) fn rfc3339(text: &[u8]) -> Option<Timestamp> {
    let (head, tail) = text.split_first_chunk::<19>()?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b't' | b' ', clock @ ..] = head else { return None };
    let date = Date::new(four([y1, y2, y3, y4])?, two([m1, m2])?, two([d1, d2])?).ok()?;
    let (nanos, tail) = fraction(tail)?;
    let zone = match tail {
        [b'Z' | b'z'] => Zone::UTC,
        [sign, h1, h2, b':', m1, m2] => Zone::offset(minus(*sign)?, two([h1, h2])?, two([m1, m2])?)?,
        _ => return None,
    };
    instant(date, Clock { nanos, ..hms(clock)? }, &zone)
}

/// `Thu, 29 Feb 2024 12:34:56 +0100`, the weekday and the day's second digit as they come.
pub(super) fn rfc822(text: &[u8]) -> Option<Timestamp> {
    let text = match text {
        [a, b, c, b',', b' ', rest @ ..] if is_weekday([*a, *b, *c]) => rest,
        _ => text,
    };
    let (day, text) = match text {
        [d1 @ b'0'..=b'9', d2 @ b'0'..=b'9', b' ', rest @ ..] => (two([d1, d2])?, rest),
        [d @ b'0'..=b'9', b' ', rest @ ..] => (two([&b'0', d])?, rest),
        _ => return None,
    };
    let (head, tail) = text.split_first_chunk::<18>()?;
    let [m1, m2, m3, b' ', y1, y2, y3, y4, b' ', clock @ .., b' '] = head else { return None };
    let date = Date::new(four([y1, y2, y3, y4])?, month([*m1, *m2, *m3])?, day).ok()?;
    let zone = match tail {
        b"GMT" | b"UTC" | b"UT" | b"Z" => Zone::UTC,
        [a, b, c] => abbreviated([*a, *b, *c])?,
        [a, b, c, d] => abbreviated([*a, *b, *c, *d])?,
        [sign, h1, h2, m1, m2] => Zone::offset(minus(*sign)?, two([h1, h2])?, two([m1, m2])?)?,
        _ => return None,
    };
    instant(date, hms(clock)?, &zone)
}

fn hms(text: &[u8]) -> Option<Clock> {
    let [h1, h2, b':', m1, m2, b':', s1, s2] = text else { return None };
    Some(Clock { hour: two([h1, h2])?, minute: two([m1, m2])?, second: two([s1, s2])?, nanos: 0 })
}

/// The nanoseconds of a fraction, if there is one, and what follows it. Digits past the ninth are dropped.
fn fraction(text: &[u8]) -> Option<(i32, &[u8])> {
    let [b'.', digits @ ..] = text else { return Some((0, text)) };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(length);
    let padded = digits.iter().chain(std::iter::repeat(&b'0')).take(9);
    let nanos = padded.fold(0, |nanos, digit| nanos * 10 + i32::from(digit - b'0'));
    (length > 0).then_some((nanos, rest))
}

fn abbreviated<const LENGTH: usize>(mut name: [u8; LENGTH]) -> Option<Zone> {
    name.make_ascii_lowercase();
    Zone::abbreviated(str::from_utf8(&name).ok()?)
}

fn minus(sign: u8) -> Option<bool> {
    match sign {
        b'-' => Some(true),
        b'+' => Some(false),
        _ => None,
    }
}

fn two([a, b]: [&u8; 2]) -> Option<i8> {
    i8::try_from(digit(*a)? * 10 + digit(*b)?).ok()
}

fn four([a, b, c, d]: [&u8; 4]) -> Option<i16> {
    Some(digit(*a)? * 1000 + digit(*b)? * 100 + digit(*c)? * 10 + digit(*d)?)
}

fn digit(byte: u8) -> Option<i16> {
    byte.is_ascii_digit().then(|| i16::from(byte - b'0'))
}

fn is_weekday(name: [u8; 3]) -> bool {
    matches!(&name, b"Mon" | b"Tue" | b"Wed" | b"Thu" | b"Fri" | b"Sat" | b"Sun")
}

fn month(name: [u8; 3]) -> Option<i8> {
    Some(match &name {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    })
}
