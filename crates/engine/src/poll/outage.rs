//! What requests have shown of the network, and whether there is an outage of ours: see [`domain::outage`], which decides.
//!
//! "At the same time" means since the feed in question was first asked. That is counted in ends of requests, not in
//! seconds: a request that ended after another began tells something about it, however long either took.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::{
    FeedId,
    outage::{self, Evidence, FailureKind, Fault, Observation},
};
use jiff::Timestamp;

use crate::hosts;

/// Hosts that are remembered. When there are more, the older half is forgotten: what matters is what was seen just now.
const HOSTS_MAX: usize = 4096;

/// Feeds that are remembered because it is not clear whose fault it is that they fail.
const SUSPECTS_MAX: usize = 65_536;

/// Polls at once while there is an outage, to see whether it is over.
pub(crate) const PROBES_MAX: usize = 4;

/// A probe that was not seen to end within so many requests of others is not waited for.
const PROBE_ENDS_MAX: u64 = 1000;

/// What a feed waits that could not be asked because of us; doubled each time, up to the longest.
const RETRY_FIRST: Duration = Duration::from_secs(15);
const RETRY_MAX: Duration = Duration::from_mins(1);

/// An outage of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    pub since: Timestamp,
    /// What happens, in words.
    pub reason: &'static str,
}

/// What has been seen.
#[derive(Debug, Default)]
pub(crate) struct NetworkWatch {
    state: Mutex<State>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct State {
    /// Requests that have begun or ended so far.
    count: u64,
    hosts: HashMap<u64, Seen>,
    suspects: HashMap<FeedId, Suspect>,
    /// What was last made due to see whether it is reached.
    probed: Option<Probed>,
    /// With the count at which it was noticed.
    outage: Option<(Outage, u64)>,
}

/// What was last seen of a host, and when by the count.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: u64,
    observation: Observation,
    /// Whose host it is.
    feed: Option<FeedId>,
}

#[derive(Debug, Clone, Copy)]
struct Probed {
    host: u64,
    /// When it had been seen, by the count.
    seen_at: u64,
    /// When it was made due, by the count.
    at: u64,
}

#[derive(Debug, Clone, Copy)]
struct Suspect {
    since: u64,
    tries: u32,
}

/// A request that is under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    host: u64,
    began: u64,
}

/// What a request's end means for its feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It counts for the feed.
    Counts,
    /// Nothing: the feed is to be asked again after this.
    RetryIn(Duration),
}

/// What else there is to do after a request has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutageChange {
    Began(Outage),
    Ended(Outage),
}

impl NetworkWatch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outage that there is.
    pub(crate) fn outage(&self) -> Option<Outage> {
        self.lock().outage.map(|(outage, _)| outage)
    }

    /// A host is about to be asked.
    pub(crate) fn begins(&self, url: &str) -> Request {
        let host = self.hasher.hash_one(hosts::key(url));
        let mut state = self.lock();
        state.count += 1;
        let began = state.count;
        state.hosts.entry(host).or_insert(Seen { at: began, observation: Observation::Nothing, feed: None });
        if state.hosts.len() > HOSTS_MAX {
            let mut ages: Vec<u64> = state.hosts.values().map(|seen| seen.at).collect();
            let (_, middle, _) = ages.select_nth_unstable(HOSTS_MAX / 2);
            let middle = *middle;
            state.hosts.retain(|known, seen| seen.at > middle || *known == host);
        }
        Request { host, began }
    }

    /// A request has ended. One that a person waits for is not left unclear, unless there is an outage: then it is hardly the
    /// feed's fault.
    pub(crate) fn ends(
        &self,
        request: Request,
        feed: FeedId,
        observation: Observation,
        is_by_hand: bool,
        now: Timestamp,
    ) -> (Meaning, Option<OutageChange>) {
        let mut state = self.lock();
        state.count += 1;
        let at = state.count;
        if observation != Observation::Nothing {
            state.hosts.insert(request.host, Seen { at, observation, feed: Some(feed) });
        }
        let Observation::Failed(way) = observation else {
            state.suspects.remove(&feed);
            let is_over =
                observation == Observation::Reached && state.outage.is_some_and(|(_, noticed)| request.began > noticed);
            let ended = if is_over { state.outage.take() } else { None };
            return (Meaning::Counts, ended.map(|(outage, _)| OutageChange::Ended(outage)));
        };
        let suspect = state.suspects.get(&feed).copied().unwrap_or(Suspect { since: request.began, tries: 0 });
        let fault = outage::judge(way, state.evidence(way, suspect, request.host));
        match fault {
            Fault::Unclear if !is_by_hand || state.outage.is_some() => (state.suspects(feed, suspect), None),
            Fault::Feed | Fault::Unclear => {
                state.suspects.remove(&feed);
                (Meaning::Counts, None)
            }
            Fault::Ours => {
                let began = state.outage.is_none().then_some(Outage { since: now, reason: way.in_words() });
                if let Some(outage) = began {
                    state.outage = Some((outage, at));
                }
                (state.suspects(feed, suspect), began.map(OutageChange::Began))
            }
        }
    }
}

