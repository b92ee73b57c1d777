//! What happens in the world: publishers publish, hubs change their moods, all by chance.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use domain::ports::{Clock as _, Ids};
use jiff::{SignedDuration, Timestamp};
use testkit::{SeededIds, SimulatedClock};

pub(super) const FEEDS: usize = 50;
pub(super) const HUBS: usize = 8;

/// Time goes on in steps of this.
pub(super) const STEP: SignedDuration = SignedDuration::from_mins(15);

/// Entries that a feed's document holds.
pub(super) const SHOWN: usize = 20;

/// The hub's leases, in days.
pub(super) const LEASES_DAYS: [u64; 4] = [1, 5, 10, 30];

/// How a hub behaves for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Well,
    Refuses,
    Errs,
    Denies,
    NeverVerifies,
    /// It takes subscriptions, and pushes nothing.
    Silent,
}

#[derive(Debug)]
pub(super) struct Hub {
    pub(super) mood: Mood,
    /// Since when it has been well.
    pub(super) well_since: Option<Timestamp>,
    pub(super) next_mood_at: Timestamp,
    /// By callback: topic, secret, end of the lease.
    pub(super) subscribers: HashMap<String, (String, String, Timestamp)>,
}

#[derive(Debug)]
pub(super) struct Publisher {
    pub(super) hubs: Vec<usize>,
    /// Since when it has had these hubs.
    pub(super) hubs_since: Timestamp,
    pub(super) entries: Vec<(u64, Timestamp)>,
    pub(super) next_entry_at: Timestamp,
    /// How often it publishes, on average.
    pub(super) pause: Duration,
    pub(super) version: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) pushes: u64,
    pub(super) polls: u64,
    pub(super) outages: u64,
    pub(super) longest_delay: SignedDuration,
    pub(super) longest_recovery: SignedDuration,
    pub(super) seen: HashSet<(usize, u64)>,
}

#[derive(Debug)]
pub(super) struct Scene {
    pub(super) clock: SimulatedClock,
    pub(super) chance: SeededIds,
    pub(super) hubs: Vec<Hub>,
    pub(super) publishers: Vec<Publisher>,
    pub(super) tally: Tally,
}

impl Scene {
    pub(super) fn new(clock: SimulatedClock, seed: u64) -> Self {
        let now = clock.now();
        let chance = SeededIds::new(!seed);
        let hubs = (0..HUBS)
            .map(|_| Hub {
                mood: Mood::Well,
                well_since: Some(now),
                next_mood_at: now + hours(24.0 + 24.0 * 10.0 * chance.fraction()),
                subscribers: HashMap::new(),
            })
            .collect();
        let publishers = (0..FEEDS)
            .map(|number| Publisher {
                hubs: if number % 5 == 0 { vec![number % HUBS, (number + 3) % HUBS] } else { vec![number % HUBS] },
                hubs_since: now,
                entries: vec![(0, now)],
                next_entry_at: now + hours(24.0 * chance.fraction()),
                pause: Duration::from_secs_f64(3600.0 * (12.0 + 84.0 * chance.fraction())),
                version: 0,
            })
            .collect();
        let mut scene = Self { clock, chance, hubs, publishers, tally: Tally::default() };
        (0..FEEDS).for_each(|feed| scene.saw_all(feed));
        scene
    }

    pub(super) fn next_time(&self) -> Timestamp {
        let moods = self.hubs.iter().map(|hub| hub.next_mood_at);
        moods.chain(self.publishers.iter().map(|publisher| publisher.next_entry_at)).min().unwrap_or(Timestamp::MAX)
    }

    /// What is due happens; returns what is to be pushed: feed, token, secret and body.
    pub(super) fn happen(&mut self) -> Vec<(usize, String, String, String)> {
        let now = self.clock.now();
        for number in 0..HUBS {
            // At the time it was meant for, not when it is looked: so the world is the same in every run.
            let at = self.hubs[number].next_mood_at;
            if at <= now {
                self.change_mood(number, at);
            }
        }
        let mut pushes = Vec::new();
        for number in 0..FEEDS {
            let at = self.publishers[number].next_entry_at;
            if at <= now {
                self.publish(number, at, &mut pushes);
            }
        }
        pushes
    }

