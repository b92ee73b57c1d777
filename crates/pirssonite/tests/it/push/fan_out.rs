//! The real program killed with SIGKILL again and again while new entries go to hundreds of followers, pushed and polled at
//! the same time: every follower has every entry once, and every count is what counting gives (requirements A2, A6).

use std::{sync::Arc, time::Duration};

use domain::{
    account::{AccountName, NewAccount},
    entry::{EntryFilter, EntryPatch},
    feed_state::FeedAddress,
    follow::NewFollow,
    ports::{FollowOutcome, Store},
};
use reqwest::Method;
use serde_json::{Value, json};
use store::{SqliteOptions, SqliteStore};
use testkit::{HubSubscription, SimulatedClock, sqlite_miscounts};
use tokio::{sync::oneshot, time::Instant};

use super::{
    Scene, leasing,
    past::{LEASE, Past, advance},
    titles, until,
};
use crate::server::{Place, Server, client};

const FOLLOWERS: usize = 300;
/// Kills that come while a push is worked on: it was read, and is not answered.
const KILLS: usize = 30;
/// Kills in all, those among them that come too late.
const ROUNDS_MAX: usize = 4 * KILLS;
/// Entries that are new each time.
const EACH: usize = 10;

const FEED: &str = "/feed";

/// So that it says when it hands a push to the store.
const LOG: [&str; 2] = ["--log", "info,engine::push=debug"];
const READ: &str = "push read";

/// Time between two looks into its log: short beside a push, so that kills come at every moment of one.
const LOOK_PAUSE: Duration = Duration::from_millis(1);

/// How a push ended.
enum Ended {
    /// It was answered so long after it was read.
    Answered(Duration),
    /// The server was killed while it was worked on.
    Interrupted,
    /// Neither was seen: the hub is to come again, or was answered before the log said that the push was read.
    Unknown,
}

