//! Limits of calls: a connection that is lent to a call ends when the call takes too long, or when the database does not
//! answer anybody. The call fails then, and the next has another connection.
//!
//! The task that drives a connection looks at it twice a second. So whoever asks the database needs no limit of their
//! own, and nobody can forget one; who is to be answered sooner has one besides (`within`).

use std::{
    cell::Cell,
    collections::HashMap,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::{Client, Pool, PoolError, StatementCache, Transaction};
use tokio::time::Instant;
use tokio_postgres::Error;

use crate::postgres::shared::hosts::{HostAddress, Hosts};

/// How long a call may keep its connection.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// How long one may that changes all rows of some kind, as many as there are: pruning, replays, imports, the entries of a
/// feed, the feeds of an account.
pub(crate) const LONG_CALL_TIMEOUT: Duration = Duration::from_mins(10);

/// For work that takes as long as it takes, such as a migration or a copy. It still ends when the database is silent.
pub(crate) const UNLIMITED: Duration = Duration::MAX;

/// [`LONG_CALL_TIMEOUT`] for the database, inside a transaction.
const LONG_STATEMENTS: &str = "SET LOCAL statement_timeout = '10min'";

/// How often it is looked whether a connection is lent for too long.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);

/// After the server has answered others it is asked again so much later.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Since when a connection is lent, and for how long at most.
#[derive(Default)]
pub(crate) struct Lending {
    /// By [`now_ms`]; 0 while it is not lent.
    since_ms: AtomicU64,
    limit_ms: AtomicU64,
    /// Whether it is back in its pool, which tells nobody.
    is_idle: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// When a server counts as silent: a call had no answer for so long, and then nobody has within so long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    pub(crate) call: Duration,
    pub(crate) server: Duration,
}

tokio::task_local! {
    /// The connection that was just made for whoever asks the pool for one.
    static JUST_MADE: Cell<Option<Arc<Lending>>>;
}

/// Of all connections, by the cache of statements that each has for itself: a transaction knows that too.
static LENDINGS: LazyLock<Mutex<HashMap<usize, Arc<Lending>>>> = LazyLock::new(Mutex::default);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Milliseconds since the first call; never 0.
fn now_ms() -> u64 {
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
}

fn lendings() -> MutexGuard<'static, HashMap<usize, Arc<Lending>>> {
    LENDINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key_of(cache: &Arc<StatementCache>) -> usize {
    Arc::as_ptr(cache).addr()
}

/// A connection of the pool, for a call that may take so long.
pub(crate) async fn lend(pool: &Pool, limit: Duration) -> Result<Client, PoolError> {
    let (client, made) = JUST_MADE
        .scope(Cell::default(), async {
            let client = pool.get().await?;
            Ok::<_, PoolError>((client, JUST_MADE.with(Cell::take)))
        })
        .await?;
    let key = key_of(&client.statement_cache);
    let lending = made.map_or_else(|| lendings().get(&key).cloned(), |made| Some(note(pool, key, made)));
    if let Some(lending) = lending {
        lending.limit_ms.store(millis(limit), Ordering::Relaxed);
        lending.since_ms.store(now_ms(), Ordering::Relaxed);
    }
    Ok(client)
}

/// Remembers a connection that was just made.
fn note(pool: &Pool, key: usize, made: Arc<Lending>) -> Arc<Lending> {
    let pool = pool.weak();
    let is_idle = move || {
        let mut is_idle = false;
        let look = |client: &deadpool_postgres::ClientWrapper, _| {
            is_idle |= key_of(&client.statement_cache) == key;
            true
        };
        pool.upgrade().map(|pool| pool.retain(look));
        is_idle
    };
    // It is made but once.
    let _ = made.is_idle.set(Box::new(is_idle));
    let mut lendings = lendings();
    // The others have ended: the tasks that drove them had the same.
    lendings.retain(|_, lending| Arc::strong_count(lending) > 1);
    lendings.insert(key, Arc::clone(&made));
    made
}

/// What follows in this transaction may take long.
pub(crate) async fn long_work(transaction: &Transaction<'_>) -> Result<(), Error> {
    let lending = lendings().get(&key_of(&transaction.statement_cache)).cloned();
    if let Some(lending) = lending {
        lending.limit_ms.store(millis(LONG_CALL_TIMEOUT), Ordering::Relaxed);
    }
    transaction.batch_execute(LONG_STATEMENTS).await
}

impl Lending {
    /// Of a connection that is just made. Whoever asked the pool for it is told.
    pub(crate) fn of_new_connection() -> Arc<Self> {
        let lending = Arc::new(Self::default());
        // Nobody is told where none was asked for, such as by the listener.
        let _ = JUST_MADE.try_with(|made| made.set(Some(Arc::clone(&lending))));
        lending
    }

    /// Of a connection of no pool, which is lent from now on until it ends.
    pub(crate) fn for_good(limit: Duration) -> Arc<Self> {
        let (since_ms, limit_ms) = (AtomicU64::new(now_ms()), AtomicU64::new(millis(limit)));
        Arc::new(Self { since_ms, limit_ms, is_idle: OnceLock::new() })
    }

    /// Ends when the connection is to be given up, and says why.
    pub(crate) async fn given_up(&self, limits: TimeLimits, hosts: &Hosts, address: &HostAddress) -> &'static str {
        let (call, mut asked_ms) = (millis(limits.call), 0);
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let (since_ms, now_ms) = (self.since_ms.load(Ordering::Relaxed), now_ms());
            if since_ms == 0 || now_ms.saturating_sub(since_ms) < call {
                continue;
            }
            if self.is_idle.get().is_some_and(|is_idle| is_idle()) {
                // Unless it was lent again meanwhile.
                let _ = self.since_ms.compare_exchange(since_ms, 0, Ordering::Relaxed, Ordering::Relaxed);
                continue;
            }
            if now_ms.saturating_sub(since_ms) >= self.limit_ms.load(Ordering::Relaxed) {
                return "call took too long";
            }
            if asked_ms > since_ms && now_ms.saturating_sub(asked_ms) < millis(ASK_AGAIN_AFTER) {
                continue;
            }
            asked_ms = now_ms;
            if !hosts.answers(address, limits.server).await && self.since_ms.load(Ordering::Relaxed) == since_ms {
                return "database silent";
            }
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
