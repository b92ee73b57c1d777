//! An engine on a fresh store, and a publisher for it to ask.

use std::{sync::Arc, time::Duration};

use domain::{
    Entry, EntryFilter, Feed, FeedId, FeedSeed,
    feed_state::FeedAddress,
    ports::{ImportOutcome, Store},
};
use engine::{
    AddFeed, Engine, EngineSettings, Parts, RefreshSummary, SystemClock, SystemIds,
    http::{ClientSettings, GuardedClient},
};
use store::{SqliteOptions, SqliteStore, Synchronous};
use testkit::Publisher;

/// All that a test needs. The store goes with it.
pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) publisher: Publisher,
    pub(crate) store: Arc<dyn Store>,
    _database: Box<dyn Send + Sync>,
}

/// One world for each kind of store.
pub(crate) async fn each() -> Vec<World> {
    each_with(settings()).await
}

/// The same, with an engine that is set so.
pub(crate) async fn each_with(settings: EngineSettings) -> Vec<World> {
    let mut worlds = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    // None of these tests is about the disk, and so none waits for it.
    let options = SqliteOptions { synchronous: Synchronous::Off, ..SqliteOptions::default() };
    let sqlite = SqliteStore::open(folder.path(), options, Arc::new(SystemClock)).unwrap();
    worlds.push(world(Arc::new(sqlite), Box::new(folder), settings.clone()).await);
    let postgres = testkit::fresh_postgres().await;
    worlds.push(world(Arc::new(postgres.store.clone()), Box::new(postgres), settings).await);
    worlds
}

async fn world(store: Arc<dyn Store>, database: Box<dyn Send + Sync>, settings: EngineSettings) -> World {
    let engine = engine_on(Arc::clone(&store), settings);
    World { engine, publisher: Publisher::start().await, store, _database: database }
}

/// An engine on a store that may ask loopback.
pub(crate) fn engine_on(store: Arc<dyn Store>, settings: EngineSettings) -> Arc<Engine> {
    let client = ClientSettings { allow_networks: vec!["127.0.0.0/8".parse().unwrap()], ..ClientSettings::default() };
    Engine::new(Parts {
        store,
        http: Arc::new(GuardedClient::new(client).unwrap()),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        settings,
    })
}

/// Settings under which nothing takes long.
pub(crate) fn settings() -> EngineSettings {
    EngineSettings { stop_wait: Duration::ZERO, ..EngineSettings::default() }
}

impl World {
    /// Takes in feeds that were never fetched, due at once.
    pub(crate) async fn import(&self, paths: &[&str]) -> Vec<FeedId> {
        let urls: Vec<String> = paths.iter().map(|path| self.publisher.url(path)).collect();
        import(&self.store, &urls).await
    }

    pub(crate) async fn feed(&self, id: FeedId) -> Feed {
        self.store.feed(id).await.unwrap().expect("the feed is there")
    }

    pub(crate) async fn entries(&self, id: FeedId) -> Vec<Entry> {
        let filter = EntryFilter { feed_id: Some(id), ..EntryFilter::default() };
        let mut entries = self.store.entries(&filter, 500, None).await.unwrap().entries;
        entries.sort_by(|a, b| a.guid.cmp(&b.guid));
        entries
    }

    pub(crate) async fn titles(&self, id: FeedId) -> Vec<String> {
        self.entries(id).await.into_iter().map(|entry| entry.title.unwrap_or_default()).collect()
    }

    /// Polls one feed.
    pub(crate) async fn refresh(&self, id: FeedId) -> RefreshSummary {
        self.engine.refresh_feed(id).await.unwrap().expect("the feed is there")
    }

    /// What is asked to be added by a path.
    pub(crate) fn new_feed(&self, path: &str) -> AddFeed {
        AddFeed { url: self.publisher.url(path), folder_id: None, title: None }
    }

    pub(crate) async fn feed_count(&self) -> usize {
        self.store.feeds().await.unwrap().len()
    }
}

/// Takes in feeds that were never fetched, due at once.
pub(crate) async fn import(store: &Arc<dyn Store>, urls: &[String]) -> Vec<FeedId> {
    let seed = |url: &String| FeedSeed::new(FeedAddress::parse(url).unwrap());
    let outcomes = store.import_feeds(urls.iter().map(seed).collect()).await.unwrap();
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

/// The seconds from now to a feed's next poll.
pub(crate) fn due_in(feed: &Feed) -> i64 {
    use domain::ports::Clock as _;
    feed.next_check_at.duration_since(SystemClock.now()).as_secs()
}
