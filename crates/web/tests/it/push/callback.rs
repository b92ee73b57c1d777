//! What hubs are answered.

use domain::account::READER;
use domain::ports::Viewer;
use domain::push::{Algorithm, SubscriptionState};
use engine::PushSettings;
use testkit::{Behaviour, Hub, HubPush, Lease, Page, Param, Query, Signed, Verify};

use super::world::{DAY, HOUR, World, atom, each, each_with, each_with_few_pushes};

#[tokio::test]
async fn w4_verification_echoes_challenge_and_starts_lease() {
    for world in each().await {
        world.hub.script(Behaviour::verifying(Verify::Never));
        let id = world.subscribe("/f").await;
        let request = world.hub.request().await;
        assert_eq!(world.state(id).await, SubscriptionState::Pending);
        world.hub.next(Behaviour::leasing(Lease::Secs(864_000)));
        let answer =
            world.hub.verify_with(&request, Query { lease: Some(Lease::Secs(864_000)), ..Query::default() }).await;
        assert!(answer.confirms(), "{answer:?}");
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
        let subscription = world.subscription(id).await;
        assert!(subscription.is_active() && subscription.lease_secs == Some(864_000));
        assert_eq!(subscription.expires_at, Some(world.now() + jiff::SignedDuration::from_hours(240)));
        assert_eq!(world.due_in(id).await, 0, "it is polled once, for what was published in between");
        world.settle().await;
        assert_eq!(world.due_in(id).await, 86_400, "and then once a day");
    }
}

#[tokio::test]
async fn w4_absurd_leases_are_bounded() {
    for world in each().await {
        let cases = [
            (Lease::Absent, 432_000),
            (Lease::Secs(0), 432_000),
            (Lease::Text("soon".into()), 432_000),
            (Lease::Text("-5".into()), 432_000),
            (Lease::Secs(60), 60),
            (Lease::Secs(u64::MAX), 14 * 86_400),
            (Lease::Text("99999999999999999999999999".into()), 14 * 86_400),
        ];
        for (place, (lease, secs)) in cases.into_iter().enumerate() {
            world.hub.next(Behaviour { lease: lease.clone(), ..Behaviour::verifying(Verify::BeforeAnswer) });
            let id = world.subscribe(&format!("/{place}")).await;
            assert_eq!(world.subscription(id).await.lease_secs, Some(secs), "{lease:?}");
        }
    }
}

#[tokio::test]
async fn w4_missing_parameters_are_400_and_unknown_ones_404() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let subscription = world.subscription(id).await;
        let path = format!("/api/websub/callback/{}", subscription.token);
        let topic = url::form_urlencoded::byte_serialize(subscription.topic_url.as_bytes()).collect::<String>();
        for query in ["", "hub.mode=subscribe", &format!("hub.mode=subscribe&hub.topic={topic}"), "hub.challenge=x"] {
            assert!(world.get(&format!("{path}?{query}")).await.error(400).starts_with("hub."), "{query}");
        }
        let known = format!("hub.mode=subscribe&hub.topic={topic}&hub.challenge=x");
        world.get(&format!("/api/websub/callback/nonsense?{known}")).await.error(404);
        world.get(&format!("{path}?hub.mode=subscribe&hub.topic=other&hub.challenge=x")).await.error(404);
        assert_eq!(world.get(&format!("{path}?{known}&more=1")).await.text, "x");
    }
}

#[tokio::test]
async fn w4_unasked_unsubscription_is_404() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let request = world.hub.request().await;
        let query = Query { mode: Param::Is("unsubscribe".into()), ..Query::default() };
        assert_eq!(world.hub.verify_with(&request, query).await.status, 404);
        assert_eq!(world.state(id).await, SubscriptionState::Active);
    }
}

