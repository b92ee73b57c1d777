//! Receivers that refuse some of what they are sent: how long it takes until all has arrived that can, and what a new
//! event waits for that the receiver accepts at once. Each is measured on both stores side by side: they wait far more
//! than they work.

use std::{net::SocketAddr, path::Path, thread, time::Duration};

use engine::DeliverySettings;
use serde::{Deserialize, Serialize};

use super::{
    empty_stores,
    event_source::{BASE_URL, EventSource, Latencies},
    fill::{fill, make_webhooks},
    node::Node,
    receiver::{ReceiverMode, ReceiverMonitor, ReceiverProcess, url},
    run_job,
};
use crate::{
    fixture::{Fixture, StoreLocation},
    process,
    push::load_average,
    report::{Rating, Table, Tally},
};

/// Events at once, of which some are refused so many times before they are accepted.
const FLAKY: [Flaky; 4] = [
    Flaky { events: 20, of_each: 1, refusals: 1, secs_max: 30.0 },
    Flaky { events: 1000, of_each: 1, refusals: 1, secs_max: 120.0 },
    Flaky { events: 1000, of_each: 1, refusals: 2, secs_max: 120.0 },
    Flaky { events: 1000, of_each: 10, refusals: 2, secs_max: 60.0 },
];

/// Events at once for a receiver that takes so many a second.
const LIMITED_EVENTS: usize = 300;
const LIMITED_PER_SEC: u64 = 5;
const LIMITED_SECS_MAX: f64 = 90.0;

/// Events that are always refused, and those that come to be beside them.
const REFUSED_EVENTS: usize = 120;
const NEW_EVENTS: usize = 120;
const NEW_EVERY: Duration = Duration::from_millis(250);

/// How long the refusals go on before the first of those.
const REFUSED_BEFORE: Duration = Duration::from_secs(1);

/// The status of the refusals: an answer of 4xx speaks of the event, one of 5xx of the receiver. Neither delays a new event
/// by more than the limit.
const REFUSED: [u16; 2] = [422, 500];
const NEW_MS_MAX: f64 = 1000.0;

/// How long anything is waited for, and how often it is looked.
const WAIT_SECS_MAX: f64 = 300.0;
const LOOK_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    location: StoreLocation,
    receiver: SocketAddr,
    scenario: Scenario,
}

/// A receiver that refuses the first requests of one event in `of_each`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Flaky {
    events: usize,
    of_each: u64,
    refusals: u64,
    secs_max: f64,
}

impl Flaky {
    fn name(&self) -> String {
        format!("flaky_{}_{}_{}", self.events, self.of_each, self.refusals)
    }

