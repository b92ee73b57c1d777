//! An engine on a fresh store, and a publisher for it to ask.

use domain::account::READER;
use std::{sync::Arc, time::Duration};

use domain::{
    Entry, EntryFilter, Feed, FeedId, FeedSeed,
    feed_state::FeedAddress,
    ports::{Clock, Http, ImportOutcome, Store},
};
use engine::{
    AddFeed, Deps, Engine, EngineSettings, RefreshSummary, SystemClock, SystemIds,
    http::{ClientSettings, GuardedClient},
};
use jiff::Timestamp;
use testkit::{FreshPostgres, FreshSqlite, Publisher, SimulatedClock};

/// All that a test needs. The store goes with it.
pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) publisher: Publisher,
    pub(crate) store: Arc<dyn Store>,
    /// The clock of the engine, which shows the system's time until it is stopped.
    clock: SimulatedClock,
    database: Database,
}

/// Where the store is, and how its time is set.
enum Database {
    Sqlite(FreshSqlite),
    Postgres(FreshPostgres),
}

/// One world for each kind of store.
pub(crate) async fn each() -> Vec<World> {
    each_with(settings()).await
}

/// The same, with an engine that is set so.
pub(crate) async fn each_with(settings: EngineSettings) -> Vec<World> {
    let sqlite = Database::Sqlite(testkit::fresh_sqlite().await);
    let postgres = Database::Postgres(testkit::fresh_postgres().await);
    vec![world(sqlite, settings.clone()).await, world(postgres, settings).await]
}

async fn world(database: Database, settings: EngineSettings) -> World {
    let (store, clock): (Arc<dyn Store>, _) = match &database {
        Database::Sqlite(sqlite) => (Arc::new(sqlite.store.clone()), sqlite.clock.clone()),
        Database::Postgres(postgres) => (Arc::new(postgres.store.clone()), SimulatedClock::default()),
    };
    let engine = engine_with_clock(Arc::clone(&store), Arc::new(clock.clone()), settings);
    World { engine, publisher: Publisher::start().await, store, clock, database }
}

/// An engine on a store that may ask loopback.
pub(crate) fn engine_on(store: Arc<dyn Store>, settings: EngineSettings) -> Arc<Engine> {
    engine_with_clock(store, Arc::new(SystemClock), settings)
}

fn engine_with_clock(store: Arc<dyn Store>, clock: Arc<dyn Clock>, settings: EngineSettings) -> Arc<Engine> {
    let http = Arc::new(client(&settings));
    Engine::new(Deps { store, http, clock, ids: Arc::new(SystemIds), settings })
}

fn client(settings: &EngineSettings) -> GuardedClient {
    let client = ClientSettings {
        allow_networks: vec!["127.0.0.0/8".parse().unwrap()],
        // Only the limits of the settings count.
        connect_timeout: settings.fetch_timeout.max(settings.delivery.timeout),
        read_timeout: settings.fetch_timeout.max(settings.delivery.timeout),
        ..ClientSettings::default()
    };
    GuardedClient::new(client).unwrap()
}

/// Settings under which nothing takes long, and no publisher is given up however long it takes: answers wait behind
/// gates.
pub(crate) fn settings() -> EngineSettings {
    EngineSettings { stop_wait: Duration::ZERO, fetch_timeout: Duration::from_mins(10), ..EngineSettings::default() }
}

