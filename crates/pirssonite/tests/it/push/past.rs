//! Databases with a past: feeds that a hub has verified so long ago, written before any server starts.

use domain::account::READER;
use std::{sync::Arc, time::Duration};

use domain::{
    FeedId,
    feed_state::{FeedAddress, NewFeed},
    ingest::{Document, PollOutcome, PollResult, PushDiscovery, Validators},
    ports::{Claim, Clock, NewFeedOutcome, Store},
    push::{Discovery, Mode, Offer, RenewalRules, SubscriptionEvent, new_secret, new_token},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use store::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use testkit::{FreshPostgres, SeededIds, SimulatedClock, fresh_postgres};

use crate::server::Data;

/// Feeds that are written at once: as many as a test's store has connections.
const AT_ONCE: usize = 4;

/// The lease that the hub has granted.
pub(super) const LEASE: Duration = Duration::from_hours(10 * 24);

/// When the feeds are to be polled, if nothing else happens: not in any test.
const NEVER: Duration = Duration::from_hours(365 * 24);

/// A database that no server uses yet.
pub(super) enum Past {
    Sqlite(TempDir),
    Postgres(FreshPostgres, TempDir),
}

/// Feeds as a hub knows them.
pub(super) struct Verified<'v> {
    pub(super) urls: &'v [String],
    pub(super) hub: &'v str,
    pub(super) base_url: &'v str,
    /// So long ago it was.
    pub(super) ago: Duration,
}

impl Past {
    pub(super) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(super) async fn postgres() -> Self {
        Self::Postgres(fresh_postgres().await, tempfile::tempdir().unwrap())
    }

    pub(super) fn data(&self) -> Data<'_> {
        match self {
            Self::Sqlite(folder) => Data::Folder(folder.path()),
            Self::Postgres(database, folder) => Data::Database(database.url(), folder.path()),
        }
    }

    /// Writes feeds that were added, subscribed, verified and polled then, and nothing since.
    pub(super) async fn write(&self, verified: &Verified<'_>) {
        let then = system_time() - SignedDuration::try_from(verified.ago).unwrap();
        match self {
            Self::Sqlite(folder) => {
                let (file, clock) = (folder.path().join("pirssonite.db"), Arc::new(SimulatedClock::at(then)));
                let store = SqliteStore::open(&file, SqliteOptions::default(), clock).unwrap();
                write(&store, verified).await;
            }
            Self::Postgres(database, _) => {
                database.set_now(then).await;
                write(&database.store, verified).await;
                advance(database, Duration::ZERO).await;
            }
        }
    }

    /// Lets what a killed process had claimed run out. On SQLite the next to open it knows that it is alone.
    pub(super) async fn outlive_claims(&self) {
        if let Self::Postgres(database, _) = self {
            advance(database, Duration::from_secs(61)).await;
        }
    }
}

/// Lets the database's clock go on from the system's time, so much ahead of it.
pub(super) async fn advance(database: &FreshPostgres, by: Duration) {
    let sql = format!(
        "CREATE OR REPLACE FUNCTION pirssonite_now_ms() RETURNS bigint LANGUAGE sql VOLATILE
         AS 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + {}'",
        by.as_millis()
    );
    database.client().await.batch_execute(&sql).await.unwrap();
}

/// The time that a server without a database of its own goes by.
pub(super) fn system_time() -> Timestamp {
    SimulatedClock::default().now()
}

async fn write(store: &dyn Store, verified: &Verified<'_>) {
    let feeds = stream::iter(verified.urls.iter().zip(1..)).map(|(url, seed)| write_one(store, verified, url, seed));
    let ids: Vec<FeedId> = feeds.buffer_unordered(AT_ONCE).map(Ok::<_, ()>).try_collect().await.unwrap();
    // The poll that follows a verification.
    let jobs = store.claim_polls("then", &ids, Duration::from_mins(1)).await.unwrap();
    let result = |job: domain::ingest::PollJob| PollResult {
        feed_id: job.feed_id,
        lease: job.lease,
        claimed_at: job.claimed_at,
        next_check_in: NEVER,
        next_audit_in: NEVER,
        due_by: None,
        adaptive_secs: 3600,
        moved_to: None,
        outcome: PollOutcome::Unchanged(Validators::default()),
    };
    let finished = store.finish_polls(jobs.into_iter().map(result).collect()).await.unwrap();
    assert!(finished.len() == ids.len() && finished.iter().all(|stored| stored.as_ref().unwrap().applied));
}

async fn write_one(store: &dyn Store, verified: &Verified<'_>, url: &str, seed: u64) -> FeedId {
    let (ids, base_url) = (SeededIds::new(seed), verified.base_url.to_owned());
    let discovery = Discovery { hubs: vec![verified.hub.to_owned()], topic: Some(url.to_owned()) };
    let offer = Some(Offer { token: new_token(&ids), base_url: base_url.clone() });
    let document = Document {
        found: Some(PushDiscovery { discovery, offer, push_may_take: domain::push::PUSH_MAY_TAKE }),
        is_complete: true,
        ..Document::default()
    };
    let address = FeedAddress::parse(url).unwrap();
    let feed = NewFeed { address, folder_id: None, custom_title: None, document, next_check_in: NEVER };
    let NewFeedOutcome::Added(feed) = store.add_feed(READER, feed).await.unwrap() else {
        panic!("{url} is there already")
    };
    let subscription = store.subscription_of(feed.id).await.unwrap().unwrap().id;
    let mode = Mode::Subscribe;
    for event in [
        SubscriptionEvent::Asking { mode, secret: Some(new_secret(&ids)), base_url },
        SubscriptionEvent::Accepted,
        SubscriptionEvent::Verified { mode, lease_secs: Some(LEASE.as_secs()), only_if_asked: false },
    ] {
        store.change_subscription(subscription, Claim::None, event, RenewalRules::default()).await.unwrap();
    }
    feed.id
}
