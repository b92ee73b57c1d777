//! A subscription's life: added by a command, pushed to, renewed, through the death of the server and its absence.

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Behaviour, Gate, HubPush, Page, Signed, Verify, fresh_postgres};

use super::{
    DAY, Scene, leasing,
    past::{LEASE, Past, Verified, system_time},
    subscription_becomes, titles,
};
use crate::{
    program::{json_of, ok},
    server::{Data, Place, Server},
};

async fn from_command_to_entry(data: Data<'_>) {
    let (scene, place) = (Scene::start().await, Place::reserve());
    let server = Server::start_at(&place, data, &["--hub-lease", "5d"]);
    let url = scene.publish("/feed", &["first"]);
    ok(data, &["add", &url]);
    let request = scene.hub.request().await;
    assert_eq!((request.mode.as_str(), request.lease_seconds.as_deref()), ("subscribe", Some("432000")));
    assert!(request.callback.starts_with(&format!("{}/api/websub/callback/", place.url())), "{}", request.callback);
    scene.hub.subscribed(&url).await;
    let subscription = subscription_becomes(&server, "active").await;
    assert_eq!((&subscription["leaseSeconds"], &subscription["hubUrl"]), (&json!(432_000), &json!(scene.hub.url())));

    let answers = scene.hub.publish(&url, scene.push("/feed", &["pushed", "first"])).await;
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [204]);
    assert_eq!(titles(&server).await, ["first", "pushed"]);
    assert_eq!(json_of(data, &["list", "--json"])[0]["unreadCount"], 2);
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn w2_w5_sqlite_added_feed_is_pushed() {
    let folder = tempfile::tempdir().unwrap();
    from_command_to_entry(Data::Folder(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn w2_w5_postgres_added_feed_is_pushed() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    from_command_to_entry(Data::Database(database.url(), folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn w2_feed_added_offline_is_subscribed_later() {
    let (scene, place, folder) = (Scene::start().await, Place::reserve(), tempfile::tempdir().unwrap());
    let data = Data::Folder(folder.path());
    let url = scene.publish("/feed", &["first"]);
    // Whether the command knows of the base URL or not.
    ok(data, &["add", &url]);
    ok(data, &["add", &scene.publish("/other", &["second"]), "--base-url", &place.url()]);
    assert!(scene.hub.requests().is_empty(), "nobody would answer the hub");
    let _server = Server::start_at(&place, data, &[]);
    scene.hub.subscribed(&url).await;
    scene.hub.subscribed(&scene.publisher.url("/other")).await;
}

/// What is stored of the one feed, its subscription verified so long ago.
async fn verified(past: &Past, scene: &Scene, place: &Place, ago: std::time::Duration) -> String {
    let url = scene.publish("/feed", &["first"]);
    let (hub, base_url) = (scene.hub.url(), place.url());
    past.write(&Verified { urls: std::slice::from_ref(&url), hub: &hub, base_url: &base_url, ago }).await;
    url
}

/// The days until the end of the lease, to the nearest.
async fn days_left(server: &Server) -> i64 {
    let ends = subscription_becomes(server, "active").await["expiresAt"].as_str().unwrap().parse::<Timestamp>();
    (ends.unwrap().duration_since(system_time()).as_hours() + 12) / 24
}

async fn killed_while_it_renews(past: Past) {
    let (scene, place) = (Scene::start().await, Place::reserve());
    let url = verified(&past, &scene, &place, 8 * DAY + DAY / 24).await;
    let gate = Gate::default();
    scene.hub.next(Behaviour::only(Page::status(202).behind(&gate)));
    let server = Server::start_at(&place, past.data(), &[]);
    let interrupted = scene.hub.request().await;
    assert_eq!((interrupted.mode.as_str(), &interrupted.topic), ("subscribe", &url));
    server.kill();
    gate.open();
    let left = &json_of(past.data(), &["status", "--json"])["push"];
    assert_eq!((&left["active"], &left["failingHubs"]), (&json!(1), &json!([])), "the old lease goes on");

    past.outlive_claims().await;
    scene.hub.script(leasing(LEASE));
    let server = Server::start_at(&place, past.data(), &[]);
    let again = scene.hub.request().await;
    assert_eq!((&again.topic, &again.callback), (&interrupted.topic, &interrupted.callback));
    assert_ne!(again.secret, interrupted.secret);
    let held = scene.hub.subscribed(&url).await;
    let subscription = subscription_becomes(&server, "active").await;
    assert_eq!((&subscription["errorCount"], &subscription["lastError"]), (&json!(0), &Value::Null));
    assert_eq!(days_left(&server).await, 10);
    // The hub may have taken what the killed process asked for: nothing that it was told is forgotten.
    let secrets = [interrupted.secret.unwrap(), again.secret.unwrap()];
    for (number, secret) in secrets.into_iter().enumerate() {
        let push = scene.push("/feed", &[&format!("pushed {number}")]).signed(Signed::With(secret));
        assert_eq!(scene.hub.push(&held, push).await.status, 204);
    }
    assert_eq!(titles(&server).await, ["first", "pushed 0", "pushed 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn w8_sqlite_killed_renewal_is_resumed() {
    killed_while_it_renews(Past::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn w8_postgres_killed_renewal_is_resumed() {
    killed_while_it_renews(Past::postgres().await).await;
}

async fn away_while_its_lease_ends(past: Past) {
    let (scene, place) = (Scene::start().await, Place::reserve());
    let url = verified(&past, &scene, &place, LEASE + DAY).await;
    assert_eq!(json_of(past.data(), &["status", "--json"])["due"], 0, "it waits for its hub");
    scene.publish("/feed", &["while it was away", "first"]);
    scene.hub.script(leasing(LEASE));
    let server = Server::start_at(&place, past.data(), &[]);
    scene.publisher.asked("/feed", 1).await;
    let held = scene.hub.subscribed(&url).await;
    assert_eq!(days_left(&server).await, 10);
    let is_there = async || (titles(&server).await.len() == 2).then_some(());
    super::until("what was published meanwhile", is_there).await;
    assert_eq!(scene.hub.push(&held, scene.push("/feed", &["pushed"])).await.status, 204);
    assert_eq!(titles(&server).await, ["first", "pushed", "while it was away"]);
    assert_eq!(scene.hub.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn w9_sqlite_lease_expired_while_down() {
    away_while_its_lease_ends(Past::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn w9_postgres_lease_expired_while_down() {
    away_while_its_lease_ends(Past::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn w3_changed_base_url_is_followed() {
    let (scene, folder) = (Scene::start().await, tempfile::tempdir().unwrap());
    let (first, second) = (Place::reserve(), Place::reserve());
    let data = Data::Folder(folder.path());
    let server = Server::start_at(&first, data, &[]);
    let url = scene.publish("/feed", &["first"]);
    ok(data, &["add", &url]);
    subscription_becomes(&server, "active").await;
    server.kill();

    let server = Server::start_at(&second, data, &[]);
    let known = |place: &Place| {
        let of = format!("{}/", place.url());
        scene.hub.requests().into_iter().filter(|request| request.callback.starts_with(&of)).count()
    };
    super::until("a request with the new address", async || (known(&second) == 1).then_some(())).await;
    subscription_becomes(&server, "active").await;
    assert_eq!(known(&first), 1);
    server.kill();

    let server = Server::start_without_base_url_at(&second, data);
    let gone = async || (server.get("/api/websub/subscriptions").await == json!([])).then_some(());
    super::until("the end of the subscription", gone).await;
    assert_eq!(scene.hub.requests().last().unwrap().mode, "unsubscribe");
    let is_said = async || server.log().contains("push off").then_some(());
    super::until("a log of why", is_said).await;
    let feed = &server.get("/api/feeds").await[0];
    let refused = server.call(Method::POST, &format!("/api/feeds/{}/subscribe", feed["id"]), None).await;
    assert_eq!((refused.0, refused.1["error"].as_str().unwrap().contains("base_url")), (409, true), "{}", refused.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn u4_w1_w5_push_settings_are_in_force() {
    let (scene, place, folder) = (Scene::start().await, Place::reserve(), tempfile::tempdir().unwrap());
    let data = Data::Folder(folder.path());
    // A feed that names no hub, of a publisher that is known for one.
    let nameless = "<rss><channel><title>Nameless</title><item><guid>1</guid><title>One</title></item></channel></rss>";
    scene.publisher.set("/nameless", Page::body(nameless));
    let known = format!("{}={}", scene.publisher.url("/name"), scene.hub.url());
    let flags = ["--known-hubs", &known, "--push-algorithms", "sha512", "--push-rate", "2", "--renew-before", "20d"];
    let server = Server::start_at(&place, data, &flags);
    scene.hub.script(Behaviour::verifying(Verify::BeforeAnswer));
    let url = scene.publisher.url("/nameless");
    ok(data, &["add", &url]);
    let held = scene.hub.subscribed(&url).await;
    subscription_becomes(&server, "active").await;

    let push = || HubPush::new("application/rss+xml", nameless.replace(">1<", ">2<").replace("One", "Two"));
    assert_eq!(scene.hub.push(&held, push()).await.status, 400, "sha256 is not allowed");
    scene.hub.sign_by(domain::push::Algorithm::Sha512);
    assert_eq!(scene.hub.push(&held, push()).await.status, 204);
    assert_eq!(scene.hub.push(&held, push()).await.status, 429, "two in a minute");
    assert_eq!(titles(&server).await, ["One", "Two"]);
    // Ten days are less than twenty: the lease is due for whoever asks.
    let renewed = async || {
        let (status, summary) = server.call(Method::POST, "/api/websub/renew", None).await;
        assert_eq!(status, 200);
        (summary["renewed"] == 1).then_some(())
    };
    super::until("a renewal", renewed).await;
}
