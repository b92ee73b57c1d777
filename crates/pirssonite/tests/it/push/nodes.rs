//! Several nodes on one PostgreSQL renew what is due together: each subscription once, and all of them even if one node
//! is killed in the middle (requirement W8).

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;
use testkit::{Behaviour, FreshPostgres, Gate, Page, Verify};

use super::{
    DAY, Scene, leasing,
    past::{LEASE, Past, Verified, advance},
    until,
};
use crate::server::{Data, Server};

const SUBSCRIPTIONS: usize = 500;
const NODES: usize = 3;

/// Where hubs are told to reach the nodes. The test's hub asks the first of them, as a proxy might.
const BASE_URL: &str = "http://reader.example";

/// Nodes, each with a folder of its own, and what they share.
struct Nodes {
    scene: Scene,
    database: FreshPostgres,
    servers: Vec<Server>,
    _folders: Vec<TempDir>,
}

impl Nodes {
    /// Three nodes and so many subscriptions, due in a day.
    async fn start() -> Self {
        let scene = Scene::start().await;
        scene.hub.script(leasing(LEASE));
        let urls: Vec<String> = (0..SUBSCRIPTIONS).map(|feed| scene.publish(&format!("/{feed}"), &["first"])).collect();
        let past = Past::postgres().await;
        past.write(&Verified { urls: &urls, hub: &scene.hub.url(), base_url: BASE_URL, ago: 7 * DAY }).await;
        let Past::Postgres(database, folder) = past else { panic!("it is on PostgreSQL") };
        let mut folders = vec![folder];
        folders.extend((1..NODES).map(|_| tempfile::tempdir().unwrap()));
        // Looking for icons would be requests to the publishers too.
        let flags = ["--base-url", BASE_URL, "--host-concurrency", "16", "--feed-icons=false"];
        let start = |folder: &TempDir| Server::start(Data::Database(database.url(), folder.path()), &flags);
        let servers: Vec<Server> = folders.iter().map(start).collect();
        scene.hub.route_callbacks_to(servers[0].address());
        assert!(scene.hub.requests().is_empty(), "nothing is due yet");
        Self { scene, database, servers, _folders: folders }
    }

    /// A day later: all are due at once, and every node looks, because something about a feed has changed.
    async fn a_day_passes(&self) {
        advance(&self.database, DAY + Duration::from_secs(1)).await;
        for server in &self.servers {
            let (status, feed) = server.call(Method::PATCH, "/api/feeds/1", Some(json!({ "title": "News" }))).await;
            assert_eq!(status, 200, "{feed}");
        }
    }

    /// A number that the database counts.
    async fn count(&self, sql: &str) -> usize {
        let row = self.database.client().await.query_one(sql, &[]).await.unwrap();
        usize::try_from(row.get::<_, i64>(0)).unwrap()
    }

    /// How many nodes hold something that is not renewed yet.
    async fn holders(&self) -> usize {
        self.count(&format!("SELECT count(DISTINCT lease_owner) FROM subscriptions WHERE {NOT_RENEWED}")).await
    }

    /// Waits until none of these is left.
    async fn none_left(&self, what: &str, condition: &str) {
        let sql = format!("SELECT count(*) FROM subscriptions WHERE {condition}");
        until(what, async || (self.count(&sql).await == 0).then_some(())).await;
    }

    /// How often the hub was asked, by topic.
    fn asked(&self) -> HashMap<String, usize> {
        let mut asked = HashMap::new();
        for request in self.scene.hub.requests() {
            assert_eq!(request.mode, "subscribe");
            *asked.entry(request.topic).or_default() += 1;
        }
        asked
    }

    /// Topics that the hub may have been asked for without knowing it yet: a node notes it before it asks.
    async fn on_their_way(&self) -> HashSet<String> {
        let noted = format!("SELECT topic_url FROM subscriptions WHERE {NOT_RENEWED} AND asked IS NOT NULL");
        let rows = self.database.client().await.query(&noted, &[]).await.unwrap();
        let asked = self.asked();
        rows.iter().map(|row| row.get(0)).filter(|topic: &String| !asked.contains_key(topic)).collect()
    }