impl NetworkWatch {
    /// A feed whose host was well when it was last asked, to be asked now; none while another is.
    pub(crate) fn probe(&self) -> Option<FeedId> {
        let mut state = self.lock();
        let count = state.count;
        let is_under_way = |probed: Probed| {
            let is_as_before = state.hosts.get(&probed.host).is_some_and(|seen| seen.at == probed.seen_at);
            is_as_before && count.saturating_sub(probed.at) < PROBE_ENDS_MAX
        };
        if state.probed.is_some_and(is_under_way) {
            return None;
        }
        // From the one that was seen last to older ones, and then over again.
        let last = state.probed.map_or(u64::MAX, |probed| probed.seen_at);
        let well = state.hosts.iter().filter(|(_, seen)| seen.observation == Observation::Reached);
        let next = well.max_by_key(|(_, seen)| (seen.at < last, seen.at));
        let (host, seen_at, feed) = next.map(|(host, seen)| (*host, seen.at, seen.feed))?;
        state.probed = Some(Probed { host, seen_at, at: count });
        feed
    }
}

impl State {
    fn evidence(&self, way: FailureKind, suspect: Suspect, host: u64) -> Evidence {
        let since = |wanted: Observation| {
            let others = self.hosts.iter().filter(|(known, _)| **known != host);
            others.filter(|(_, seen)| seen.observation == wanted && seen.at > suspect.since).count()
        };
        Evidence {
            known: self.hosts.len(),
            failed: 1 + since(Observation::Failed(way)),
            reached: since(Observation::Reached),
            well: self.hosts.values().filter(|seen| seen.observation == Observation::Reached).count(),
            tries: suspect.tries,
        }
    }

