//! Waking whoever follows the change stream: in this process at once, in the others by NOTIFY.
//!
//! A hint and no more, and never part of a transaction: PostgreSQL lets transactions that notify commit only one after
//! the other. One task for each store, with a connection of its own, listens and notifies, however much changes. It ends
//! with the last clone of the store.
//!
//! Differs from the other store: SQLite has one process, which its writer wakes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, task::JoinHandle, time};
use tokio_postgres::{Client, Error, Notification};

use crate::postgres::shared::connect::Address;

const CHANNEL: &str = "pirssonite_changes";

/// How often other nodes are notified at most.
const NOTIFY_EVERY: Duration = Duration::from_millis(10);

/// How long the database may take to notify them, before it counts as away.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long it is waited before a connection that was lost is made again, and how long making one may take.
const RECONNECT_IN: Duration = Duration::from_secs(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Hints {
    /// Rises whenever something was changed, here or elsewhere.
    changed: watch::Sender<u64>,
    /// Changes when the other nodes are to be notified.
    to_notify: watch::Sender<()>,
}

impl Hints {
    /// Listens from now on, if the database can be reached; if not, as soon as it can be.
    pub(crate) async fn start(address: Address) -> Self {
        let (changed, to_notify) = (watch::Sender::new(0), watch::Sender::new(()));
        let listener = Listener { address, changed: changed.clone(), to_notify: to_notify.subscribe() };
        let connected = listener.connect().await;
        tokio::spawn(listener.run(connected));
        Self { changed, to_notify }
    }

    /// Hears of this process alone. Behind a pooler in transaction mode nobody can listen: whoever follows the change stream
    /// looks once a second anyway.
    pub(crate) fn in_process_only() -> Self {
        Self { changed: watch::Sender::new(0), to_notify: watch::Sender::new(()) }
    }

    /// Something was changed, and that is committed.
    pub(crate) fn raise(&self) {
        raise(&self.changed);
        self.to_notify.send_replace(());
    }

    /// Waits until something was changed since this returned `seen`.
    pub(crate) async fn changed_since(&self, seen: u64) -> u64 {
        let mut changed = self.changed.subscribe();
        // It never ends before: its sender is here.
        changed.wait_for(|count| *count != seen).await.map_or(seen, |count| *count)
    }
}

fn raise(changed: &watch::Sender<u64>) {
    changed.send_modify(|count| *count = count.wrapping_add(1));
}

struct Listener {
    address: Address,
    changed: watch::Sender<u64>,
    to_notify: watch::Receiver<()>,
}

/// A connection that listens.
struct Connected {
    client: Client,
    listening: JoinHandle<()>,
}

impl Listener {
    async fn run(mut self, mut connected: Option<Connected>) {
        loop {
            let is_over = match connected.take() {
                Some(Connected { client, listening }) => tokio::select! {
                    is_over = self.notify(&client) => is_over,
                    _ = listening => false,
                },
                None => false,
            };
            if is_over || self.pause().await {
                return;
            }
            connected = self.connect().await;
            if connected.is_some() {
                // Nobody knows what was not heard meanwhile, here and elsewhere.
                raise(&self.changed);
                self.to_notify.mark_changed();
            }
        }
    }

    /// `None` if the database cannot be reached now.
    async fn connect(&self) -> Option<Connected> {
        match time::timeout(CONNECT_TIMEOUT, self.try_connect()).await {
            Ok(Ok(connected)) => Some(connected),
            Ok(Err(error)) => {
                tracing::debug!(
                    error = crate::postgres::shared::errors::reason(&error),
                    "change listener not connected"
                );
                None
            }
            Err(_) => None,
        }
    }

    async fn try_connect(&self) -> Result<Connected, Error> {
        let (changed, own) = (self.changed.clone(), Arc::new(AtomicI32::new(0)));
        let own_pid = Arc::clone(&own);
        let heard = move |notification: &Notification| {
            // What this connection sent is known here.
            if notification.process_id() != own.load(Ordering::Relaxed) {
                raise(&changed);
            }
        };
        let (client, listening) = self.address.listen(heard).await?;
        let row = client.query_one("SELECT pg_backend_pid()", &[]).await?;
        own_pid.store(row.get(0), Ordering::Relaxed);
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        Ok(Connected { client, listening })
    }

    /// Notifies the other nodes whenever there is a change. True once nobody is left who could make one, false if they
    /// cannot be notified.
    async fn notify(&mut self, client: &Client) -> bool {
        let statement = format!("NOTIFY {CHANNEL}");
        loop {
            if self.to_notify.changed().await.is_err() {
                return true;
            }
            match time::timeout(NOTIFY_TIMEOUT, client.batch_execute(&statement)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return false,
            }
            time::sleep(NOTIFY_EVERY).await;
        }
    }

    /// Waits before the next try. True once there is nobody left to listen for.
    async fn pause(&mut self) -> bool {
        let is_over = async { while self.to_notify.changed().await.is_ok() {} };
        time::timeout(RECONNECT_IN, is_over).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use testkit::fresh_postgres;

    use super::*;

    #[tokio::test]
    async fn d4_many_changes_are_few_notifications() {
        const CHANGES: u64 = 1000;
        let database = fresh_postgres().await;
        let hints = || async { Hints::start(Address::of(database.url(), CONNECT_TIMEOUT).unwrap()).await };
        let (one, two) = (hints().await, hints().await);
        for _ in 0..CHANGES {
            one.raise();
        }
        assert_eq!(one.changed_since(0).await, CHANGES);
        two.changed_since(0).await;
        // What another sends after that is heard after that.
        two.raise();
        assert_eq!(one.changed_since(CHANGES).await, CHANGES + 1);
        assert!(two.changed_since(0).await <= 3, "once or twice, and its own");
    }
}
