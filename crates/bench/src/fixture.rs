//! A store of each kind with a clock that can be put forward, and an engine on it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use domain::ports::{Clock, Store};
use engine::{
    Deps, Engine, EngineSettings, PushSettings,
    http::{ClientSettings, GuardedClient},
    system::{SystemClock, SystemIds},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use store::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore};

/// Polls at once: all of them go to one host here, which the limit for a host would slow down.
const CONCURRENCY: usize = 64;

/// The database in a folder.
pub(crate) const DATABASE: &str = "pirssonite.db";

/// Which store, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum StoreLocation {
    Sqlite { folder: std::path::PathBuf },
    Postgres { url: String },
}

impl StoreLocation {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite { .. } => "SQLite",
            Self::Postgres { .. } => "PostgreSQL",
        }
    }
}

/// The system's clock, put forward.
#[derive(Debug, Default)]
struct ForwardClock(AtomicI64);

impl Clock for ForwardClock {
    fn now(&self) -> Timestamp {
        let forward = SignedDuration::from_secs(self.0.load(Ordering::Relaxed));
        SystemClock.now().saturating_add(forward).unwrap_or(Timestamp::MAX)
    }
}

#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    clock: Arc<ForwardClock>,
    /// The store once more, if it is this.
    sqlite: Option<SqliteStore>,
    /// A connection of our own to the database, and the process that all of its processes descend from.
    database: Option<(tokio_postgres::Client, u32)>,
}

impl Fixture {
    pub(crate) async fn open(location: &StoreLocation) -> anyhow::Result<Self> {
        let clock = Arc::new(ForwardClock::default());
        match location {
            StoreLocation::Sqlite { folder } => {
                let store = SqliteStore::open(folder, SqliteOptions::default(), clock.clone())?;
                Ok(Self { store: Arc::new(store.clone()), clock, sqlite: Some(store), database: None })
            }
            StoreLocation::Postgres { url } => {
                let store = PostgresStore::connect(url, PostgresOptions::default()).await?;
                let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
                tokio::spawn(connection);
                let backend: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
                let postmaster = stat(u32::try_from(backend)?).context("the database is on another machine")?.parent;
                Ok(Self { store: Arc::new(store), clock, sqlite: None, database: Some((client, postmaster)) })
            }
        }
    }

    /// Puts the store's clock forward.
    pub(crate) async fn advance_clock(&self, by: Duration) -> anyhow::Result<()> {
        let secs = i64::try_from(by.as_secs())?;
        self.clock.0.fetch_add(secs, Ordering::Relaxed);
        if let Some((client, _)) = &self.database {
            let forward_ms = self.clock.0.load(Ordering::Relaxed) * 1000;
            let function = format!(
                "CREATE OR REPLACE FUNCTION pirssonite_now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS \
                 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + {forward_ms}'"
            );
            client.batch_execute(&function).await?;
        }
        Ok(())
    }

    /// Whether a commit is on the disk when it is answered. SQLite is opened so.
    pub(crate) async fn is_durable(&self) -> anyhow::Result<bool> {
        let Some((client, _)) = &self.database else { return Ok(true) };
        for setting in ["fsync", "synchronous_commit"] {
            let value: String = client.query_one(&format!("SHOW {setting}"), &[]).await?.get(0);
            if value != "on" {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Has the database look at its tables, as it does by itself in time.
    pub(crate) async fn vacuum_analyze(&self) -> anyhow::Result<()> {
        if let Some((client, _)) = &self.database {
            client.batch_execute("VACUUM ANALYZE").await?;
        }
        Ok(())
    }

    pub(crate) fn engine(&self) -> anyhow::Result<Arc<Engine>> {
        self.engine_with(PushSettings::default())
    }

    pub(crate) fn engine_with(&self, push: PushSettings) -> anyhow::Result<Arc<Engine>> {
        self.engine_of(EngineSettings {
            host_concurrency: CONCURRENCY,
            poll_concurrency: CONCURRENCY,
            push,
            ..EngineSettings::default()
        })
    }

    pub(crate) fn engine_of(&self, settings: EngineSettings) -> anyhow::Result<Arc<Engine>> {
        let client = GuardedClient::new(ClientSettings {
            allow_networks: vec!["127.0.0.0/8".parse()?],
            ..ClientSettings::default()
        })?;
        let clock: Arc<dyn Clock> = self.clock.clone();
        Ok(Engine::new(Deps {
            store: self.store.clone(),
            http: Arc::new(client),
            clock,
            ids: Arc::new(SystemIds),
            settings,
        }))
    }

    /// Transactions that the database has committed; on PostgreSQL, those that wrote, which have a number.
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    pub(crate) async fn commits(&self) -> anyhow::Result<f64> {
        let commits = match (&self.sqlite, &self.database) {
            (Some(store), _) => store.commits(),
            (None, Some((client, _))) => {
                let sql = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
                u64::try_from(client.query_one(sql, &[]).await?.get::<_, i64>(0))?
            }
            (None, None) => 0,
        };
        Ok(commits as f64)
    }

    /// CPU seconds that the database's processes have used; none where it is inside this one.
    pub(crate) fn database_cpu_secs(&self) -> f64 {
        self.database.as_ref().map_or(0.0, |(_, postmaster)| family_cpu_secs(*postmaster))
    }
}

/// What the system says of a process.
struct Stat {
    parent: u32,
    /// Ticks of its own, and of its children that have ended.
    own_ticks: u64,
    ended_ticks: u64,
}

fn stat(process: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, which may hold anything, stands in brackets.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        own_ticks: number(11)? + number(12)?,
        ended_ticks: number(13)? + number(14)?,
    })
}

/// CPU seconds of a process, its children, and those that it has had.
#[expect(clippy::cast_precision_loss, reason = "ticks of a day fit into 52 bits")]
pub(crate) fn family_cpu_secs(parent: u32) -> f64 {
    const TICKS_PER_SEC: f64 = 100.0;
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let children = processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(stat)
        .filter(|stat| stat.parent == parent)
        .map(|stat| stat.own_ticks)
        .sum::<u64>();
    let itself = stat(parent).map_or(0, |stat| stat.own_ticks + stat.ended_ticks);
    (children + itself) as f64 / TICKS_PER_SEC
}
