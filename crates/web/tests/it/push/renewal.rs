//! The scenarios of renewal, by the names that they were given.

use std::time::Duration;

use domain::push::SubscriptionState;
use serde_json::json;
use testkit::{Behaviour, Lease, Page, Verify};

use super::world::{DAY, HOUR, World, each};

/// So many feeds whose leases of a day are due for renewal.
async fn expiring(world: &World, count: usize) {
    world.hub.script(Behaviour { lease: Lease::Secs(86_400), ..Behaviour::verifying(Verify::BeforeAnswer) });
    for place in 0..count {
        let url = world.publish(&format!("/{place}"), &["first"]);
        world.add(&url).await;
    }
    world.settle().await;
    for _ in 0..count {
        world.hub.request().await;
    }
}

#[tokio::test]
async fn w7_renewal_finds_expiring_subscriptions() {
    for world in each().await {
        let a = world.subscribe_for("/a", DAY).await;
        let b = world.subscribe_for("/b", 3 * DAY).await;
        let c = world.subscribe_for("/c", HOUR).await;
        let summary = world.renew().await;
        let feeds: Vec<_> =
            summary["results"].as_array().unwrap().iter().map(|result| result["feedId"].clone()).collect();
        assert_eq!(feeds, [json!(c), json!(a)], "not {b:?}, and the soonest first");
    }
}

#[tokio::test]
async fn w6_w7_renewal_succeeds() {
    for world in each().await {
        let id = world.subscribe_for("/f", DAY).await;
        let first = world.hub.request().await;
        let polls = world.publisher.requests("/f").len();
        // What was fetched a moment ago is not looked at again.
        world.advance(HOUR / 4).await;
        let summary = world.renew().await;
        let expected = json!({"renewed": 1, "failed": 0, "pending": 0, "results": [
            {"feedId": id, "status": "renewed", "newExpiresAt": "2026-03-12T12:15:00Z"},
        ]});
        assert_eq!(summary, expected);
        let second = world.hub.request().await;
        assert_eq!((&second.topic, &second.callback), (&first.topic, &first.callback));
        assert_ne!(second.secret, first.secret);
        assert_eq!(world.publisher.requests("/f").len(), polls + 1, "it looks at the feed first");
        let subscription = world.subscription(id).await;
        assert_eq!((subscription.error_count, subscription.last_error), (0, None));
    }
}

#[tokio::test]
async fn w7_w9_renewal_with_hub_unreachable() {
    for world in each().await {
        let id = world.subscribe_for("/f", DAY).await;
        world.hub.stop().await;
        let summary = world.renew().await;
        let expected = json!({"renewed": 0, "failed": 1, "pending": 0, "results": [
            {"feedId": id, "status": "failed", "error": "Hub unreachable", "errorCount": 1},
        ]});
        assert_eq!(summary, expected);
        let subscription = world.subscription(id).await;
        assert_eq!(subscription.last_error.as_deref(), Some("Hub unreachable: ECONNREFUSED"));
        assert!(subscription.is_active() && subscription.error_count == 1);
        let page = world.get("/push").await.text;
        assert!(page.contains("1 error: Hub unreachable: ECONNREFUSED"), "{page}");
        assert!(page.contains("the hub is asked again <time"), "{page}");
    }
}

#[tokio::test]
async fn w9_fifth_failure_deactivates() {
    for world in each().await {
        let id = world.subscribe_for("/f", DAY).await;
        world.hub.script(Behaviour::only(Page::status(500)));
        for failures in 1..=4 {
            assert_eq!(world.renew().await["results"][0]["errorCount"], failures);
            assert!(world.subscription(id).await.is_active());
        }
        let summary = world.renew().await;
        assert_eq!(
            summary["results"][0],
            json!({
                "feedId": id, "status": "failed", "error": "Hub subscription failed: 500", "errorCount": 5
            })
        );
        let subscription = world.subscription(id).await;
        assert_eq!((subscription.state, subscription.error_count), (SubscriptionState::Inactive, 5));
        assert_eq!(world.due_in(id).await, 0, "it is polled at once");
        let asked = world.hub.requests().len();
        assert_eq!(world.renew().await["results"], json!([]), "no further renewals");
        world.settle().await;
        assert_eq!(world.hub.requests().len(), asked);
    }
}