impl World {
    /// What the clocks of the store and the engine show, to the millisecond, as the store keeps it.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.clock.now().as_millisecond()).unwrap()
    }

    /// Another engine on the same store and clock, whose requests go through something.
    pub(crate) fn engine_through<H: Http + 'static>(&self, through: impl FnOnce(GuardedClient) -> H) -> Arc<Engine> {
        let settings = settings();
        let http = Arc::new(through(client(&settings)));
        let (store, clock) = (Arc::clone(&self.store), Arc::new(self.clock.clone()));
        Engine::new(Deps { store, http, clock, ids: Arc::new(SystemIds), settings })
    }

    /// Both clocks stand still from now on.
    pub(crate) async fn stop_clocks(&self) {
        self.advance(Duration::ZERO).await;
    }

    /// Both clocks move on by so much, and stand still.
    pub(crate) async fn advance(&self, by: Duration) {
        self.set_clocks(self.now() + by).await;
    }

    /// Both clocks are set back by so much, and stand still.
    pub(crate) async fn set_back(&self, by: Duration) {
        self.set_clocks(self.now() - by).await;
    }

    async fn set_clocks(&self, now: Timestamp) {
        self.clock.set(now);
        if let Database::Postgres(postgres) = &self.database {
            postgres.set_now(now).await;
        }
    }

    /// Takes in feeds that were never fetched, due at once.
    pub(crate) async fn import(&self, paths: &[&str]) -> Vec<FeedId> {
        let urls: Vec<String> = paths.iter().map(|path| self.publisher.url(path)).collect();
        import(&self.store, &urls).await
    }

    pub(crate) async fn feed(&self, id: FeedId) -> Feed {
        self.store.feed(READER, id).await.unwrap().expect("the feed is there")
    }

    pub(crate) async fn entries(&self, id: FeedId) -> Vec<Entry> {
        let filter = EntryFilter { feed_id: Some(id), ..EntryFilter::default() };
        let mut entries = self.store.entries(READER, &filter, 500, None).await.unwrap().entries;
        entries.sort_by(|a, b| a.guid.cmp(&b.guid));
        entries
    }

    pub(crate) async fn titles(&self, id: FeedId) -> Vec<String> {
        self.entries(id).await.into_iter().map(|entry| entry.title.unwrap_or_default()).collect()
    }

    pub(crate) async fn refresh(&self, id: FeedId) -> RefreshSummary {
        self.engine.refresh_feed(READER, id).await.unwrap().expect("the feed is there")
    }

    /// What is asked to be added by a path.
    pub(crate) fn new_feed(&self, path: &str) -> AddFeed {
        AddFeed { account: READER, url: self.publisher.url(path), folder_id: None, title: None }
    }

    /// The seconds from now to a feed's next poll, for a test that has stopped the clocks.
    pub(crate) fn due_in(&self, feed: &Feed) -> i64 {
        feed.next_check_at.duration_since(self.now()).as_secs()
    }

    pub(crate) async fn feed_count(&self) -> usize {
        self.store.feeds(READER).await.unwrap().len()
    }
}

/// So many in a transaction: on a machine that is busy, PostgreSQL ends one that makes it wait for long.
const IMPORTED_AT_ONCE: usize = 500;

/// Takes in feeds that were never fetched, due at once.
pub(crate) async fn import(store: &Arc<dyn Store>, urls: &[String]) -> Vec<FeedId> {
    let seed = |url: &String| FeedSeed::new(FeedAddress::parse(url).unwrap());
    let mut outcomes = Vec::new();
    for piece in urls.chunks(IMPORTED_AT_ONCE) {
        outcomes.extend(store.import_feeds(READER, piece.iter().map(seed).collect()).await.unwrap());
    }
    let id = |outcome| match outcome {
        ImportOutcome::Imported(id) => id,
        ImportOutcome::AlreadyThere(id) => panic!("the feed {id} is there"),
    };
    outcomes.into_iter().map(id).collect()
}

/// An RSS feed with these entries: guid and title.
pub(crate) fn rss(entries: &[(&str, &str)]) -> String {
    let items: String = entries
        .iter()
        .map(|(guid, title)| {
            format!("<item><guid>{guid}</guid><title>{title}</title><description>About {title}</description></item>")
        })
        .collect();
    format!("<rss version=\"2.0\"><channel><title>News</title><link>http://e.org/</link>{items}</channel></rss>")
}
