//! The store on PostgreSQL: any number of nodes on one database.
//!
//! Each use case is one transaction of a few statements over sets of rows. The time is the database's, through the one
//! function `pirssonite_now_ms`, so that nodes whose clocks differ agree about leases.
//!
//! Who waits for whom: whoever changes a feed or its entries locks the feed's row first, several in the order of their
//! ids, and after any lock on folders; then the rows of its subscriptions, in the order of theirs; then webhooks, then
//! deliveries. What accounts have is locked after the feed's row: follows by feed and account, then states by entry and
//! account, then the account's own row. Whoever marks entries locks these three alone. Claims and beats skip what is locked,
//! marks of deliveries wait for it only a moment, and beats have connections of their own, so that bulk work never costs a
//! lease. Whoever waits for an answer at once gets one in time, and a connection that does not answer is dropped.

mod accounts;
mod changes;
mod entries;
mod feeds;
mod figures;
mod icons;
mod outbox;
mod push;
pub(crate) mod search;
pub(crate) mod shared;

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient, Pool, Transaction};
use domain::{
    changes::{ChangeKind, ChangeLog, NewChange},
    ports::{Store, StoreError, StoreResult},
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::{Error, Row, types::ToSql};

use self::{
    changes::hints::Hints,
    outbox::pending_webhooks::PendingWebhooks,
    shared::{
        claim_bounds::{ClaimBounds, Scan, Timing},
        connect::Address,
        lending::{CALL_TIMEOUT, LONG_CALL_TIMEOUT, UNLIMITED, lend},
    },
};
use crate::OpenError;

/// Connections for beats, one for those of polls and one for those of deliveries, and one for whoever asks whether the
/// database is there: none waits while another hangs, or while all others are at work.
const BEAT_CONNECTIONS: usize = 3;

/// A beat is waited for at least so long, however short the lease.
const BEAT_WAIT_MIN: Duration = Duration::from_millis(100);

/// How often a connection is asked for again where the server has none left: one of our own may be free by then.
const FULL_PAUSE: Duration = Duration::from_millis(50);

/// How a [`PostgresStore`] is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Connections at most, besides the three for beats and readiness and the one that listens to other nodes. Half of them
    /// serve slow reads; with one alone, a search holds up pages.
    pub pool_size: usize,
    /// How long a connection may take to be made, or to become free, before the database counts as away.
    pub connect_timeout: Duration,
}

impl PostgresOptions {
    /// How long whoever waits for an answer at once waits, the connection included.
    fn answer_timeout(self) -> Duration {
        self.connect_timeout + Duration::from_millis(500)
    }
}

impl Default for PostgresOptions {
    fn default() -> Self {
        // Whoever asks a server whose database is away is told so within five seconds.
        Self { pool_size: 10, connect_timeout: Duration::from_secs(4) }
    }
}

/// The store on PostgreSQL.
#[derive(Clone)]
pub struct PostgresStore {
    pool: Pool,
    /// Permits for reads that may take long (searches, counts): half of the pool, so that no page waits for them.
    slow_reads: Arc<Semaphore>,
    beats: Pool,
    hints: Arc<Hints>,
    bounds: Arc<Bounds>,
    /// What ids of events and deliveries are told apart by from those of other installations.
    installation: Arc<str>,
    picture_key: Arc<str>,
    options: PostgresOptions,
}

/// Where claims begin to look for what is due.
#[derive(Debug, Default)]
struct Bounds {
    polls: Mutex<ClaimBounds<()>>,
    /// Of subscriptions.
    steps: Mutex<ClaimBounds<()>>,
    deliveries: Mutex<ClaimBounds<outbox::delivery_claims::QueueKey>>,
    pending: Mutex<PendingWebhooks>,
}

impl Bounds {
    /// The webhooks that deliveries wait for.
    fn pending(&self) -> MutexGuard<'_, PendingWebhooks> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PostgresStore {
    /// Connects and brings the schema up to date. Many nodes may do so at once.
    ///
    /// `sslmode=require`, `verify-ca` and `verify-full` in the URL all mean a verified TLS connection, by the system's
    /// certificates or by those in the file that `sslrootcert` names.
    pub async fn connect(url: &str, options: PostgresOptions) -> Result<Self, OpenError> {
        let address = Address::of(url, options.connect_timeout)?;
        let pool_size = options.pool_size.max(1);
        let pool = address.pool(pool_size)?;
        let slow_reads = Arc::new(Semaphore::new((pool_size / 2).max(1)));
        let beats = address.pool(BEAT_CONNECTIONS)?;
        let is_pooled = shared::pooler::find(&beats).await?;
        let mut client = lend(&pool, UNLIMITED).await.map_err(|error| shared::errors::open_error(&error))?;
        shared::migrate::migrate(&mut client).await?;
        shared::maintenance::check(&mut client).await?;
        let (installation, picture_key) = shared::migrate::installation(&client).await?;
        drop(client);
        let hints = Arc::new(if is_pooled { Hints::in_process_only() } else { Hints::start(address).await });
        let (installation, picture_key, bounds) = (installation.into(), picture_key.into(), Arc::default());
        Ok(Self { pool, slow_reads, beats, hints, bounds, installation, picture_key, options })
    }

