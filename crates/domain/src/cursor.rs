//! Where a page of entries ended. Opaque to clients: they send back what they were given.

use jiff::Timestamp;

use crate::ids::EntryId;

/// What a cursor begins with.
const PREFIX: &str = "cur_";

/// Hexadecimal digits of a time, and of an id.
const DIGITS: usize = 16;

/// The last entry of a page. The next page holds what sorts after it, however many entries came in since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The entry's time that the pages go by: its `sortAt`, or when it was received or changed.
    pub at: Timestamp,
    /// The entry itself, for those with the same time.
    pub id: EntryId,
}

impl Cursor {
    /// Reads what a client sends back; `None` if this installation never gave out such a text.
    pub fn decode(text: &str, installation: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?.strip_prefix(installation)?;
        let (time, id) = digits.split_at_checked(DIGITS)?;
        Some(Self { at: nearest(parse_i64(time)?), id: EntryId(parse_i64(id)?) })
    }

    /// As a client sees it.
    pub fn encode(self, installation: &str) -> String {
        format!("{PREFIX}{installation}{:016x}{:016x}", self.at.as_millisecond(), self.id.0)
    }
}

/// A number in its only spelling.
fn parse_i64(digits: &str) -> Option<i64> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_whole = digits.len() == DIGITS && digits.bytes().all(is_digit);
    is_whole.then(|| u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)).flatten()
}

/// The instant, or the first or last that there is.
fn nearest(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(if millisecond < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "0123456789ab";

    #[test]
    fn f6_a_cursor_comes_back_as_it_went_and_nothing_else_does() {
        for (millisecond, id) in [(-1_234_567, 42), (0, 0), (1_772_480_100_000, i64::MAX)] {
            let at = Timestamp::from_millisecond(millisecond).unwrap();
            let cursor = Cursor { at, id: EntryId(id) };
            assert_eq!(Cursor::decode(&cursor.encode(HERE), HERE), Some(cursor));
            assert_eq!(Cursor::decode(&cursor.encode("ba9876543210"), HERE), None, "of another installation");
        }
        let good = Cursor { at: Timestamp::UNIX_EPOCH, id: EntryId(0xabc) }.encode(HERE);
        assert_eq!(good, "cur_0123456789ab00000000000000000000000000000abc");
        let (upper, long, short) = (good.to_uppercase(), format!("{good}0"), &good[..good.len() - 1]);
        for bad in ["", "x", "cur_", "AAAA", &upper, &long, short, &good.replace("abc", "+bc"), &good.replace('c', "é")]
        {
            assert_eq!(Cursor::decode(bad, HERE), None, "{bad}");
        }
        let far = format!("cur_{HERE}{}", "f".repeat(15) + "0" + &"7".repeat(16));
        assert!(Cursor::decode(&far, HERE).is_some());
        assert_eq!(Cursor::decode(&format!("cur_{HERE}7{}", "f".repeat(31)), HERE).unwrap().at, Timestamp::MAX);
    }
}
