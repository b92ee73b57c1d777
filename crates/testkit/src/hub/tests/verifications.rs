//! When a hub verifies, what it asks then, and what it holds afterwards.

use super::*;
use crate::{Gate, Page};

#[tokio::test]
async fn a_good_hub_accepts_verifies_and_subscribes() {
    let subscriber = Subscriber::start().await;
    assert_eq!(subscriber.ask("subscribe", "one").await.status, 202);
    let request = subscriber.hub.request().await;
    assert_eq!((request.mode.as_str(), request.topic.as_str()), ("subscribe", TOPIC));
    assert_eq!((&request.callback, request.secret.as_deref()), (&subscriber.callback(), Some("one")));
    assert_eq!(request.http.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(request.fields.len(), 4);
    assert!(request.http.body.starts_with(b"hub.mode=subscribe&hub.topic=http%3A"));

    let answer = subscriber.hub.verification().await;
    assert!(answer.confirms(), "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    let question = &subscriber.questions()[0];
    assert_eq!(question["token"], "t 1", "the callback's own parameters stay");
    assert_eq!((question["hub.mode"].as_str(), question["hub.topic"].as_str()), ("subscribe", TOPIC));
    assert_eq!((&question["hub.challenge"], &question["hub.lease_seconds"]), (&answer.text(), &"864000".to_owned()));
    assert_eq!(subscriber.hub.subscriptions(), [request.subscription()]);
}

#[tokio::test]
async fn it_verifies_before_it_answers() {
    let subscriber = Subscriber::start().await;
    let gate = Gate::default();
    let answer = Page::status(202).behind(&gate);
    subscriber.hub.script(Behaviour { answer, ..Behaviour::verifying(Verify::BeforeAnswer) });
    let check = async {
        subscriber.hub.subscribed(TOPIC).await;
        gate.open();
    };
    let (answer, ()) = tokio::join!(subscriber.ask("subscribe", "one"), check);
    assert_eq!(answer.status, 202);
}

#[tokio::test]
async fn it_verifies_after_it_has_answered() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.next(Behaviour { answer: Page::hang(), ..Behaviour::default() });
    tokio::select! {
        _ = subscriber.ask("subscribe", "never answered") => unreachable!(),
        _ = subscriber.hub.request() => {}
    }
    subscriber.subscribed().await;
    assert_eq!(subscriber.questions().len(), 1, "only of the request that was answered");
}

#[tokio::test]
async fn it_verifies_later_or_never() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.script(Behaviour::verifying(Verify::Never));
    assert_eq!(subscriber.ask("subscribe", "one").await.status, 202);
    let request = subscriber.hub.request().await;
    assert!(subscriber.questions().is_empty() && subscriber.hub.subscriptions().is_empty());
    assert!(subscriber.hub.verify(&request).await.confirms());
    assert_eq!(subscriber.hub.subscriptions(), [request.subscription()]);
    assert!(subscriber.hub.verifications().is_empty(), "only what it does by itself");
}

#[tokio::test]
async fn it_verifies_twice_with_another_challenge_each_time() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.script(Behaviour::asking([Query::default(), Query::default()]));
    subscriber.ask("subscribe", "one").await;
    let answers = [subscriber.hub.verification().await, subscriber.hub.verification().await];
    assert!(answers.iter().all(CallbackAnswer::confirms));
    assert_ne!(answers[0].challenge, answers[1].challenge);
    assert_eq!(subscriber.hub.subscriptions().len(), 1);
}

#[tokio::test]
async fn it_asks_wrong_things_and_holds_nothing_for_them() {
    let subscriber = Subscriber::start().await;
    let no_mode = Query { mode: Param::Absent, ..Query::default() };
    subscriber.hub.script(Behaviour::asking([Query::invalid_topic(), no_mode]));
    subscriber.ask("subscribe", "one").await;
    subscriber.hub.verification().await;
    subscriber.hub.verification().await;
    let questions = subscriber.questions();
    assert_eq!(questions[0]["hub.topic"], format!("{TOPIC}?invalid"));
    assert_eq!(questions[1].get("hub.mode"), None);
    assert!(subscriber.hub.subscriptions().is_empty());

    let request = subscriber.hub.request().await;
    let mode = Param::Is("unsubscribe".to_owned());
    subscriber.hub.verify_with(&request, Query { mode, ..Query::default() }).await;
    subscriber.hub.verify_with(&request, Query { challenge: Param::Absent, ..Query::default() }).await;
    assert!(subscriber.hub.subscriptions().is_empty());
    let answer = subscriber.hub.verify_with(&request, Query::challenging("a&b c")).await;
    assert_eq!((answer.text().as_str(), answer.confirms()), ("a&b c", true));
    assert!(subscriber.hub.verify_with(&request, Query::challenging("")).await.confirms());
}

#[tokio::test]
async fn each_lease_is_granted_as_it_is_scripted() {
    let subscriber = Subscriber::start().await;
    let absurd = u64::MAX;
    let cases = [
        (Lease::AsAsked, Some("3600".to_owned())),
        (Lease::Secs(1), Some("1".to_owned())),
        (Lease::Secs(absurd), Some(absurd.to_string())),
        (Lease::Text("for ever".to_owned()), Some("for ever".to_owned())),
        (Lease::Absent, None),
    ];
    for (lease, expect) in cases {
        subscriber.hub.script(Behaviour::leasing(lease));
        let callback = subscriber.callback();
        let fields = [
            ("hub.mode", "subscribe"),
            ("hub.topic", TOPIC),
            ("hub.callback", &callback),
            ("hub.lease_seconds", "3600"),
        ];
        assert_eq!(subscriber.post(&subscriber.hub.url(), &fields).await.status, 202);
        assert!(subscriber.hub.verification().await.confirms());
        assert_eq!(subscriber.questions().last().unwrap().get("hub.lease_seconds"), expect.as_ref());
    }
    assert_eq!(subscriber.hub.request().await.lease_seconds.as_deref(), Some("3600"));
}

