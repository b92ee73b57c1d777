//! Jobs about subscriptions, many in one transaction: pushes, and what else happens to subscriptions.
//!
//! The feeds' rows are locked first, then those of the subscriptions, each in the order of their ids. A batch never waits
//! for them, so that a feed that somebody holds for long holds up no other: whoever gave the batch has that job back, to
//! be stored by itself (`alone`), which waits. What it waits for are rows of followers (`entry_rows_count`): whoever marks
//! entries holds those, for a moment and in the same order. So no batch is part of a deadlock.
//!
//! Differs from the other store: on SQLite every job is a savepoint of one transaction (`shared/batch.rs`).

use std::collections::HashMap;

use deadpool_postgres::{Client, Transaction};
use domain::{
    ports::{BatchResult, Batched, StoreError, StoreResult},
    push::Subscription,
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore,
    push::subscriptions::{COLUMNS, columns, is_known, subscription_of},
    query_then,
    shared::{errors::store_error, plan},
};

/// A subscription's feed never changes, it can only go: whoever waits here while that happens finds none, and the
/// subscription without one.
macro_rules! lock_feeds {
    ($how:literal) => {
        concat!(
            "
SELECT id, url, title
FROM feeds
WHERE id = ANY(ARRAY(SELECT feed_id FROM subscriptions WHERE id = ANY($1)))
ORDER BY id
FOR NO KEY UPDATE",
            $how
        )
    };
}

/// The time is that after the wait for the lock.
macro_rules! lock_subscriptions {
    ($how:literal) => {
        concat!(
            "
WITH held AS MATERIALIZED (
    SELECT ",
            columns!(),
            ", lease_owner, lease_fence
    FROM subscriptions
    WHERE id = ANY($1)
    ORDER BY id
    FOR NO KEY UPDATE",
            $how,
            "
)
SELECT held.*, pirssonite_now_ms()
FROM held"
        )
    };
}

/// One job of a batch.
pub(crate) trait Job: Sized + Send + Sync {
    type Answer: Send;

    /// The id of the subscription that it is about.
    fn subscription_id(&self) -> i64;

    /// Does these in one transaction, each about another subscription; `None` for one that cannot be without waiting.
    fn store(
        store: &PostgresStore,
        client: &mut Client,
        jobs: &[&Self],
        locks: Locks,
    ) -> impl Future<Output = Result<Vec<Outcome<Self::Answer>>, Error>> + Send;
}

/// What became of a job; `None` if a row that it needs is locked.
pub(crate) type Outcome<A> = StoreResult<Option<A>>;

/// How rows are locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Locks {
    waits: bool,
    pub(crate) feeds: &'static str,
    pub(crate) subscriptions: &'static str,
}

impl Locks {
    const SKIP: Self =
        Self { waits: false, feeds: lock_feeds!(" SKIP LOCKED"), subscriptions: lock_subscriptions!(" SKIP LOCKED") };
    const WAIT: Self = Self { waits: true, feeds: lock_feeds!(""), subscriptions: lock_subscriptions!("") };
}

/// A feed whose row is locked.
#[derive(Debug, Clone)]
pub(crate) struct LockedFeed {
    pub(crate) url: String,
    pub(crate) title: Option<String>,
}

/// A subscription whose row is locked, and so is its feed's if it has one.
#[derive(Debug)]
pub(crate) struct LockedSubscription {
    pub(crate) subscription: Subscription,
    pub(crate) lease_owner: Option<String>,
    pub(crate) lease_fence: i64,
}

/// The rows of a batch, locked.
#[derive(Debug)]
pub(crate) struct LockedRows {
    waits: bool,
    pub(crate) now: i64,
    pub(crate) feeds: HashMap<i64, LockedFeed>,
    subscriptions: HashMap<i64, Row>,
}

/// What is held of a subscription.
#[derive(Debug)]
pub(crate) enum Lookup {
    Held(Box<LockedSubscription>),
    None,
    /// Somebody else has it or its feed.
    Locked,
}

impl LockedRows {
    /// Locks the rows of the feeds of these subscriptions, then their own, and runs what follows under the locks: all in
    /// one round trip.
    pub(crate) async fn lock_then<T>(
        transaction: &Transaction<'_>,
        locks: Locks,
        ids: &[i64],
        then: impl Future<Output = Result<T, Error>>,
    ) -> Result<(Self, T), Error> {
        let which: Params<'_> = &[&ids];
        // Boxed, because each holds the next, twice.
        let own = Box::pin(query_then(transaction, locks.subscriptions, which, then));
        let feeds = Box::pin(query_then(transaction, locks.feeds, which, own));
        let (_, (feeds, (subscriptions, then))) = query_then(transaction, plan::ONCE, &[], feeds).await?;
        let held = |row: &Row| (row.get(0), LockedFeed { url: row.get(1), title: row.get(2) });
        let held = Self {
            waits: locks.waits,
            now: subscriptions.iter().map(|row| row.get(COLUMNS + 2)).max().unwrap_or(0),
            feeds: feeds.iter().map(held).collect(),
            subscriptions: subscriptions.into_iter().map(|row| (row.get(0), row)).collect(),
        };
        Ok((held, then))
    }

