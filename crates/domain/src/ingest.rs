//! What a fetch brings, on its way into the store.
//!
//! A document is compared with what the store knows of its feed before anything is sanitised: of a thousand entries
//! seen a hundred times, only those that are new or changed cost anything.

use std::time::Duration;

pub use ::feed::Skips;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::{
    entry::File,
    feed_state::FeedAddress,
    ids::FeedId,
    lease::Lease,
    push::{Discovery, Offer},
};

/// Bytes of text that are indexed for the search of one entry. PostgreSQL takes no more than 1 MiB of words.
pub const SEARCH_TEXT_BYTES_MAX: usize = 256 * 1024;

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
pub struct Asks {
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
    /// Stored with the entries they belong to, never apart.
    pub validators: Validators,
    /// What the feed asks of those who poll it; kept for the polls that bring no document.
    pub asks: Asks,
    /// The entries that are new or changed, in the document's order.
    pub entries: Vec<IncomingEntry>,
    /// The identities of all entries in the document, also of those that are known and the same.
    pub present: Vec<Hash>,
    /// Whether the document was read whole: only then does an absence mean anything.
    pub is_complete: bool,
    /// What it says about push; `None` of a push itself, which says nothing new.
    pub found: Option<Found>,
}

/// What a poll found about push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The hubs and the topic.
    pub discovery: Discovery,
    /// What a new subscription is made with, should this lead to one; `None` if push is off.
    pub offer: Option<Offer>,
}

/// An entry on its way into the store.
#[derive(Debug, Clone, Default)]
pub struct IncomingEntry {
    /// By what it is known again.
    pub guid: String,
    /// The hash of that.
    pub identity: Hash,
    /// The hash of all that a reader sees of it, before sanitising.
    pub fingerprint: Hash,
    /// See [`Entry`](crate::Entry).
    pub url: Option<String>,
    /// Plain text.
    pub title: Option<String>,
    /// Names, joined by commas.
    pub author: Option<String>,
    /// Sanitised HTML.
    pub summary: Option<String>,
    /// Sanitised HTML.
    pub content: Option<String>,
    /// As published.
    pub published_at: Option<Timestamp>,
    /// As published.
    pub updated_at: Option<Timestamp>,
    /// Words.
    pub categories: Vec<String>,
    /// Files.
    pub enclosures: Vec<File>,
    /// What a search looks through, plain text, at most [`SEARCH_TEXT_BYTES_MAX`].
    pub search_text: String,
    /// It was pushed with neither summary nor content: it never replaces what is known, and what replaces it completes
    /// it and is no change.
    pub is_thin: bool,
}

/// A feed that a worker has claimed to poll.
#[derive(Debug, Clone)]
pub struct PollJob {
    /// The feed.
    pub feed_id: FeedId,
    /// Where it is.
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
    pub asks: Asks,
    /// It was never fetched before: what it brings is no news.
    pub is_first_fetch: bool,
}

/// How a poll ended.
#[derive(Debug, Clone)]
pub struct PollResult {
    /// The feed.
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

/// What came of a poll.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "few are under way at once, and a box for each document would gain nothing"
)]
pub enum PollOutcome {
    /// 304, or the same bytes again.
    Unchanged(Validators),
    /// A document.
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
