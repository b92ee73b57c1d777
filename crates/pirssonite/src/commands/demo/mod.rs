//! `pirssonite demo`: a server on a data folder of its own, with a publisher, a hub and a receiver of webhooks on loopback.
//! A newcomer without a network sees posts travel from push to page to webhook, and what happens when a part fails. It
//! touches nobody's data, listens to nobody's settings, and leaves nothing behind.
//!
//! ```text
//! publisher ─> hub ─> server ─> receiver        (routes: all but the server, on one address, with a control page)
//!     ^───────────────── polls
//! ```

mod contents;
mod documents;
mod folder;
mod follow;
mod hub;
mod pictures;
mod publisher;
mod receiver;
mod routes;
mod sounds;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use engine::Engine;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::{
    folder::DemoFolder,
    hub::Hub,
    publisher::Publisher,
    receiver::Receiver,
    routes::{Stage, WEBHOOK_PATH},
};
use super::{print_line, serve};
use crate::{
    backend,
    settings::{Flags, Settings, SettingsError, duration_from},
    wiring,
};

/// The least that `--every` takes.
const EVERY_MIN: Duration = Duration::from_millis(100);

/// How long the hub waits for the server.
const HUB_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the server may take to end; then the folder goes all the same.
const STOP_MAX: Duration = Duration::from_secs(10);

/// How posts are published.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How often a post is published.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = every)]
    every: Duration,
}

fn every(text: &str) -> Result<Duration, String> {
    duration_from(text, EVERY_MIN, "100ms")
}

pub(crate) async fn run(arguments: &Arguments, flags: &Flags) -> anyhow::Result<ExitCode> {
    let settings = Settings::of_demo(flags)?;
    if !settings.listen.ip().is_loopback() {
        let why = "the demo has no password, and is for this machine alone: listen on a loopback address";
        return Err(SettingsError::Together(why.to_owned()).into());
    }
    serve::start_logging(&settings);
    // Before there is anything that would be left behind.
    let signals = Signals::install()?;
    let listener = bind(settings.listen, flags.sets("listen")).await?;
    folder::remove_leftovers();
    let folder = DemoFolder::make()?;
    let stop = CancellationToken::new();
    tokio::spawn(signals.stop(stop.clone(), folder.path().to_owned()));
    let ended = play(arguments, settings, listener, folder.path(), stop).await;
    let removed = folder.remove().with_context(|| format!("cannot remove {}", folder.path().display()));
    let code = ended?;
    removed?;
    Ok(code)
}

/// Where the server listens. If nobody has named a place, and the usual one is taken, any free one will do.
async fn bind(listen: SocketAddr, is_named: bool) -> anyhow::Result<TcpListener> {
    match TcpListener::bind(listen).await {
        Err(_) if !is_named => Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?),
        bound => bound.with_context(|| format!("cannot listen on {listen}")),
    }
}

/// The demo, until it is told to stop.
async fn play(
    arguments: &Arguments,
    settings: Settings,
    listener: TcpListener,
    folder: &Path,
    stop: CancellationToken,
) -> anyhow::Result<ExitCode> {
    let server_url = backend::url_of(listener.local_addr()?);
    let settings = demo_settings(settings, arguments.every, &server_url, folder)?;
    let store = wiring::open_store(&settings).await?;
    let engine = wiring::build_engine(&settings, store, Some(listener.local_addr()?))?;

    let beside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let stage = stage(beside.local_addr()?, server_url, arguments.every)?;
    // It ends after the server, which may still be delivering to it.
    let stop_beside = CancellationToken::new();
    let beside = tokio::spawn(web::serve(beside, routes::router(Arc::clone(&stage)), stop_beside.clone()));
    let serving = serve::serve_until(&settings, Arc::clone(&engine), web::install_metrics()?, listener, stop.clone());
    let publishing = async {
        let published = prepare_and_publish(&stage, engine, &stop).await;
        stop.cancel();
        published
    };
    let serving = async {
        tokio::pin!(serving);
        tokio::select! {
            served = &mut serving => served,
            () = async { stop.cancelled().await; tokio::time::sleep(STOP_MAX).await } => Ok(ExitCode::SUCCESS),
        }
    };
    let (served, published) = tokio::join!(serving, publishing);
    stop_beside.cancel();
    beside.await??;
    published?;
    served
}

/// The publisher, the hub and the receiver.
fn stage(address: SocketAddr, server_url: String, every: Duration) -> anyhow::Result<Arc<Stage>> {
    let base_url = format!("http://{address}");
    let client = reqwest::Client::builder().no_proxy().timeout(HUB_TIMEOUT).build()?;
    Ok(Arc::new(Stage {
        address,
        publisher: Publisher::new(base_url.clone(), contents::read(), wiring::now()),
        hub: Hub::new(base_url.clone(), &server_url, client),
        receiver: Receiver::default(),
        base_url,
        server_url,
        every,
    }))
}

/// Follows the feeds, says where everything is, and publishes until told to stop.
async fn prepare_and_publish(stage: &Stage, engine: Arc<Engine>, stop: &CancellationToken) -> anyhow::Result<()> {
    let prepare = async {
        let server = backend::in_process(engine);
        let secret = follow::add_webhook(&*server, &format!("{}{WEBHOOK_PATH}", stage.base_url)).await?;
        stage.receiver.set_secret(secret);
        follow::add_feeds(&*server, &stage.publisher.feeds()).await?;
        // From now on: a feed that cannot be fetched cannot be added.
        stage.publisher.set_press_broken(true);
        announce(stage)
    };
    tokio::select! {
        () = stop.cancelled() => return Ok(()),
        prepared = prepare => prepared?,
    }
    let mut turns = tokio::time::interval(stage.every);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ = turns.tick() => stage.publish(),
        }
    }
}

fn announce(stage: &Stage) -> anyhow::Result<()> {
    print_line(&format!("the reader:         {}/", stage.server_url))?;
    print_line(&format!("behind the scenes:  {}/", stage.base_url))?;
    print_line(&format!("a post is published every {:?}: open both, and see it travel", stage.every))?;
    print_line("Ctrl-C ends the demo, and nothing of it stays")
}

/// As quick as the posts come: what takes a day in earnest takes a minute here, and is the same otherwise.
fn demo_settings(base: Settings, every: Duration, server_url: &str, folder: &Path) -> anyhow::Result<Settings> {
    let mut settings = Settings {
        data_dir: folder.to_owned(),
        base_url: Some(Url::parse(server_url)?),
        allow_networks: vec!["127.0.0.0/8".parse()?, "::1/128".parse()?],
        poll_min: every * 2,
        poll_max: every * 4,
        push_audit: every * 3,
        push_may_take: every,
        ..base
    };
    settings.delivery.retry.first = every;
    settings.delivery.retry.max = every * 6;
    settings.delivery.breaker.probe_first = every;
    settings.delivery.breaker.probe_max = every * 3;
    Ok(settings)
}

/// What ends the demo: Ctrl-C, a service manager, or a terminal that is closed.
struct Signals([Signal; 3]);

impl Signals {
    fn install() -> std::io::Result<Self> {
        Ok(Self([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?]))
    }

    /// Stops everything at the first; at the second the process ends at once, and its folder with it.
    async fn stop(self, stop: CancellationToken, folder: std::path::PathBuf) {
        let Self([mut interrupt, mut terminate, mut hangup]) = self;
        for first in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if first {
                stop.cancel();
            } else {
                let _ = std::fs::remove_dir_all(folder);
                std::process::exit(130);
            }
        }
    }
}
