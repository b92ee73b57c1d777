//! The real program killed with SIGKILL again and again while it delivers what pushes and polls bring: afterwards
//! everything has arrived, under one id, and twice only what was in flight when it was killed (requirement D12).

use domain::account::READER;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use domain::{
    delivery::{DeliveryFilter, DeliveryStatus},
    ports::DeliveryStore,
};
use reqwest::Method;
use serde_json::json;
use store::{SqliteOptions, SqliteStore};
use testkit::{FreshPostgres, Hub, Page, Publisher, Receipt, SimulatedClock, fresh_postgres};
use tokio::{sync::watch, task::JoinSet};

use super::{
    Scene, drained,
    flow::{Flow, Ledger, WEBHOOKS, document, entry_of, refusals},
};
use crate::server::{Data, Place, Server, client};

const ENTRIES: usize = 10_000;
const KILLS: usize = 30;

/// Half of the entries are pushed, by so many topics, so many at once.
const PUSHED: usize = ENTRIES / 2;
const TOPICS: usize = 5;
const AT_ONCE: usize = 5;

/// The others are polled, so many of each feed.
const EACH: usize = 20;

/// No receiver is given up because the machine is slow: it would be sent the same once more.
const FLAGS: [&str; 8] =
    ["--retry-first", "50ms", "--delivery-lease", "6s", "--delivery-timeout", "5m", "--host-concurrency", "8"];

/// How long all may take: a feed that a killed process was polling waits for its lease to run out.
const ALL_MAX: Duration = Duration::from_mins(5);

/// More than can be pending.
const PENDING_MAX: u32 = 100_000;

#[tokio::test(flavor = "multi_thread")]
async fn d12_sqlite_kills_while_delivering_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    survive(Data::Folder(folder.path()), Outbox::Sqlite(folder.path()), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d12_postgres_kills_while_delivering_lose_nothing() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    survive(Data::Database(database.url(), folder.path()), Outbox::Postgres(&database), 2).await;
}

/// A delivery as the receiver and the store know it: the event's id, and the webhook's.
type Pair = (String, i64);

/// The outbox of a server that is dead.
enum Outbox<'o> {
    Sqlite(&'o Path),
    Postgres(&'o FreshPostgres),
}

impl Outbox<'_> {
    async fn pending(&self) -> HashSet<Pair> {
        match self {
            Self::Sqlite(folder) => {
                let clock = Arc::new(SimulatedClock::default());
                let file = folder.join("pirssonite.db");
                pending(&SqliteStore::open(&file, SqliteOptions::default(), clock).unwrap()).await
            }
            Self::Postgres(database) => pending(&database.store).await,
        }
    }
}

async fn pending(store: &dyn DeliveryStore) -> HashSet<Pair> {
    let filter = DeliveryFilter { status: Some(DeliveryStatus::Pending), webhook_id: None };
    let page = store.deliveries(READER, filter, PENDING_MAX, None).await.unwrap();
    page.deliveries.into_iter().map(|delivery| (delivery.event_id, delivery.webhook_id.0)).collect()
}

/// What was left when the server was killed.
struct Kill {
    pending: HashSet<Pair>,
    /// A connection that was made between its end and the start of the next: what came on an earlier one was sent before
    /// the kill, however late the receiver has read it.
    connection: u64,
}

fn path(webhook: usize) -> String {
    format!("/{webhook}")
}

