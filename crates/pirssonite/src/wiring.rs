//! Puts the parts together: the one place that names a concrete store, client and clock.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use domain::{
    account::{AccountPatch, READER, READER_NAME},
    ports::{AccountOutcome, Clock, PruneLimits, Store, StoreError},
    push::RenewalRules,
    schedule::Bounds,
    trace::Tracer,
};
use engine::{
    Deps, Engine, EngineSettings, PictureSettings, Pictures, PushSettings,
    http::{ClientSettings, GuardedClient, OwnServer, user_agent},
    system::{SteadyClock, SystemClock, SystemIds},
};
use jiff::Timestamp;
use store::{OpenError, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, transfer::Place};
use tokio_util::sync::CancellationToken;
use web::{AppState, WebSettings};

use crate::{
    backend, open_files, service_manager,
    settings::{Role, Settings},
};

/// Entries that are pruned in one go.
const PRUNE_CHUNK: u32 = 500;

/// How long a server waits at its start for a database that does not answer, and how often it asks.
const START_WAIT_MAX: Duration = Duration::from_mins(10);
const START_WAIT: Duration = Duration::from_secs(2);

/// The embedded database, in the data folder.
const DATABASE: &str = "pirssonite.db";

/// The file of the embedded database. The store would take a data folder called `feeds.db` for a file; named in full,
/// it is one.
pub(crate) fn database_file(settings: &Settings) -> PathBuf {
    database_in(&settings.data_dir)
}

/// The same of any data folder.
pub(crate) fn database_in(folder: &Path) -> PathBuf {
    folder.join(DATABASE)
}

/// Where the database is that the settings name.
pub(crate) fn place(settings: &Settings) -> Place {
    match &settings.database_url {
        Some(url) => Place::Postgres(url.0.clone()),
        None => Place::Sqlite(database_file(settings)),
    }
}

/// Opens the store that the settings name, ready for use.
pub(crate) async fn open_store(settings: &Settings) -> anyhow::Result<Arc<dyn Store>> {
    if let Some(url) = &settings.database_url {
        let options = PostgresOptions { pool_size: settings.database_connections, ..PostgresOptions::default() };
        let store = PostgresStore::connect(&url.0, options).await.context("cannot use the database of database_url")?;
        return Ok(Arc::new(store));
    }
    let clock: Arc<dyn Clock> = Arc::new(SteadyClock::default());
    let store = SqliteStore::open(&database_file(settings), SqliteOptions::default(), clock)
        .with_context(|| format!("cannot use the data folder {}", settings.data_dir.display()))?;
    Ok(Arc::new(store))
}

/// The same for a server, with its logins checked. A PostgreSQL that does not answer now is waited for: it may be about to
/// change hosts.
pub(crate) async fn wait_for_store(settings: &Settings) -> anyhow::Result<Arc<dyn Store>> {
    let end = tokio::time::Instant::now() + START_WAIT_MAX;
    let is_waited_for = |error: &anyhow::Error| {
        settings.database_url.is_some() && is_unavailable(error) && tokio::time::Instant::now() < end
    };
    loop {
        match open_and_check(settings).await {
            Err(error) if is_waited_for(&error) => {
                tracing::warn!(error = format!("{error:#}"), "waiting for the database");
            }
            opened => return opened,
        }
        tokio::time::sleep(START_WAIT).await;
    }
}

async fn open_and_check(settings: &Settings) -> anyhow::Result<Arc<dyn Store>> {
    let store = open_store(settings).await?;
    check_logins(settings, &*store).await?;
    Ok(store)
}

fn is_unavailable(error: &anyhow::Error) -> bool {
    let is_at_start = |error: &anyhow::Error| {
        error.chain().any(|cause| matches!(cause.downcast_ref(), Some(OpenError::Unavailable(_))))
    };
    is_at_start(error) || matches!(error.downcast_ref(), Some(StoreError::Unavailable(_)))
}

/// Gives the reader the password of the first start, if there is one and no account has any. Then looks whether the
/// server may be reached by whom it can be.
async fn check_logins(settings: &Settings, store: &dyn Store) -> anyhow::Result<()> {
    let mut has_passwords = store.has_passwords().await?;
    if let (false, Some(password)) = (has_passwords, &settings.first_password) {
        let password_hash = Some(web::hash_password(&password.0, &SystemIds)?);
        let patch = AccountPatch { password_hash, ..AccountPatch::default() };
        let outcome = store.update_account(READER, patch).await?;
        has_passwords = matches!(outcome, AccountOutcome::Done(_));
        tracing::info!(account = READER_NAME, is_set = has_passwords, "first password");
    }
    Ok(settings.check_reach(has_passwords)?)
}

/// The engine over a store, of a server that listens there.
pub(crate) fn build_engine(
    settings: &Settings,
    store: Arc<dyn Store>,
    listen: Option<SocketAddr>,
) -> anyhow::Result<Arc<Engine>> {
    build_traced_engine(settings, store, listen, None)
}