    pub(super) fn change_mood(&mut self, number: usize, now: Timestamp) {
        let (kind, length) = (self.chance.fraction(), self.chance.fraction());
        let hub = &mut self.hubs[number];
        if hub.mood != Mood::Well {
            hub.mood = Mood::Well;
            hub.well_since = Some(now);
            hub.next_mood_at = now + hours(24.0 + 24.0 * 12.0 * length);
            return;
        }
        let moods = [Mood::Refuses, Mood::Errs, Mood::Denies, Mood::NeverVerifies, Mood::Silent];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of five")]
        let place = (kind * 5.0) as usize;
        hub.mood = moods[place];
        hub.well_since = None;
        hub.next_mood_at = now + hours(1.0 + 24.0 * 12.0 * length * length);
        self.tally.outages += 1;
        if self.hubs[number].mood == Mood::Denies {
            // It has forgotten whom it knew.
            self.hubs[number].subscribers.clear();
        }
    }

    pub(super) fn publish(&mut self, number: usize, now: Timestamp, pushes: &mut Vec<(usize, String, String, String)>) {
        let (chance, moves, which) = (self.chance.fraction(), self.chance.fraction(), self.chance.fraction());
        let publisher = &mut self.publishers[number];
        let next = publisher.entries.last().map_or(0, |(last, _)| last + 1);
        publisher.entries.push((next, now));
        publisher.version += 1;
        publisher.next_entry_at = now + SignedDuration::try_from(publisher.pause.mul_f64(0.2 + 1.6 * chance)).unwrap();
        if moves < 0.01 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of eight")]
            let hub = (which * 8.0) as usize % HUBS;
            publisher.hubs = vec![hub];
            publisher.hubs_since = now + SignedDuration::from_hours(25);
        }
        let topic = topic(number);
        let body = document(number, publisher, 1);
        for hub in self.publishers[number].hubs.clone() {
            let hub = &mut self.hubs[hub];
            hub.subscribers.retain(|_, (_, _, until)| *until > now);
            if hub.mood != Mood::Well && hub.mood != Mood::NeverVerifies {
                continue;
            }
            for (callback, (its_topic, secret, _)) in &hub.subscribers {
                if *its_topic == topic {
                    let token = callback.rsplit('/').next().unwrap_or_default().to_owned();
                    pushes.push((number, token, secret.clone(), body.clone()));
                }
            }
        }
    }

    /// All that a publisher shows is stored now, and what had not been is as late as it is.
    pub(super) fn saw_all(&mut self, feed: usize) {
        let now = self.clock.now();
        let publisher = &self.publishers[feed];
        let shown = publisher.entries.len().saturating_sub(SHOWN);
        for (number, published) in &publisher.entries[shown..] {
            if self.tally.seen.insert((feed, *number)) {
                self.tally.longest_delay = self.tally.longest_delay.max(now.duration_since(*published));
            }
        }
    }

    pub(super) fn quiet_down(&mut self) {
        for publisher in &mut self.publishers {
            publisher.next_entry_at = Timestamp::MAX;
        }
        for hub in &mut self.hubs {
            hub.next_mood_at = Timestamp::MAX;
        }
    }
}

pub(super) fn hours(hours: f64) -> SignedDuration {
    SignedDuration::from_secs_f64(hours * 3600.0)
}

pub(super) fn topic(number: usize) -> String {
    format!("https://p{number}.example/topic")
}

pub(super) fn number_in(url: &str, prefix: &str) -> Option<usize> {
    url.strip_prefix(prefix)?.split('.').next()?.parse().ok()
}

pub(super) fn hub_number(url: &str) -> Option<usize> {
    number_in(url, "https://h")
}

/// An Atom feed with the newest so many entries.
pub(super) fn document(number: usize, publisher: &Publisher, count: usize) -> String {
    let hubs: String =
        publisher.hubs.iter().map(|hub| format!("<link rel=\"hub\" href=\"https://h{hub}.example/\"/>")).collect();
    let shown = publisher.entries.len().saturating_sub(count);
    let entry = |(entry, published): &(u64, Timestamp)| {
        format!(
            "<entry><id>urn:{number}:{entry}</id><title>Entry {entry}</title><published>{published}</published>\
             <updated>{published}</updated><content>Words of entry {entry}</content></entry>"
        )
    };
    let entries: String = publisher.entries[shown..].iter().rev().map(entry).collect();
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Feed {number}</title>{hubs}\
         <link rel=\"self\" href=\"{}\"/>{entries}</feed>",
        topic(number)
    )
}
