//! What is easily overlooked.

use domain::account::READER;
use std::time::Duration;

use domain::push::SubscriptionState;
use engine::PushSettings;
use testkit::{Behaviour, Gate, Lease, Page, Signed, Verify};

use super::world::{DAY, HOUR, each};
use crate::raw::LONG;

#[tokio::test]
async fn w2_hub_may_verify_before_it_answers() {
    for world in each().await {
        let gate = Gate::default();
        world.hub.script(Behaviour {
            answer: Page::status(202).behind(&gate),
            ..Behaviour::verifying(Verify::BeforeAnswer)
        });
        let id = world.add(&world.publish("/f", &["first"])).await;
        let engine = std::sync::Arc::clone(&world.engine);
        let step = tokio::spawn(async move { engine.settle_push().await });
        assert!(world.hub.verification().await.confirms(), "the row was there before the request went out");
        assert_eq!(world.state(id).await, SubscriptionState::Active);
        let held = world.held("/f").await;
        assert_eq!(world.hub.push(&held, world.push_of("/f", &["pushed"])).await.status, 204);
        gate.open();
        step.await.unwrap().unwrap();
        assert_eq!(world.state(id).await, SubscriptionState::Active);
        assert_eq!(world.titles(id).await, ["first", "pushed"]);
    }
}

#[tokio::test]
async fn w2_refusal_after_verification_is_ignored() {
    for world in each().await {
        world.hub.script(Behaviour { answer: Page::status(500), ..Behaviour::verifying(Verify::BeforeAnswer) });
        let id = world.subscribe("/f").await;
        assert_eq!(world.state(id).await, SubscriptionState::Active);
        assert_eq!(world.subscription(id).await.error_count, 0);
    }
}

#[tokio::test]
async fn w6_old_secret_is_good_through_renewal() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let first = world.hub.request().await.secret.unwrap();
        let held = world.held("/f").await;
        // The hub keeps the first secret for ever.
        let mood =
            Behaviour { keeps_first_secret: true, lease: Lease::Secs(864_000), ..Behaviour::verifying(Verify::Never) };
        world.hub.script(mood);
        let push = |title: &str, secret: &str| {
            world.hub.push(&held, world.push_of("/f", &[title]).signed(Signed::With(secret.to_owned())))
        };
        world.advance(8 * DAY).await;
        world.engine.settle_push().await.unwrap();
        let renewal = world.hub.request().await;
        assert_eq!(push("during", &first).await.status, 204);
        assert!(world.subscription(id).await.is_active(), "it does not fall during a renewal");
        assert!(world.hub.verify(&renewal).await.confirms());
        assert_eq!(push("after", &first).await.status, 204);
        let second = renewal.secret.unwrap();
        assert_eq!(push("with the new one", &second).await.status, 204);
        assert_eq!(push("too old", &first).await.status, 403, "a newer one was seen at work");
        assert_eq!(world.titles(id).await, ["after", "during", "first", "with the new one"]);
    }
}

#[tokio::test]
async fn w10_removed_feed_is_not_subscribed_again() {
    for world in each().await {
        world.hub.script(Behaviour::verifying(Verify::Never));
        let id = world.subscribe("/f").await;
        let request = world.hub.request().await;
        world.engine.delete_feed(READER, id).await.unwrap();
        assert_eq!(world.hub.verify(&request).await.status, 404);
        world.settle().await;
        let goodbye = world.hub.request().await;
        assert_eq!(goodbye.mode, "unsubscribe");
        assert!(world.hub.verify(&goodbye).await.confirms());
        assert_eq!(world.hub.verify(&request).await.status, 404);
    }
}

#[tokio::test]
async fn w3_feeds_of_one_topic_have_own_subscriptions() {
    for world in each().await {
        let page = Page::body(super::world::atom(&world.hub.url(), &world.publisher.url("/topic"), &["first"]));
        world.publisher.set("/one", page.clone());
        world.publisher.set("/two", page);
        let one = world.add(&world.publisher.url("/one")).await;
        let two = world.add(&world.publisher.url("/two")).await;
        world.settle().await;
        assert_eq!(world.hub.subscriptions().len(), 2);
        let answers = world.hub.publish(&world.publisher.url("/topic"), world.push_of("/topic", &["new"])).await;
        assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [204, 204]);
        for id in [one, two] {
            assert_eq!(world.titles(id).await, ["first", "new"]);
        }
    }
}

#[tokio::test]
async fn w9_expired_lease_is_polled_and_resubscribed() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.publish("/f", &["first", "meanwhile"]);
        world.advance(20 * DAY).await;
        let restarted = world.restarted(PushSettings { base_url: Some(world.url.clone()), ..PushSettings::default() });
        restarted.start_push().await.unwrap();
        restarted.settle_push().await.unwrap();
        restarted.refresh_due().await.unwrap();
        assert_eq!(world.titles(id).await, ["first", "meanwhile"]);
        assert_eq!(world.state(id).await, SubscriptionState::Active);
        assert_eq!(world.hub.requests().len(), 2);
    }
}

