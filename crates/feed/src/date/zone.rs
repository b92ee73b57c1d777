//! Zones: offsets in figures, the abbreviations that feeds use, and the regions of the IANA database.
//!
//! An abbreviation that is not in the table is refused, never taken for UTC. The database is the one compiled in: the
//! machine's is never read.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Zone {
    Offset(Offset),
    Region(TimeZone),
}

impl Zone {
    pub(super) const UTC: Self = Self::Offset(Offset::UTC);
    pub(super) const KOREA: Self = Self::Offset(Offset::constant(9));

    /// An offset in figures. What RFC 3339 can write is taken, though no place lies beyond -12:00 or +14:00: the
    /// instant is still certain.
    pub(super) fn offset(minus: bool, hours: i8, minutes: i8) -> Option<Self> {
        if !(0..=23).contains(&hours) || !(0..=59).contains(&minutes) {
            return None;
        }
        let secs = (i32::from(hours) * 60 + i32::from(minutes)) * 60;
        Offset::from_seconds(if minus { -secs } else { secs }).ok().map(Self::Offset)
    }

    /// A region such as `Europe/Paris`.
    pub(super) fn region(name: &str) -> Option<Self> {
        TimeZoneDatabase::bundled().get(name).ok().map(Self::Region)
    }

    /// An abbreviation, folded as in [`super::names::fold`].
    pub(super) fn abbreviated(name: &str) -> Option<Self> {
        if let [letter] = name.as_bytes() {
            // RFC 5322, section 4.3: RFC 822 defined the military letters with their signs the wrong way round, so
            // that they say nothing but UTC. There is no J.
            return (letter.is_ascii_lowercase() && *letter != b'j').then_some(Self::UTC);
        }
        if let Some((_, region)) = SEASONAL.iter().find(|(abbreviation, _)| *abbreviation == name) {
            return Self::region(region);
        }
        let (_, minutes) = ABBREVIATIONS.iter().find(|(abbreviation, _)| *abbreviation == name)?;
        Offset::from_seconds(i32::from(*minutes) * 60).ok().map(Self::Offset)
    }

    /// A local time that a change of the clocks left out or repeated is taken as RFC 5545 has it: by the offset before
    /// the change.
    pub(super) fn instant(&self, local: DateTime) -> Option<Timestamp> {
        match self {
            Self::Offset(offset) => offset.to_timestamp(local).ok(),
            Self::Region(region) => region.to_timestamp(local).ok(),
        }
    }
}

/// Names that mean summer time in summer.
const SEASONAL: &[(&str, &str)] = &[
    ("at", "America/Halifax"),
    ("et", "America/New_York"),
    ("ct", "America/Chicago"),
    ("mt", "America/Denver"),
    ("pt", "America/Los_Angeles"),
];

/// Minutes east of Greenwich. Where several places share a name, the one of RFC 822 is taken (CST, MST), else the one
/// that feeds mean: BST is British, IST Indian.
const ABBREVIATIONS: &[(&str, i16)] = &[
    ("gmt", 0),
    ("utc", 0),
    ("ut", 0),
    ("uct", 0),
    ("zulu", 0),
    ("est", -300),
    ("edt", -240),
    ("cst", -360),
    ("cdt", -300),
    ("mst", -420),
    ("mdt", -360),
    ("pst", -480),
    ("pdt", -420),
    ("mart", -570),
    ("akst", -540),
    ("akdt", -480),
    ("hst", -600),
    ("ast", -240),
    ("adt", -180),
    ("nst", -210),
    ("ndt", -150),
    ("brt", -180),
    ("brst", -120),
    ("art", -180),
    ("clt", -240),
    ("clst", -180),
    ("pet", -300),
    ("cot", -300),
    ("wet", 0),
    ("west", 60),
    ("bst", 60),
    ("cet", 60),
    ("cest", 120),
    ("met", 60),
    ("mest", 120),
    ("mez", 60),
    ("mesz", 120),
    ("eet", 120),
    ("eest", 180),
    ("trt", 180),
    ("msk", 180),
    ("msd", 240),
    ("wat", 60),
    ("cat", 120),
    ("sast", 120),
    ("eat", 180),
    ("irst", 210),
    ("gst", 240),
    ("pkt", 300),
    ("ist", 330),
    ("npt", 345),
    ("ict", 420),
    ("wib", 420),
    ("wita", 480),
    ("wit", 540),
    ("hkt", 480),
    ("sgt", 480),
    ("myt", 480),
    ("pht", 480),
    ("awst", 480),
    ("jst", 540),
    ("kst", 540),
    ("acst", 570),
    ("acdt", 630),
    ("aest", 600),
    ("aedt", 660),
    ("nzst", 720),
    ("nzdt", 780),
];
