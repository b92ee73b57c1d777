//! F4: several nodes on one PostgreSQL.

use domain::account::READER;
use std::{sync::Arc, time::Duration};

use domain::{
    LeaseTime,
    ports::{Clock, Store},
};
use engine::{Engine, EngineSettings, SystemClock};
use jiff::Timestamp;
use testkit::{FreshPostgres, Gate, Page, Publisher};

use crate::{
    watched::Watched,
    world::{self, engine_on, import, rss},
};

const MINUTE: Duration = Duration::from_mins(1);

/// One that is renewed every second. It runs out only when the test moves the clock of the database.
const SHORT: Duration = Duration::from_secs(3);

struct Cluster {
    database: FreshPostgres,
    store: Arc<dyn Store>,
    publisher: Publisher,
}

impl Cluster {
    async fn start() -> Self {
        let database = testkit::fresh_postgres().await;
        let store = Arc::new(database.store.clone());
        Self { database, store, publisher: Publisher::start().await }
    }

    /// The clock of the database stands still from now on: leases do not run out because the machine is slow.
    async fn stop_clock(&self) -> Timestamp {
        let now = Timestamp::from_millisecond(SystemClock.now().as_millisecond()).unwrap();
        self.database.set_now(now).await;
        now
    }

    /// A node with connections of its own.
    async fn node(&self, lease: Duration) -> Arc<Engine> {
        let settings = EngineSettings { poll_lease: LeaseTime::new(lease).unwrap(), ..world::settings() };
        engine_on(Arc::new(self.database.another_store().await), settings)
    }

    async fn import(&self, paths: &[String]) -> Vec<domain::FeedId> {
        import(&self.store, &paths.iter().map(|path| self.publisher.url(path)).collect::<Vec<_>>()).await
    }
}

#[tokio::test]
async fn f4_nodes_never_share_a_poll() {
    let cluster = Cluster::start().await;
    let paths: Vec<String> = (0..60).map(|n| format!("/{n}")).collect();
    for path in &paths {
        cluster.publisher.set(path, Page::body(rss(&[("1", path)])));
    }
    cluster.import(&paths).await;
    let (one, two) = (cluster.node(MINUTE).await, cluster.node(MINUTE).await);
    let (one, two) = tokio::join!(one.refresh_due(), two.refresh_due());
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.polled + two.polled, one.new_entries + two.new_entries), (60, 60));
    assert_eq!(cluster.publisher.request_count(), 60);
}

#[tokio::test]
async fn f4_dead_nodes_feeds_go_to_another() {
    let cluster = Cluster::start().await;
    let start = SystemClock.now();
    cluster.database.set_now(start).await;
    cluster.publisher.set("/feed", Page::body(rss(&[("1", "One")])));
    cluster.import(&["/feed".to_owned()]).await;
    // A node claims it and is never heard of again.
    let dead = cluster.store.claim_due_polls("dead", 10, MINUTE).await.unwrap();
    assert_eq!(dead.len(), 1);
    // With about the shortest lease there is, what is held for a minute is not waited for.
    let node = cluster.node(Duration::from_millis(101)).await;
    assert_eq!(node.refresh_due().await.unwrap().polled, 0);
    assert_eq!(cluster.publisher.request_count(), 0);
    cluster.database.set_now(start + MINUTE).await;
    assert_eq!(node.refresh_due().await.unwrap().new_entries, 1);
    // What the dead one brings after all changes nothing.
    let late = domain::ingest::PollResult {
        feed_id: dead[0].feed_id,
        lease: dead[0].lease.clone(),
        claimed_at: dead[0].claimed_at,
        next_check_in: Duration::ZERO,
        next_audit_in: std::time::Duration::from_hours(24),
        due_by: None,
        adaptive_secs: 1,
        moved_to: None,
        outcome: domain::ingest::PollOutcome::Gone("late".to_owned()),
    };
    assert!(!cluster.store.finish_polls(vec![late]).await.unwrap()[0].as_ref().unwrap().applied);
}

#[tokio::test]
async fn f4_long_poll_keeps_its_lease() {
    // More than one lease.
    const BEATS: u32 = 5;
    let cluster = Cluster::start().await;
    let mut now = cluster.stop_clock().await;
    let gate = Gate::default();
    cluster.publisher.set("/feed", Page::body(rss(&[("1", "One")])).behind(&gate));
    cluster.import(&["/feed".to_owned()]).await;
    let (one, two) = (cluster.node(SHORT).await, cluster.node(SHORT).await);
    let refresh = tokio::spawn(async move { one.refresh_due().await });
    cluster.publisher.asked("/feed", 1).await;
    let client = cluster.database.client().await;
    for _ in 0..BEATS {
        now += SHORT / 3;
        cluster.database.set_now(now).await;
        let renewed = (now + SHORT).as_millisecond();
        while client.query_one("SELECT lease_until FROM feeds", &[]).await.unwrap().get::<_, i64>(0) != renewed {
            assert!(cluster.store.claim_due_polls("other", 1, SHORT).await.unwrap().is_empty());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let joined = async { two.refresh_due().await };
    let opened = async { gate.open() };
    let (other, ()) = tokio::join!(joined, opened);
    assert_eq!(other.unwrap().polled, 0);
    assert_eq!(refresh.await.unwrap().unwrap().new_entries, 1);
    assert_eq!(cluster.publisher.request_count(), 1);
}

#[tokio::test]
async fn f5_refresh_waits_for_other_node() {
    let cluster = Cluster::start().await;
    let gate = Gate::default();
    cluster.publisher.set("/feed", Page::body(rss(&[("1", "One")])).behind(&gate));
    let id = cluster.import(&["/feed".to_owned()]).await[0];
    let (one, two) = (cluster.node(MINUTE).await, cluster.node(MINUTE).await);
    let first = tokio::spawn(async move { one.refresh_feed(READER, id).await });
    cluster.publisher.asked("/feed", 1).await;
    let second = tokio::spawn(async move { two.refresh_feed(READER, id).await });
    gate.open();
    assert_eq!(first.await.unwrap().unwrap().unwrap().new_entries, 1);
    assert_eq!(second.await.unwrap().unwrap().unwrap().polled, 1);
    assert_eq!(cluster.store.feed(READER, id).await.unwrap().unwrap().unread_count, 1);
}

#[tokio::test]
async fn f4_panicking_beat_is_followed_by_another() {
    // More than one lease.
    const BEATS: usize = 6;
    let cluster = Cluster::start().await;
    let mut now = cluster.stop_clock().await;
    let gate = Gate::default();
    cluster.publisher.set("/feed", Page::body(rss(&[("1", "One")])).behind(&gate));
    cluster.import(&["/feed".to_owned()]).await;
    let store = Arc::new(Watched::new(Arc::clone(&cluster.store)));
    let mut beats = store.beats();
    let engine = engine_on(store, EngineSettings { poll_lease: LeaseTime::new(SHORT).unwrap(), ..world::settings() });
    let refresh = tokio::spawn(async move { engine.refresh_due().await });
    cluster.publisher.asked("/feed", 1).await;
    for beat in 1..=BEATS {
        let more = beats.wait_for(|beats| *beats >= beat);
        tokio::time::timeout(MINUTE, more).await.expect("the beat goes on").unwrap();
        now += SHORT / 3;
        cluster.database.set_now(now).await;
    }
    assert!(cluster.store.claim_due_polls("other", 1, SHORT).await.unwrap().is_empty());
    gate.open();
    assert_eq!(refresh.await.unwrap().unwrap().new_entries, 1);
}