#[tokio::test]
async fn w3_changed_base_url_is_sent_to_hub() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.hub.route_callbacks_to(world.url.strip_prefix("http://").unwrap().parse().unwrap());
        let base_url = Some("http://elsewhere.example/base".to_owned());
        let restarted = world.restarted(PushSettings { base_url, ..PushSettings::default() });
        restarted.start_push().await.unwrap();
        assert_eq!(world.state(id).await, SubscriptionState::Pending);
        assert_eq!(world.due_in(id).await, 0);
        restarted.settle_push().await.unwrap();
        let callback = world.hub.requests().last().unwrap().callback.clone();
        assert!(callback.starts_with("http://elsewhere.example/base/api/websub/callback/"), "{callback}");
        let asked = world.hub.requests().len();
        restarted.start_push().await.unwrap();
        restarted.settle_push().await.unwrap();
        assert_eq!(world.hub.requests().len(), asked, "once");
    }
}

#[tokio::test]
async fn w3_without_a_base_url_push_is_off_and_everything_is_polled() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let off = world.restarted(PushSettings::default());
        off.start_push().await.unwrap();
        assert_eq!(world.feed(id).await.subscription, None);
        assert_eq!(world.due_in(id).await, 0);
        off.settle_push().await.unwrap();
        off.refresh_due().await.unwrap();
        assert!(world.due_in(id).await < 86_400);
        assert_eq!(off.subscribe_feed(domain::account::READER, id).await, Err(engine::SubscribeError::Off));
        // It comes back with a base URL, without a poll.
        world.engine.start_push().await.unwrap();
        world.engine.settle_push().await.unwrap();
        assert_eq!(world.state(id).await, SubscriptionState::Active);
    }
}

#[tokio::test]
async fn w8_interrupted_renewal_is_resumed_after_claim() {
    for world in each().await {
        let id = world.subscribe_for("/f", DAY).await;
        world.advance(DAY / 2).await;
        world.hub.script(Behaviour::only(Page::hang()));
        let engine = world.restarted(PushSettings { base_url: Some(world.url.clone()), ..PushSettings::default() });
        let step = tokio::spawn(async move { engine.settle_push().await });
        world.hub.request().await;
        world.hub.request().await;
        step.abort();
        assert!(step.await.unwrap_err().is_cancelled());
        world.hub.script(Behaviour::verifying(Verify::BeforeAnswer));
        world.settle().await;
        assert_eq!(world.hub.requests().len(), 2, "it is still claimed");
        world.advance(Duration::from_mins(2)).await;
        world.settle().await;
        assert_eq!(world.hub.requests().len(), 3);
        assert_eq!(world.subscription(id).await.lease_secs, Some(864_000));
        let held = world.held("/f").await;
        world.advance(HOUR).await;
        assert_eq!(world.hub.push(&held, world.push_of("/f", &["new"])).await.status, 204);
    }
}

#[tokio::test]
async fn f4_a_slow_poll_never_undoes_a_newer_push() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let gate = Gate::default();
        let old = super::world::atom(&world.hub.url(), &world.publisher.url("/f"), &["first"]);
        world.publisher.set("/f", Page::body(old.replace("About first", "Old words")).behind(&gate));
        let before = world.publisher.requests("/f").len();
        let engine = std::sync::Arc::clone(&world.engine);
        let poll = tokio::spawn(async move { engine.refresh_feed(READER, id).await });
        world.publisher.asked("/f", before + 1).await;
        world.advance(Duration::from_secs(1)).await;
        let new = super::world::atom(&world.hub.url(), &world.publisher.url("/f"), &["first"]);
        let push = testkit::HubPush::new("application/atom+xml", new.replace("About first", "New words"));
        assert_eq!(world.hub.push(&world.held("/f").await, push).await.status, 204);
        gate.open();
        poll.await.unwrap().unwrap();
        assert_eq!(world.entries(id).await[0].content.as_deref(), Some("New words"));
    }
}

#[tokio::test]
async fn w8_u8_tiny_leases_are_not_renewed_in_a_loop() {
    for world in each().await {
        world.hub.script(Behaviour { lease: Lease::Secs(1), ..Behaviour::verifying(Verify::BeforeAnswer) });
        world.subscribe("/f").await;
        for _ in 0..60 {
            world.advance(Duration::from_secs(1)).await;
            world.settle().await;
        }
        let (asked, polled) = (world.hub.requests().len(), world.publisher.requests("/f").len());
        assert!(asked <= 3 && polled <= 6, "{asked} requests to the hub and {polled} to the publisher in a minute");
    }
}

