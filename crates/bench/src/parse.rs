//! How fast feeds are read and sanitised, beside a bare XML pass, the crate feed-rs and the crate ammonia.
//!
//! All read the same bytes in the same run, one after the other on each feed, so that whatever disturbs the machine
//! disturbs all alike. The best of several rounds counts, for each feed and each reader.

mod amplify;
mod readers;

use self::readers::{READERS, Reader, Subject};
use crate::{
    cpu::{self, Samples},
    feeds,
    report::{Rating, Table, Tally, mb},
};

/// How often every feed is read by everyone.
const ROUNDS: usize = 15;

/// Our parser, without sanitising, against the bare XML pass.
const AGAINST_BARE_MIN: f64 = 0.7;
/// Our parser, without sanitising, against feed-rs.
const AGAINST_FEED_RS_MIN: f64 = 1.4;

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let subjects = feeds::generate().into_iter().map(Subject::new).collect::<anyhow::Result<Vec<_>>>()?;
    let measured = measure(&subjects);
    by_kind(&measured).print(tally);
    totals(&measured).print(tally);
    amplify::measure()?.print(tally);
    Ok(())
}

/// What each reader took for one feed.
struct Measured<'a> {
    subject: &'a Subject,
    samples: [Samples; READERS.len()],
}

fn measure(subjects: &[Subject]) -> Vec<Measured<'_>> {
    let mut measured: Vec<Measured<'_>> =
        subjects.iter().map(|subject| Measured { subject, samples: Default::default() }).collect();
    for _ in 0..ROUNDS {
        for Measured { subject, samples } in &mut measured {
            for (reader, samples) in READERS.iter().zip(samples) {
                if reader.can_read(subject) {
                    samples.add(cpu::secs_of(|| reader.read(subject)));
                }
            }
        }
    }
    measured
}

/// MB per CPU second of one reader over those feeds that all of `readers` can read.
fn rate<'a>(
    measured: impl IntoIterator<Item = &'a Measured<'a>>,
    reader: Reader,
    readers: &[Reader],
    secs_of: fn(&Samples) -> f64,
) -> f64 {
    let (bytes, secs) = measured
        .into_iter()
        .filter(|one| readers.iter().chain([&reader]).all(|reader| reader.can_read(one.subject)))
        .map(|one| (reader.bytes(one.subject), secs_of(&one.samples[reader as usize])))
        .fold((0, 0.0), |(bytes, secs), (more_bytes, more_secs)| (bytes + more_bytes, secs + more_secs));
    mb(bytes) / secs
}

fn by_kind(measured: &[Measured<'_>]) -> Table {
    let title = format!(
        "parse: {} generated feeds, {:.1} MB; MB per CPU second, best of {ROUNDS}, by kind",
        measured.len(),
        mb(measured.iter().map(|one| one.subject.feed.bytes.len()).sum())
    );
    let head = ["kind", "MB", "entries", "bare XML", "ours", "ratio", "feed-rs", "ratio", "ours, sanitised"];
    let mut table = Table::new(title, &head);
    for of_kind in measured.chunk_by(|one, next| one.subject.feed.kind == next.subject.feed.kind) {
        let of = |reader| rate(of_kind, reader, &[], Samples::best);
        let (bare, ours, feed_rs) = (of(Reader::Bare), of(Reader::Ours), of(Reader::FeedRs));
        let bytes = of_kind.iter().map(|one| one.subject.feed.bytes.len()).sum();
        let entries: usize = of_kind.iter().map(|one| one.subject.feed.entries).sum();
        let unread = of_kind.iter().filter(|one| !Reader::FeedRs.can_read(one.subject)).count();
        let remark = if unread > 0 { format!("feed-rs fails on {unread}") } else { String::new() };
        let cells = [
            of_kind[0].subject.feed.kind.to_owned(),
            format!("{:.1}", mb(bytes)),
            entries.to_string(),
            format!("{bare:.0}"),
            format!("{ours:.0}"),
            format!("{:.2}", ours / bare),
            format!("{feed_rs:.0}"),
            format!("{:.2}", rate(of_kind, Reader::Ours, &[Reader::FeedRs], Samples::best) / feed_rs),
            format!("{:.0}", of(Reader::OursSanitised)),
        ];
        table.row(&cells, Rating::None, remark);
    }
    table
}

fn totals(measured: &[Measured<'_>]) -> Table {
    use Reader::{Ammonia, Bare, FeedRs, Ours, OursSanitised, Sanitise};
    let mut table = Table::new(
        "parse: all of them, MB per CPU second",
        &["reader", "best", "median", "beside", "at", "ratio", "limit"],
    );
    let mut row = |name: &str, reader: Reader, peer: Option<(Reader, &str)>, limit: Option<f64>, remark: &str| {
        let peers: Vec<Reader> = peer.iter().map(|(peer, _)| *peer).collect();
        let best = rate(measured, reader, &peers, Samples::best);
        let beside = peer.map(|(peer, _)| rate(measured, peer, &[reader], Samples::best));
        let ratio = beside.map(|beside| best / beside);
        let cells = [
            name.to_owned(),
            format!("{best:.0}"),
            format!("{:.0}", rate(measured, reader, &peers, Samples::median)),
            peer.map_or(String::new(), |(_, name)| name.to_owned()),
            beside.map_or(String::new(), |beside| format!("{beside:.0}")),
            ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            limit.map_or(String::new(), |limit| format!("{limit:.1}")),
        ];
        let rating = match (ratio, limit) {
            (Some(ratio), Some(limit)) => Rating::of(ratio >= limit),
            _ => Rating::None,
        };
        table.row(&cells, rating, remark);
    };
    let bare = Some((Bare, "bare XML"));
    row("bare XML pass", Bare, None, None, "encoding_rs and quick-xml, every event, nothing kept");
    row("ours", Ours, bare, Some(AGAINST_BARE_MIN), "not sanitised");
    row("ours", Ours, Some((FeedRs, "feed-rs")), Some(AGAINST_FEED_RS_MIN), "feed-rs without sanitising too");
    row("ours, sanitised", OursSanitised, bare, None, "links in HTML made absolute");
    row("sanitiser alone", Sanitise, Some((Ammonia, "ammonia")), None, "MB of HTML bodies; both make links absolute");
    table
}