async fn survive(data: Data<'_>, outbox: Outbox<'_>, seed: u64) {
    let (scene, hub, place, ledger) =
        (Scene::start().await, Arc::new(Hub::start().await), Place::reserve(), Ledger::new());
    let mut server = Server::start_at(&place, data, &FLAGS);
    let mut webhooks = Vec::new();
    for webhook in 0..WEBHOOKS {
        let ledger = Arc::clone(&ledger);
        scene.receiver.answer_by(&path(webhook), move |receipt| ledger.answer(webhook, receipt));
        webhooks.push(scene.webhook(&server, &path(webhook)).await["id"].as_i64().unwrap());
    }
    let (up, is_up) = watch::channel(true);
    let (brought, mut is_brought) = watch::channel(0);
    let flow = Flow { ledger: Arc::clone(&ledger), is_up, brought: Arc::new(brought) };
    let publisher = Arc::new(Publisher::start().await);
    let mut flowing = begin(&server, &flow, &publisher, &hub, &place).await;

    let (mut kills, mut chance) = (Vec::new(), seed);
    for kill in 1..=KILLS {
        // A few entries and milliseconds later, wherever that finds it.
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let entries = kill * ENTRIES / (KILLS + 2) + usize::try_from(chance >> 58).unwrap();
        let is_in_time = {
            let is_so = is_brought.wait_for(|brought| *brought >= entries);
            tokio::time::timeout(ALL_MAX, is_so).await.is_ok()
        };
        assert!(is_in_time, "it got stuck before kill {kill}: {}\n{}", ledger.summary(), server.log());
        tokio::time::sleep(Duration::from_millis(chance >> 52 & 63)).await;
        up.send_replace(false);
        server.kill();
        kills.push(Kill { pending: outbox.pending().await, connection: connect(&scene).await });
        server = Server::start_at(&place, data, &FLAGS);
        up.send_replace(true);
    }
    let all = async {
        while let Some(ended) = flowing.join_next().await {
            ended.unwrap();
        }
        ledger.all_delivered().await;
    };
    let is_in_time = tokio::time::timeout(ALL_MAX, all).await.is_ok();
    assert!(is_in_time, "not all were delivered: {}\n{}", ledger.summary(), server.log());
    let overview = drained(&server).await;
    assert_eq!(overview["failed"], 0, "{overview}");
    assert_eq!(server.get("/api/counts").await["total"], ENTRIES);
    check(&scene, &webhooks, &kills);
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
}

/// Makes a connection to the receiver, and returns its number.
async fn connect(scene: &Scene) -> u64 {
    const PATH: &str = "/between";
    let answer = client().post(scene.receiver.url(PATH)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    scene.receiver.receipts(PATH).all().last().expect("it came").connection
}

/// All entries are under way from now on.
async fn begin(server: &Server, flow: &Flow, publisher: &Arc<Publisher>, hub: &Arc<Hub>, place: &Place) -> JoinSet<()> {
    let mut flowing = JoinSet::new();
    for topic in 0..TOPICS {
        let url = publisher.url(&format!("/pushed/{topic}"));
        let page = Page::body(document(&url, &hub.url(), &[])).header("Content-Type", "application/atom+xml");
        publisher.set(&format!("/pushed/{topic}"), page);
        let (status, feed) = server.call(Method::POST, "/api/feeds", Some(json!({ "url": url }))).await;
        assert_eq!(status, 201, "{feed}");
        let subscription = hub.subscribed(&url).await;
        let entries = (0..PUSHED).filter(|entry| entry % TOPICS == topic).collect();
        flowing.spawn(flow.clone().push(Arc::clone(hub), subscription, entries, AT_ONCE));
    }
    let polled = (PUSHED..ENTRIES).collect();
    flowing.spawn(flow.clone().import(Arc::clone(publisher), place.url(), polled, EACH));
    flowing
}

/// Everything has arrived, signed, under one id for each entry, and more than once only if it was in flight at a kill.
fn check(scene: &Scene, webhooks: &[i64], kills: &[Kill]) {
    let (mut ids, mut events) = (HashMap::new(), HashSet::new());
    let mut in_flight_in_all = 0;
    for (webhook, id) in webhooks.iter().enumerate() {
        let mut receipts: HashMap<usize, Vec<Receipt>> = HashMap::new();
        for receipt in scene.receiver.receipts(&path(webhook)).all() {
            assert_eq!((receipt.is_verified, receipt.is_keyed_by_event()), (Some(true), true), "{receipt:?}");
            receipts.entry(entry_of(&receipt)).or_default().push(receipt);
        }
        assert_eq!(receipts.len(), ENTRIES, "all entries came to webhook {webhook}");
        for (entry, receipts) in receipts {
            let event = ids.entry(entry).or_insert_with(|| receipts[0].event_id().to_owned());
            assert!(receipts.iter().all(|receipt| receipt.event_id() == event), "one stable id: {receipts:?}");
            events.insert(event.clone());
            let good = &receipts[refusals(webhook, entry)..];
            let pair = (event.clone(), *id);
            // What was pending at a kill although it had been sent was in flight: its mark was not stored yet.
            let was_in_flight = |kill: &&Kill| {
                kill.pending.contains(&pair) && good.iter().any(|receipt| receipt.connection < kill.connection)
            };
            let in_flight = kills.iter().filter(was_in_flight).count();
            assert!((1..=1 + in_flight).contains(&good.len()), "in flight at {in_flight} kills: {receipts:?}");
            in_flight_in_all += in_flight;
        }
    }
    assert_eq!(events.len(), ENTRIES, "no id for two entries");
    assert!(in_flight_in_all > 0, "kills that find nothing in flight show nothing");
}