    fn describe(&self) -> String {
        let times = if self.refusals == 1 { "once" } else { "twice" };
        match self.of_each {
            1 => format!("each event refused {times} with 500"),
            each => format!("one event in {each} refused {times} with 500"),
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Scenario {
    Flaky(Flaky),
    RateLimited { has_retry_after: bool },
    Refusing { status: u16 },
}

/// What was measured: how long it took until all were accepted, or what new events waited for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Measured {
    Drained { secs: f64, accepted: u64, requests: u64 },
    Waited { latencies: Latencies, requests: u64 },
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    drained(tally, folder.path())?;
    waited(tally, folder.path())
}

fn drained(tally: &mut Tally, folder: &Path) -> anyhow::Result<()> {
    let title = format!(
        "dispatch: events that are all due at once, to one receiver that refuses some requests, until all are accepted\n\
         at most {WAIT_SECS_MAX:.0} s are waited for; load average before: {}",
        load_average(),
    );
    let head = ["", "events", "accepted", "requests", "s", "of limit", "limit"];
    let mut table = Table::new(title, &head);
    let least_secs = LIMITED_EVENTS as u64 / LIMITED_PER_SEC;
    let limited = |has_retry_after| (Scenario::RateLimited { has_retry_after }, LIMITED_EVENTS, LIMITED_SECS_MAX);
    let flaky =
        FLAKY.map(|flaky| (flaky.name(), flaky.describe(), (Scenario::Flaky(flaky), flaky.events, flaky.secs_max)));
    let limited = [
        ("limited_when".to_owned(), format!("{LIMITED_PER_SEC} a second, else 429 with Retry-After"), limited(true)),
        ("limited".to_owned(), format!("{LIMITED_PER_SEC} a second, else 429"), limited(false)),
    ];
    for (name, what, (scenario, events, secs_max)) in flaky.into_iter().chain(limited) {
        for (store, measured) in measure(folder, &name, scenario)? {
            let Measured::Drained { secs, accepted, requests } = measured else { anyhow::bail!("it is drained") };
            let cells = [
                format!("{store}, {what}"),
                events.to_string(),
                accepted.to_string(),
                requests.to_string(),
                format!("{secs:.1}"),
                format!("{:.2}", secs / secs_max),
                format!("<= {secs_max:.0} s"),
            ];
            let is_all = accepted >= events as u64;
            let remark = match (is_all, scenario) {
                (false, _) => "not all were accepted in time".to_owned(),
                (true, Scenario::RateLimited { .. }) => format!("{least_secs} s is the least"),
                (true, _) => String::new(),
            };
            table.row(&cells, Rating::of(is_all && secs <= secs_max), remark);
        }
    }
    table.print(tally);
    Ok(())
}

fn waited(tally: &mut Tally, folder: &Path) -> anyhow::Result<()> {
    let title = format!(
        "dispatch: {NEW_EVENTS} new events, one every {} ms, to a receiver that accepts them at once, beside {REFUSED_EVENTS} \
         older ones that it always refuses\n\
         from when the commit was known to the receipt; load average before: {}",
        NEW_EVERY.as_millis(),
        load_average(),
    );
    let head = ["", "median ms", "99th ms", "most ms", "requests", "of limit", "limit"];
    let mut table = Table::new(title, &head);
    for status in REFUSED {
        for (store, measured) in measure(folder, &format!("refusing_{status}"), Scenario::Refusing { status })? {
            let Measured::Waited { latencies, requests } = measured else { anyhow::bail!("it is waited for") };
            let ms = |ms: f64| if ms > WAIT_SECS_MAX * 1000.0 { "never".to_owned() } else { format!("{ms:.1}") };
            let cells = [
                format!("{store}, refused with {status}"),
                ms(latencies.median_ms),
                ms(latencies.percentile_99_ms),
                ms(latencies.most_ms),
                requests.to_string(),
                if latencies.missing == 0 { format!("{:.2}", latencies.most_ms / NEW_MS_MAX) } else { String::new() },
                format!("<= {NEW_MS_MAX:.0} ms"),
            ];
            let is_kept = latencies.missing == 0 && latencies.most_ms <= NEW_MS_MAX;
            let remark =
                if latencies.missing > 0 { format!("{} never arrived", latencies.missing) } else { String::new() };
            table.row(&cells, Rating::of(is_kept), remark);
        }
    }
    table.print(tally);
    Ok(())
}

/// On each store, side by side.
fn measure(folder: &Path, name: &str, scenario: Scenario) -> anyhow::Result<Vec<(&'static str, Measured)>> {
    let one = |location: StoreLocation| {
        let (receiver, store) = (ReceiverProcess::start()?, location.name());
        let job = Job { location, receiver: receiver.address, scenario };
        Ok((store, run_job(&super::Job::Flaky(job))?))
    };
    let empty_stores = empty_stores(folder, &format!("dispatch_{name}"))?;
    thread::scope(|scope| {
        let jobs = empty_stores.map(|location| scope.spawn(|| one(location)));
        let ended = jobs.map(|job| job.join().map_err(|_| anyhow::anyhow!("a job panicked")));
        ended.into_iter().map(|ended| ended?).collect()
    })
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Measured> {
        match self.scenario {
            Scenario::Flaky(Flaky { events, of_each, refusals, .. }) => {
                self.drain(ReceiverMode::Flaky { of_each, refusals }, events).await
            }
            Scenario::RateLimited { has_retry_after } => {
                self.drain(ReceiverMode::RateLimited { per_sec: LIMITED_PER_SEC, has_retry_after }, LIMITED_EVENTS)
                    .await
            }
            Scenario::Refusing { status } => self.refuse(status).await,
        }
    }

    async fn drain(self, mode: ReceiverMode, events: usize) -> anyhow::Result<Measured> {
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let mut node = Node::new(Fixture::open(&self.location).await?, DeliverySettings::default(), None)?;
        let webhooks = make_webhooks(node.engine(), [url(self.receiver, mode, 0)]).await?;
        fill(&self.location, &webhooks, events).await?;
        node.fixture.vacuum_analyze().await?;
        let begun_secs = process::wall_secs();
        node.start();
        loop {
            let (counts, secs) = (monitor.counts().await?, process::wall_secs() - begun_secs);
            if counts.accepted >= events as u64 || secs > WAIT_SECS_MAX {
                return Ok(Measured::Drained { secs, accepted: counts.accepted, requests: counts.requests });
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    async fn refuse(self, status: u16) -> anyhow::Result<Measured> {
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let fixture = Fixture::open(&self.location).await?;
        let source = EventSource::make(&*fixture.store).await?;
        let mut node = Node::new(fixture, DeliverySettings::default(), Some(BASE_URL.to_owned()))?;
        let webhooks =
            make_webhooks(node.engine(), [url(self.receiver, ReceiverMode::RefuseOthers { status }, 0)]).await?;
        fill(&self.location, &webhooks, REFUSED_EVENTS).await?;
        node.fixture.vacuum_analyze().await?;
        node.start();
        tokio::time::sleep(REFUSED_BEFORE).await;
        let latencies = source.push(&*node.fixture.store, &mut monitor, NEW_EVENTS, NEW_EVERY).await?;
        Ok(Measured::Waited { latencies, requests: monitor.counts().await?.requests })
    }
}
