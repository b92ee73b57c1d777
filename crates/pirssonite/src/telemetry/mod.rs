//! OpenTelemetry: traces and metrics, sent to a collector by OTLP over HTTP, in its JSON form. Where `otlp_endpoint` is not
//! set there is nothing of it.
//!
//! What waits is bounded, and dropped when the collector is away: it never holds up what it reports.

mod metrics;
mod spans;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::trace::{Span, Tracer};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::wiring;

/// Steps that wait to be sent, at most; what is beyond is dropped.
const SPANS_WAITING_MAX: usize = 8_192;
/// Steps in one request.
const SPANS_SENT_MAX: usize = 512;
/// How long the first step of a request waits for others.
const SPANS_WAIT: Duration = Duration::from_secs(1);
/// How often metrics are sent.
const METRICS_EVERY: Duration = Duration::from_secs(15);
/// How long the collector may take, and what is left at the end.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Hands steps to the task that sends them.
#[derive(Debug)]
struct SpanQueue(mpsc::Sender<Span>);

impl Tracer for SpanQueue {
    fn record(&self, span: Span) {
        if self.0.try_send(span).is_err() {
            tracing::debug!("span dropped");
        }
    }
}

/// What is sent to a collector, for as long as the server runs.
pub(crate) struct Telemetry {
    pub(crate) tracer: Arc<dyn Tracer>,
    exporter: Exporter,
    stop: CancellationToken,
    spans: JoinHandle<()>,
}

impl Telemetry {
    pub(crate) fn start(endpoint: &Url, instance: &str) -> anyhow::Result<Self> {
        let (spans, waiting) = mpsc::channel(SPANS_WAITING_MAX);
        let (exporter, stop) = (Exporter::new(endpoint, instance)?, CancellationToken::new());
        let sending = tokio::spawn(send_spans(exporter.clone(), waiting, stop.clone()));
        Ok(Self { tracer: Arc::new(SpanQueue(spans)), exporter, stop, spans: sending })
    }

    /// Sends metrics too, from now on.
    pub(crate) fn send_metrics(&self, handle: web::MetricsHandle) {
        let exporter = Exporter { is_failing: Arc::default(), ..self.exporter.clone() };
        let (stop, begun) = (self.stop.clone(), wiring::now());
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(METRICS_EVERY);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = ticks.tick() => {}
                }
                let metrics = metrics::to_otlp(&handle.render(), begun, wiring::now());
                exporter.send("metrics", &exporter.metrics_body(&metrics)).await;
            }
        });
    }

    /// Sends what still waits.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        if timeout(STOP_TIMEOUT, self.spans).await.is_err() {
            tracing::warn!("spans not sent before the end");
        }
    }
}

/// The collector, and who we are to it.
#[derive(Clone)]
struct Exporter {
    client: reqwest::Client,
    endpoint: String,
    resource: Value,
    /// Whether the last request was not taken: only the first of several is told of.
    is_failing: Arc<AtomicBool>,
}

impl Exporter {
    fn new(endpoint: &Url, instance: &str) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().no_proxy().timeout(SEND_TIMEOUT).build()?;
        let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
        let resource = json!({ "attributes": [
            text("service.name", "pirssonite"),
            text("service.version", env!("CARGO_PKG_VERSION")),
            text("service.instance.id", instance),
        ] });
        let endpoint = endpoint.as_str().trim_end_matches('/').to_owned();
        Ok(Self { client, endpoint, resource, is_failing: Arc::default() })
    }

    fn spans_body(&self, spans: &[Span]) -> Value {
        let spans: Vec<Value> = spans.iter().map(spans::to_otlp).collect();
        let scope = json!({ "scope": { "name": "pirssonite" }, "spans": spans });
        json!({ "resourceSpans": [{ "resource": self.resource, "scopeSpans": [scope] }] })
    }

    fn metrics_body(&self, metrics: &[Value]) -> Value {
        let scope = json!({ "scope": { "name": "pirssonite" }, "metrics": metrics });
        json!({ "resourceMetrics": [{ "resource": self.resource, "scopeMetrics": [scope] }] })
    }

    /// Sends one request. What is not taken is lost: the next is newer.
    async fn send(&self, what: &str, body: &Value) {
        let request = self.client.post(format!("{}/v1/{what}", self.endpoint));
        let sent = request.header("content-type", "application/json").body(body.to_string()).send().await;
        let sent = sent.and_then(reqwest::Response::error_for_status);
        let was_failing = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match sent {
            Ok(_) if was_failing => tracing::info!(what, "collector reached again"),
            Ok(_) => {}
            Err(error) if was_failing => tracing::debug!(what, error = %error.without_url(), "collector not reached"),
            Err(error) => tracing::warn!(what, error = %error.without_url(), "collector not reached"),
        }
    }
}

async fn send_spans(exporter: Exporter, mut waiting: mpsc::Receiver<Span>, stop: CancellationToken) {
    let mut spans = Vec::with_capacity(SPANS_SENT_MAX);
    loop {
        tokio::select! {
            () = stop.cancelled() => waiting.close(),
            () = gather(&mut waiting, &mut spans) => {}
        }
        // What came after the last look, once nothing more can.
        while spans.len() < SPANS_SENT_MAX
            && let Ok(span) = waiting.try_recv()
        {
            spans.push(span);
        }
        if spans.is_empty() && (waiting.is_closed() || stop.is_cancelled()) {
            return;
        }
        if !spans.is_empty() {
            exporter.send("traces", &exporter.spans_body(&spans)).await;
            spans.clear();
        }
    }
}

/// Waits for steps: for the first, and then a while for others.
async fn gather(waiting: &mut mpsc::Receiver<Span>, spans: &mut Vec<Span>) {
    let Some(first) = waiting.recv().await else { return };
    spans.push(first);
    let more = async {
        while spans.len() < SPANS_SENT_MAX
            && let Some(span) = waiting.recv().await
        {
            spans.push(span);
        }
    };
    let _ = timeout(SPANS_WAIT, more).await;
}

/// A time as OTLP has it: nanoseconds since 1970, as a text.
fn nanos(at: Timestamp) -> String {
    at.as_nanosecond().to_string()
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Mutex};

    use testkit::Receiver;

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn p5_a_collector_that_is_away_is_told_of_once() {
        // It can only fail if there is one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let _guard = tracing::subscriber::set_default(subscriber);
        let away = Exporter::new(&Url::parse("http://127.0.0.1:1/").unwrap(), "here").unwrap();
        let collector = Receiver::start().await;
        let there = Exporter { endpoint: collector.url(""), ..away.clone() };
        for exporter in [&away, &away, &away, &there, &there, &away] {
            exporter.send("traces", &json!({})).await;
        }
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let told = ["collector not reached", "collector reached again"].map(|line| log.matches(line).count());
        assert_eq!(told, [2, 1], "{log}");
    }
}