#[tokio::test]
async fn w9_success_clears_failures() {
    for world in each().await {
        let id = world.subscribe_for("/f", DAY).await;
        world.hub.next(Behaviour::only(Page::status(500)));
        world.hub.next(Behaviour::only(Page::reset()));
        world.renew().await;
        world.renew().await;
        assert_eq!(world.subscription(id).await.error_count, 2);
        assert_eq!(world.renew().await["renewed"], 1);
        let subscription = world.subscription(id).await;
        assert_eq!((subscription.error_count, subscription.last_error.clone()), (0, None));
        assert!(subscription.is_active());
        assert_eq!(subscription.lease_secs, Some(864_000));
    }
}

#[tokio::test]
async fn w7_renewal_takes_twenty_at_once() {
    for world in each().await {
        expiring(&world, 25).await;
        world.hub.script(Behaviour { lease: Lease::Secs(864_000), ..Behaviour::verifying(Verify::BeforeAnswer) });
        let summary = world.renew().await;
        assert_eq!((&summary["renewed"], summary["results"].as_array().unwrap().len()), (&20.into(), 20));
        assert!(world.hub.concurrency_max() <= 4, "{}", world.hub.concurrency_max());
        assert_eq!(world.renew().await["renewed"], 5, "the rest is there for the next call");
    }
}

#[tokio::test]
async fn w7_renewal_with_nothing_due() {
    for world in each().await {
        world.subscribe("/f").await;
        let none = json!({"renewed": 0, "failed": 0, "pending": 0, "results": []});
        assert_eq!(world.renew().await, none);
    }
}

#[tokio::test]
async fn w7_renewal_reports_mixed_results() {
    for world in each().await {
        expiring(&world, 5).await;
        world.hub.next(Behaviour::only(Page::status(500)));
        world.hub.next(Behaviour::only(Page::status(404)));
        let summary = world.renew().await;
        assert_eq!((&summary["renewed"], &summary["failed"]), (&3.into(), &2.into()));
        assert_eq!(summary["results"].as_array().unwrap().len(), 5);
    }
}

#[tokio::test]
async fn w7_unverified_renewal_is_pending_then_failed() {
    let settings = engine::PushSettings { verify_wait: Duration::from_millis(100), ..engine::PushSettings::default() };
    for world in super::world::each_with(settings).await {
        let id = world.subscribe_for("/f", DAY).await;
        world.hub.script(Behaviour::verifying(Verify::Never));
        assert_eq!(world.renew().await["results"], json!([{"feedId": id, "status": "pending"}]));
        assert_eq!(world.renew().await["results"], json!([]), "it may still be verified");
        world.advance(Duration::from_mins(5)).await;
        world.settle().await;
        let subscription = world.subscription(id).await;
        assert_eq!(subscription.last_error.as_deref(), Some("Hub did not verify in time"));
        assert!(subscription.is_active() && subscription.error_count == 1);
    }
}

#[tokio::test]
async fn w8_short_leases_are_renewed_halfway() {
    for world in each().await {
        world.subscribe_for("/short", DAY).await;
        world.subscribe_for("/long", 10 * DAY).await;
        world.hub.script(Behaviour { lease: Lease::Secs(86_400), ..Behaviour::verifying(Verify::BeforeAnswer) });
        let asked = || world.hub.requests().len() - 2;
        for (hours, renewals) in [(11, 0), (1, 1), (11, 1), (1, 2)] {
            world.advance(hours * HOUR).await;
            world.settle().await;
            assert_eq!(asked(), renewals, "after {hours} hours more");
        }
        assert_eq!(world.hub.requests().iter().filter(|request| request.topic.ends_with("/long")).count(), 1);
        world.advance(7 * DAY).await;
        world.settle().await;
        assert_eq!(world.hub.requests().iter().filter(|request| request.topic.ends_with("/long")).count(), 2);
    }
}

#[tokio::test]
async fn w9_first_subscription_backs_off() {
    for world in each().await {
        world.hub.next(Behaviour::only(Page::status(503).header("Retry-After", "600")));
        let id = world.subscribe("/f").await;
        assert_eq!(world.subscription(id).await.last_error.as_deref(), Some("Hub subscription failed: 503"));
        world.advance(Duration::from_mins(9)).await;
        world.settle().await;
        assert_eq!(world.hub.requests().len(), 1);
        world.advance(Duration::from_mins(1)).await;
        world.settle().await;
        assert_eq!(world.state(id).await, SubscriptionState::Active);
    }
}
