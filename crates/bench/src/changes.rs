//! The change stream: how long it takes from a commit until it is heard, in the process that made it and on another node,
//! while others write too.

use domain::account::READER;
use std::{sync::Arc, time::Duration};

use anyhow::Context;
use domain::{changes::ChangeKind, ports::Store};
use engine::{ChangeListener, ChangeStream, Heard};
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

use crate::{
    fixture::{Fixture, StoreLocation},
    postgres,
    push::load_average,
    report::{Rating, Table, Tally},
};

const CHANGES: usize = 500;
const EVERY: Duration = Duration::from_millis(10);

/// Who else writes meanwhile, in the busy case.
const WRITERS: usize = 8;

const HERE_MS_MAX: f64 = 50.0;
const THERE_MS_MAX: f64 = 200.0;

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "changes: {CHANGES}, one every {} ms, from when the commit was known until it was heard\n\
         busy: while {WRITERS} others write as fast as they can; load average before: {}",
        EVERY.as_millis(),
        load_average(),
    );
    let mut table = Table::new(title, &["", "median ms", "99th ms", "limit ms"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // A store each: listeners of the one before still hold theirs.
    let sqlite = |case: &str| StoreLocation::Sqlite { folder: folder.path().join(case) };
    for (location, writers) in [
        (sqlite("quiet"), 0),
        (sqlite("busy"), WRITERS),
        (StoreLocation::Postgres { url: postgres::fresh("bench_changes_quiet")? }, 0),
        (StoreLocation::Postgres { url: postgres::fresh("bench_changes_busy")? }, WRITERS),
    ] {
        let heard = runtime.block_on(measure(&location, writers))?;
        let state = if writers == 0 { "" } else { ", busy" };
        row(&mut table, &format!("{}, in the process{state}", location.name()), heard.here, HERE_MS_MAX);
        if !heard.there.is_empty() {
            row(&mut table, &format!("{}, on another node{state}", location.name()), heard.there, THERE_MS_MAX);
        }
    }
    table.print(tally);
    Ok(())
}

fn row(table: &mut Table, name: &str, mut delays: Vec<Duration>, limit_ms: f64) {
    delays.sort_unstable();
    let at =
        |percent: usize| delays.get(delays.len() * percent / 100).map_or(f64::NAN, |delay| delay.as_secs_f64() * 1e3);
    let cells = [name.to_owned(), format!("{:.2}", at(50)), format!("{:.2}", at(99)), format!("{limit_ms:.0}")];
    table.row(&cells, Rating::of(at(99) <= limit_ms), "");
}

#[derive(Debug, Default)]
struct Delays {
    here: Vec<Duration>,
    there: Vec<Duration>,
}

async fn measure(location: &StoreLocation, writers: usize) -> anyhow::Result<Delays> {
    let fixture = Fixture::open(location).await?;
    let other =
        if matches!(location, StoreLocation::Postgres { .. }) { Some(Fixture::open(location).await?) } else { None };
    let mut here = listen(&fixture.store).await;
    let mut there = match &other {
        Some(other) => Some(listen(&other.store).await),
        None => None,
    };
    let noise: Vec<JoinHandle<()>> =
        (0..writers).map(|writer| tokio::spawn(write(fixture.store.clone(), writer))).collect();
    let mut delays = Delays::default();
    for number in 0..CHANGES {
        // Webhooks are what nobody else changes here.
        let patch = domain::delivery::NewWebhook::to("https://r.org/", secret(number)?);
        fixture.store.create_webhook(READER, patch).await?;
        let committed = Instant::now();
        delays.here.push(heard_after(&mut here, committed).await?);
        if let Some(there) = &mut there {
            delays.there.push(heard_after(there, committed).await?);
        }
        tokio::time::sleep(EVERY).await;
    }
    for writer in noise {
        writer.abort();
    }
    Ok(delays)
}

fn secret(number: usize) -> anyhow::Result<domain::delivery::WebhookSecret> {
    let secret = domain::delivery::WebhookSecret::parse(&format!("whsec_{:0>8}", number % 1000));
    secret.context("no such secret")
}

/// When each change of a webhook was heard.
async fn listen(store: &Arc<dyn Store>) -> mpsc::UnboundedReceiver<Instant> {
    let stream = ChangeStream::new(Arc::<dyn Store>::clone(store));
    let mut listener = stream.listen(None);
    listener.next().await;
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(follow(listener, sender));
    receiver
}

async fn follow(mut listener: ChangeListener, sender: mpsc::UnboundedSender<Instant>) {
    loop {
        let Heard::Changes(changes) = listener.next().await else { continue };
        for _ in changes.iter().filter(|change| change.kind == ChangeKind::Webhooks) {
            if sender.send(Instant::now()).is_err() {
                return;
            }
        }
    }
}

/// It may be heard before whoever committed it knows.
async fn heard_after(heard: &mut mpsc::UnboundedReceiver<Instant>, committed: Instant) -> anyhow::Result<Duration> {
    let at = tokio::time::timeout(Duration::from_secs(30), heard.recv()).await?;
    Ok(at.map_or(Duration::MAX, |at| at.saturating_duration_since(committed)))
}

async fn write(store: Arc<dyn Store>, writer: usize) {
    for round in 0_u64.. {
        if store.create_folder(READER, &format!("{writer} {round}")).await.is_err() {
            return;
        }
        // Otherwise there are too many after a while.
        if let Ok(folders) = store.folders(READER).await
            && folders.len() > 100
        {
            for folder in folders {
                let _ = store.delete_folder(READER, folder.id).await;
            }
        }
    }
}
