//! Connections: how they are made, and how long each may wait for what. A broken one is replaced by the pool, so a
//! database that comes back is used again with no one doing anything.

use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::{Config, NoTls, config::SslMode};

use super::tls::{self, TlsWish};
use crate::OpenError;

/// How long a caller waits for a free connection.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long connecting may take, all addresses of the host together.
const CREATE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one address may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a look at a connection that was used before may take.
const RECYCLE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long what was sent may stay unacknowledged before the connection counts as dead.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a connection may be silent before it is asked whether it lives.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);

/// What every connection is told first. A process that is frozen inside a transaction holds its rows no longer than
/// five seconds, half of the shortest lease. Compiling statements to machine code costs more than it saves here.
const SESSION: &str = "
SET idle_in_transaction_session_timeout = '5s';
SET lock_timeout = '15s';
SET statement_timeout = '60s';
SET default_transaction_isolation = 'read committed';
SET jit = off;
";

pub(super) fn pool(url: &str, size: usize) -> Result<Pool, OpenError> {
    let wish = TlsWish::of(url)?;
    let config = config(&wish.url)?;
    let manager_config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = if wish.is_required || config.get_ssl_mode() == SslMode::Require {
        Manager::from_config(config, tls::connector(wish.roots.as_deref())?, manager_config)
    } else {
        Manager::from_config(config, NoTls, manager_config)
    };
    Pool::builder(manager)
        .max_size(size)
        .wait_timeout(Some(WAIT_TIMEOUT))
        .create_timeout(Some(CREATE_TIMEOUT))
        .recycle_timeout(Some(RECYCLE_TIMEOUT))
        .runtime(Runtime::Tokio1)
        .post_create(Hook::async_fn(|client, _| {
            Box::pin(async move { client.batch_execute(SESSION).await.map_err(HookError::Backend) })
        }))
        .build()
        .map_err(|error| OpenError::Unsuitable(error.to_string()))
}

fn config(url: &str) -> Result<Config, OpenError> {
    // The driver's message says what is wrong and does not quote the URL, which may hold a password.
    let mut config: Config = url.parse().map_err(|error| OpenError::BadUrl(super::errors::reason(&error)))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(OpenError::BadUrl("it names no host".to_owned()));
    }
    if config.get_application_name().is_none() {
        config.application_name("pirssonite");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    config.tcp_user_timeout(TCP_USER_TIMEOUT);
    config.keepalives_idle(KEEPALIVE_IDLE);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_url_is_told_without_its_password() {
        for bad in ["postgres://u:secret@h:port/d", "postgres://u:secret@h/d?nonsense=1", "secret", "postgres://"] {
            let error = config(bad).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert_eq!(config("postgres://u@h/d").unwrap().get_application_name(), Some("pirssonite"));
    }
}