    /// How many requests each node has made of the hub that were accepted.
    async fn shares(&self) -> Vec<usize> {
        let mut shares = Vec::new();
        for server in &self.servers {
            let metrics = server.get("/metrics").await;
            let name = "pirssonite_hub_requests_total{mode=\"subscribe\",outcome=\"accepted\"} ";
            let count = metrics.as_str().unwrap().lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
            shares.push(count.unwrap_or(0));
        }
        shares
    }

    /// All are renewed, and the hub was asked once for each; once more only for a verification that found the database too
    /// busy, as on a machine with much else to do, and for what was on its way when a node was killed: nobody can know
    /// whether it arrives.
    async fn check(&self, on_their_way: &HashSet<String>) {
        // It knows of the last one only when it has read the answer.
        let hub = &self.scene.hub;
        until("the hub", async || (hub.subscriptions().len() >= SUBSCRIPTIONS).then_some(())).await;
        let asked = self.asked();
        let unanswered = hub.verifications().iter().filter(|answer| answer.status == 503).count();
        let twice: Vec<_> =
            asked.iter().filter(|(topic, times)| **times > 1 + usize::from(on_their_way.contains(*topic))).collect();
        assert!(twice.len() <= unanswered, "asked more than once, {unanswered} not answered: {twice:?}");
        assert_eq!(asked.len(), SUBSCRIPTIONS);
        let sound = "SELECT count(*) FROM subscriptions WHERE state = 'active' AND error_count = 0 AND asked IS NULL";
        assert_eq!(self.count(sound).await, SUBSCRIPTIONS);
        assert_eq!(self.scene.hub.subscriptions().len(), SUBSCRIPTIONS);
    }
}

/// Whether the hub has verified all that it was asked for, as it does in these tests.
fn hub_has_verified_all(nodes: &Nodes) -> bool {
    nodes.scene.hub.verifications().len() >= nodes.scene.hub.requests().len()
}

/// Those that are due, or being renewed: their leases end within two days of now.
const NOT_RENEWED: &str = "expires_at <= pirssonite_now_ms() + 2 * 86400000";

#[tokio::test(flavor = "multi_thread")]
async fn w8_three_nodes_renew_500_subscriptions_once_each() {
    let nodes = Nodes::start().await;
    nodes.a_day_passes().await;
    nodes.none_left("all renewals", &format!("{NOT_RENEWED} OR lease_owner IS NOT NULL")).await;
    nodes.check(&HashSet::new()).await;
    let shares = nodes.shares().await;
    assert!(shares.iter().all(|share| *share > 0), "all three are at it: {shares:?}");
    assert_eq!(shares.iter().sum::<usize>(), SUBSCRIPTIONS);
    assert_eq!(nodes.scene.publisher.request_count(), SUBSCRIPTIONS, "each renewal looks at its feed, once");
}

#[tokio::test(flavor = "multi_thread")]
async fn w8_three_nodes_renew_all_after_a_kill() {
    let mut nodes = Nodes::start().await;
    nodes.a_day_passes().await;
    let hub = &nodes.scene.hub;
    until("the middle", async || (hub.requests().len() >= SUBSCRIPTIONS / 5).then_some(())).await;
    // From here on no answer comes, so that each node is stuck with what it holds.
    let gate = Gate::default();
    hub.script(Behaviour { answer: Page::status(202).behind(&gate), verify: Verify::AfterAnswer, ..leasing(LEASE) });
    until("all nodes at work", async || (nodes.holders().await == NODES).then_some(())).await;
    nodes.servers.pop().expect("there are three").kill();
    let on_their_way = nodes.on_their_way().await;
    nodes.scene.hub.script(leasing(LEASE));
    gate.open();

    // The others renew what it had not claimed.
    let rest = format!("SELECT count(*) FROM subscriptions WHERE {NOT_RENEWED} AND lease_until <= pirssonite_now_ms()");
    let only_its_own = async || (nodes.count(&rest).await == 0 && nodes.holders().await <= 1).then_some(());
    until("all renewals but its own", only_its_own).await;
    // The hub verifies what the dead one has asked for. Until it has, that would be asked for once more.
    let all_verified = async || hub_has_verified_all(&nodes).then_some(());
    until("the last verification", all_verified).await;
    // And what it has claimed and not asked for, once its claims have run out.
    advance(&nodes.database, DAY + Duration::from_mins(2)).await;
    nodes.none_left("all renewals", NOT_RENEWED).await;
    nodes.check(&on_their_way).await;
}
