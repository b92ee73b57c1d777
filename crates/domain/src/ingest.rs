//! What a fetch brings, on its way into the store.
//!
//! A document is compared with what the store knows of its feed before anything is sanitised: of a thousand entries
//! seen a hundred times, only those that are new or changed cost anything.

mod recognise;

use std::time::Duration;

pub use ::feed::Skips;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

pub use self::recognise::{EntryKey, KnownEntries, Traits, is_present, recognise, shared};
use crate::{
    entry::File,
    feed_state::FeedAddress,
    ids::{EntryId, FeedId},
    lease::Lease,
    push::{Discovery, Offer},
    trace::TraceContext,
};

/// Bytes of text that are indexed for the search of one entry. PostgreSQL takes no more than 1 MiB of words.
pub const SEARCH_TEXT_BYTES_MAX: usize = 256 * 1024;

/// Entries of one identity that a document is compared with: the newest, twice as many as a document holds. A feed whose
/// entries all link to its front page has ever more of them. One that is not among these is not recognised, and is stored
/// again should a document still hold it; but what a feed publishes are its newest, and those that it published before.
pub const KNOWN_OF_IDENTITY_MAX: u32 = 20_000;

/// A hash that stands for a longer value in an index: an entry's identity, its content, a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 16]);

impl Hash {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::shorten(Sha256::digest(bytes).into())
    }

    /// The first half of a SHA-256 hash: 128 bits, by which no two values are ever taken for one another by chance.
    pub fn shorten(hash: [u8; 32]) -> Self {
        let mut short = [0; 16];
        short.copy_from_slice(&hash[..16]);
        Self(short)
    }
}

/// What a server said about a version of a document, to ask later whether there is another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// `ETag`, as received.
    pub etag: Option<String>,
    /// `Last-Modified`, as received.
    pub last_modified: Option<String>,
    /// The hash of the body, for servers that answer 200 with the same bytes.
    pub body_hash: Option<Hash>,
}

/// What a feed asks of those who poll it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollHints {
    /// Not to be asked again for so long (`ttl`), in minutes.
    pub ttl_mins: Option<u32>,
    /// To be left alone at these hours and days.
    pub skips: Skips,
}

/// A parsed document, compared with what is known, sanitised, and ready to be stored.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// What the feed calls itself.
    pub title: Option<String>,
    /// The page it belongs to.
    pub site_url: Option<String>,
    /// What it calls its icon, and its larger picture.
    pub icon_url: Option<String>,
    pub logo_url: Option<String>,
    /// Stored with the entries they belong to, never apart.
    pub validators: Validators,
    /// What the feed asks of those who poll it; kept for the polls that bring no document.
    pub hints: PollHints,
    /// The entries that are new or changed, in the document's order.
    pub entries: Vec<IncomingEntry>,
    /// What all entries in the document are recognised by, also those that are known and the same. No two are equal.
    pub present: Vec<EntryKey>,
    /// Whether the document was read whole: only then does an absence mean anything.
    pub is_complete: bool,
    /// What it says about push; `None` of a push itself, which says nothing new.
    pub found: Option<PushDiscovery>,
    /// The trace that it came by, for the events of its entries.
    pub trace: Option<TraceContext>,
}

/// What a poll found about push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushDiscovery {
    /// The hubs and the topic.
    pub discovery: Discovery,
    /// What a new subscription is made with, should this lead to one; `None` if push is off.
    pub offer: Option<Offer>,
    /// What was published longer ago than this, and not pushed, is a miss.
    pub push_may_take: Duration,
}