    /// Brings the schema up to date, and no more, whether the database may be used or not.
    pub(crate) async fn migrate(url: &str, options: PostgresOptions) -> Result<(), OpenError> {
        let pool = Address::of(url, options.connect_timeout)?.pool(1)?;
        let mut client = lend(&pool, UNLIMITED).await.map_err(|error| shared::errors::open_error(&error))?;
        shared::migrate::migrate(&mut client).await
    }

    /// A connection for a call. It ends when the call takes too long, or the database is silent (`shared/lending.rs`).
    async fn client(&self) -> StoreResult<Client> {
        self.client_for(CALL_TIMEOUT).await
    }

    /// The same for a call whose work grows with what is stored.
    async fn client_for_long(&self) -> StoreResult<Client> {
        self.client_for(LONG_CALL_TIMEOUT).await
    }

    async fn client_for(&self, limit: Duration) -> StoreResult<Client> {
        connection(&self.pool, self.options.connect_timeout, limit).await
    }

    /// The right to one of the connections for slow reads, until it is dropped.
    async fn slow_permit(&self) -> StoreResult<SemaphorePermit<'_>> {
        let permit = tokio::time::timeout(self.options.connect_timeout, self.slow_reads.acquire()).await;
        permit
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| StoreError::Unavailable("all connections for slow reads are busy".to_owned()))
    }

    /// Renews leases, unless that takes a third of their time.
    async fn beat<T>(
        &self,
        lease: Duration,
        renew: impl AsyncFnOnce(&Client) -> Result<T, Error> + Send,
    ) -> StoreResult<T> {
        within((lease / 3).max(BEAT_WAIT_MIN), &self.beats, renew).await
    }

    /// Reads what somebody waits for.
    async fn read<T>(&self, read: impl AsyncFnOnce(&Client) -> Result<T, Error> + Send) -> StoreResult<T> {
        within(self.options.answer_timeout(), &self.pool, read).await
    }

    /// The same for what takes more than reading, and may be done twice: whether it was stored is open if it takes too
    /// long.
    async fn in_time<T>(&self, work: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
        // The connection is probed before anybody else has it (`shared/connect.rs`).
        tokio::time::timeout(self.options.answer_timeout(), work).await.unwrap_or_else(|_| Err(late()))
    }

    /// Ends a transaction that has changed this. Whoever follows changes is woken after it: before that nobody could see
    /// them.
    async fn commit(&self, transaction: Transaction<'_>, mut log: ChangeLog) -> Result<(), Error> {
        let changes = log.take();
        changes::write(&transaction, &changes).await?;
        transaction.commit().await?;
        self.changed(&changes);
        Ok(())
    }

    /// This was changed, and is committed.
    fn changed(&self, changes: &[NewChange]) {
        if changes.iter().any(|change| change.kind == ChangeKind::Deliveries) {
            shared::claim_bounds::lock(&self.bounds.deliveries).requeued();
        }
        if !changes.is_empty() {
            self.hints.raise();
        }
    }

    /// Webhooks of these accounts are well again, by a statement that is committed, and their deliveries can be claimed. If
    /// nobody hears of it, because the process ends just now, those are found a second later, and a page shows it when it
    /// is loaded next.
    async fn recovered(&self, client: &Client, accounts: impl Iterator<Item = domain::AccountId>) {
        let mut log = ChangeLog::default();
        accounts.for_each(|account| log.webhooks(account));
        self.freed_with(client, log).await;
    }

    /// Deliveries can be claimed that could not be before, by a statement that is committed: nothing that is shown has
    /// changed, so it is no matter if nobody hears of it. They are found a second later.
    async fn freed(&self, client: &Client) {
        self.freed_with(client, ChangeLog::default()).await;
    }

    async fn freed_with(&self, client: &Client, mut log: ChangeLog) {
        log.deliveries();
        let changes = log.take();
        if let Err(error) = changes::write(client, &changes).await {
            tracing::debug!(error = shared::errors::reason(&error), "change not written");
        }
        self.changed(&changes);
    }
}

