//! Claims of feeds and of subscriptions at a steady pace while an old snapshot is open on PostgreSQL, as by a `pg_dump`:
//! nothing that dies meanwhile is removed from tables and indexes. What is measured at the beginning and at the end should
//! be the same.

use domain::account::READER;
use std::time::Duration;

use domain::{
    ingest::{PollJob, PollOutcome, PollResult, Validators},
    ports::Store,
};
use serde::{Deserialize, Serialize};
use tokio::time::MissedTickBehavior;
use tokio_postgres::Client;

use super::seed;
use crate::{
    cpu::Samples,
    fixture::{Fixture, StoreLocation},
    postgres, process,
    push::load_average,
    report::{Rating, Table, Tally},
};

/// Rows, and how long each waits until it is due again: 556 a second.
const ROWS: usize = 20_000;
const DUE_EVERY: Duration = Duration::from_secs(36);

/// How long it goes on, and how long the beginning and the end are.
const RUN_SECS: f64 = 150.0;
const END_SECS: f64 = 15.0;

/// A claim, and a look when the next is due.
const CLAIM_EVERY: Duration = Duration::from_millis(25);
const CLAIM_MAX: u32 = 256;
const LEASE: Duration = Duration::from_mins(1);

const IMPORT_BATCH: usize = 1000;

/// The limit: at the end, of that at the beginning.
const OF_BEGINNING_MAX: f64 = 1.5;

const SUBSCRIPTIONS: &str = "
INSERT INTO subscriptions (hub_url, topic_url, topic_hash, token, base_url, state, is_current, next_step_at, created_at)
SELECT 'https://hub.example.org/', 'topic ' || n, '', 'token ' || n, 'https://reader.example.org', 'inactive', false, 0, 0
FROM generate_series(1, $1::bigint) AS n";

/// What a step of a subscription leaves behind, of many at once.
const STEP_AGAIN: &str = "
UPDATE subscriptions
SET next_step_at = (SELECT pirssonite_now_ms()) + $2,
    lease_owner = NULL,
    lease_until = 0
WHERE id = ANY($1)";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum RowKind {
    Feeds,
    Subscriptions,
}

/// What a process of its own does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    url: String,
    what: RowKind,
}

/// What was measured in an interval.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Interval {
    claimed: usize,
    wall_secs: f64,
    /// The median of a claim.
    claim_ms: f64,
    /// Of PostgreSQL's processes.
    database_cpu_secs: f64,
}

impl Interval {
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    fn cpu_ms(&self) -> f64 {
        self.database_cpu_secs * 1000.0 / self.claimed as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    fn per_sec(&self) -> f64 {
        self.claimed as f64 / self.wall_secs
    }
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let title = format!(
        "poll: claims on PostgreSQL with an old snapshot open: {ROWS} rows, each due every {} s, for {RUN_SECS:.0} s\n\
         the first and the last {END_SECS:.0} s; claim: the median; CPU ms: of PostgreSQL's processes for one row; load \
         average before: {}",
        DUE_EVERY.as_secs(),
        load_average(),
    );
    let head = ["", "a second", "claim ms", "CPU ms", "claim of first", "CPU of first", "limit"];
    let mut table = Table::new(title, &head);
    for (what, name) in [(RowKind::Feeds, "feeds"), (RowKind::Subscriptions, "subscriptions")] {
        let url = postgres::fresh(&format!("bench_snapshot_{name}"))?;
        let [first, last]: [Interval; 2] = process::run_job("snapshot-job", &Job { url, what })?;
        let (claim, cpu) = (last.claim_ms / first.claim_ms, last.cpu_ms() / first.cpu_ms());
        table.row(&cells(&format!("{name}, first"), &first), Rating::None, "");
        let mut cells = cells(&format!("{name}, last"), &last);
        cells.extend([format!("{claim:.2}"), format!("{cpu:.2}"), format!("<= {OF_BEGINNING_MAX:.1}")]);
        table.row(&cells, Rating::of(claim <= OF_BEGINNING_MAX && cpu <= OF_BEGINNING_MAX), "");
    }
    table.print(tally);
    Ok(())
}

fn cells(name: &str, interval: &Interval) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.0}", interval.per_sec()),
        format!("{:.2}", interval.claim_ms),
        format!("{:.3}", interval.cpu_ms()),
    ]
}

pub(crate) fn perform(job: &Job) -> anyhow::Result<[Interval; 2]> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(job.measure())
}

