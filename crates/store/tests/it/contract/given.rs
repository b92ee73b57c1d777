//! What cases are made of: entries, documents, feeds with entries, polls.

use std::time::Duration;

use domain::{
    Entry, EntryFilter, EntryPatch, Feed, FeedId, FeedPatch, FeedSeed, NewFeed,
    feed_state::FeedAddress,
    follow::NewFollow,
    ingest::{Document, Hash, IncomingEntry, PollJob, PollOutcome, PollResult, Stored, Traits, Validators},
    ports::{FollowOutcome, ImportOutcome, NewFeedOutcome, UpdateOutcome},
};
use jiff::Timestamp;

use super::Harness;

pub(super) const LEASE: Duration = Duration::from_secs(10);
pub(super) const HOUR: Duration = Duration::from_hours(1);

pub(super) fn address(url: &str) -> FeedAddress {
    FeedAddress { url: url.to_owned(), credentials: None }
}

/// An entry whose texts are its guid.
pub(super) fn entry(guid: &str) -> IncomingEntry {
    version(guid, guid)
}

/// An entry with this text.
pub(super) fn version(guid: &str, text: &str) -> IncomingEntry {
    IncomingEntry {
        guid: guid.to_owned(),
        identity: Hash::of(guid.as_bytes()),
        fingerprint: Hash::of(text.as_bytes()),
        title: Some(text.to_owned()),
        content: Some(format!("<p>{text}</p>")),
        search_text: text.to_owned(),
        ..IncomingEntry::default()
    }
}

/// An entry that is told from others of its identity by its title.
pub(super) fn sharing(identity: &str, title: &str) -> IncomingEntry {
    let hash = Hash::of(title.as_bytes());
    let traits = Traits { link: 0, title: i64::from(hash.0[0]) * 256 + i64::from(hash.0[1]) + 1 };
    IncomingEntry {
        guid: format!("{identity}#{title}"),
        has_own_guid: true,
        identity: Hash::of(identity.as_bytes()),
        traits,
        ..version(identity, title)
    }
}

/// An entry of this time.
pub(super) fn entry_at(guid: &str, published_at: Timestamp) -> IncomingEntry {
    IncomingEntry { published_at: Some(published_at), ..entry(guid) }
}

/// A complete document of these entries.
pub(super) fn document(entries: Vec<IncomingEntry>) -> Document {
    let present = entries.iter().map(IncomingEntry::key).collect();
    Document { title: Some("Title".to_owned()), entries, present, is_complete: true, ..Document::default() }
}

pub(super) fn new_feed(url: &str, entries: Vec<IncomingEntry>) -> NewFeed {
    let document = document(entries);
    NewFeed { address: address(url), folder_id: None, custom_title: None, document, next_check_in: HOUR }
}

pub(super) fn new_follow(url: &str) -> NewFollow {
    NewFollow { address: address(url), folder_id: None, custom_title: None }
}

pub(super) fn seed(url: &str) -> FeedSeed {
    FeedSeed::new(address(url))
}

/// How a claimed poll ended: to be asked again in an hour.
pub(super) fn result(job: &PollJob, outcome: PollOutcome) -> PollResult {
    PollResult {
        feed_id: job.feed_id,
        lease: job.lease.clone(),
        claimed_at: job.claimed_at,
        next_check_in: HOUR,
        next_audit_in: std::time::Duration::from_hours(24),
        due_by: None,
        adaptive_secs: job.adaptive_secs,
        moved_to: None,
        outcome,
    }
}

pub(super) fn fetched(job: &PollJob, entries: Vec<IncomingEntry>) -> PollResult {
    result(job, PollOutcome::Fetched(document(entries)))
}

pub(super) fn unchanged(job: &PollJob) -> PollResult {
    result(job, PollOutcome::Unchanged(Validators::default()))
}

pub(super) fn titles(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.title.as_deref().unwrap_or_default()).collect()
}

impl Harness {
    /// Keeps a feed with these entries.
    pub(super) async fn add(&self, url: &str, entries: Vec<IncomingEntry>) -> FeedId {
        self.add_feed(new_feed(url, entries)).await.id
    }