/// An entry on its way into the store.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says something of its own, and none excludes another")]
pub struct IncomingEntry {
    /// By what it is known again, as it is shown. It may be stored with another: see [`IncomingEntry::guid_beside`].
    pub guid: String,
    /// No other entry of its identity has its guid.
    pub has_own_guid: bool,
    /// The hash of what it is known by, which others may have: see [`recognise`].
    pub identity: Hash,
    /// What tells it from others of its identity.
    pub traits: Traits,
    /// The hash of all that a reader sees of it, before sanitising.
    pub fingerprint: Hash,
    /// See [`EntryKey`].
    pub is_shared: bool,
    /// See [`EntryKey`]. It is stored where nothing is known of its identity, and replaces nothing.
    pub is_cut: bool,
    pub url: Option<String>,
    /// Plain text.
    pub title: Option<String>,
    /// Names, joined by commas.
    pub author: Option<String>,
    /// Sanitised HTML.
    pub summary: Option<String>,
    /// Sanitised HTML.
    pub content: Option<String>,
    pub published_at: Option<Timestamp>,
    /// As published.
    pub updated_at: Option<Timestamp>,
    pub categories: Vec<String>,
    pub enclosures: Vec<File>,
    /// What a search looks through, plain text, at most [`SEARCH_TEXT_BYTES_MAX`].
    pub search_text: String,
    /// It was pushed with neither summary nor content: it never replaces what is known, and what replaces it completes
    /// it and is no change.
    pub is_thin: bool,
}

impl IncomingEntry {
    /// What it is recognised by.
    pub fn key(&self) -> EntryKey {
        EntryKey {
            identity: self.identity,
            traits: self.traits,
            fingerprint: self.fingerprint,
            is_shared: self.is_shared,
            is_cut: self.is_cut,
        }
    }

    /// Its place in the order of entries: when it was published, or else updated, or else received; never in the future.
    pub fn sort_at(&self, now: Timestamp) -> Timestamp {
        self.published_at.or(self.updated_at).map_or(now, |dated| dated.min(now))
    }

    /// The guid to store it with as a new entry, if its own may be that of another: with a name behind it where others of
    /// its identity are known. Receivers may take what has one guid for one entry.
    pub fn guid_beside(&self, known: &KnownEntries) -> Option<String> {
        if self.has_own_guid || !known.contains_key(&self.identity) {
            return None;
        }
        let distinguished_by =
            [&self.traits.link.to_le_bytes()[..], &self.traits.title.to_le_bytes(), &self.fingerprint.0].concat();
        let name: String = Hash::of(&distinguished_by).0[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("{}#{name}", self.guid))
    }
}

/// A feed that a worker has claimed to poll.
#[derive(Debug, Clone)]
pub struct PollJob {
    pub feed_id: FeedId,
    pub address: FeedAddress,
    /// What to ask with.
    pub validators: Validators,
    /// Proof of the claim.
    pub lease: Lease,
    /// When it was claimed: an entry changed after that is not undone by what this poll brings.
    pub claimed_at: Timestamp,
    /// When it is due, which is later than the claim if somebody asked for this poll.
    pub due_at: Timestamp,
    /// Failures since the last success.
    pub failure_count: u32,
    /// The interval that the schedule had adapted to.
    pub adaptive_secs: u32,
    /// The user's interval for it.
    pub poll_interval: Option<u32>,
    /// What its last document asked for.
    pub hints: PollHints,
    /// It was never fetched before: what it brings is backlog.
    pub is_first_fetch: bool,
}

/// How a poll ended.
#[derive(Debug, Clone)]
pub struct PollResult {
    pub feed_id: FeedId,
    /// Proof of the claim; a result without a good one changes nothing.
    pub lease: Lease,
    /// When the claim was made.
    pub claimed_at: Timestamp,
    /// When to poll again, from now.
    pub next_check_in: Duration,
    /// When to poll again if a hub is trusted to push the feed: the store knows whether one is when this is stored.
    pub next_audit_in: Duration,
    /// The feed was not due, somebody asked: no failure is added to those that there are, and the next poll is no later than
    /// this, by the store's own clock.
    pub due_by: Option<Timestamp>,
    /// The interval that the schedule has adapted to.
    pub adaptive_secs: u32,
    /// Where the feed has moved for good.
    pub moved_to: Option<FeedAddress>,
    /// What came of it.
    pub outcome: PollOutcome,
}

