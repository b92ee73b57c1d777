//! The names of items: long ones with sixteen hexadecimal digits, and numbers. Clients compute the one from the other and
//! send back whichever they like.

use domain::EntryId;

use super::refusal::Refusal;

/// Items that are named in one request.
pub(super) const ITEM_IDS_MAX: usize = 10_000;

const PREFIX: &str = "tag:google.com,2005:reader/item/";
/// Hexadecimal digits of an id by itself; with fewer it is a decimal number.
const HEX_DIGITS: usize = 16;

pub(super) fn long_id(id: EntryId) -> String {
    format!("{PREFIX}{:016x}", id.0)
}

/// The entry that an id names, in whatever form.
pub(super) fn parse_id(text: &str) -> Option<EntryId> {
    let text = text.trim();
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok().map(|id| EntryId(id.cast_signed()));
    match text.strip_prefix(PREFIX) {
        Some(digits) => hex(digits),
        None if text.len() == HEX_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => hex(text),
        // NetNewsWire has sent hexadecimal digits by themselves: those with a letter are told from a number.
        None => text.parse().ok().map(EntryId).or_else(|| hex(text)),
    }
}

/// The entries that ids name, each once. Those that mean nothing are passed over, as those that name nothing are.
pub(super) fn parse_ids<'a>(ids: impl Iterator<Item = &'a str>) -> Result<Vec<EntryId>, Refusal> {
    let texts: Vec<&str> = ids.take(ITEM_IDS_MAX + 1).collect();
    if texts.len() > ITEM_IDS_MAX {
        return Err(Refusal::BadRequest);
    }
    let mut ids: Vec<EntryId> = texts.into_iter().filter_map(parse_id).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_ids_are_read_in_every_form() {
        assert_eq!(long_id(EntryId(255)), "tag:google.com,2005:reader/item/00000000000000ff");
        for (text, expect) in [
            ("tag:google.com,2005:reader/item/00000000000000ff", Some(255)),
            ("tag:google.com,2005:reader/item/ff", Some(255)),
            ("tag:google.com,2005:reader/item/FF", Some(255)),
            ("00000000000000ff", Some(255)),
            ("0000000000000012", Some(18)),
            ("12", Some(12)),
            (" 12 ", Some(12)),
            ("-1", Some(-1)),
            ("tag:google.com,2005:reader/item/ffffffffffffffff", Some(-1)),
            ("ff", Some(255)),
            ("fg", None),
            ("", None),
            ("tag:google.com,2005:reader/item/", None),
            ("tag:google.com,2005:reader/item/00000000000000fff", Some(4095)),
            ("tag:google.com,2005:reader/item/1ffffffffffffffff", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(parse_id(text), expect.map(EntryId), "{text}");
        }
        assert_eq!(parse_ids(["2", "x", "1", "2"].into_iter()).unwrap(), [EntryId(1), EntryId(2)]);
        assert!(parse_ids(std::iter::repeat_n("1", ITEM_IDS_MAX)).is_ok());
        assert!(parse_ids(std::iter::repeat_n("1", ITEM_IDS_MAX + 1)).is_err());
        let one_bad = std::iter::once("x").chain(std::iter::repeat_n("1", ITEM_IDS_MAX));
        assert!(parse_ids(one_bad).is_err(), "none of too many is left out in silence");
    }
}