#[tokio::test]
async fn w4_denial_ends_subscription_with_reason() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let answer = world.hub.deny(&world.hub.request().await, Some("you may not")).await;
        assert!(answer.is_success(), "{answer:?}");
        let subscription = world.subscription(id).await;
        assert_eq!(subscription.state, SubscriptionState::Inactive);
        assert_eq!(subscription.last_error.as_deref(), Some("you may not"));
        assert_eq!(world.due_in(id).await, 0, "it is polled again, at once");
        world.settle().await;
        assert!(world.due_in(id).await < 86_400);
    }
}

#[tokio::test]
async fn w5_only_allowed_algorithms_are_taken() {
    let settings = PushSettings { algorithms: vec![Algorithm::Sha1, Algorithm::Sha512], ..PushSettings::default() };
    for (settings, allowed) in
        [(PushSettings::default(), &Algorithm::ALL[..]), (settings, &[Algorithm::Sha1, Algorithm::Sha512])]
    {
        for world in each_with(settings.clone()).await {
            world.subscribe("/f").await;
            let held = world.held("/f").await;
            for algorithm in Algorithm::ALL {
                let push = world.push_of("/f", &["new"]).signed(Signed::By(algorithm));
                let status = if allowed.contains(&algorithm) { 204 } else { 400 };
                assert_eq!(world.hub.push(&held, push).await.status, status, "{algorithm:?}");
            }
            for (raw, status) in [("md5=00", 400), ("sha1", 403), ("sha1=zz", 403), ("", 403)] {
                let push = world.push_of("/f", &["new"]).signed(Signed::Raw(raw.into()));
                assert_eq!(world.hub.push(&held, push).await.status, status, "{raw}");
            }
            world.hub.sign_by(Algorithm::Sha1);
            assert_eq!(world.hub.push(&held, world.push_of("/f", &["new"]).signed(Signed::Wrong)).await.status, 403);
        }
    }
}

#[tokio::test]
async fn w5_push_belongs_to_its_token() {
    for world in each().await {
        let (one, two) = (world.subscribe("/one").await, world.subscribe("/two").await);
        let held = world.held("/one").await;
        let push =
            world.push_of("/two", &["pushed"]).link(Param::Is(format!("<{}>; rel=self", world.publisher.url("/two"))));
        assert_eq!(world.hub.push(&held, push).await.status, 204);
        assert_eq!(world.titles(one).await, ["first", "pushed"]);
        assert_eq!(world.titles(two).await, ["first"]);
    }
}

#[tokio::test]
async fn w5_push_is_sniffed_and_400_if_no_feed() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let held = world.held("/f").await;
        for kind in ["text/html", "image/png", "application/json", "text/xml; charset=utf-8", ""] {
            let push = HubPush::new(kind, atom("h", "t", &[&format!("as {kind}")]));
            assert_eq!(world.hub.push(&held, push).await.status, 204, "{kind}");
        }
        assert_eq!(world.entries(id).await.len(), 6);
        for body in ["<html><body>Hello</body></html>", "nonsense", "{\"a\":1}", "\u{0}\u{1}"] {
            let answer = world.hub.push(&held, HubPush::new("application/atom+xml", body)).await;
            assert_eq!(answer.status, 400, "{body}");
        }
        assert!(world.due_in(id).await <= 60, "the hub has something for us: the feed is asked itself");
    }
}

#[tokio::test]
async fn w5_inactive_is_404_removed_feed_410() {
    for world in each().await {
        world.hub.script(Behaviour::verifying(Verify::Never));
        world.subscribe("/f").await;
        let request = world.hub.request().await;
        let path = request.callback.strip_prefix(&world.url).unwrap().to_owned();
        world.post(&path).await.error(404);
        world.post("/api/websub/callback/nonsense").await.error(404);
        world.hub.verify(&request).await;
        let id = world.store.feeds(READER).await.unwrap()[0].id;
        world.engine.delete_feed(READER, id).await.unwrap();
        let held = world.held("/f").await;
        assert_eq!(world.hub.push(&held, world.push_of("/f", &["late"])).await.status, 410);
    }
}

