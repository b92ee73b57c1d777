//! Ten thousand subscriptions due, renewed by the engine as it does by itself: the feed is looked at, the hub is asked,
//! the hub verifies. Beside bare loops with the same client: only the requests to the hubs, and all the same requests
//! with nothing kept.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use axum::{
    Router,
    extract::{RawQuery, State},
    routing::get,
};
use domain::ports::{Arrived, Headers, Http, HttpRequest, Method};
use engine::{
    PushSettings,
    http::{ClientSettings, GuardedClient},
};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::CancellationToken;
use url::form_urlencoded;

use super::{
    hub::{ADDRESSES, Counts, Hub},
    load_average, server,
    subscriptions::{LEASE, Plan, feed_url, secret, token},
    usage::Usage,
};
use crate::{
    fixture::{Fixture, StoreLocation},
    process,
    publisher::{ETAG, Publisher},
    report::{Rating, Table, Tally, mib},
};

const RENEWALS: usize = 10_000;

/// The limits: renewals a second on each store, twice what they were before they were gathered into batches.
const SQLITE_PER_SEC_MIN: f64 = 4454.0;
const POSTGRES_PER_SEC_MIN: f64 = 1166.0;

/// Requests at once to one address of the hub, by the engine and by the bare loops.
const AT_ONCE_OF_HUB: usize = 4;

/// From the start of a lease to its renewal, and a bit.
const UNTIL_DUE: Duration = LEASE.saturating_sub(Duration::from_hours(47));

/// How often it is looked whether all are renewed, and how often at most: five minutes.
const LOOK_PAUSE: Duration = Duration::from_millis(25);
const LOOKS_MAX: usize = 12_000;
const COUNT_LOOKS_MAX: usize = 40;

/// What a process of its own does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// The requests to the hubs, and nothing else.
    Ask {
        hubs: Vec<String>,
    },
    /// The same; before each a look at the feed, and after it the hub is confirmed.
    AskAndConfirm {
        hubs: Vec<String>,
        publisher: String,
    },
    Renew {
        hubs: Vec<String>,
        publisher: String,
        location: StoreLocation,
        log: std::path::PathBuf,
    },
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let publisher = Publisher::start()?;
    let folder = tempfile::tempdir()?;
    let title = format!(
        "push: {RENEWALS} subscriptions due at {ADDRESSES} addresses of one hub, {AT_ONCE_OF_HUB} requests at once to \
         each; the hub answers 202 and verifies at once\n\
         a renewal: a look at the feed (304), the POST to the hub, and its GET for the verification\n\
         x bare: how many times as long as the bare POSTs; hub and publisher, which share the cores, are not in the CPU \
         time\n\
         load average before: {}",
        load_average(),
    );
    let head = ["", "a second", "wall s", "CPU s", "database", "CPU us each", "x bare", "peak MiB", "limit"];
    let mut table = Table::new(title, &head);
    let bare = measure(|hubs| Job::Ask { hubs }, false)?;
    table.row(&cells("bare POSTs", bare, bare, None), Rating::None, "");
    let url = &publisher.url;
    let whole = measure(|hubs| Job::AskAndConfirm { hubs, publisher: url.clone() }, true)?;
    table.row(&cells("bare GET, POST and verification", whole, bare, None), Rating::None, "");
    for (location, per_sec_min) in [
        (StoreLocation::Sqlite { folder: folder.path().to_owned() }, SQLITE_PER_SEC_MIN),
        (StoreLocation::Postgres { url: crate::postgres::fresh("bench_renew")? }, POSTGRES_PER_SEC_MIN),
    ] {
        let (name, log) = (location.name(), folder.path().join("log"));
        let renewed = measure(|hubs| Job::Renew { hubs, publisher: url.clone(), location, log }, true)?;
        let cells = cells(&format!("{name}, renewals"), renewed, bare, Some(per_sec_min));
        table.row(&cells, Rating::of(per_sec(renewed) >= per_sec_min), "");
    }
    table.print(tally);
    Ok(())
}

/// Has a job done at a hub of its own, which must have seen all requests then, and confirmed them if it verifies.
fn measure(job: impl FnOnce(Vec<String>) -> Job, is_verifying: bool) -> anyhow::Result<Usage> {
    let hub = Hub::start(is_verifying)?;
    let used = process::run_job("push-renew", &job(hub.urls()));
    let used = used.with_context(|| format!("the hub saw {:?}", hub.counts()))?;
    let requests = RENEWALS as u64;
    let confirmed = if is_verifying { requests } else { 0 };
    let expected = Counts { requests, confirmed, ..Counts::default() };
    // It counts a verification when it has read the answer, a moment after that was given.
    for _ in 0..COUNT_LOOKS_MAX {
        if hub.counts()? == expected {
            return Ok(used);
        }
        std::thread::sleep(LOOK_PAUSE);
    }
    anyhow::bail!("the hub saw {:?}", hub.counts()?)
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn per_sec(used: Usage) -> f64 {
    RENEWALS as f64 / used.wall_secs
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn cells(name: &str, used: Usage, bare: Usage, per_sec_min: Option<f64>) -> Vec<String> {
    let count = RENEWALS as f64;
    vec![
        name.to_owned(),
        format!("{:.0}", per_sec(used)),
        format!("{:.2}", used.wall_secs),
        format!("{:.2}", used.cpu_secs),
        format!("{:.2}", used.database_cpu_secs),
        format!("{:.0}", (used.cpu_secs + used.database_cpu_secs) * 1e6 / count),
        format!("{:.1}", used.wall_secs / bare.wall_secs),
        format!("{:.0}", mib(used.peak_bytes)),
        per_sec_min.map_or(String::new(), |min| format!(">= {min:.0}")),
    ]
}

pub(crate) fn perform(job: Job) -> anyhow::Result<Usage> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match job {
            Job::Ask { hubs } => {
                let start = Usage::now(None)?;
                ask_all(&hubs, None).await?;
                Ok(Usage::now(None)?.since(start))
            }
            Job::AskAndConfirm { hubs, publisher } => ask_and_confirm(&hubs, &publisher).await,
            Job::Renew { hubs, publisher, location, log } => {
                server::start_logging(&log)?;
                renew(&hubs, &publisher, &location).await
            }
        }
    })
}

