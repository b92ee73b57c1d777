//! A server that hubs can call back, a hub and a publisher.

use domain::account::READER;
use std::{sync::Arc, time::Duration};

use domain::{
    Entry, EntryFilter, Feed, FeedId,
    ports::Store,
    push::{Subscription, SubscriptionState},
};
use engine::{
    AddFeed, Deps, Engine, EngineSettings, PushSettings, SystemIds,
    http::{ClientSettings, GuardedClient},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use store::{PostgresOptions, PostgresStore};
use testkit::{
    Behaviour, FreshPostgres, FreshSqlite, Hub, HubPush, HubSubscription, Lease, Line, Page, Publisher, SimulatedClock,
    Verify,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use web::{AppState, ServeLimits, WebSettings};

use crate::{
    raw::LONG,
    server::{Answer, METRICS, answer, client},
};

pub const HOUR: Duration = Duration::from_hours(1);
pub const DAY: Duration = Duration::from_hours(24);

/// Where a store is, and how its time is set.
enum Database {
    Sqlite(FreshSqlite),
    Postgres(FreshPostgres),
    /// Reached by a line.
    Far(FreshPostgres, PostgresStore),
}

/// All that a push passes.
pub struct World {
    pub engine: Arc<Engine>,
    pub store: Arc<dyn Store>,
    pub hub: Hub,
    pub publisher: Publisher,
    pub url: String,
    clock: SimulatedClock,
    database: Database,
    http: reqwest::Client,
    stop: CancellationToken,
}

/// One world for each kind of store.
pub async fn each() -> Vec<World> {
    each_with(PushSettings::default()).await
}

/// The same, with push set so.
pub async fn each_with(settings: PushSettings) -> Vec<World> {
    each_of(settings, with_pushes(60), ServeLimits::default()).await
}

/// The same, with the server set so.
pub async fn each_serving(web: WebSettings, limits: ServeLimits) -> Vec<World> {
    each_of(PushSettings::default(), web, limits).await
}

/// The same, with so few pushes in a minute that it takes long until one more is taken: that minute is a real
/// one.
pub async fn each_with_few_pushes() -> Vec<World> {
    each_of(PushSettings::default(), with_pushes(6), ServeLimits::default()).await
}

/// A server that takes so many pushes in a minute.
fn with_pushes(per_minute: u32) -> WebSettings {
    WebSettings { pushes_per_minute: per_minute.try_into().unwrap(), ..WebSettings::default() }
}

async fn each_of(settings: PushSettings, web: WebSettings, limits: ServeLimits) -> Vec<World> {
    // On a busy machine the store takes its time, and so does a large body.
    let limits = ServeLimits { drain_timeout: LONG, ..limits };
    let settings = PushSettings { answer_timeout: Duration::from_mins(3), ..settings };
    let sqlite = Database::Sqlite(testkit::fresh_sqlite().await);
    let postgres = Database::Postgres(testkit::fresh_postgres().await);
    vec![
        World::start(sqlite, settings.clone(), web.clone(), limits).await,
        World::start(postgres, settings, web, limits).await,
    ]
}

/// A world whose PostgreSQL is at the other end of a line, with the time limits that the program has.
pub async fn by_line() -> (World, Line) {
    let database = testkit::fresh_postgres().await;
    let line = Line::to(database.url()).await;
    let store = PostgresStore::connect(line.url(), PostgresOptions::default()).await.unwrap();
    let settings = PushSettings::default();
    let far = Database::Far(database, store);
    (World::start(far, settings, WebSettings::default(), ServeLimits::default()).await, line)
}

impl World {
    async fn start(database: Database, settings: PushSettings, web: WebSettings, limits: ServeLimits) -> Self {
        let (store, clock): (Arc<dyn Store>, _) = match &database {
            Database::Sqlite(sqlite) => (Arc::new(sqlite.store.clone()), sqlite.clock.clone()),
            Database::Postgres(postgres) => (Arc::new(postgres.store.clone()), SimulatedClock::default()),
            Database::Far(_, store) => (Arc::new(store.clone()), SimulatedClock::default()),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let settings =
            PushSettings { base_url: Some(settings.base_url.clone().unwrap_or_else(|| url.clone())), ..settings };
        let engine = engine_on(Arc::clone(&store), clock.clone(), settings);
        let router = web::router(AppState::new(Arc::clone(&engine), METRICS.clone(), web, &SystemIds, "1.2.3"));
        let stop = CancellationToken::new();
        tokio::spawn(web::serve_within(listener, router, stop.clone(), limits));
        let hub = Hub::start().await;
        hub.script(Behaviour::verifying(Verify::BeforeAnswer));
        let publisher = Publisher::start().await;
        let world = Self { engine, store, hub, publisher, url, clock, database, http: client(), stop };
        world.set_now("2026-03-02T12:00:00Z".parse().unwrap()).await;
        world
    }

    /// Another engine on the same store, as after a restart, with push set so.
    pub fn restarted(&self, settings: PushSettings) -> Arc<Engine> {
        engine_on(Arc::clone(&self.store), self.clock.clone(), settings)
    }

    pub async fn set_now(&self, now: Timestamp) {
        self.clock.set(now);
        match &self.database {
            Database::Sqlite(sqlite) => sqlite.set_now(now).await,
            Database::Postgres(postgres) | Database::Far(postgres, _) => postgres.set_now(now).await,
        }
    }

    pub fn now(&self) -> Timestamp {
        domain::ports::Clock::now(&self.clock)
    }

    pub async fn advance(&self, by: Duration) {
        self.set_now(self.now() + SignedDuration::try_from(by).unwrap()).await;
    }

    /// A feed at this path that names the hub.
    pub fn publish(&self, path: &str, entries: &[&str]) -> String {
        let page = Page::body(atom(&self.hub.url(), &self.publisher.url(path), entries));
        self.publisher.set(path, page.header("Content-Type", "application/atom+xml"));
        self.publisher.url(path)
    }

    pub async fn add(&self, url: &str) -> FeedId {
        let new = AddFeed { account: READER, url: url.to_owned(), folder_id: None, title: None };
        self.engine.add_feed(new).await.unwrap().id
    }

    /// Adds a feed at this path and lets its hub know.
    pub async fn subscribe(&self, path: &str) -> FeedId {
        let id = self.add(&self.publish(path, &["first"])).await;
        self.settle().await;
        id
    }

    /// The same, with this lease.
    pub async fn subscribe_for(&self, path: &str, lease: Duration) -> FeedId {
        self.hub.next(Behaviour { lease: Lease::Secs(lease.as_secs()), ..Behaviour::verifying(Verify::BeforeAnswer) });
        self.subscribe(path).await
    }

    /// Does all that is due.
    pub async fn settle(&self) {
        self.engine.settle_push().await.unwrap();
        self.engine.refresh_due().await.unwrap();
        self.engine.settle_push().await.unwrap();
    }

    pub async fn feed(&self, id: FeedId) -> Feed {
        self.store.feed(READER, id).await.unwrap().unwrap()
    }

    pub async fn subscription(&self, id: FeedId) -> Subscription {
        self.store.subscription_of(id).await.unwrap().unwrap()
    }

    pub async fn state(&self, id: FeedId) -> SubscriptionState {
        self.subscription(id).await.state
    }

    /// What the hub holds for the feed at this path.
    pub async fn held(&self, path: &str) -> HubSubscription {
        self.hub.subscribed(&self.publisher.url(path)).await
    }

    /// What the hub would push of the feed at this path.
    pub fn push_of(&self, path: &str, entries: &[&str]) -> HubPush {
        HubPush::new("application/atom+xml", atom(&self.hub.url(), &self.publisher.url(path), entries))
    }

    pub async fn entries(&self, id: FeedId) -> Vec<Entry> {
        let filter = EntryFilter { feed_id: Some(id), ..EntryFilter::default() };
        self.store.entries(READER, &filter, 500, None).await.unwrap().entries
    }

    /// The titles of a feed's entries, sorted.
    pub async fn titles(&self, id: FeedId) -> Vec<String> {
        let mut titles: Vec<_> =
            self.entries(id).await.into_iter().map(|entry| entry.title.unwrap_or_default()).collect();
        titles.sort();
        titles
    }

    pub async fn get(&self, path: &str) -> Answer {
        answer(self.http.get(format!("{}{path}", self.url))).await
    }

    pub async fn post(&self, path: &str) -> Answer {
        answer(self.http.post(format!("{}{path}", self.url))).await
    }

    pub async fn head(&self, url: &str) -> Answer {
        answer(self.http.head(url)).await
    }

    pub async fn renew(&self) -> Value {
        self.post("/api/websub/renew").await.ok(200)
    }

    /// Seconds until a feed is polled next.
    pub async fn due_in(&self, id: FeedId) -> i64 {
        self.feed(id).await.next_check_at.duration_since(self.now()).as_secs()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn engine_on(store: Arc<dyn Store>, clock: SimulatedClock, push: PushSettings) -> Arc<Engine> {
    let client = ClientSettings { allow_networks: vec!["127.0.0.0/8".parse().unwrap()], ..ClientSettings::default() };
    Engine::new(Deps {
        store,
        http: Arc::new(GuardedClient::new(client).unwrap()),
        clock: Arc::new(clock),
        ids: Arc::new(SystemIds),
        settings: EngineSettings { push, ..EngineSettings::default() },
    })
}

/// An Atom feed of these entries, by their titles.
pub fn atom(hub: &str, topic: &str, entries: &[&str]) -> String {
    let entry = |title: &&str| {
        format!(
            "<entry><id>urn:{title}</id><title>{title}</title><updated>2026-03-01T00:00:00Z</updated>\
             <content>About {title}</content></entry>"
        )
    };
    let entries: String = entries.iter().map(entry).collect();
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>News</title><link rel=\"hub\" href=\"{hub}\"/>\
         <link rel=\"self\" href=\"{topic}\"/>{entries}</feed>"
    )
}
