//! A node that delivers, as the program does: with its metrics, and with what else it does in the background.

use std::sync::Arc;

use engine::{DeliverySettings, Engine, EngineSettings, PushSettings};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::receiver::ReceiverMonitor;
use crate::{fixture::Fixture, push::usage::Usage};

/// It stops when it is told to, or with its process.
pub(super) struct Node {
    pub(super) fixture: Fixture,
    engine: Arc<Engine>,
    metrics: Box<dyn Fn() -> String + Send + Sync>,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

impl Node {
    pub(super) fn new(fixture: Fixture, delivery: DeliverySettings, base_url: Option<String>) -> anyhow::Result<Self> {
        let push = PushSettings { base_url, ..PushSettings::default() };
        let engine = fixture.engine_of(EngineSettings { delivery, push, ..EngineSettings::default() })?;
        let metrics = web::install_metrics()?;
        Ok(Self {
            fixture,
            engine,
            metrics: Box::new(move || metrics.render()),
            stop: CancellationToken::new(),
            running: None,
        })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn start(&mut self) {
        self.running = Some(tokio::spawn(Arc::clone(&self.engine).run(self.stop.clone())));
    }

    /// Ends what is being sent; where that hangs, nobody waits for it.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.stop.cancel();
        if let Some(running) = self.running {
            running.await?;
        }
        Ok(())
    }

    pub(super) async fn counters(&self, monitor: &mut ReceiverMonitor) -> anyhow::Result<Counters> {
        Ok(Counters {
            requests: monitor.counts().await?.requests,
            commits: self.fixture.commits().await?,
            beats: self.metric(r#"pirssonite_delivery_beats_total{outcome="renewed"}"#),
            lost: self.metric("pirssonite_delivery_leases_lost_total"),
            usage: Usage::now(Some(&self.fixture))?,
        })
    }

    /// What the program says of itself under this name; nothing is zero.
    pub(super) fn metric(&self, name: &str) -> f64 {
        let text = (self.metrics)();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or(0.0)
    }
}

/// Counters that only rise; between two readings of them, what happened meanwhile.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(super) usage: Usage,
    pub(super) commits: f64,
    pub(super) beats: f64,
    pub(super) lost: f64,
    /// That arrived at the receiver.
    pub(super) requests: u64,
}

impl Counters {
    pub(super) fn since(self, start: Self) -> Self {
        Self {
            usage: self.usage.since(start.usage),
            commits: self.commits - start.commits,
            beats: self.beats - start.beats,
            lost: self.lost - start.lost,
            requests: self.requests - start.requests,
        }
    }

    /// Two stretches as one.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            usage: Usage {
                wall_secs: self.usage.wall_secs + other.usage.wall_secs,
                cpu_secs: self.usage.cpu_secs + other.usage.cpu_secs,
                database_cpu_secs: self.usage.database_cpu_secs + other.usage.database_cpu_secs,
                peak_bytes: other.usage.peak_bytes,
            },
            commits: self.commits + other.commits,
            beats: self.beats + other.beats,
            lost: self.lost + other.lost,
            requests: self.requests + other.requests,
        }
    }

    pub(super) fn a_second(&self, count: f64) -> f64 {
        count / self.usage.wall_secs
    }

    /// Requests as a number to divide by.
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    pub(super) fn requests(&self) -> f64 {
        self.requests as f64
    }
}
