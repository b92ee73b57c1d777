//! What a hub answers to those who ask it.

use super::*;
use crate::{Gate, Page, Publisher};

#[tokio::test]
async fn it_answers_with_errors_and_redirects() {
    let subscriber = Subscriber::start().await;
    let elsewhere = subscriber.hub.url_at("/elsewhere?x=1");
    let cases = [
        (Page::status(500), 500, None),
        (Page::status(503).header("Retry-After", "120"), 503, Some(("retry-after", "120"))),
        (Page::redirect(307, &elsewhere), 307, Some(("location", elsewhere.as_str()))),
        (Page::redirect(308, &elsewhere), 308, Some(("location", elsewhere.as_str()))),
    ];
    for (page, status, header) in cases {
        subscriber.hub.next(Behaviour::only(page));
        let answer = subscriber.ask("subscribe", "one").await;
        assert_eq!(answer.status, status);
        if let Some((name, value)) = header {
            assert_eq!(answer.header(name), Some(value));
        }
    }
    assert!(subscriber.questions().is_empty(), "it verifies nothing that it did not accept");

    let callback = subscriber.callback();
    let fields = [("hub.mode", "subscribe"), ("hub.topic", TOPIC), ("hub.callback", &callback)];
    assert_eq!(subscriber.post(&elsewhere, &fields).await.status, 202, "the script holds again, at every path");
    assert_eq!(subscriber.hub.requests().pop().unwrap().http.path, "/elsewhere?x=1");
    subscriber.hub.subscribed(TOPIC).await;
}

#[tokio::test]
async fn it_resets_and_hangs() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.next(Behaviour::only(Page::reset()));
    let answer = subscriber.ask("subscribe", "one").await;
    assert_eq!(answer.status, 0, "{answer:?}");

    subscriber.hub.next(Behaviour::only(Page::hang()));
    subscriber.hub.request().await;
    let stop = async {
        subscriber.hub.request().await;
        subscriber.hub.stop().await;
    };
    let (answer, ()) = tokio::join!(subscriber.ask("subscribe", "one"), stop);
    assert_eq!(answer.status, 0, "it had no answer as long as the hub was there");
}

#[tokio::test]
async fn stopped_it_refuses_and_restarted_it_still_knows() {
    let subscriber = Subscriber::start().await;
    let held = subscriber.subscribed().await;
    for _ in 0..2 {
        subscriber.hub.stop().await;
        subscriber.hub.stop().await;
        let answer = subscriber.ask("subscribe", "one").await;
        assert!(answer.error.unwrap().contains("refused"));
        subscriber.hub.restart();
        subscriber.hub.restart();
        assert_eq!(subscriber.ask("unknown", "one").await.status, 400);
    }
    assert_eq!(subscriber.hub.subscriptions(), [held]);
}

#[tokio::test]
async fn bad_requests_are_refused_and_use_up_no_script() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.next(Behaviour::only(Page::status(500)));
    let long = "x".repeat(200);
    let good = [("hub.mode", "subscribe"), ("hub.topic", "t"), ("hub.callback", "http://c.example/")];
    let cases = [
        good[1..].to_vec(),
        good[..2].to_vec(),
        vec![good[0], good[2]],
        [good.as_slice(), &[("hub.secret", &long)]].concat(),
        [good.as_slice(), &[("hub.lease_seconds", "0")]].concat(),
    ];
    for fields in &cases {
        let answer = subscriber.post(&subscriber.hub.url(), fields).await;
        assert_eq!((answer.status, answer.text().is_empty()), (400, false), "{fields:?}");
    }
    let url = subscriber.hub.url();
    assert_eq!(client::send("GET", &url, &[], &[], None).await.status, 400);
    assert_eq!(client::send("POST", &url, &[], b"hub.mode=subscribe", None).await.status, 400);
    assert_eq!(subscriber.post(&url, &good).await.status, 500);
    assert_eq!(subscriber.hub.requests().len(), cases.len() + 3);
    assert!(subscriber.hub.verifications().is_empty());
}

#[tokio::test]
async fn the_hub_of_the_w3c_suite_refuses_what_it_could_not_verify() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.script(Behaviour::of_w3c_suite());
    assert_eq!(subscriber.ask("subscribe", "first").await.status, 202);
    assert_eq!(subscriber.ask("subscribe", "second").await.status, 202);
    assert_eq!(subscriber.questions()[0]["hub.lease_seconds"], "86400");
    assert_eq!(subscriber.hub.subscriptions()[0].secret.as_deref(), Some("first"));
    subscriber.refuse(404);
    assert_eq!(subscriber.ask("subscribe", "third").await.status, 400);
}

#[tokio::test]
async fn it_counts_who_asks_at_once() {
    let subscriber = Subscriber::start().await;
    let gate = Gate::default();
    subscriber.hub.script(Behaviour::only(Page::status(202).behind(&gate)));
    let both_there = async {
        subscriber.hub.request().await;
        subscriber.hub.request().await;
        gate.open();
    };
    tokio::join!(subscriber.ask("subscribe", "one"), subscriber.ask("subscribe", "two"), both_there);
    subscriber.ask("subscribe", "three").await;
    assert_eq!(subscriber.hub.concurrency_max(), 2);
}

#[tokio::test]
async fn a_publisher_names_its_hubs_in_several_headers() {
    let publisher = Publisher::start().await;
    let page = Page::body("<rss/>").header("Link", "<http://a/>; rel=hub").header("Link", "<http://b/>; rel=self");
    publisher.set("/feed", page);
    let answer = client::send("GET", &publisher.url("/feed"), &[], &[], None).await;
    let links: Vec<_> = answer.headers.iter().filter(|(name, _)| name == "link").map(|(_, value)| value).collect();
    assert_eq!(links, ["<http://a/>; rel=hub", "<http://b/>; rel=self"]);
    client::send("POST", &publisher.url("/feed"), &[], b"body", None).await;
    let requests = publisher.requests("/feed");
    assert_eq!((requests[0].method.as_str(), requests[1].body.as_slice()), ("GET", b"body".as_slice()));
}
