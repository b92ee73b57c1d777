//! What a poll's end means for the feed: the result to be stored, and when to ask again. Pure but for the jitter.

use std::time::Duration;

use domain::{
    feed_state::FeedAddress,
    ingest::{PollHints, PollJob, PollOutcome, PollResult},
    ports::Headers,
    schedule::{self, ADAPTIVE_FIRST, Freshness, Poll},
};
use feed::Head;
use jiff::Timestamp;
use url::Url;

use crate::{ingest::hints_of, settings::EngineSettings};

/// What an answer says about when to ask again, and where.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScheduleHints {
    pub(crate) headers: Headers,
    /// What the feed itself asks for, if it came; else what it asked for last counts.
    pub(crate) by_feed: Option<PollHints>,
    /// Where it has moved for good.
    pub(crate) moved_to: Option<String>,
}

impl ScheduleHints {
    /// Adds what the feed itself says.
    pub(crate) fn by_feed(mut self, head: &Head) -> Self {
        self.by_feed = Some(hints_of(head));
        self
    }
}

/// What a decision depends on besides the poll.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScheduleInputs<'s> {
    pub(crate) now: Timestamp,
    pub(crate) chance: f64,
    /// A person asked for it.
    pub(crate) is_by_hand: bool,
    pub(crate) settings: &'s EngineSettings,
}

/// The result of a poll that ended so.
pub(crate) fn result(
    job: &PollJob,
    outcome: PollOutcome,
    hints: &ScheduleHints,
    schedule_inputs: ScheduleInputs<'_>,
) -> PollResult {
    // One that was due anyway is a poll like any other.
    let is_early = schedule_inputs.is_by_hand && job.due_at > job.claimed_at;
    let freshness = match &outcome {
        PollOutcome::Fetched(document) if !document.entries.is_empty() => Freshness::Changed,
        PollOutcome::Fetched(_) | PollOutcome::Unchanged(_) => Freshness::Unchanged,
        PollOutcome::Failed(_) | PollOutcome::Gone(_) => Freshness::Failed(job.failure_count.saturating_add(1)),
    };
    let mut next = next_check(job, freshness, hints, schedule_inputs);
    let due_by = is_early.then(|| {
        next.adaptive = next.adaptive.min(secs(job.adaptive_secs));
        let retry_after = retry_after(freshness, hints, schedule_inputs);
        schedule::due_by(job.due_at, job.claimed_at, retry_after, schedule_inputs.settings.fetch_timeout)
    });
    // Only an answer that is worth something moves a feed: an error page elsewhere does not.
    let moved_to = match freshness {
        Freshness::Changed | Freshness::Unchanged => hints.moved_to.as_deref().and_then(|url| moved(&job.address, url)),
        Freshness::Failed(_) => None,
    };
    PollResult {
        feed_id: job.feed_id,
        lease: job.lease.clone(),
        claimed_at: job.claimed_at,
        next_check_in: next.delay,
        next_audit_in: audit_in(schedule_inputs.settings),
        due_by,
        adaptive_secs: u32::try_from(next.adaptive.as_secs()).unwrap_or(u32::MAX),
        moved_to,
        outcome,
    }
}

/// When a feed that a hub pushes is polled all the same.
fn audit_in(settings: &EngineSettings) -> Duration {
    // As good as never.
    const NEVER: Duration = Duration::from_hours(100 * 365 * 24);
    if settings.push.audit.is_zero() { NEVER } else { settings.push.audit }
}

/// When a feed that was just added is polled next.
pub(crate) fn first_check(hints: &ScheduleHints, schedule_inputs: ScheduleInputs<'_>) -> Duration {
    schedule::next(&poll(Freshness::Changed, ADAPTIVE_FIRST * 2, None, PollHints::default(), hints, schedule_inputs))
        .delay
}

