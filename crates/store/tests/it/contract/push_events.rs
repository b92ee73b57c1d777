//! D2: webhooks are told when push begins and ends, and when one of them is disabled.

use domain::{
    SubscriptionId,
    delivery::{BreakerRules, EventType, NewWebhook, Verdict},
    push::{SubscriptionEvent, SubscriptionView},
};
use serde_json::json;

use super::{
    Harness,
    given::HOUR,
    given_outbox::{RETRY, SECOND, finished, limits, new_webhook},
    given_push::{HUB, HUB_LEASE, asking, denied, found, verified},
};

contract! {
    d2_push_begin_and_end_are_sent,
    d2_renewals_and_never_active_subscriptions_send_nothing,
    d2_push_end_with_its_feed_is_sent,
    d2_expired_push_is_sent,
    d2_disabled_webhook_is_sent_to_others,
    d9_webhook_failing_for_five_days_is_disabled,
    d2_failed_delivery_is_sent_to_others,
}

const ACTIVATED: EventType = EventType::SubscriptionActivated;
const DEACTIVATED: EventType = EventType::SubscriptionDeactivated;

async fn d2_push_begin_and_end_are_sent(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    harness.done(id, asking("secret")).await;
    assert_eq!(harness.deliveries_to(webhook).await, [], "nothing has begun");
    let active = harness.done(id, verified(HUB_LEASE)).await.after.unwrap();
    let (job, data) = harness.drain().await.remove(0);
    assert_eq!(job.kind, ACTIVATED);
    let about = json!({ "id": feed, "url": "http://e.org/1", "title": "Title", "folderId": null });
    let view = serde_json::to_value(SubscriptionView::from(&active)).unwrap();
    assert_eq!(data, json!({ "feed": about, "subscription": view }));
    assert_eq!((&view["isActive"], &view["state"]), (&json!(true), &json!("active")));

    let denied = harness.done(id, denied()).await.after.unwrap();
    let (job, data) = harness.drain().await.remove(0);
    assert_eq!(job.kind, DEACTIVATED);
    let view = serde_json::to_value(SubscriptionView::from(&denied)).unwrap();
    assert_eq!(data, json!({ "feed": about, "subscription": view }));
    assert_eq!(view["isActive"], json!(false));
    assert_eq!(harness.kinds_to(webhook).await, [ACTIVATED, DEACTIVATED]);
}

async fn d2_renewals_and_never_active_subscriptions_send_nothing(harness: &Harness) {
    let webhook = harness.webhook("https://r.org/1").await;
    let (feed, id) = harness.with_hub("http://e.org/1", "token").await;
    harness.done(id, asking("secret")).await;
    harness.done(id, denied()).await;
    assert_eq!(harness.deliveries_to(webhook).await, []);
    harness.done(id, SubscriptionEvent::Retry).await;
    harness.verify(id, "secret", HUB_LEASE).await;
    harness.verify(id, "secret", HUB_LEASE).await;
    harness.done(id, SubscriptionEvent::Missed).await;
    assert_eq!(harness.kinds_to(webhook).await, [ACTIVATED]);
    // A poll that finds no hub any more ends it.
    harness.discover(feed, vec![], found(&[], None, "other")).await;
    assert_eq!(harness.kinds_to(webhook).await, [ACTIVATED, DEACTIVATED]);
    harness.change(SubscriptionId(999), SubscriptionEvent::Retry).await;
    assert_eq!(harness.deliveries_to(webhook).await.len(), 2);
}

async fn d2_push_end_with_its_feed_is_sent(harness: &Harness) {
    let (feed, _) = harness.pushed("http://e.org/1", "token").await;
    let webhook = harness.webhook("https://r.org/1").await;
    harness.store.delete_feed(feed).await.unwrap();
    let drained = harness.drain().await;
    assert_eq!(drained.iter().map(|(job, _)| (job.webhook_id, job.kind)).collect::<Vec<_>>(), [(webhook, DEACTIVATED)]);
    assert_eq!(drained[0].1["feed"]["id"], json!(feed));
    let subscription = &drained[0].1["subscription"];
    assert_eq!((&subscription["hubUrl"], &subscription["isActive"]), (&json!(HUB), &json!(false)));
    // Once it has no feed, nothing of it is an event.
    let id = harness.by_token("token").await.unwrap().id;
    harness.done(id, super::given_push::unsubscribed()).await;
    assert_eq!(harness.deliveries_to(webhook).await.len(), 1);
}

async fn d2_expired_push_is_sent(harness: &Harness) {
    let (_, id) = harness.pushed("http://e.org/1", "token").await;
    let webhook = harness.webhook("https://r.org/1").await;
    harness.advance(HUB_LEASE).await;
    harness.done(id, SubscriptionEvent::TimePassed).await;
    assert_eq!(harness.kinds_to(webhook).await, [DEACTIVATED]);
    assert_eq!(harness.drain().await[0].1["subscription"]["isActive"], json!(false));
    // The same if nobody has noticed, and it is forgotten: it is shown as it was, but for that.
    let (_, id) = harness.pushed("http://e.org/2", "other").await;
    harness.drain().await;
    harness.advance(HUB_LEASE).await;
    let transition = harness.done(id, SubscriptionEvent::Unwanted).await;
    assert_eq!((transition.before.is_active(), transition.after), (true, None));
    let drained = harness.drain().await;
    assert_eq!(drained.iter().map(|(job, _)| job.kind).collect::<Vec<_>>(), [DEACTIVATED]);
    let subscription = &drained[0].1["subscription"];
    assert_eq!((&subscription["state"], &subscription["isActive"]), (&json!("inactive"), &json!(false)));
}