#[tokio::test]
async fn w5_repeated_push_is_stored_once() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let held = world.held("/f").await;
        let pushes = (0..40).map(|_| world.push_of("/f", &["pushed", "first"])).collect::<Vec<_>>();
        let answers = world.hub.push_all(&held, pushes).await;
        assert!(answers.iter().all(|answer| answer.status == 204), "{answers:?}");
        assert_eq!(world.titles(id).await, ["first", "pushed"]);
        let subscription = world.subscription(id).await;
        assert_eq!((subscription.push_count, subscription.last_push_at), (40, Some(world.now())));
        assert_eq!(world.feed(id).await.unread_count, 2);
    }
}

#[tokio::test]
async fn w5_thin_push_polls_feed_once() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let held = world.held("/f").await;
        let polls = || world.publisher.requests("/f").len();
        world.publish("/f", &["first", "second"]);
        let before = polls();
        for _ in 0..5 {
            assert_eq!(world.hub.push(&held, HubPush::ping()).await.status, 204);
        }
        assert_eq!(world.titles(id).await, ["first"]);
        let due_in = world.due_in(id).await;
        assert!((1..=60).contains(&due_in), "{due_in}");
        world.advance(HOUR / 60).await;
        world.settle().await;
        assert_eq!(world.titles(id).await, ["first", "second"]);
        assert_eq!(polls(), before + 1);
        world.advance(HOUR).await;
        world.settle().await;
        assert_eq!(polls(), before + 1, "once");
    }
}

#[tokio::test]
async fn w5_poll_completes_bare_pushed_entry() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let held = world.held("/f").await;
        let bare = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>t</title><entry><id>urn:video</id>\
                    <title>video</title></entry></feed>";
        assert_eq!(world.hub.push(&held, HubPush::new("application/atom+xml", bare)).await.status, 204);
        let entry = |entries: Vec<domain::Entry>| entries.into_iter().find(|entry| entry.guid == "urn:video").unwrap();
        assert_eq!(entry(world.entries(id).await).content, None, "stored as it is");
        world.publish("/f", &["first", "video"]);
        world.advance(HOUR / 60).await;
        let summary = world.engine.refresh_due().await.unwrap();
        assert_eq!((summary.new_entries, summary.changed_entries), (0, 0), "it is completed, and not changed");
        assert_eq!(entry(world.entries(id).await).content.as_deref(), Some("About video"));
        // The hub tells of it once more: what is known is not lost.
        assert_eq!(world.hub.push(&held, HubPush::new("application/atom+xml", bare)).await.status, 204);
        assert_eq!(entry(world.entries(id).await).content.as_deref(), Some("About video"));
    }
}

#[tokio::test]
async fn w5_u8_refused_pushes_poll_the_feed() {
    for world in each_with_few_pushes().await {
        let id = world.subscribe("/f").await;
        let held = world.held("/f").await;
        assert_eq!(world.due_in(id).await, 86_400);
        let large = world.hub.push(&held, HubPush::new("text/xml", vec![b' '; 9 * 1024 * 1024])).await;
        assert_eq!(large.status, 413);
        assert!(world.due_in(id).await <= 60);
        world.advance(HOUR).await;
        world.settle().await;
        assert_eq!(world.due_in(id).await, 86_400);
        let pushes = (0..80).map(|_| world.push_of("/f", &["first"])).collect::<Vec<_>>();
        let answers = world.hub.push_all(&held, pushes).await;
        let refused = answers.iter().filter(|answer| answer.status == 429).count();
        assert!(answers.iter().all(|answer| [204, 429].contains(&answer.status)) && refused >= 15, "{refused}");
        assert!(answers.iter().any(|answer| answer.header("retry-after").is_some()));
        assert!(world.due_in(id).await <= 60);
    }
}

/// The callback without a token, as the seeds have it.
fn tokenless(world: &World) -> String {
    format!("{}/api/websub/callback", world.url)
}