#[tokio::test]
async fn it_denies_before_and_after_it_has_accepted() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.next(Behaviour::denying(Some("no such topic")));
    subscriber.ask("subscribe", "one").await;
    subscriber.hub.verification().await;
    let question = &subscriber.questions()[0];
    assert_eq!((question["hub.mode"].as_str(), question["hub.reason"].as_str()), ("denied", "no such topic"));
    assert_eq!((question.get("hub.challenge"), question.get("hub.lease_seconds")), (None, None));
    assert!(subscriber.hub.subscriptions().is_empty());

    subscriber.subscribed().await;
    let request = subscriber.hub.requests().pop().unwrap();
    assert!(!subscriber.hub.deny(&request, None).await.confirms());
    subscriber.hub.unsubscribed(TOPIC).await;
}

#[tokio::test]
async fn a_renewal_replaces_the_secret_once_it_is_verified() {
    let subscriber = Subscriber::start().await;
    subscriber.subscribed().await;
    assert!(subscriber.hub.verification().await.confirms());
    let secret = || subscriber.hub.subscriptions()[0].secret.clone().unwrap();

    subscriber.refuse(404);
    subscriber.ask("subscribe", "refused").await;
    assert_eq!(subscriber.hub.verification().await.status, 404);
    assert_eq!(secret(), "secret");

    *subscriber.seen.refusal.lock().unwrap() = None;
    subscriber.ask("subscribe", "second").await;
    assert!(subscriber.hub.verification().await.confirms());
    assert_eq!(secret(), "second");

    subscriber.hub.script(Behaviour { keeps_first_secret: true, ..Behaviour::default() });
    subscriber.ask("subscribe", "third").await;
    assert!(subscriber.hub.verification().await.confirms());
    assert_eq!(secret(), "second");
    assert_eq!(subscriber.hub.subscriptions().len(), 1, "topic and callback are the key");
}

#[tokio::test]
async fn unsubscribing_is_verified_too() {
    let subscriber = Subscriber::start().await;
    subscriber.subscribed().await;
    subscriber.refuse(404);
    subscriber.ask("unsubscribe", "secret").await;
    subscriber.hub.verification().await;
    assert_eq!(subscriber.hub.verification().await.status, 404);
    assert_eq!(subscriber.hub.subscriptions().len(), 1);

    *subscriber.seen.refusal.lock().unwrap() = None;
    subscriber.ask("unsubscribe", "secret").await;
    subscriber.hub.unsubscribed(TOPIC).await;
    let question = subscriber.questions().pop().unwrap();
    assert_eq!((question["hub.mode"].as_str(), question.get("hub.lease_seconds")), ("unsubscribe", None));
}

#[tokio::test]
async fn an_unreachable_callback_is_reported() {
    let subscriber = Subscriber::start().await;
    let dead = Hub::start().await;
    dead.stop().await;
    let fields = [("hub.mode", "subscribe"), ("hub.topic", TOPIC), ("hub.callback", &dead.url())];
    subscriber.post(&subscriber.hub.url(), &fields).await;
    let answer = subscriber.hub.verification().await;
    assert_eq!((answer.status, answer.confirms()), (0, false));
    assert!(answer.error.unwrap().contains("refused"));
}

#[tokio::test]
async fn callbacks_are_reached_behind_another_name() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.route_callbacks_to(subscriber.address);
    let fields =
        [("hub.mode", "subscribe"), ("hub.topic", TOPIC), ("hub.callback", "https://reader.example/callback/x")];
    subscriber.post(&subscriber.hub.url(), &fields).await;
    let held = subscriber.hub.subscribed(TOPIC).await;
    assert_eq!(subscriber.hub.push(&held, HubPush::ping()).await.status, 204);
    let pushed = &subscriber.pushes()[0];
    assert_eq!((pushed.uri.as_str(), pushed.header("host")), ("/callback/x", Some("reader.example")));
}

#[tokio::test]
async fn without_recording_it_counts_over_kept_connections() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.record(false);
    let wait = async |what: &str, is_so: fn(&HubCounts) -> bool| {
        subscriber.hub.shared.wait(what, |state| is_so(&state.counts).then_some(())).await;
    };
    for _ in 0..2 {
        assert_eq!(subscriber.ask("subscribe", "one").await.status, 202);
    }
    wait("two confirmed", |counts| counts.confirmed == 2).await;
    subscriber.refuse(404);
    assert_eq!(subscriber.ask("subscribe", "one").await.status, 202);
    wait("one unconfirmed", |counts| counts.unconfirmed == 1).await;
    let counts = subscriber.hub.counts();
    assert_eq!((counts.requests, counts.last_unconfirmed.unwrap().status), (3, 404));
    assert!(subscriber.hub.requests().is_empty() && subscriber.hub.subscriptions().is_empty());
}