impl PollResult {
    /// The trace that its document came by.
    pub fn trace(&self) -> Option<TraceContext> {
        match &self.outcome {
            PollOutcome::Fetched(document) => document.trace,
            _ => None,
        }
    }
}

/// What came of a poll.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "few are under way at once, and a box for each document would gain nothing"
)]
pub enum PollOutcome {
    /// 304, or the same bytes again.
    Unchanged(Validators),
    Fetched(Document),
    /// Nothing, for this reason, in words a user understands.
    Failed(String),
    /// 410: never again, for this reason.
    Gone(String),
}

/// What a stored document changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stored {
    /// The lease was still good; otherwise nothing was changed.
    pub applied: bool,
    /// Entries that had not been there.
    pub new: u32,
    /// Entries that were there with other content.
    pub changed: u32,
    /// Entries that had been pushed with nothing in them, and now have it.
    pub completed: u32,
}

/// How an identity is known in its feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// An entry is there.
    Entry(KnownEntry),
    /// There was one, which was pruned: its traits and its fingerprint.
    Pruned(Traits, Hash),
}

impl Known {
    /// The traits and the fingerprint of the version that is known.
    pub fn version(&self) -> (Traits, Hash) {
        match self {
            Self::Entry(entry) => (entry.traits, entry.fingerprint),
            Self::Pruned(traits, fingerprint) => (*traits, *fingerprint),
        }
    }
}

/// What is known of an entry, as far as it decides about another version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownEntry {
    pub id: EntryId,
    /// Of the version that is stored.
    pub traits: Traits,
    /// Of the version that is stored.
    pub fingerprint: Hash,
    /// When it was changed, as it says itself: the latest of all versions that were stored.
    pub updated_at: Option<Timestamp>,
    /// When that was stored.
    pub changed_at: Timestamp,
    /// See [`IncomingEntry`].
    pub is_thin: bool,
}

/// What a version of an entry is beside what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Nobody has seen it.
    New,
    /// It changes nothing: it is the same, has less, was cut off, was pruned, or says itself that it is older.
    Known,
    /// What is there was stored after this was asked for.
    PassedOver,
    /// It replaces this entry.
    Changed(EntryId),
    /// It replaces this entry, which had been pushed with nothing in it.
    Completed(EntryId),
}

/// Tells what a version is. `asked_at` is when its document was asked for, or was pushed.
pub fn arrival(entry: &IncomingEntry, known: Option<&Known>, asked_at: Timestamp) -> Arrival {
    let known = match known {
        None => return Arrival::New,
        Some(Known::Pruned(..)) => return Arrival::Known,
        Some(Known::Entry(known)) => known,
    };
    let has_less = entry.is_cut || entry.is_thin && !known.is_thin;
    // What a hub sent with nothing in it may say a later time than the feed itself, and is completed all the same.
    let has_more = known.is_thin && !entry.is_thin;
    let is_older = !has_more && is_older(entry.updated_at, known.updated_at);
    if known.fingerprint == entry.fingerprint || has_less || is_older {
        return Arrival::Known;
    }
    match (known.changed_at > asked_at, has_more) {
        (true, _) => Arrival::PassedOver,
        (false, true) => Arrival::Completed(known.id),
        (false, false) => Arrival::Changed(known.id),
    }
}

/// What the entries of a document are beside what is known, in the order in which they are stored: from the last in the
/// document to the first, so that ids rise with it and of entries of the same time the first is the newest.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Indexes into the document's entries. Of what is there twice only the first is in here.
    pub entries: Vec<(usize, Arrival)>,
    pub stored: Stored,
    /// Something was left as it is because that is newer.
    pub has_passed_over: bool,
}

