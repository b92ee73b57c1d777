//! Dates as feeds publish them (requirement F2): the corpus, where it is given, and what holds for every text.

use feed::date::parse;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use proptest::prelude::*;
use std::path::PathBuf;

/// Requirement F2: every string of the corpus that has an instant gives exactly that one, and the others are refused.
#[test]
fn f2_every_date_of_the_corpus() {
    let Some(folder) = std::env::var_os("PIRSSONITE_CORPUS").map(PathBuf::from) else {
        println!("PIRSSONITE_CORPUS is not given: the corpus of dates was not read");
        return;
    };
    let mut faults = Vec::new();
    for name in ["dates-feedparser.jsonl", "dates-miniflux.jsonl"] {
        let rows = std::fs::read_to_string(folder.join(name)).expect("the corpus holds its dates");
        assert!(rows.lines().count() > 0, "{name} is empty");
        faults.extend(rows.lines().filter_map(fault));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn fault(row: &str) -> Option<String> {
    let row: serde_json::Value = serde_json::from_str(row).expect("a row is JSON");
    let input = row["input"].as_str().expect("a row has its input");
    let found = parse(input);
    let met = match row["expected"].as_str() {
        None => found.is_none(),
        Some("ANY") => found.is_some(),
        Some(expected) => {
            let expected: Timestamp = expected.parse().expect("an expected instant is RFC 3339");
            found.is_some_and(|found| found.as_second() == expected.as_second())
        }
    };
    (!met).then(|| format!("{input:?} gave {found:?}, expected {}", row["expected"]))
}

/// Any instant of the years that four digits can write in every zone.
fn instants() -> impl Strategy<Value = Timestamp> {
    let first: Timestamp = "0001-01-01T00:00:00Z".parse().expect("in range");
    let last: Timestamp = "9998-12-31T00:00:00Z".parse().expect("in range");
    (first.as_second()..last.as_second(), 0..1_000_000_000)
        .prop_map(|(second, nanos)| Timestamp::new(second, nanos).expect("in range"))
}

fn offsets() -> impl Strategy<Value = Offset> {
    (-23 * 60..=23 * 60).prop_map(|minutes| Offset::from_seconds(minutes * 60).expect("in range"))
}

proptest! {
    #[test]
    fn f2_date_parser_never_panics(text in any::<String>()) {
        parse(&text);
    }

    /// Texts made of the pieces of dates get further in than arbitrary ones.
    #[test]
    fn no_likely_text_panics(
        pieces in prop::collection::vec(
            "[0-9]{1,14}|[A-Za-zéΜάйт오후年월]{1,4}|[-+:,./() T\u{200e}（]|Sun|Mar|pm|GMT|Europe/|07:08|2019",
            0..16,
        ),
    ) {
        parse(&pieces.concat());
        parse(&pieces.join(" "));
    }

    #[test]
    fn f2_rfc_3339_round_trips(instant in instants(), offset in offsets()) {
        prop_assert_eq!(parse(&instant.to_string()), Some(instant));
        prop_assert_eq!(parse(&instant.display_with_offset(offset).to_string()), Some(instant));
    }

    #[test]
    fn f2_rfc_2822_round_trips(instant in instants(), offset in offsets()) {
        let second = Timestamp::from_second(instant.as_second()).expect("in range");
        let zoned = second.to_zoned(TimeZone::fixed(offset));
        prop_assert_eq!(parse(&jiff::fmt::rfc2822::to_string(&zoned).expect("a year of four digits")), Some(second));
    }
}