    pub(super) async fn add_feed(&self, feed: NewFeed) -> Feed {
        match self.store.add_feed(feed).await.unwrap() {
            NewFeedOutcome::Added(feed) => *feed,
            other => panic!("the feed was not added: {other:?}"),
        }
    }

    /// Follows a feed that the server has.
    pub(super) async fn follow(&self, url: &str) -> Feed {
        self.follow_as(new_follow(url)).await
    }

    pub(super) async fn follow_as(&self, new: NewFollow) -> Feed {
        match self.store.follow(new).await.unwrap() {
            FollowOutcome::Followed(feed) => *feed,
            other => panic!("the feed is not followed: {other:?}"),
        }
    }

    /// The titles of those that are unread, the newest first.
    pub(super) async fn unread_titles(&self) -> Vec<String> {
        let unread = self.entries(EntryFilter { unread: Some(true), ..EntryFilter::default() }).await;
        titles(&unread).into_iter().map(str::to_owned).collect()
    }

    /// Marks an entry, by its guid.
    pub(super) async fn patch(&self, guid: &str, is_read: Option<bool>, is_starred: Option<bool>) {
        let id = self.entry(guid).await.id;
        self.store.patch_entry(id, EntryPatch { is_read, is_starred }).await.unwrap().unwrap();
    }

    pub(super) async fn update(&self, id: FeedId, patch: FeedPatch) -> Feed {
        match self.store.update_feed(id, patch).await.unwrap() {
            UpdateOutcome::Updated(feed) => *feed,
            other => panic!("the feed was not changed: {other:?}"),
        }
    }

    /// Keeps feeds that were not fetched yet.
    pub(super) async fn import(&self, urls: &[&str]) -> Vec<FeedId> {
        let seeds = urls.iter().map(|url| seed(url)).collect();
        let outcomes = self.store.import_feeds(seeds).await.unwrap();
        outcomes.into_iter().map(imported).collect()
    }

    pub(super) async fn feed(&self, id: FeedId) -> Feed {
        self.store.feed(id).await.unwrap().expect("the feed is there")
    }

    /// The first 500 entries of a kind.
    pub(super) async fn entries(&self, filter: EntryFilter) -> Vec<Entry> {
        self.store.entries(&filter, 500, None).await.unwrap().entries
    }

    pub(super) async fn all(&self) -> Vec<Entry> {
        self.entries(EntryFilter::default()).await
    }

    /// The entry with this guid.
    pub(super) async fn entry(&self, guid: &str) -> Entry {
        self.all().await.into_iter().find(|entry| entry.guid == guid).expect("the entry is there")
    }

    /// Claims one feed, whether or not it is due.
    pub(super) async fn claim(&self, id: FeedId) -> PollJob {
        let mut jobs = self.store.claim_polls("worker", &[id], LEASE).await.unwrap();
        jobs.pop().expect("nobody else has claimed the feed")
    }

    pub(super) async fn finish(&self, result: PollResult) -> Stored {
        let mut stored = self.store.finish_polls(vec![result]).await.unwrap();
        assert_eq!(stored.len(), 1);
        stored.remove(0).unwrap()
    }

    /// A whole poll that brings these entries.
    pub(super) async fn poll(&self, id: FeedId, entries: Vec<IncomingEntry>) -> Stored {
        let job = self.claim(id).await;
        self.finish(fetched(&job, entries)).await
    }

    /// Unread entries of a feed, as the feed, the counts and the entries say: all the same.
    pub(super) async fn unread_of(&self, id: FeedId) -> u64 {
        let unread = self.feed(id).await.unread_count;
        assert_eq!(self.store.counts().await.unwrap().by_feed[&id], unread);
        let filter = EntryFilter { feed_id: Some(id), unread: Some(true), ..EntryFilter::default() };
        assert_eq!(u64::try_from(self.entries(filter).await.len()).unwrap(), unread.min(500));
        unread
    }
}

pub(super) fn imported(outcome: ImportOutcome) -> FeedId {
    match outcome {
        ImportOutcome::Imported(id) => id,
        ImportOutcome::AlreadyThere(id) => panic!("feed {id} was there already"),
    }
}