async fn renew(hubs: &[String], publisher: &str, location: &StoreLocation) -> anyhow::Result<Usage> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    let fixture = Fixture::open(location).await?;
    Plan { count: RENEWALS, entries: 0, publisher, hubs, base_url: &base_url }.make(&*fixture.store).await?;
    fixture.vacuum_analyze().await?;
    fixture.advance_clock(UNTIL_DUE).await?;
    let engine = fixture.engine_with(PushSettings { base_url: Some(base_url), ..PushSettings::default() })?;
    let stop = CancellationToken::new();
    let server = tokio::spawn(web::serve(listener, server::router(Arc::clone(&engine))?, stop.clone()));
    let start = Usage::now(Some(&fixture))?;
    let engine = tokio::spawn(engine.run(stop.clone()));
    await_all(&fixture).await?;
    let used = Usage::now(Some(&fixture))?.since(start);
    stop.cancel();
    engine.await?;
    // What it has still to answer is answered.
    server.await??;
    Ok(used)
}

/// Waits until no subscription has anything to be done about it for long, which is after its verification.
async fn await_all(fixture: &Fixture) -> anyhow::Result<()> {
    for _ in 0..LOOKS_MAX {
        tokio::time::sleep(LOOK_PAUSE).await;
        let next = fixture.store.next_step_in().await?.context("there are subscriptions")?;
        if next > Duration::from_hours(1) {
            return Ok(());
        }
    }
    anyhow::bail!("not all subscriptions were renewed in time")
}

/// All that a renewal says and is told, and nothing is kept.
async fn ask_and_confirm(hubs: &[String], publisher: &str) -> anyhow::Result<Usage> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    let confirmed = Arc::new(Semaphore::new(0));
    let router = Router::new().route("/api/websub/callback/{token}", get(confirm)).with_state(Arc::clone(&confirmed));
    let stop = CancellationToken::new();
    let server = tokio::spawn(web::serve(listener, router, stop.clone()));
    let start = Usage::now(None)?;
    ask_all(hubs, Some((publisher, &base_url))).await?;
    let _ = confirmed.acquire_many(u32::try_from(RENEWALS)?).await?;
    let used = Usage::now(None)?.since(start);
    stop.cancel();
    server.await??;
    Ok(used)
}

/// Gives the challenge back, whoever asks.
async fn confirm(State(confirmed): State<Arc<Semaphore>>, RawQuery(query): RawQuery) -> String {
    let query = query.unwrap_or_default();
    let challenge = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "hub.challenge");
    confirmed.add_permits(1);
    challenge.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// Asks for all subscriptions, so many at once of each hub.
async fn ask_all(hubs: &[String], feeds_and_base: Option<(&str, &str)>) -> anyhow::Result<()> {
    let allow_networks = vec!["127.0.0.0/8".parse()?];
    let client = GuardedClient::new(ClientSettings { allow_networks, ..ClientSettings::default() })?;
    let workers = (0..hubs.len() * AT_ONCE_OF_HUB).map(async |worker| {
        let mut number = worker;
        while number < RENEWALS {
            ask_one(&client, number, &hubs[number % hubs.len()], feeds_and_base).await?;
            // The next at the same hub that no other worker has.
            number += hubs.len() * AT_ONCE_OF_HUB;
        }
        anyhow::Ok(())
    });
    try_join_all(workers).await.map(drop)
}

async fn ask_one(
    client: &GuardedClient,
    number: usize,
    hub: &str,
    feeds_and_base: Option<(&str, &str)>,
) -> anyhow::Result<()> {
    const NOT_MODIFIED: u16 = 304;
    const ACCEPTED: u16 = 202;
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("hub.mode", "subscribe").append_pair("hub.secret", &secret(number));
    // Without a feed there is nobody at the callback, and the hub does not verify.
    let (publisher, base_url) = feeds_and_base.unwrap_or(("http://feeds.invalid", "http://reader.invalid"));
    let topic = feed_url(publisher, number);
    if feeds_and_base.is_some() {
        let answer = client.send(request(Method::Get, &topic, "if-none-match", ETAG, Vec::new())).await?;
        anyhow::ensure!(answer.status == NOT_MODIFIED, "a feed answered with {}", answer.status);
    }
    form.append_pair("hub.topic", &topic);
    form.append_pair("hub.callback", &format!("{base_url}/api/websub/callback/{}", token(number)));
    let body = form.finish().into_bytes();
    let post = request(Method::Post, hub, "content-type", "application/x-www-form-urlencoded", body);
    let answer = client.send(post).await?;
    anyhow::ensure!(answer.status == ACCEPTED, "the hub answered with {}", answer.status);
    Ok(())
}

fn request(method: Method, url: &str, header: &str, value: &str, body: Vec<u8>) -> HttpRequest {
    HttpRequest {
        method,
        url: url.to_owned(),
        credentials: None,
        headers: Headers(vec![(header.to_owned(), value.to_owned())]),
        body: body.into(),
        body_bytes_max: 64 * 1024,
        redirects_max: 0,
        timeout: Duration::from_secs(10),
        arrived: Arrived::default(),
    }
}
