//! What a hub pushes, and how it is signed.

use domain::push::sign;

use super::*;

const FEED: &str = "<feed>…</feed>";

fn feed() -> HubPush {
    HubPush::new("application/atom+xml", FEED)
}

#[tokio::test]
async fn publishing_pushes_to_all_signed_and_linked() {
    let subscriber = Subscriber::start().await;
    subscriber.subscribed().await;
    let other = format!("http://{}/other", subscriber.address);
    for topic in [TOPIC, "http://blog.example/other"] {
        let fields = [("hub.mode", "subscribe"), ("hub.topic", topic), ("hub.callback", &other)];
        subscriber.post(&subscriber.hub.url(), &fields).await;
    }
    while subscriber.hub.subscriptions().len() < 3 {
        subscriber.hub.verification().await;
    }
    let answers = subscriber.hub.publish(TOPIC, feed()).await;
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [204, 204]);

    let pushes = subscriber.pushes();
    let [signed] = pushes.iter().filter(|push| push.uri == "/callback?token=t%201").collect::<Vec<_>>()[..] else {
        panic!("one for each: {pushes:?}")
    };
    assert_eq!(signed.body, FEED.as_bytes());
    assert_eq!(signed.header("content-type"), Some("application/atom+xml"));
    let link = format!(r#"<{}>; rel="hub", <{TOPIC}>; rel="self""#, subscriber.hub.url());
    assert_eq!(signed.header("link"), Some(link.as_str()));
    assert_eq!(signed.header("x-hub-signature"), Some(&*sign(Algorithm::Sha256, FEED.as_bytes(), "secret")));
    let unsigned = pushes.iter().find(|push| push.uri == "/other").unwrap();
    assert_eq!(unsigned.header("x-hub-signature"), None, "it was given no secret");
}

#[tokio::test]
async fn each_way_of_signing() {
    let subscriber = Subscriber::start().await;
    let held = subscriber.subscribed().await;
    subscriber.hub.sign_by(Algorithm::Sha1);
    let by = |algorithm, secret| Some(sign(algorithm, FEED.as_bytes(), secret));
    let sha1 = by(Algorithm::Sha1, "secret");
    let mut cases = vec![
        (Signed::Right, sha1.clone()),
        (Signed::With("old".to_owned()), by(Algorithm::Sha1, "old")),
        (Signed::TooLong, sha1.clone().map(|right| right + "ffff")),
        (Signed::Raw("md5=00".to_owned()), Some("md5=00".to_owned())),
        (Signed::Missing, None),
    ];
    cases.extend(Algorithm::ALL.map(|algorithm| (Signed::By(algorithm), by(algorithm, "secret"))));
    for (signed, expect) in cases {
        let push = feed().signed(signed.clone());
        assert_eq!(subscriber.hub.push(&held, push).await.status, 204);
        let pushed = subscriber.pushes().pop().unwrap();
        assert_eq!(pushed.header("x-hub-signature"), expect.as_deref(), "{signed:?}");
    }
    subscriber.hub.push(&held, feed().signed(Signed::Wrong)).await;
    let wrong = subscriber.pushes().pop().unwrap();
    assert_eq!(wrong.header("x-hub-signature").map(str::len), sha1.as_ref().map(String::len));
    assert_ne!(wrong.header("x-hub-signature"), sha1.as_deref());
}

#[tokio::test]
async fn pings_pages_and_foreign_links() {
    let subscriber = Subscriber::start().await;
    let held = subscriber.subscribed().await;
    subscriber.hub.push(&held, HubPush::ping()).await;
    let ping = subscriber.pushes().pop().unwrap();
    assert_eq!((ping.body.as_slice(), ping.header("content-type")), (b"".as_slice(), None));
    assert_eq!(ping.header("x-hub-signature"), Some(&*sign(Algorithm::Sha256, b"", "secret")));

    let page = HubPush::new("text/html", "<!doctype html>").link(Param::Absent).header("X-Other", "1");
    subscriber.hub.push(&held, page).await;
    let page = subscriber.pushes().pop().unwrap();
    assert_eq!((page.header("content-type"), page.header("link")), (Some("text/html"), None));
    assert_eq!(page.header("x-other"), Some("1"));

    let foreign = r#"<http://evil.example/>; rel="self""#;
    subscriber.hub.push(&held, feed().link(Param::Is(foreign.to_owned()))).await;
    assert_eq!(subscriber.pushes().pop().unwrap().header("link"), Some(foreign));
}

#[tokio::test]
async fn forty_at_once() {
    let subscriber = Subscriber::start().await;
    let held = subscriber.subscribed().await;
    let answers = subscriber.hub.push_all(&held, std::iter::repeat_n(feed(), 40)).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_success()).count(), 40);
    assert_eq!(subscriber.pushes().len(), 40);
    let numbered = (0..40).map(|number| HubPush::new("text/plain", number.to_string()));
    assert_eq!(subscriber.hub.push_all(&held, numbered).await.len(), 40);
}

#[tokio::test]
async fn a_silent_hub_verifies_but_pushes_nothing() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.go_silent();
    let held = subscriber.subscribed().await;
    assert!(subscriber.hub.publish(TOPIC, feed()).await.is_empty());
    assert!(subscriber.pushes().is_empty());
    assert_eq!(subscriber.hub.push(&held, feed()).await.status, 204, "unless it is told to");
    subscriber.hub.wake();
    assert_eq!(subscriber.hub.publish(TOPIC, feed()).await.len(), 1);
}

#[tokio::test]
async fn failures_end_nothing_but_410_forgets_a_callback() {
    let subscriber = Subscriber::start().await;
    let held = subscriber.subscribed().await;
    for status in [403, 404, 500] {
        subscriber.answer_pushes(status);
        assert_eq!(subscriber.hub.push(&held, feed()).await.status, status);
    }
    assert_eq!(subscriber.hub.subscriptions().len(), 1);
    subscriber.answer_pushes(410);
    assert_eq!(subscriber.hub.push(&held, feed()).await.status, 410);
    assert!(subscriber.hub.subscriptions().is_empty());
}

#[tokio::test]
async fn an_unverified_subscription_can_be_pushed_to() {
    let subscriber = Subscriber::start().await;
    subscriber.hub.script(Behaviour::verifying(Verify::Never));
    subscriber.ask("subscribe", "early").await;
    let asked_for = subscriber.hub.request().await.subscription();
    assert_eq!(subscriber.hub.push(&asked_for, feed()).await.status, 204);
    let pushed = subscriber.pushes().pop().unwrap();
    assert_eq!(pushed.header("x-hub-signature"), Some(&*sign(Algorithm::Sha256, FEED.as_bytes(), "early")));
}

#[tokio::test]
async fn an_answer_before_the_end_of_a_big_push_is_read() {
    let subscriber = Subscriber::start().await;
    let too_big = axum::Router::new().fallback(|| async { StatusCode::PAYLOAD_TOO_LARGE });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let callback = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, too_big).await });
    let to = HubSubscription { topic: TOPIC.to_owned(), callback, secret: None };
    let answer = subscriber.hub.push(&to, HubPush::new("text/xml", vec![b' '; 16 << 20])).await;
    assert_eq!(answer.status, 413, "{answer:?}");
    server.abort();
}