impl std::fmt::Debug for PostgresStore {
    /// Without the database's address, which may hold a password.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PostgresStore").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn ping(&self) -> StoreResult<()> {
        // A standby answers too, and takes no writes.
        let sql = "SELECT pirssonite_now_ms(), current_setting('transaction_read_only') = 'on'";
        let asked =
            within(self.options.answer_timeout(), &self.beats, async |client| query_opt(client, sql, &[]).await);
        match asked.await? {
            Some(row) if row.get(1) => {
                shared::read_only::met();
                Err(StoreError::Unavailable("the database is read-only now".to_owned()))
            }
            _ => Ok(()),
        }
    }

    async fn watch_clock(&self) -> StoreResult<Option<Duration>> {
        let mut client = self.client_for_long().await?;
        let back = shared::clock::watch(&mut client).await.map_err(shared::errors::store_error)?;
        if back.is_some() {
            self.freed(&client).await;
        }
        Ok(back)
    }

    fn kind(&self) -> &'static str {
        "PostgreSQL"
    }

    fn installation(&self) -> &str {
        &self.installation
    }

    fn picture_key(&self) -> &str {
        &self.picture_key
    }
}

/// Asks the database, but no longer than this: a connection that does not answer by then is dropped, so that the next has
/// another.
async fn within<T>(
    limit: Duration,
    pool: &Pool,
    ask: impl AsyncFnOnce(&Client) -> Result<T, Error> + Send,
) -> StoreResult<T> {
    let mut used = None;
    let answered = tokio::time::timeout(limit, async {
        let client = connection(pool, limit, CALL_TIMEOUT).await?;
        ask(used.insert(client)).await.map_err(shared::errors::store_error)
    });
    let answered = answered.await;
    answered.unwrap_or_else(|_| {
        drop(used.map(Client::take));
        Err(late())
    })
}

/// Gets a connection, within a time: to wait for a free one and then for a new one would be twice as long. Where the server
/// has none left to give, one of our own that becomes free will do.
async fn connection(pool: &Pool, time: Duration, limit: Duration) -> StoreResult<Client> {
    let mut full = None;
    let got = tokio::time::timeout(time, async {
        loop {
            match lend(pool, limit).await {
                Err(error) if shared::errors::is_full(&error) => full = Some(shared::errors::pool_error(&error)),
                got => return got.map_err(|error| shared::errors::pool_error(&error)),
            }
            tokio::time::sleep(FULL_PAUSE).await;
        }
    });
    got.await.unwrap_or_else(|_| Err(full.unwrap_or_else(late)))
}

fn late() -> StoreError {
    StoreError::Unavailable("the database did not answer in time".to_owned())
}

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Runs a statement that each connection prepares once.
async fn query(client: &impl GenericClient, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error> {
    let statement = client.prepare_cached(sql).await?;
    client.query(&statement, params).await
}

/// The one row of a statement, or none.
async fn query_opt(client: &impl GenericClient, sql: &str, params: Params<'_>) -> Result<Option<Row>, Error> {
    let statement = client.prepare_cached(sql).await?;
    client.query_opt(&statement, params).await
}

/// How many rows a statement touched.
async fn execute(client: &impl GenericClient, sql: &str, params: Params<'_>) -> Result<u64, Error> {
    let statement = client.prepare_cached(sql).await?;
    client.execute(&statement, params).await
}

/// Two futures side by side, each of which runs statements of a transaction. The order of the statements in the database
/// is open: where it matters, above all where locks are taken, use [`query_then`]. If one fails, so do those after it: the
/// error is the first.
async fn both<A, B>(
    one: impl Future<Output = Result<A, Error>>,
    other: impl Future<Output = Result<B, Error>>,
) -> Result<(A, B), Error> {
    match tokio::join!(one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => Err(if shared::errors::is_in_failed_transaction(&one) { other } else { one }),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    }
}

/// Runs a statement, and what follows it in the same round trip. The database runs the statements of a connection in the
/// order in which they were sent, and `then` is not begun before this one is sent: so locks are taken in the order in
/// which they are written down.
async fn query_then<T>(
    client: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
    then: impl Future<Output = Result<T, Error>>,
) -> Result<(Vec<Row>, T), Error> {
    let statement = client.prepare_cached(sql).await?;
    let mut rows = pin!(client.query(&statement, params));
    // A statement that is prepared is sent when it is first polled.
    match poll_once(rows.as_mut()).await {
        Poll::Ready(rows) => Ok((rows?, then.await?)),
        Poll::Pending => both(rows, then).await,
    }
}

async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

/// When a scan was made, and what it took if it was whole, by the database's clock. What was claimed is not given up if
/// the database does not say.
async fn timing<K>(client: &impl GenericClient, scan: &Scan<K>, begun_ms: i64) -> Timing {
    let ended_ms = if scan.is_bounded(begun_ms) { begun_ms } else { now_ms(client).await.unwrap_or(begun_ms) };
    let took = Duration::from_millis(u64::try_from(ended_ms.saturating_sub(begun_ms)).unwrap_or(0));
    Timing { now_ms: begun_ms, took }
}

async fn now_ms(client: &impl GenericClient) -> Result<i64, Error> {
    let statement = client.prepare_cached("SELECT pirssonite_now_ms()").await?;
    Ok(client.query_one(&statement, &[]).await?.get(0))
}

#[cfg(test)]
mod tests;