impl Document {
    /// Decides what each entry is. `asked_at` is when the document was asked for, or was pushed.
    pub fn arrivals(&self, known: &KnownEntries, asked_at: Timestamp) -> Arrivals {
        let mut arrivals = Arrivals { stored: Stored { applied: true, ..Stored::default() }, ..Arrivals::default() };
        for (index, known) in self.recognise(known).into_iter().rev() {
            let arrival = arrival(&self.entries[index], known, asked_at);
            match arrival {
                Arrival::New => arrivals.stored.new += 1,
                Arrival::Known => {}
                Arrival::PassedOver => arrivals.has_passed_over = true,
                Arrival::Changed(_) => arrivals.stored.changed += 1,
                Arrival::Completed(_) => arrivals.stored.completed += 1,
            }
            arrivals.entries.push((index, arrival));
        }
        arrivals
    }

    /// The validators that are stored with it. None where something was passed over: the next poll asks for the whole
    /// again, and decides then.
    pub fn validators_after(&self, has_passed_over: bool) -> Validators {
        if has_passed_over { Validators::default() } else { self.validators.clone() }
    }
}

/// Stores keep milliseconds.
fn is_older(updated_at: Option<Timestamp>, than: Option<Timestamp>) -> bool {
    let millis = |time: Option<Timestamp>| time.map(Timestamp::as_millisecond);
    matches!((millis(updated_at), millis(than)), (Some(updated_at), Some(than)) if updated_at < than)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn incoming(version: u8, updated_at: Option<i64>, is_thin: bool) -> IncomingEntry {
        let updated_at = updated_at.map(at);
        IncomingEntry { fingerprint: Hash([version; 16]), updated_at, is_thin, ..IncomingEntry::default() }
    }

    #[test]
    fn f3_names_new_entries_of_known_identities() {
        let entry = IncomingEntry { guid: "a".into(), identity: Hash([1; 16]), ..incoming(1, None, false) };
        let known = KnownEntries::from([(Hash([1; 16]), vec![Known::Pruned(Traits::default(), Hash([9; 16]))])]);
        assert_eq!(entry.guid_beside(&KnownEntries::new()), None);
        let named = entry.guid_beside(&known).unwrap();
        assert!(named.starts_with("a#") && named.len() == "a#".len() + 16, "{named}");
        let other = IncomingEntry { fingerprint: Hash([2; 16]), ..entry.clone() };
        assert_ne!(other.guid_beside(&known), Some(named));
        assert_eq!(IncomingEntry { has_own_guid: true, ..entry }.guid_beside(&known), None);
    }

    #[test]
    fn f6_place_is_by_date_and_never_in_the_future() {
        for (published, updated, place) in [
            (None, None, 100),
            (Some(10), None, 10),
            (None, Some(20), 20),
            (Some(10), Some(20), 10),
            (Some(20), Some(10), 20),
            (Some(-10), None, -10),
            (Some(100), None, 100),
            (Some(101), None, 100),
            (Some(101), Some(20), 100),
            (None, Some(101), 100),
        ] {
            let entry = IncomingEntry { published_at: published.map(at), ..incoming(1, updated, false) };
            assert_eq!(entry.sort_at(at(100)), at(place), "{published:?} {updated:?}");
        }
    }

    #[test]
    fn f3_what_a_version_is_beside_what_is_known() {
        let id = EntryId(7);
        let known = |updated_at: Option<i64>, is_thin| {
            let (fingerprint, updated_at) = (Hash([1; 16]), updated_at.map(at));
            let traits = Traits::default();
            Known::Entry(KnownEntry { id, traits, fingerprint, updated_at, changed_at: at(100), is_thin })
        };
        for (name, version, known, asked_at, expect) in [
            ("nothing is known", incoming(1, None, false), None, 200, Arrival::New),
            (
                "it was pruned",
                incoming(1, None, false),
                Some(Known::Pruned(Traits::default(), Hash([1; 16]))),
                200,
                Arrival::Known,
            ),
            ("the same", incoming(1, None, false), Some(known(None, false)), 200, Arrival::Known),
            ("the same, asked for before", incoming(1, None, false), Some(known(None, false)), 50, Arrival::Known),
            ("another", incoming(2, None, false), Some(known(None, false)), 200, Arrival::Changed(id)),
            (
                "asked for in the same moment",
                incoming(2, None, false),
                Some(known(None, false)),
                100,
                Arrival::Changed(id),
            ),
            ("asked for before", incoming(2, None, false), Some(known(None, false)), 99, Arrival::PassedOver),
            ("newer", incoming(2, Some(9), false), Some(known(Some(8), false)), 200, Arrival::Changed(id)),
            ("of the same time", incoming(2, Some(8), false), Some(known(Some(8), false)), 200, Arrival::Changed(id)),
            ("older", incoming(2, Some(7), false), Some(known(Some(8), false)), 200, Arrival::Known),
            ("older, asked for before", incoming(2, Some(7), false), Some(known(Some(8), false)), 50, Arrival::Known),
            ("of no time", incoming(2, None, false), Some(known(Some(8), false)), 200, Arrival::Changed(id)),
            ("the first with a time", incoming(2, Some(7), false), Some(known(None, false)), 200, Arrival::Changed(id)),
            ("with less", incoming(2, None, true), Some(known(None, false)), 200, Arrival::Known),
            ("with more", incoming(2, None, false), Some(known(None, true)), 200, Arrival::Completed(id)),
            (
                "with more, though older",
                incoming(2, Some(7), false),
                Some(known(Some(8), true)),
                200,
                Arrival::Completed(id),
            ),
            ("as little, and older", incoming(2, Some(7), true), Some(known(Some(8), true)), 200, Arrival::Known),
            ("with as little", incoming(2, None, true), Some(known(None, true)), 200, Arrival::Changed(id)),
            (
                "cut off",
                IncomingEntry { is_cut: true, ..incoming(2, Some(9), false) },
                Some(known(Some(8), false)),
                200,
                Arrival::Known,
            ),
        ] {
            assert_eq!(arrival(&version, known.as_ref(), at(asked_at)), expect, "{name}");
        }
    }

    #[test]
    fn f3_arrivals_of_a_document() {
        let known = |identity: u8, changed_at: i64| {
            let id = EntryId(i64::from(identity));
            let (traits, fingerprint, updated_at) = (Traits::default(), Hash([1; 16]), None);
            let entry = KnownEntry { id, traits, fingerprint, updated_at, changed_at: at(changed_at), is_thin: false };
            (Hash([identity; 16]), vec![Known::Entry(entry)])
        };
        let known = KnownEntries::from([known(1, 100), known(2, 100), known(3, 300)]);
        let entry = |identity: u8, version: u8| IncomingEntry {
            identity: Hash([identity; 16]),
            ..incoming(version, None, false)
        };
        let document = |entries: Vec<IncomingEntry>| Document {
            present: entries.iter().map(IncomingEntry::key).collect(),
            entries,
            validators: Validators { etag: Some("e".to_owned()), ..Validators::default() },
            ..Document::default()
        };
        let all = document(vec![entry(1, 1), entry(2, 2), entry(3, 2), entry(4, 1), entry(5, 1), entry(4, 1)]);
        let arrivals = all.arrivals(&known, at(200));
        let expect = [
            (4, Arrival::New),
            (3, Arrival::New),
            (2, Arrival::PassedOver),
            (1, Arrival::Changed(EntryId(2))),
            (0, Arrival::Known),
        ];
        assert_eq!(arrivals.entries, expect);
        assert_eq!(arrivals.stored, Stored { applied: true, new: 2, changed: 1, completed: 0 });
        assert!(arrivals.has_passed_over);
        assert_eq!(all.validators_after(true), Validators::default());
        assert_eq!(all.validators_after(false), all.validators);
        let nothing = document(vec![]).arrivals(&known, at(200));
        assert_eq!(nothing, Arrivals { stored: Stored { applied: true, ..Stored::default() }, ..Arrivals::default() });
    }
}