    /// Remembers that a feed failed and that it may be our fault.
    fn suspects(&mut self, feed: FeedId, suspect: Suspect) -> Meaning {
        if self.suspects.len() >= SUSPECTS_MAX {
            self.suspects.clear();
        }
        let wait = RETRY_FIRST.saturating_mul(1 << suspect.tries.min(8)).min(RETRY_MAX);
        self.suspects.insert(feed, Suspect { tries: suspect.tries.saturating_add(1), ..suspect });
        Meaning::RetryIn(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAD: Observation = Observation::Failed(FailureKind::Connect);

    fn url(host: usize) -> String {
        format!("http://{host}.e.org/feed")
    }

    /// Asks these hosts at once, a feed each, and tells which failures count.
    fn ask(watch: &NetworkWatch, hints: &[(usize, Observation)]) -> Vec<bool> {
        let requests: Vec<Request> = hints.iter().map(|(host, _)| watch.begins(&url(*host))).collect();
        let ends = requests.into_iter().zip(hints).enumerate().map(|(place, (request, (host, observation)))| {
            let feed = FeedId(i64::try_from(host * 100 + place).unwrap());
            watch.ends(request, feed, *observation, false, Timestamp::UNIX_EPOCH).0 == Meaning::Counts
        });
        ends.collect()
    }

    #[test]
    fn f4_dead_host_feeds_are_no_outage() {
        let watch = NetworkWatch::default();
        ask(&watch, &[(1, Observation::Reached), (2, Observation::Reached), (3, Observation::Reached)]);
        let mut hints = vec![(4, Observation::Reached)];
        hints.extend([(9, DEAD); 10]);
        assert_eq!(ask(&watch, &hints), [true; 11]);
        assert_eq!(watch.outage(), None);
    }

    #[test]
    fn f4_outage_ends_at_first_reached_host() {
        let watch = NetworkWatch::default();
        let all = |observation| (0..20).map(|host| (host, observation)).collect::<Vec<_>>();
        assert!(ask(&watch, &all(Observation::Reached)).into_iter().all(|counts| counts));
        for _ in 0..10 {
            assert!(ask(&watch, &all(DEAD)).into_iter().all(|counts| !counts), "not one");
            assert_eq!(watch.outage().map(|outage| outage.reason), Some("no host takes a connection"));
        }
        assert_eq!(ask(&watch, &[(7, Observation::Reached)]), [true]);
        assert_eq!(watch.outage(), None);
    }

    #[test]
    fn f4_dead_host_is_retried_then_counted() {
        let watch = NetworkWatch::default();
        ask(&watch, &[(1, Observation::Reached), (2, Observation::Reached), (3, Observation::Reached)]);
        let counted: Vec<bool> = (0..5).map(|_| ask(&watch, &[(3, DEAD)])[0]).collect();
        assert_eq!(counted, [false, false, false, true, false]);
        assert_eq!(watch.outage(), None);
        // By hand it is told at once.
        let request = watch.begins(&url(3));
        let (meaning, turn) = watch.ends(request, FeedId(77), DEAD, true, Timestamp::UNIX_EPOCH);
        assert_eq!((meaning, turn), (Meaning::Counts, None));
    }

    #[test]
    fn f4_some_dead_hosts_among_many_are_no_outage() {
        let watch = NetworkWatch::default();
        let well: Vec<_> = (0..20).map(|host| (host, Observation::Reached)).collect();
        ask(&watch, &well);
        let dead: Vec<_> = (20..25).map(|host| (host, DEAD)).collect();
        // Nobody else is polled but what is probed.
        let mut counted = Vec::new();
        for _ in 0..=domain::outage::TRIES_MAX {
            counted.push(ask(&watch, &dead).into_iter().all(|counts| counts));
            assert_eq!(watch.outage(), None);
            let probe = watch.probe().expect("one that was well is asked");
            assert_eq!(watch.probe(), None, "one at a time");
            let host = usize::try_from(probe.0).unwrap() / 100;
            assert!(host < 20);
            ask(&watch, &[(host, Observation::Reached)]);
        }
        assert_eq!(counted, [false, false, false, true]);
    }

    #[test]
    fn f4_one_host_without_a_way_to_it_is_no_outage() {
        let watch = NetworkWatch::default();
        let well: Vec<_> = (0..20).map(|host| (host, Observation::Reached)).collect();
        ask(&watch, &well);
        let broken = [(20, Observation::Failed(FailureKind::Network))];
        assert_eq!(ask(&watch, &broken), [false]);
        let probe = watch.probe().expect("one that was well is asked");
        ask(&watch, &[(usize::try_from(probe.0).unwrap() / 100, Observation::Reached)]);
        assert_eq!(ask(&watch, &broken), [true], "others are reached");
        // If none is, it is an outage after the same wait.
        let broken = [(21, Observation::Failed(FailureKind::Network))];
        assert_eq!((ask(&watch, &broken), watch.outage()), (vec![false], None));
        assert_eq!(ask(&watch, &broken), [false]);
        assert!(watch.outage().is_some());
    }

    #[test]
    fn f4_outage_is_found_though_hosts_were_well() {
        let watch = NetworkWatch::default();
        let well: Vec<_> = (0..20).map(|host| (host, Observation::Reached)).collect();
        ask(&watch, &well);
        let dead: Vec<_> = (20..25).map(|host| (host, DEAD)).collect();
        assert_eq!(ask(&watch, &dead), [false; 5]);
        let probe = usize::try_from(watch.probe().unwrap().0).unwrap() / 100;
        ask(&watch, &[(probe, DEAD)]);
        assert_eq!(ask(&watch, &dead), [false; 5]);
        assert!(watch.outage().is_some(), "nobody is reached");
        let by_hand = watch.begins(&url(30));
        let (meaning, turn) = watch.ends(by_hand, FeedId(77), DEAD, true, Timestamp::UNIX_EPOCH);
        assert_eq!((meaning, turn), (Meaning::RetryIn(RETRY_FIRST), None), "an outage is blamed on no feed");
        // It ends with the first that is, which is asked for.
        let probe = usize::try_from(watch.probe().unwrap().0).unwrap() / 100;
        assert_eq!(ask(&watch, &[(probe, Observation::Reached)]), [true]);
        assert_eq!(watch.outage(), None);
    }

    #[test]
    fn u8_what_is_remembered_is_bounded() {
        let watch = NetworkWatch::default();
        for host in 0..HOSTS_MAX * 3 {
            ask(&watch, &[(host, DEAD)]);
        }
        assert!(watch.lock().hosts.len() <= HOSTS_MAX);
    }
}