async fn d2_disabled_webhook_is_sent_to_others(harness: &Harness) {
    let (bad, other) =
        (harness.quiet_webhook("https://r.org/bad").await, harness.quiet_webhook("https://r.org/other").await);
    let deaf = NewWebhook { event_types: Some(vec![EventType::EntryCreated]), ..new_webhook("https://r.org/deaf") };
    let deaf = harness.webhook_like(deaf).await.id;
    let queued = harness.queue(bad, 2).await;
    let jobs = harness.take("worker", 2).await;
    let marks = harness.mark(vec![finished(&jobs[0], Verdict::Gone)]).await;
    let [(disabled, reason)] = marks.disabled.as_slice() else { panic!("{marks:?}") };
    assert_eq!((*disabled, reason.contains("410")), (bad, true));
    let (job, data) = harness.drain().await.remove(0);
    assert_eq!((job.webhook_id, job.kind), (other, EventType::WebhookDisabled));
    assert_eq!(data, json!({ "webhook": { "id": bad, "url": "https://r.org", "disabledReason": reason } }));
    assert_eq!((harness.deliveries_to(deaf).await.len(), harness.deliveries_to(bad).await.len()), (0, queued.len()));
    // What was under way besides tells nobody again.
    assert_eq!(harness.mark(vec![finished(&jobs[1], Verdict::Gone)]).await.disabled, []);
    assert_eq!(harness.deliveries_to(other).await.len(), 1);
}

async fn d9_webhook_failing_for_five_days_is_disabled(harness: &Harness) {
    let (bad, other) = (harness.webhook("https://r.org/bad").await, harness.webhook("https://r.org/other").await);
    harness.queue(bad, 1).await;
    let began = harness.now();
    loop {
        let claimed = harness.claim_with("worker", &limits(9)).await.jobs;
        let to_bad: Vec<_> = claimed.iter().filter(|job| job.webhook_id == bad).collect();
        let [job] = to_bad.as_slice() else { panic!("a probe is due: {claimed:?}") };
        let marks = harness.mark(vec![finished(job, RETRY)]).await;
        let is_over = harness.now() >= began + BreakerRules::default().disable_after;
        assert_eq!(marks.disabled.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [bad][..usize::from(is_over)]);
        if is_over {
            break;
        }
        assert_eq!(harness.deliveries_to(other).await, []);
        harness.advance(HOUR * 6 + SECOND).await;
    }
    assert_eq!(harness.kinds_to(other).await, [EventType::WebhookDisabled]);
    let disabled = harness.the_webhook(bad).await;
    assert!(!disabled.enabled && disabled.disabled_reason.unwrap().contains("5 days"));
    assert_eq!(harness.take("worker", 9).await.iter().filter(|job| job.webhook_id == bad).count(), 0);
    assert_eq!(harness.deliveries_to(bad).await.len(), 1, "it keeps its rows");
}

async fn d2_failed_delivery_is_sent_to_others(harness: &Harness) {
    let (bad, other) = (harness.webhook("https://r.org/bad").await, harness.webhook("https://r.org/other").await);
    let deaf = NewWebhook { event_types: Some(vec![EventType::EntryCreated]), ..new_webhook("https://r.org/deaf") };
    let deaf = harness.webhook_like(deaf).await.id;
    let queued = harness.queue(bad, 1).await.remove(0);
    let job = harness.take_one("worker").await;
    harness.end(&job, Verdict::Failed).await;
    assert_eq!(harness.kinds_to(other).await, [EventType::DeliveryFailed]);
    assert_eq!((harness.deliveries_to(deaf).await.len(), harness.deliveries_to(bad).await.len()), (0, 1));
    let report = harness.take_one("worker").await;
    let data: serde_json::Value = serde_json::from_str(report.data.as_ref().unwrap()).unwrap();
    assert_eq!(data["webhook"]["id"], bad.0);
    assert_eq!(data["delivery"]["id"], queued.id);
    assert_eq!(
        (&data["delivery"]["eventId"], &data["delivery"]["eventType"]),
        (&queued.event_id.into(), &"webhook.test".into())
    );
    assert_eq!(data["delivery"]["lastStatusCode"], 500);
    // That nobody could be told of it is told to nobody: two dead webhooks would tell each other for ever.
    harness.end(&report, Verdict::Failed).await;
    assert_eq!(harness.deliveries_to(bad).await.len(), 1);
    // A late mark gives up nothing.
    harness.queue(bad, 1).await;
    let late = harness.take_one("worker").await;
    harness.advance(HOUR).await;
    let again = harness.take_one("worker").await;
    harness.mark(vec![finished(&late, Verdict::Failed)]).await;
    harness.end(&again, Verdict::Delivered).await;
    assert_eq!(harness.deliveries_to(other).await.len(), 1);
}
