//! `pirssonite serve`, which is also what the program does when it is told nothing: polls, delivers and answers until it
//! is told to stop.

use std::{io::IsTerminal, panic::AssertUnwindSafe, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use domain::ports::{Ids, Store};
use engine::{Engine, system::SystemIds};
use futures_util::FutureExt;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::{
    open_files, service_manager,
    settings::{LogFormat, Role, Settings},
    telemetry::Telemetry,
    wiring,
};

/// How long the parts may take to end once they are told to.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long those who were told that the database is waited for may take to hear it.
const STARTING_SHUTDOWN_MAX: Duration = Duration::from_secs(1);

/// Whatever is to be logged: at `debug` the client of PostgreSQL tells the values of every statement, secrets and what people
/// read among them.
const QUIET: &str = "tokio_postgres=info,tokio_postgres::query=info";

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    start_logging(settings);
    ignore_hangups();
    open_files::raise_limit();
    // First, so that a server that cannot be makes no folder and no database.
    let listener =
        TcpListener::bind(settings.listen).await.with_context(|| format!("cannot listen on {}", settings.listen))?;
    let stop = CancellationToken::new();
    // Before the database is opened, which may take long: the first process of a container ignores what it does not handle.
    tokio::spawn(stop_on_signal(stop.clone()));
    let (listener, store) = tokio::select! {
        opened = open_store_and_answer(settings, listener, stop.child_token()) => opened?,
        () = stop.cancelled() => {
            tracing::info!("stopped");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let telemetry = settings.otlp_endpoint.as_ref();
    let telemetry = telemetry.map(|endpoint| Telemetry::start(endpoint, &SystemIds.owner())).transpose()?;
    let tracer = telemetry.as_ref().map(|telemetry| Arc::clone(&telemetry.tracer));
    let engine = wiring::build_traced_engine(settings, store, Some(listener.local_addr()?), tracer)?;
    // Before there is anything to count.
    let metrics = web::install_metrics()?;
    if let Some(telemetry) = &telemetry {
        telemetry.send_metrics(metrics.clone());
    }
    let ended = serve_until(settings, engine, metrics, listener, stop).await;
    if let Some(telemetry) = telemetry {
        telemetry.end().await;
    }
    ended
}

/// Waits for the database. Whoever asks meanwhile is told so, on the same listener, which is returned for the server itself.
async fn open_store_and_answer(
    settings: &Settings,
    listener: TcpListener,
    until_open: CancellationToken,
) -> anyhow::Result<(TcpListener, Arc<dyn Store>)> {
    let listener = listener.into_std()?;
    let starting = TcpListener::from_std(listener.try_clone()?)?;
    let limits = web::ServeLimits { shutdown_max: STARTING_SHUTDOWN_MAX, ..web::ServeLimits::default() };
    let router = web::starting_router(env!("CARGO_PKG_VERSION"));
    let answering = tokio::spawn(web::serve_within(starting, router, until_open.clone(), limits));
    let opened = wiring::wait_for_store(settings).await;
    until_open.cancel();
    answering.await??;
    Ok((TcpListener::from_std(listener)?, opened?))
}

/// Polls, delivers and answers until told to stop, or until a part of it ends by itself.
pub(super) async fn serve_until(
    settings: &Settings,
    engine: Arc<Engine>,
    metrics: web::MetricsHandle,
    listener: TcpListener,
    stop: CancellationToken,
) -> anyhow::Result<ExitCode> {
    let work = (settings.role != Role::Web).then(|| tokio::spawn(work(engine.clone(), stop.clone())));
    let served = wiring::serve(settings, engine, metrics, listener, stop.clone()).await;
    stop.cancel();
    let mut has_worked = true;
    if let Some(work) = work {
        if let Ok(ended) = tokio::time::timeout(STOP_TIMEOUT, work).await {
            has_worked = ended.unwrap_or(false);
        } else {
            tracing::warn!(seconds = STOP_TIMEOUT.as_secs(), "shutdown timed out");
        }
    }
    served?;
    tracing::info!("stopped");
    Ok(if has_worked { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Polls and delivers until it is told to stop; true if it did until then. A server that only seems to work is worse than
/// none: if that ends by itself, everything does, and whoever watches the process starts it anew.
async fn work(engine: Arc<Engine>, stop: CancellationToken) -> bool {
    let has_ended = AssertUnwindSafe(engine.run(stop.clone())).catch_unwind().await.is_ok();
    let has_worked = has_ended && stop.is_cancelled();
    if !has_worked {
        tracing::error!("background work ended");
        stop.cancel();
    }
    has_worked
}

pub(super) fn start_logging(settings: &Settings) {
    let filter = EnvFilter::new(format!("{},{QUIET}", settings.log));
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // By default a line that cannot be written is complained of on standard error, and that panics if it is
        // standard error that cannot be written to: a log that nobody reads any more must not end what is logged.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal());
    match settings.log_format {
        LogFormat::Text => logging.init(),
        LogFormat::Json => logging.json().init(),
    }
}

/// Goes on when the terminal is closed, or when a tool for log files asks to have them opened anew: the log is standard
/// error, and settings are read at the start.
fn ignore_hangups() {
    match signal(SignalKind::hangup()) {
        Ok(mut hangups) => drop(tokio::spawn(async move {
            while hangups.recv().await.is_some() {
                tracing::info!("SIGHUP ignored");
            }
        })),
        Err(error) => tracing::error!(%error, "SIGHUP handler not installed"),
    }
}

/// Stops everything at the first SIGTERM or SIGINT; a second one ends the process at once.
async fn stop_on_signal(stop: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("signal handlers not installed");
        return;
    };
    for first in [true, false] {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if !first {
            std::process::exit(130);
        }
        tracing::info!("stopping");
        service_manager::stopping();
        stop.cancel();
    }
}