fn next_check(
    job: &PollJob,
    freshness: Freshness,
    hints: &ScheduleHints,
    schedule_inputs: ScheduleInputs<'_>,
) -> schedule::Next {
    let own_interval = job.poll_interval.map(secs);
    // What a first fetch brings is backlog, and says nothing about how often entries come.
    let adaptive = match freshness {
        Freshness::Changed if job.is_first_fetch => ADAPTIVE_FIRST * 2,
        _ => secs(job.adaptive_secs),
    };
    schedule::next(&poll(freshness, adaptive, own_interval, job.hints, hints, schedule_inputs))
}

fn poll(
    freshness: Freshness,
    adaptive: Duration,
    own_interval: Option<Duration>,
    known: PollHints,
    hints: &ScheduleHints,
    schedule_inputs: ScheduleInputs<'_>,
) -> Poll {
    let PollHints { ttl_mins, skips } = hints.by_feed.unwrap_or(known);
    let header = |name| hints.headers.get(name);
    Poll {
        now: schedule_inputs.now,
        bounds: schedule_inputs.settings.bounds,
        freshness,
        adaptive,
        own_interval,
        fresh_for: schedule::fresh_for(header("cache-control"), header("expires"), header("age"), schedule_inputs.now),
        ttl: ttl_mins.map(|minutes| Duration::from_mins(u64::from(minutes))),
        retry_after: retry_after(freshness, hints, schedule_inputs),
        skips,
        chance: schedule_inputs.chance,
    }
}

/// When a server that refuses wants to be asked again.
fn retry_after(freshness: Freshness, hints: &ScheduleHints, schedule_inputs: ScheduleInputs<'_>) -> Option<Duration> {
    let header = |name| hints.headers.get(name);
    matches!(freshness, Freshness::Failed(_))
        .then(|| schedule::retry_after(header("retry-after"), header("date"), schedule_inputs.now))
        .flatten()
}

fn secs(secs: u32) -> Duration {
    Duration::from_secs(u64::from(secs))
}

/// A feed's new address. The password goes along only where it may be sent; without it, the feed stays its account's own.
pub(crate) fn moved(from: &FeedAddress, to: &str) -> Option<FeedAddress> {
    let address = FeedAddress::parse(to).ok()?;
    let kept = |known: &String| if same_host(&from.url, &address.url) { known.clone() } else { String::new() };
    let credentials = from.credentials.as_ref().map(kept);
    (address.url != from.url).then_some(FeedAddress { url: address.url, credentials })
}

