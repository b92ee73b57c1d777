//! Push is checked, not trusted.

use domain::ports::Viewer;
use std::time::Duration;

use domain::push::SubscriptionState;
use engine::PushSettings;
use testkit::{Behaviour, Hub, Page, Verify};

use super::world::{DAY, HOUR, World, atom, each, each_with};

/// A feed whose newest entry was published two hours ago.
fn publish_at(world: &World, path: &str, title: &str) {
    let published = world.now() - jiff::SignedDuration::from_hours(2);
    let document = atom(&world.hub.url(), &world.publisher.url(path), &["first", title]);
    let document = document.replace("<updated>2026-03-01T00:00:00Z", &format!("<updated>{published}"));
    world.publisher.set(path, Page::body(document));
}

#[tokio::test]
async fn w12_silent_hub_is_distrusted_until_next_push() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        for day in 1..=2_u32 {
            world.advance(DAY).await;
            publish_at(&world, "/f", &format!("missed {day}"));
            world.settle().await;
            let subscription = world.subscription(id).await;
            assert_eq!((subscription.miss_count, subscription.is_active()), (u64::from(day), true));
        }
        let page = world.get("/push").await.text;
        assert!(page.contains(">misses pushes</span>") && page.contains("0 failing, 2 misses, last push"), "{page}");
        assert!(!page.contains(">working</span>"), "{page}");
        assert!(world.due_in(id).await < 86_400, "after two misses it is polled as usual");
        let answer = world.hub.push(&world.held("/f").await, world.push_of("/f", &["pushed"])).await;
        assert_eq!(answer.status, 204);
        world.advance(DAY / 2).await;
        world.settle().await;
        assert_eq!(world.due_in(id).await, 86_400, "a push has come: it is trusted again");
        assert_eq!(world.subscription(id).await.miss_count, 2);
        assert!(world.get("/push").await.text.contains(">working</span>"));
    }
}

#[tokio::test]
async fn w12_daily_audit_is_not_postponed() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.advance(DAY / 2).await;
        world.hub.push(&world.held("/f").await, world.push_of("/f", &["pushed"])).await;
        assert_eq!(world.due_in(id).await, 43_200);
    }
    for world in each_with(PushSettings { audit: Duration::ZERO, ..PushSettings::default() }).await {
        let id = world.subscribe("/f").await;
        assert!(world.due_in(id).await > 86_400 * 365);
    }
}

#[tokio::test]
async fn f5_pushed_feeds_are_not_polled() {
    for world in each().await {
        let pushed = world.subscribe("/pushed").await;
        world.hub.script(Behaviour::only(Page::status(500)));
        world.subscribe("/polled").await;
        let polls = |path: &str| world.publisher.requests(path).len();
        let before = (polls("/pushed"), polls("/polled"));
        world.advance(3 * HOUR).await;
        world.engine.refresh_due().await.unwrap();
        assert_eq!((polls("/pushed"), polls("/polled")), (before.0, before.1 + 1));
        // Push ends: it is polled in the next round.
        world.hub.deny(&world.hub.requests()[0], None).await;
        world.engine.refresh_due().await.unwrap();
        assert_eq!(polls("/pushed"), before.0 + 1);
        assert_eq!(world.state(pushed).await, SubscriptionState::Inactive);
    }
}

#[tokio::test]
async fn w11_poll_follows_changed_hub_and_topic() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        let old = world.hub.request().await;
        let other = Hub::start().await;
        other.script(Behaviour::verifying(Verify::BeforeAnswer));
        let topic = world.publisher.url("/other-topic");
        world.publisher.set("/f", Page::body(atom(&other.url(), &topic, &["first"])));
        world.advance(DAY).await;
        world.settle().await;
        let new = other.request().await;
        assert_eq!(new.topic, topic);
        assert_ne!(new.callback, old.callback, "a new one with its own token");
        assert_eq!(world.hub.request().await.mode, "unsubscribe", "and the old is unsubscribed");
        let subscription = world.subscription(id).await;
        assert_eq!((subscription.hub_url, subscription.state), (other.url(), SubscriptionState::Active));
        assert_eq!(world.store.subscriptions(Viewer::Server).await.unwrap().len(), 1);
        // No hub any more.
        world.publisher.set("/f", Page::body("<rss><channel><title>t</title></channel></rss>"));
        world.advance(DAY).await;
        world.settle().await;
        assert_eq!(other.request().await.mode, "unsubscribe");
        assert_eq!(world.feed(id).await.subscription, None);
        assert_eq!(world.feed(id).await.last_error, None, "no hub is no error");
    }
}

#[tokio::test]
async fn w11_inactive_subscription_is_retried_daily() {
    for world in each().await {
        let id = world.subscribe("/f").await;
        world.hub.deny(&world.hub.request().await, None).await;
        world.settle().await;
        assert_eq!(world.hub.requests().len(), 1);
        world.advance(DAY).await;
        world.settle().await;
        assert_eq!((world.state(id).await, world.hub.requests().len()), (SubscriptionState::Active, 2));
        world.hub.deny(&world.hub.request().await, None).await;
        world.post(&format!("/api/feeds/{id}/subscribe")).await.ok(202);
        world.settle().await;
        assert_eq!((world.state(id).await, world.hub.requests().len()), (SubscriptionState::Active, 3));
    }
}