impl Job {
    async fn measure(&self) -> anyhow::Result<[Interval; 2]> {
        let fixture = Fixture::open(&StoreLocation::Postgres { url: self.url.clone() }).await?;
        let client = postgres::connect(&self.url).await?;
        self.make(&*fixture.store, &client).await?;
        fixture.vacuum_analyze().await?;
        let snapshot = postgres::old_snapshot(&self.url).await?;
        // Rows are due one after the other from now on.
        let (table, column) = self.due();
        let every_ms = DUE_EVERY.as_millis();
        let sql = format!("UPDATE {table} SET {column} = (SELECT pirssonite_now_ms()) + id * {every_ms} / {ROWS}");
        client.batch_execute(&sql).await?;
        let first = self.interval(&fixture, &client, END_SECS).await?;
        self.interval(&fixture, &client, RUN_SECS - 2.0 * END_SECS).await?;
        let last = self.interval(&fixture, &client, END_SECS).await?;
        drop(snapshot);
        Ok([first, last])
    }

    fn due(&self) -> (&'static str, &'static str) {
        match self.what {
            RowKind::Feeds => ("feeds", "next_check_at"),
            RowKind::Subscriptions => ("subscriptions", "next_step_at"),
        }
    }

    async fn make(&self, store: &dyn Store, client: &Client) -> anyhow::Result<()> {
        if self.what == RowKind::Subscriptions {
            client.execute(SUBSCRIPTIONS, &[&i64::try_from(ROWS)?]).await?;
            return Ok(());
        }
        let seeds = (0..ROWS).map(|number| seed(&format!("https://example.org/{number}")));
        for batch in seeds.collect::<anyhow::Result<Vec<_>>>()?.chunks(IMPORT_BATCH) {
            store.import_feeds(READER, batch.to_vec()).await?;
        }
        Ok(())
    }

    /// Claims and finishes what is due, for so long.
    async fn interval(&self, fixture: &Fixture, client: &Client, secs: f64) -> anyhow::Result<Interval> {
        let mut pace = tokio::time::interval(CLAIM_EVERY);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (begun_secs, cpu_secs) = (process::wall_secs(), fixture.database_cpu_secs());
        let (mut interval, mut claims) = (Interval::default(), Samples::default());
        while process::wall_secs() - begun_secs < secs {
            pace.tick().await;
            let (claimed, took_secs) = self.round(&*fixture.store, client).await?;
            claims.add(took_secs);
            interval.claimed += claimed;
        }
        interval.wall_secs = process::wall_secs() - begun_secs;
        interval.claim_ms = claims.median() * 1000.0;
        interval.database_cpu_secs = fixture.database_cpu_secs() - cpu_secs;
        Ok(interval)
    }

    /// One claim, the end of what was claimed, and a look when the next is due: how many there were, and what the claim
    /// took.
    async fn round(&self, store: &dyn Store, client: &Client) -> anyhow::Result<(usize, f64)> {
        let begun_secs = process::wall_secs();
        match self.what {
            RowKind::Feeds => {
                let jobs = store.claim_due_polls("bench", CLAIM_MAX, LEASE).await?;
                let took_secs = process::wall_secs() - begun_secs;
                for stored in store.finish_polls(jobs.iter().map(unchanged).collect()).await? {
                    anyhow::ensure!(stored?.applied, "a result was not stored");
                }
                store.next_poll_in().await?;
                Ok((jobs.len(), took_secs))
            }
            RowKind::Subscriptions => {
                let jobs = store.claim_due_subscriptions("bench", CLAIM_MAX, LEASE, &[]).await?;
                let took_secs = process::wall_secs() - begun_secs;
                let ids: Vec<i64> = jobs.iter().map(|job| job.subscription.id.0).collect();
                client.execute(STEP_AGAIN, &[&ids, &i64::try_from(DUE_EVERY.as_millis())?]).await?;
                store.next_step_in().await?;
                Ok((jobs.len(), took_secs))
            }
        }
    }
}

fn unchanged(job: &PollJob) -> PollResult {
    PollResult {
        outcome: PollOutcome::Unchanged(Validators::default()),
        feed_id: job.feed_id,
        lease: job.lease.clone(),
        claimed_at: job.claimed_at,
        next_check_in: DUE_EVERY,
        next_audit_in: DUE_EVERY,
        due_by: None,
        adaptive_secs: job.adaptive_secs,
        moved_to: None,
    }
}
