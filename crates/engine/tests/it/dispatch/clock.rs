//! A clock that is set back while an engine works.

use std::time::Duration;

use domain::delivery::RetryRules;
use engine::DeliverySettings;
use testkit::Page;

use super::setup::{each, quick};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn d9_engine_sends_retries_in_time_though_the_clock_was_set_back() {
    let retry = RetryRules { first: MINUTE, jitter: 0.0, ..RetryRules::default() };
    for setup in each(DeliverySettings { retry, ..quick() }).await {
        let world = &setup.world;
        world.stop_clocks().await;
        setup.webhook("/a").await;
        setup.receiver.answer_next("/a", [Page::status(500)]);
        let working = setup.work();
        setup.publish(1).await;
        let tried = setup.wait_until("tried", |delivery| delivery.attempts == 1).await.remove(0);
        // The latest time that was seen.
        assert_eq!(world.store.watch_clock().await, Ok(None));
        world.set_back(Duration::from_hours(1)).await;
        // Nobody looks at the clock but the engine, every ten seconds. What is shown is never before the event itself.
        setup.wait_until("moved", |delivery| delivery.next_attempt_at < tried.next_attempt_at).await;
        assert_eq!(setup.receiver.receipts("/a").count(), 1, "it still waits for a minute");
        world.advance(MINUTE).await;
        setup.wait_delivered().await;
        working.stop().await;
    }
}
