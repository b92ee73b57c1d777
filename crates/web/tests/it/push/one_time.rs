//! A call of a hub waits for one time in all: for its place, its turn, and the store more than once. The clock is tokio's,
//! which goes on only while everything waits.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{Request, StatusCode},
};
use domain::{
    FeedId, SubscriptionId,
    ports::Clock as _,
    push::{Algorithm, Offer, PushTarget, Subscription, SubscriptionState, sign},
};
use engine::{Deps, Engine, EngineSettings, SystemClock, SystemIds};
use futures_util::{future::join_all, stream};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;
use web::{AppState, WebSettings};

use crate::{
    server::METRICS,
    stubs::{Down, NoNetwork},
};

const SECRET: &str = "secret";
const TOPIC: &str = "http://e.example/feed";
/// What a hub may expect.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// An API as it is set by default, whose store finds every token after so long and answers nothing else.
fn api(found_after: Duration) -> Router {
    let offer = Offer { token: "token".to_owned(), base_url: "http://reader.example".to_owned() };
    let (hub, now) = ("http://hub.example/", SystemClock.now());
    let mut subscription = Subscription::new(SubscriptionId(1), FeedId(1), hub, TOPIC, &offer, now);
    subscription.state = SubscriptionState::Active;
    subscription.secrets.add(SECRET.to_owned());
    let target = PushTarget { subscription, feed_url: Some(TOPIC.to_owned()) };
    let engine = Engine::new(Deps {
        store: Arc::new(Down::FindsTokens(found_after, Box::new(target))),
        http: Arc::new(NoNetwork),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        settings: EngineSettings::default(),
    });
    web::router(AppState::new(engine, METRICS.clone(), WebSettings::default(), &SystemIds, "1.2.3"))
}

/// More entries than are stored without a look at what is known.
fn document() -> String {
    let entries: String =
        (0..9).map(|number| format!("<entry><id>urn:{number}</id><title>{number}</title></entry>")).collect();
    format!("<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>News</title>{entries}</feed>")
}

fn call(method: &str, query: &str, body: Body) -> Request<Body> {
    let request = Request::builder().method(method).uri(format!("/api/websub/callback/token{query}"));
    let signature = sign(Algorithm::Sha256, document().as_bytes(), SECRET);
    request.header("host", "localhost").header("x-hub-signature", signature).body(body).unwrap()
}

fn push(body: impl Into<Body>) -> Request<Body> {
    call("POST", "", body.into())
}

/// How long a call takes until it is told to come again.
async fn refused_after(api: &Router, request: Request<Body>) -> Duration {
    let begun = Instant::now();
    let answer = api.clone().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn u4_w7_hub_that_waits_twice_for_the_store_is_told_in_time() {
    let api = api(Duration::from_secs(3));
    let question = format!("?hub.mode=subscribe&hub.topic={TOPIC}&hub.challenge=x");
    for (name, request) in [
        ("a verification", call("GET", &question, Body::empty())),
        ("a push of many entries", push(document())),
        ("a push that is signed wrongly", push("<feed/>")),
    ] {
        let waited = refused_after(&api, request).await;
        assert!(waited <= TOLD_WITHIN, "{name}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn u4_w7_slow_hub_loses_no_time_for_the_store() {
    let sent_for = Duration::from_secs(10);
    let body = stream::once(async move {
        sleep(sent_for).await;
        Ok::<_, Infallible>(Bytes::from(document()))
    });
    let found_after = Duration::from_secs(3);
    let waited = refused_after(&api(found_after), push(Body::from_stream(body))).await;
    assert!(waited > found_after + sent_for + Duration::from_secs(1), "{waited:?}");
    assert!(waited <= sent_for + TOLD_WITHIN, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn u4_w7_hub_that_waits_for_its_place_is_told_in_time() {
    let api = &api(Duration::from_hours(1));
    // More than there are places; each is taken until the call that has it is told.
    let calls = (0..200).map(|number| async move {
        sleep(Duration::from_millis(20) * number).await;
        refused_after(api, push(document())).await
    });
    for (number, waited) in join_all(calls).await.into_iter().enumerate() {
        assert!(waited <= TOLD_WITHIN, "{number}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn u4_w7_hub_that_waits_for_its_turn_is_told_in_time() {
    let api = api(Duration::from_secs(3));
    // As many as are read at once of one subscription.
    for _ in 0..2 {
        let unfinished = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        tokio::spawn(api.clone().oneshot(push(unfinished)));
    }
    sleep(Duration::from_secs(5)).await;
    let waited = refused_after(&api, push(document())).await;
    assert!(waited <= TOLD_WITHIN, "{waited:?}");
}