#[tokio::test]
async fn w3_tokenless_verification_confirms_only_what_was_asked() {
    for world in each().await {
        world.hub.script(Behaviour::verifying(Verify::Never));
        let id = world.subscribe("/f").await;
        let mut request = world.hub.request().await;
        request.callback = tokenless(&world);
        let unasked = Query { mode: Param::Is("unsubscribe".into()), ..Query::default() };
        assert_eq!(world.hub.verify_with(&request, unasked).await.status, 404);
        assert!(world.hub.verify(&request).await.confirms());
        assert_eq!(world.state(id).await, SubscriptionState::Active);
        let expires_at = world.subscription(id).await.expires_at;
        world.advance(HOUR).await;
        assert_eq!(world.hub.verify(&request).await.status, 404, "nothing is extended that was not asked for");
        assert_eq!(world.hub.deny(&request, None).await.status, 404, "nor denied");
        assert_eq!(world.subscription(id).await.expires_at, expires_at);
    }
}

#[tokio::test]
async fn w3_tokenless_push_is_known_by_topic_and_signature() {
    for world in each().await {
        let (one, two) = (world.subscribe("/one").await, world.subscribe("/two").await);
        let mut held = world.held("/two").await;
        held.callback = tokenless(&world);
        assert_eq!(world.hub.push(&held, world.push_of("/two", &["by link"])).await.status, 204);
        let push = world.push_of("/two", &["by self"]).link(Param::Absent);
        assert_eq!(world.hub.push(&held, push).await.status, 204);
        held.callback = format!("{}?hub.topic={}", tokenless(&world), world.publisher.url("/two"));
        let push = world.push_of("/one", &["by address"]).link(Param::Absent);
        assert_eq!(world.hub.push(&held, push).await.status, 204);
        assert_eq!(world.titles(one).await, ["first"]);
        assert_eq!(world.titles(two).await, ["by address", "by link", "by self", "first"]);
        let push = world.push_of("/two", &["wrong"]).signed(Signed::Wrong);
        assert_eq!(world.hub.push(&held, push).await.status, 403);
        held.callback = tokenless(&world);
        let push = world.push_of("/none", &["nobody's"]).link(Param::Absent);
        assert_eq!(world.hub.push(&held, push).await.status, 404);
    }
}

#[tokio::test]
async fn w13_subscriptions_are_listed_in_full() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.hub.push(&world.held("/f").await, world.push_of("/f", &["new"])).await;
        let list = world.get("/api/websub/subscriptions").await.ok(200);
        let expected = serde_json::json!([{
            "feedId": id, "hubUrl": world.hub.url(), "topicUrl": world.publisher.url("/f"), "state": "active",
            "isActive": true, "leaseSeconds": 864_000, "expiresAt": "2026-03-12T12:00:00Z", "errorCount": 0,
            "lastError": null, "lastPushAt": "2026-03-02T12:00:00Z", "pushCount": 1, "missCount": 0,
        }]);
        assert_eq!(list, expected);
        assert_eq!(world.get(&format!("/api/feeds/{id}")).await.ok(200)["subscription"], expected[0]);
    }
}

#[tokio::test]
async fn w2_subscription_request_follows_standard() {
    let settings = PushSettings { lease_secs: Some(1234), ..PushSettings::default() };
    for (settings, lease) in [(PushSettings::default(), None), (settings, Some("1234"))] {
        for world in each_with(settings.clone()).await {
            world.subscribe("/f").await;
            let request = world.hub.request().await;
            assert_eq!(request.mode, "subscribe");
            assert_eq!(request.lease_seconds.as_deref(), lease);
            let secret = request.secret.clone().unwrap();
            assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()), "{secret}");
            let token = request.callback.strip_prefix(&format!("{}/api/websub/callback/", world.url)).unwrap();
            assert!(token.len() >= 32, "nobody guesses it");
            world.advance(9 * DAY).await;
            world.settle().await;
            let renewal = world.hub.request().await;
            assert_eq!(renewal.callback, request.callback, "stable over renewals");
            assert_ne!(renewal.secret, request.secret, "a new one each time");
        }
    }
}