#[tokio::test]
async fn w8_u8_short_renewals_spare_the_publisher() {
    for world in each().await {
        world.hub.script(Behaviour { lease: Lease::Secs(60), ..Behaviour::verifying(Verify::BeforeAnswer) });
        let id = world.subscribe("/f").await;
        let polled = world.publisher.requests("/f").len();
        for _ in 0..10 {
            world.advance(Duration::from_secs(30)).await;
            world.settle().await;
        }
        assert!(world.subscription(id).await.is_active());
        assert_eq!(world.hub.requests().len(), 11);
        assert_eq!(world.publisher.requests("/f").len(), polled);
    }
}

#[tokio::test]
async fn u8_verifications_are_rate_limited() {
    for world in each().await {
        world.subscribe("/f").await;
        let request = world.hub.request().await;
        // The minute in which they are counted is a real one: on a slow machine it takes more until there are too many.
        let (mut asked, mut refused) = (0, 0);
        while refused < 15 {
            refused += usize::from(world.hub.verify(&request).await.status == 429);
            asked += 1;
            assert!(asked < 1000, "{refused} of {asked} refused");
        }
        assert_eq!(world.hub.push(&world.held("/f").await, world.push_of("/f", &["new"])).await.status, 204);
    }
}

#[tokio::test]
async fn w1_w11_moved_feed_gets_new_topic() {
    for world in each().await {
        let bare = |entries: &str| {
            format!(
                "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>t</title><link rel=\"hub\" href=\"{}\"/>{entries}</feed>",
                world.hub.url()
            )
        };
        world.publisher.set("/old", Page::body(bare("")));
        let id = world.add(&world.publisher.url("/old")).await;
        world.settle().await;
        assert_eq!(world.subscription(id).await.topic_url, world.publisher.url("/old"));
        world.publisher.set("/old", Page::redirect(301, &world.publisher.url("/new")));
        world.publisher.set("/new", Page::body(bare("")));
        world.advance(DAY).await;
        world.settle().await;
        let subscription = world.subscription(id).await;
        assert_eq!(subscription.topic_url, world.publisher.url("/new"));
        assert_eq!(subscription.state, SubscriptionState::Active);
    }
}

#[tokio::test]
async fn w2_any_2xx_accepts_whatever_its_body() {
    for world in each().await {
        world
            .hub
            .next(Behaviour { answer: Page::break_off("abc").with_status(202), ..Behaviour::verifying(Verify::Never) });
        let broken = world.subscribe("/broken").await;
        world
            .hub
            .next(Behaviour { answer: Page::endless("abc").with_status(202), ..Behaviour::verifying(Verify::Never) });
        let endless = world.subscribe("/endless").await;
        for id in [broken, endless] {
            let subscription = world.subscription(id).await;
            assert_eq!((subscription.error_count, subscription.last_error), (0, None));
        }
    }
}

#[tokio::test]
async fn w7_hanging_hub_is_asked_four_at_a_time() {
    // A hub that answers has as long as a slow machine takes.
    let settings = PushSettings { hub_timeout: LONG, ..PushSettings::default() };
    for world in super::world::each_with(settings).await {
        world.hub.script(Behaviour { lease: Lease::Secs(86_400), ..Behaviour::verifying(Verify::BeforeAnswer) });
        for place in 0..12 {
            world.add(&world.publish(&format!("/{place}"), &["first"])).await;
        }
        world.settle().await;
        world.hub.script(Behaviour::only(Page::hang()));
        let (base_url, hub_timeout) = (Some(world.url.clone()), Duration::from_secs(1));
        let hurried = world.restarted(PushSettings { base_url, hub_timeout, ..PushSettings::default() });
        let summary = hurried.renew_expiring().await.unwrap();
        assert_eq!(summary.failed, 12, "{summary:?}");
        assert!(summary.results.iter().all(|result| result.error_count == Some(1)), "{summary:?}");
    }
}

#[tokio::test]
async fn w12_pushed_entry_is_no_miss() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.advance(2 * HOUR).await;
        let undated = "<rss><channel><title>t</title><item><guid>1</guid><title>x</title></item></channel></rss>";
        let link = format!("<{}>; rel=hub, <{}>; rel=self", world.hub.url(), world.publisher.url("/f"));
        world.publisher.set("/f", Page::body(undated).header("Link", &link));
        assert_eq!(world.hub.push(&world.held("/f").await, testkit::HubPush::ping()).await.status, 204);
        world.advance(Duration::from_mins(1)).await;
        world.settle().await;
        assert_eq!(world.entries(id).await.len(), 2);
        assert_eq!(world.subscription(id).await.miss_count, 0);
    }
}