/// The same, with whoever records its traces.
pub(crate) fn build_traced_engine(
    settings: &Settings,
    store: Arc<dyn Store>,
    listen: Option<SocketAddr>,
    tracer: Option<Arc<dyn Tracer>>,
) -> anyhow::Result<Arc<Engine>> {
    let client = GuardedClient::new(client_settings(settings, listen))?;
    Ok(Engine::new(Deps {
        store,
        http: Arc::new(client),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        settings: EngineSettings {
            bounds: Bounds { min: settings.poll_min, max: settings.poll_max },
            host_concurrency: settings.host_concurrency,
            poll_concurrency: settings.poll_concurrency,
            prune: PruneLimits {
                read_older_than: settings.prune_after,
                unread_older_than: settings.prune_unread_after,
                per_feed: settings.prune_beyond,
                chunk: PRUNE_CHUNK,
            },
            icons: settings.feed_icons,
            push: push_settings(settings),
            delivery: settings.delivery.clone(),
            tracer,
            ..EngineSettings::default()
        },
    }))
}

/// How strangers are asked.
fn client_settings(settings: &Settings, listen: Option<SocketAddr>) -> ClientSettings {
    let default = ClientSettings::default();
    ClientSettings {
        user_agent: user_agent(settings.base_url.as_ref()),
        allow_networks: settings.allow_networks.clone(),
        own: OwnServer { listen, base_url: settings.base_url.clone() },
        host_concurrency: Some(settings.host_concurrency),
        proxy: settings.proxy.clone(),
        // A receiver may say nothing for as long as its answer may take. Others have time limits of their own.
        read_timeout: default.read_timeout.max(settings.delivery.timeout),
        ..default
    }
}

/// How push is set. With a base URL it is on.
fn push_settings(settings: &Settings) -> PushSettings {
    PushSettings {
        base_url: settings.hubs_reach_us_at(),
        rules: RenewalRules { renew_before: settings.renew_before },
        lease_secs: settings.hub_lease,
        audit: settings.push_audit,
        push_may_take: settings.push_may_take,
        algorithms: settings.push_algorithms.clone(),
        known_hubs: settings.known_hubs.clone(),
        ..PushSettings::default()
    }
}

/// Where pictures are kept that are fetched in the place of browsers.
const PICTURES: &str = "pictures";

/// What fetches pictures in the place of browsers, if that is wanted.
fn pictures(settings: &Settings, engine: &Engine) -> anyhow::Result<Option<Arc<Pictures>>> {
    if !settings.image_proxy {
        return Ok(None);
    }
    let folder = settings.data_dir.join(PICTURES);
    let cache_bytes_max = u64::from(settings.image_cache_mb) * 1_000_000;
    let opened = engine.open_pictures(&PictureSettings { folder: folder.clone(), cache_bytes_max });
    Ok(Some(opened.with_context(|| format!("image_proxy cannot keep pictures in {}", folder.display()))?))
}

/// Answers requests until told to stop. A worker answers only what an operator asks it.
pub(crate) async fn serve(
    settings: &Settings,
    engine: Arc<Engine>,
    metrics: web::MetricsHandle,
    listener: tokio::net::TcpListener,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    tokio::spawn(web::keep_metrics_small(metrics.clone(), stop.clone()));
    let (listen, store) = (listener.local_addr()?, engine.store().kind());
    let web_settings = WebSettings {
        base_url: settings.base_url.clone(),
        pushes_per_minute: settings.push_rate,
        no_auth: settings.no_auth,
        trusted_proxies: settings.trusted_proxies.clone(),
        auth_proxy_header: settings.auth_proxy_header.clone(),
        pictures: pictures(settings, &engine)?,
        streams_max: WebSettings::default().streams_max.min(open_files::streams_max()),
        ..WebSettings::default()
    };
    let state = AppState::new(engine, metrics, web_settings, &SystemIds, env!("CARGO_PKG_VERSION"));
    if settings.role == Role::Worker {
        tracing::info!(%listen, store, role = ?settings.role, "serving");
        service_manager::ready();
        return Ok(web::serve(listener, web::operations_router(state), stop).await?);
    }
    backend::announce(settings, listen, state.instance(), state.server_token())
        .context("cannot write into the data folder")?;
    // Not before the commands find it. Terminals make the address one to click on.
    tracing::info!(%listen, store, role = ?settings.role, "serving: open {}/", backend::url_of(listen));
    service_manager::ready();
    let served = web::serve(listener, web::router(state), stop).await;
    backend::withdraw(settings);
    Ok(served?)
}

/// Now, for commands that ask what is due.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn d8_u4_read_timeout_covers_delivery_timeout() {
        for (set, seconds) in [(&[][..], 20), (&["--delivery-timeout", "5s"], 20), (&["--delivery-timeout", "60s"], 60)]
        {
            let settings = Settings::of_flags(set);
            assert_eq!(client_settings(&settings, None).read_timeout, Duration::from_secs(seconds), "{set:?}");
        }
    }
}