#[tokio::test]
async fn w10_deleted_feed_is_unsubscribed() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.hub.request().await;
        world.hub.next(Behaviour::only(Page::status(500)));
        let answer =
            crate::server::answer(reqwest::Client::new().delete(format!("{}/api/feeds/{id}", world.url))).await;
        assert_eq!(answer.status, 204);
        world.settle().await;
        assert_eq!(world.hub.request().await.mode, "unsubscribe");
        let left = world.get("/api/websub/subscriptions").await.ok(200);
        assert_eq!((&left[0]["state"], &left[0]["feedId"]), (&"unsubscribing".into(), &serde_json::Value::Null));
        world.advance(HOUR / 60).await;
        world.settle().await;
        assert_eq!(world.hub.request().await.mode, "unsubscribe", "it is told again");
        world.hub.unsubscribed(&world.publisher.url("/f")).await;
        assert_eq!(world.get("/api/websub/subscriptions").await.ok(200), serde_json::json!([]));
    }
}

#[tokio::test]
async fn w10_orphaned_subscription_lives_until_lease_end() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.hub.script(Behaviour::verifying(Verify::Never));
        world.engine.delete_feed(READER, id).await.unwrap();
        world.settle().await;
        assert_eq!(world.store.subscriptions(Viewer::Server).await.unwrap().len(), 1);
        world.advance(10 * DAY).await;
        world.settle().await;
        assert_eq!(world.store.subscriptions(Viewer::Server).await.unwrap().len(), 0);
    }
}

#[tokio::test]
async fn w11_push_is_switched_per_feed() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.hub.request().await;
        assert_eq!(world.post(&format!("/api/feeds/{id}/unsubscribe")).await.status, 204);
        assert_eq!(world.feed(id).await.subscription, None);
        assert_eq!(world.due_in(id).await, 0);
        world.settle().await;
        assert_eq!(world.hub.request().await.mode, "unsubscribe");
        assert!(!world.feed(id).await.push_enabled);
        let view = world.post(&format!("/api/feeds/{id}/subscribe")).await.ok(202);
        assert_eq!((&view["state"], &view["isActive"]), (&"pending".into(), &false.into()));
        world.settle().await;
        assert_eq!(world.state(id).await, SubscriptionState::Active);
        world.post("/api/feeds/999/subscribe").await.error(404);
        world.post("/api/feeds/999/unsubscribe").await.error(404);
        world.publisher.set("/bare", Page::body("<rss><channel><title>t</title></channel></rss>"));
        let bare = world.add(&world.publisher.url("/bare")).await;
        assert!(world.post(&format!("/api/feeds/{bare}/subscribe")).await.error(422).contains("no hub"));
    }
}

#[tokio::test]
async fn w9_next_hub_after_two_failures() {
    for world in each().await {
        let second = Hub::start().await;
        second.script(Behaviour::verifying(Verify::BeforeAnswer));
        world.hub.script(Behaviour::only(Page::status(500)));
        let topic = world.publisher.url("/f");
        let document = atom(&world.hub.url(), &topic, &["first"]);
        let both =
            document.replace("<title>News", &format!("<link rel=\"hub\" href=\"{}\"/><title>News", second.url()));
        // The one in the document's first place is the second hub: put it behind.
        let hub = format!("<link rel=\"hub\" href=\"{}\"/>", world.hub.url());
        let ordered = both.replace(&hub, "").replacen("<link rel=\"hub\"", &format!("{hub}<link rel=\"hub\""), 1);
        world.publisher.set("/f", Page::body(ordered));
        let id = world.add(&topic).await;
        for wait in [0, 1] {
            world.advance(HOUR / 60 * wait).await;
            world.settle().await;
        }
        assert_eq!(world.hub.requests().len(), 2);
        let subscription = world.subscription(id).await;
        assert_eq!(
            (subscription.hub_url.as_str(), subscription.state),
            (second.url().as_str(), SubscriptionState::Active)
        );
        assert_ne!(second.requests()[0].callback, world.hub.requests()[0].callback, "its own token");
    }
}