    pub(crate) fn find(&self, id: i64) -> StoreResult<Lookup> {
        let Some(row) = self.subscriptions.get(&id) else {
            return Ok(if self.waits { Lookup::None } else { Lookup::Locked });
        };
        if !is_known(row) {
            return Ok(Lookup::None);
        }
        let subscription = subscription_of(row).map_err(store_error)?;
        let has_all = subscription.feed_id.is_none_or(|feed| self.feeds.contains_key(&feed.0));
        if !self.waits && !has_all {
            return Ok(Lookup::Locked);
        }
        let (lease_owner, lease_fence) = (row.get(COLUMNS), row.get(COLUMNS + 1));
        Ok(Lookup::Held(Box::new(LockedSubscription { subscription, lease_owner, lease_fence })))
    }
}

/// Does jobs in as few transactions as can be. What is about the same subscription is done one after the other.
pub(crate) async fn run<J: Job>(store: &PostgresStore, jobs: Vec<J>) -> BatchResult<J, J::Answer> {
    let mut client = store.client().await?;
    let mut outcomes: Vec<Option<Outcome<J::Answer>>> = jobs.iter().map(|_| None).collect();
    for places in rounds(&jobs) {
        let given: Vec<&J> = places.iter().map(|&place| &jobs[place]).collect();
        let done = run_round(store, &mut client, &given).await;
        for (place, outcome) in places.into_iter().zip(done) {
            outcomes[place] = Some(outcome);
        }
    }
    let result = |(job, outcome): (J, Option<Outcome<J::Answer>>)| match outcome {
        Some(Ok(Some(answer))) => Ok(Batched::Done(answer)),
        Some(Ok(None)) => Ok(Batched::Locked(job)),
        Some(Err(error)) => Err(error),
        None => Err(StoreError::Failed("a job of a batch was passed over".to_owned())),
    };
    Ok(jobs.into_iter().zip(outcomes).map(result).collect())
}

/// Does one job, and waits for what another transaction holds.
pub(crate) async fn alone<J: Job>(store: &PostgresStore, job: &J) -> StoreResult<J::Answer> {
    let mut client = store.client().await?;
    let mut done = run_once(store, &mut client, &[job], Locks::WAIT).await?;
    done.pop().unwrap_or(Ok(None))?.ok_or_else(|| StoreError::Failed("a job was passed over".to_owned()))
}

/// The places of jobs that can be together: the second about a subscription is in the second round.
fn rounds<J: Job>(jobs: &[J]) -> Vec<Vec<usize>> {
    let (mut rounds, mut seen): (Vec<Vec<usize>>, HashMap<i64, usize>) = (Vec::new(), HashMap::new());
    for (place, job) in jobs.iter().enumerate() {
        let before = seen.entry(job.subscription_id()).or_default();
        if *before == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[*before].push(place);
        *before += 1;
    }
    rounds
}

/// One transaction; if it fails, one for each, so that only the bad one is lost.
async fn run_round<J: Job>(store: &PostgresStore, client: &mut Client, jobs: &[&J]) -> Vec<Outcome<J::Answer>> {
    match run_once(store, client, jobs, Locks::SKIP).await {
        Ok(outcomes) => outcomes,
        Err(_) if jobs.len() > 1 && !client.is_closed() => {
            let mut outcomes = Vec::with_capacity(jobs.len());
            for job in jobs.chunks(1) {
                let done = run_once(store, client, job, Locks::SKIP).await;
                outcomes.push(done.and_then(|mut done| done.pop().unwrap_or(Ok(None))));
            }
            outcomes
        }
        Err(error) => jobs.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// After a transaction whose connection broke, the next has another.
async fn run_once<J: Job>(
    store: &PostgresStore,
    client: &mut Client,
    jobs: &[&J],
    locks: Locks,
) -> StoreResult<Vec<Outcome<J::Answer>>> {
    if client.is_closed() {
        *client = store.client().await?;
    }
    J::store(store, client, jobs, locks).await.map_err(store_error)
}