#[tokio::test(flavor = "multi_thread")]
async fn a2_a6_sqlite_kills_during_fan_out_lose_and_double_nothing() {
    survive(Past::sqlite(), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a2_a6_postgres_kills_during_fan_out_lose_and_double_nothing() {
    survive(Past::postgres().await, 2).await;
}

async fn survive(past: Past, seed: u64) {
    let (scene, place) = (Scene::start().await, Place::reserve());
    scene.hub.script(leasing(LEASE));
    let mut all = vec!["first".to_owned()];
    let url = publish(&scene, &all);
    let server = Server::start_at(&place, past.data(), &[]);
    let (status, feed) = server.call(Method::POST, "/api/feeds", Some(json!({ "url": url }))).await;
    assert_eq!(status, 201, "{feed}");
    let held = scene.hub.subscribed(&url).await;
    super::subscription_becomes(&server, "active").await;
    server.kill();
    follow(&past, &url).await;

    // How long a push is worked on, as far as it is known: kills come within that time.
    let mut takes = Duration::from_millis(200);
    let (mut unanswered, mut interrupted, mut rounds, mut chance) = (Vec::new(), 0, 0, seed);
    while interrupted < KILLS {
        rounds += 1;
        assert!(rounds <= ROUNDS_MAX, "only {interrupted} pushes were interrupted, the last took {takes:?}");
        past.outlive(rounds).await;
        let new: Vec<String> = (0..EACH).map(|entry| format!("entry {entry} of {rounds}")).collect();
        all.extend(new.iter().cloned());
        unanswered.extend(new);
        publish(&scene, &all);
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let after = takes.mul_f64(f64::from(u32::try_from(chance >> 32).unwrap()) / f64::from(u32::MAX));
        let server = Server::start_at(&place, past.data(), &LOG);
        match round(&scene, &held, server, &unanswered, after).await {
            Ended::Answered(took) => {
                takes = took;
                unanswered.clear();
            }
            Ended::Interrupted => {
                takes = takes.mul_f64(1.2);
                interrupted += 1;
            }
            Ended::Unknown => {}
        }
        assert_eq!(past.miscounts().await, [""; 0], "after kill {rounds}");
    }

    past.outlive(rounds + 1).await;
    let server = Server::start_at(&place, past.data(), &[]);
    let is_pushed = async || (scene.hub.push(&held, push(&scene, &unanswered)).await.status == 204).then_some(());
    until("a push of what was not answered", is_pushed).await;
    let polled = async || (refresh(&server.url).await? == 200).then_some(());
    until("a poll of all", polled).await;
    all.sort();
    assert_eq!(titles(&server).await, all);
    server.kill();
    // Whoever lacked one of them would be named.
    assert_eq!(past.miscounts().await, [""; 0]);
}

/// New entries are pushed and polled while the reader marks others. So long after the push was read the server is killed.
async fn round(
    scene: &Scene,
    held: &HubSubscription,
    server: Server,
    titles: &[String],
    kill_after: Duration,
) -> Ended {
    let base = server.url.clone();
    let (answered, answer) = oneshot::channel();
    let pushed = async {
        let answer = scene.hub.push(held, push(scene, titles)).await;
        // On a busy machine a hub is told to come again: nothing was acknowledged then.
        assert!([204, 503, 0].contains(&answer.status), "{answer:?}");
        let at = Instant::now();
        let _ = answered.send(());
        (answer.status, at)
    };
    let killed = async {
        let is_read = tokio::select! {
            () = logs(&server, READ) => true,
            _ = answer => server.log().contains(READ),
        };
        let at = Instant::now();
        tokio::time::sleep(kill_after).await;
        server.kill();
        is_read.then_some(at)
    };
    let ((status, answered_at), read_at, ..) = tokio::join!(pushed, killed, refresh(&base), mark(&base));
    match (status, read_at) {
        (204, Some(read_at)) => Ended::Answered(answered_at.saturating_duration_since(read_at)),
        (0, Some(_)) => Ended::Interrupted,
        _ => Ended::Unknown,
    }
}

/// Waits until the server has logged this.
async fn logs(server: &Server, event: &str) {
    while !server.log().contains(event) {
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

/// Polls the feed; `None` if the server is dead.
async fn refresh(base: &str) -> Option<u16> {
    let answer = client().post(format!("{base}/api/feeds/1/refresh")).send().await.ok()?;
    Some(answer.status().as_u16())
}

/// Stars the newest entry and reads all, if the server lives so long.
async fn mark(base: &str) -> Option<()> {
    let client = client();
    let page = client.get(format!("{base}/api/entries?limit=1")).send().await.ok()?.text().await.ok()?;
    let page: Value = serde_json::from_str(&page).ok()?;
    let star = client.patch(format!("{base}/api/entries/{}", page["entries"][0]["id"]));
    star.header("content-type", "application/json").body(r#"{"isStarred":true}"#).send().await.ok()?;
    let read = client.post(format!("{base}/api/entries/mark-read"));
    read.header("content-type", "application/json").body("{}").send().await.ok()?;
    Some(())
}

fn publish(scene: &Scene, titles: &[String]) -> String {
    scene.publish(FEED, &titles.iter().map(String::as_str).collect::<Vec<_>>())
}

fn push(scene: &Scene, titles: &[String]) -> testkit::HubPush {
    scene.push(FEED, &titles.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Hundreds of accounts follow the feed, and some have marked what is in it.
async fn follow(past: &Past, url: &str) {
    match past {
        Past::Sqlite(folder) => {
            let clock = Arc::new(SimulatedClock::default());
            follow_in(&SqliteStore::open(folder.path(), SqliteOptions::default(), clock).unwrap(), url).await;
        }
        Past::Postgres(database, _) => follow_in(&database.store, url).await,
    }
}

async fn follow_in(store: &dyn Store, url: &str) {
    for number in 0..FOLLOWERS {
        let name = AccountName::parse(&format!("reader {number}")).unwrap();
        let account = NewAccount { name, password_hash: None, is_admin: false };
        let account = store.create_account(account).await.unwrap().unwrap().id;
        let address = FeedAddress::parse(url).unwrap();
        let followed = store.follow(account, NewFollow { address, folder_id: None, custom_title: None }).await.unwrap();
        assert!(matches!(followed, FollowOutcome::Followed(_)), "{followed:?}");
        let page = store.entries(account, &EntryFilter::default(), 1, None).await.unwrap();
        let patch = EntryPatch { is_read: Some(number % 2 == 0), is_starred: Some(number % 3 == 0) };
        store.patch_entry(account, page.entries[0].id, patch).await.unwrap().unwrap();
    }
}

impl Past {
    /// Lets what the process that was killed last had claimed run out.
    async fn outlive(&self, kill: usize) {
        if let Self::Postgres(database, _) = self {
            advance(database, Duration::from_mins(2) * u32::try_from(kill).unwrap()).await;
        }
    }

    async fn miscounts(&self) -> Vec<String> {
        match self {
            Self::Sqlite(folder) => sqlite_miscounts(&folder.path().join("pirssonite.db")),
            Self::Postgres(database, _) => database.miscounts().await,
        }
    }
}