/// Whether what is secret at one URL is so at another: the same host, and no less secure.
pub(crate) fn same_host(from: &str, to: &str) -> bool {
    match (Url::parse(from), Url::parse(to)) {
        (Ok(from), Ok(to)) => crate::http::may_share_secrets(&from, &to),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use domain::{
        FeedId, Lease,
        ingest::{Document, IncomingEntry, Validators},
    };

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn job() -> PollJob {
        PollJob {
            feed_id: FeedId(1),
            address: FeedAddress { url: "https://e.org/f".into(), credentials: Some("u:p".into()) },
            validators: Validators::default(),
            lease: Lease { owner: "o".into(), fence: 7 },
            claimed_at: Timestamp::UNIX_EPOCH,
            due_at: Timestamp::UNIX_EPOCH,
            failure_count: 1,
            adaptive_secs: 7200,
            poll_interval: None,
            hints: PollHints::default(),
            is_first_fetch: false,
        }
    }

    fn hints(headers: &[(&str, &str)]) -> ScheduleHints {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ScheduleHints { headers: Headers(headers), ..ScheduleHints::default() }
    }

    fn ended(job: &PollJob, outcome: PollOutcome, hints: &ScheduleHints) -> PollResult {
        ended_by(job, outcome, hints, false)
    }

    fn ended_by(job: &PollJob, outcome: PollOutcome, hints: &ScheduleHints, is_by_hand: bool) -> PollResult {
        let settings = EngineSettings::default();
        let schedule_inputs =
            ScheduleInputs { now: Timestamp::UNIX_EPOCH, chance: 0.0, is_by_hand, settings: &settings };
        result(job, outcome, hints, schedule_inputs)
    }

    fn with_entries() -> PollOutcome {
        PollOutcome::Fetched(Document { entries: vec![IncomingEntry::default()], ..Document::default() })
    }

    #[test]
    fn f4_interval_adapts_to_changes() {
        let check = |outcome, hints: &ScheduleHints, hours: f64| {
            assert_eq!(ended(&job(), outcome, hints).next_check_in, HOUR.mul_f64(hours));
        };
        check(with_entries(), &hints(&[]), 1.0);
        check(PollOutcome::Fetched(Document::default()), &hints(&[]), 3.0);
        check(PollOutcome::Unchanged(Validators::default()), &hints(&[]), 3.0);
        check(PollOutcome::Unchanged(Validators::default()), &hints(&[("cache-control", "max-age=36000")]), 10.0);
        check(PollOutcome::Failed(String::new()), &hints(&[]), 0.5);
        check(PollOutcome::Failed(String::new()), &hints(&[("retry-after", "18000")]), 5.0);
        check(with_entries(), &hints(&[("retry-after", "18000")]), 1.0);
        let ttl = ScheduleHints {
            by_feed: Some(PollHints { ttl_mins: Some(240), ..PollHints::default() }),
            ..ScheduleHints::default()
        };
        check(with_entries(), &ttl, 4.0);
        let asks = PollHints { ttl_mins: Some(300), ..PollHints::default() };
        let unchanged = PollOutcome::Unchanged(Validators::default());
        let known_before = ended(&PollJob { hints: asks, ..job() }, unchanged, &hints(&[]));
        assert_eq!(known_before.next_check_in, 5 * HOUR, "a 304 does not say it again");
        let first = PollJob { is_first_fetch: true, ..job() };
        assert_eq!(ended(&first, with_entries(), &hints(&[])).next_check_in, HOUR);
    }

    #[test]
    fn f5_early_refresh_lengthens_no_interval() {
        let due_at = Timestamp::UNIX_EPOCH + HOUR;
        let not_due = PollJob { due_at, ..job() };
        for outcome in [PollOutcome::Unchanged(Validators::default()), PollOutcome::Failed(String::new())] {
            let by_hand = ended_by(&not_due, outcome.clone(), &hints(&[]), true);
            assert_eq!((by_hand.due_by, by_hand.adaptive_secs), (Some(due_at), 7200), "{outcome:?}");
            assert_eq!(ended_by(&job(), outcome.clone(), &hints(&[]), true).due_by, None, "it was due: {outcome:?}");
            assert_eq!(ended_by(&not_due, outcome.clone(), &hints(&[]), false).due_by, None, "deferred: {outcome:?}");
        }
        let changed_by_hand = ended_by(&not_due, with_entries(), &hints(&[]), true);
        assert_eq!(changed_by_hand.adaptive_secs, 3600, "new entries may shorten it");
        let refused = ended_by(&not_due, PollOutcome::Failed(String::new()), &hints(&[("retry-after", "18000")]), true);
        assert!(refused.due_by >= Some(Timestamp::UNIX_EPOCH + 5 * HOUR), "the server asked for it: {refused:?}");
    }

    #[test]
    fn f4_move_needs_an_answer() {
        let moved = |outcome, to: &str| {
            let hints = ScheduleHints { moved_to: Some(to.to_owned()), ..ScheduleHints::default() };
            ended(&job(), outcome, &hints).moved_to.map(|address| (address.url, address.credentials))
        };
        assert_eq!(moved(with_entries(), "https://e.org/g"), Some(("https://e.org/g".into(), Some("u:p".into()))));
        assert_eq!(moved(with_entries(), "https://f.org/g"), Some(("https://f.org/g".into(), Some(String::new()))));
        assert_eq!(moved(with_entries(), "http://e.org/f"), Some(("http://e.org/f".into(), Some(String::new()))));
        assert_eq!(moved(with_entries(), "https://e.org/f"), None);
        assert_eq!(moved(PollOutcome::Failed(String::new()), "https://e.org/g"), None);
    }
}
