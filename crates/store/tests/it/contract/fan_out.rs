//! A2: an event goes to the webhooks of those who follow its feed, as each has it.

use domain::{
    FeedPatch, WebhookId,
    delivery::{EventType, NewWebhook, Verdict},
    follow::NewFollow,
};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    Harness,
    given::{HOUR, entry, new_follow, version},
    given_outbox::new_webhook,
};

contract! {
    a2_new_entries_are_there_for_all_followers,
    a6_ten_thousand_followers_have_an_entry_at_once,
    a2_events_go_to_followers_by_their_own_folders,
    a2_a_payload_is_as_its_follower_has_it,
    a2_backlog_of_a_new_follower,
    a2_replay_begins_with_the_follow,
    a1_trouble_of_a_webhook_concerns_its_own_account,
}

const URL: &str = "http://e.org/1";
const CREATED: EventType = EventType::EntryCreated;

async fn a2_new_entries_are_there_for_all_followers(harness: &Harness) {
    let feed = harness.add(URL, vec![entry("1")]).await;
    let ann = harness.account("ann").await;
    let folder = ann.store.create_folder("Mine").await.unwrap().unwrap().id;
    ann.follow_as(NewFollow { folder_id: Some(folder), ..new_follow(URL) }).await;
    harness.advance(HOUR).await;
    ann.patch("1", Some(true), None).await;
    harness.advance(HOUR).await;
    let stored = harness.poll(feed, vec![version("1", "changed"), entry("2"), entry("3")]).await;
    assert_eq!((stored.new, stored.changed), (2, 1));
    assert_eq!((harness.unread_of(feed).await, ann.unread_of(feed).await), (3, 2));
    assert_eq!(ann.store.counts().await.unwrap().by_folder[&folder], 2);
    assert!(harness.store.counts().await.unwrap().by_folder.is_empty());
    for account in [harness, &ann] {
        let changed = domain::EntryFilter {
            since: Some(domain::entry::Since::Changed(harness.now())),
            ..domain::EntryFilter::default()
        };
        assert_eq!(account.entries(changed).await.len(), 3, "what an entry says changed for all");
    }
}

async fn a6_ten_thousand_followers_have_an_entry_at_once(harness: &Harness) {
    let feed = harness.add(URL, vec![]).await;
    // Without the way through the store.
    let numbers = "WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)";
    harness
        .tamper(&format!(
            "INSERT INTO accounts (name, name_key, is_admin, created_at)
             {numbers} SELECT 'a' || n, 'a' || n, false, 0 FROM numbers;
             INSERT INTO follows (feed_id, account_id, created_at) {numbers} SELECT {}, n, 0 FROM numbers",
            feed.0
        ))
        .await;
    let before = harness.store.last_change().await.unwrap();
    harness.poll(feed, vec![entry("1"), entry("2")]).await;
    assert_eq!(harness.number("SELECT count(*) FROM entry_states WHERE NOT is_read").await, 20_000);
    assert_eq!(harness.number("SELECT CAST(sum(unread_count) AS bigint) FROM follows").await, 20_000);
    assert_eq!(harness.as_account(domain::AccountId(10_000)).unread_of(feed).await, 2);
    assert_eq!(harness.store.changes_after(before, 9).await.unwrap().changes.len(), 1, "one change for all");
}

async fn a2_events_go_to_followers_by_their_own_folders(harness: &Harness) {
    let (ann, bob) = (harness.account("ann").await, harness.account("bob").await);
    let news = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let mine = ann.store.create_folder("Mine").await.unwrap().unwrap().id;
    let of = |folder| NewWebhook { folder_ids: Some(vec![folder]), ..new_webhook("https://r.org/1") };
    let in_news = harness.webhook_like(of(news)).await.id;
    let in_mine = ann.webhook_like(of(mine)).await.id;
    let all_of_ann = ann.webhook("https://r.org/2").await;
    let all_of_bob = bob.webhook("https://r.org/3").await;
    let feed = harness.add(URL, vec![]).await;
    ann.follow_as(NewFollow { folder_id: Some(mine), ..new_follow(URL) }).await;
    harness.poll(feed, vec![entry("1")]).await;
    assert_eq!(harness.deliveries_to(in_news).await, [], "it is in none of the reader's folders");
    let (first, second) = (ann.deliveries_to(in_mine).await, ann.deliveries_to(all_of_ann).await);
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!(first[0].event_id, second[0].event_id, "one event");
    assert_eq!(bob.deliveries_to(all_of_bob).await, [], "not followed");
    harness.update(feed, FeedPatch { folder_id: Some(Some(news)), ..FeedPatch::default() }).await;
    ann.update(feed, FeedPatch { folder_id: Some(None), ..FeedPatch::default() }).await;
    harness.poll(feed, vec![entry("2")]).await;
    assert_eq!(harness.deliveries_to(in_news).await.len(), 1);
    assert_eq!((ann.deliveries_to(in_mine).await.len(), ann.deliveries_to(all_of_ann).await.len()), (1, 2));
    ann.store.delete_feed(feed).await.unwrap();
    bob.follow(URL).await;
    harness.poll(feed, vec![entry("3")]).await;
    assert_eq!((ann.deliveries_to(all_of_ann).await.len(), bob.deliveries_to(all_of_bob).await.len()), (2, 1));
}

async fn a2_a_payload_is_as_its_follower_has_it(harness: &Harness) {
    let ann = harness.account("ann").await;
    let mine = ann.store.create_folder("Mine").await.unwrap().unwrap().id;
    let (readers, anns) = (harness.webhook("https://r.org/1").await, ann.webhook("https://r.org/2").await);
    let feed = harness.add(URL, vec![]).await;
    let custom_title = Some("Ann's".to_owned());
    ann.follow_as(NewFollow { folder_id: Some(mine), custom_title, ..new_follow(URL) }).await;
    harness.poll(feed, vec![entry("1")]).await;
    // Before it is sent.
    ann.patch("1", Some(true), Some(true)).await;
    let drained = harness.drain().await;
    let data_to =
        |webhook: WebhookId| -> &Value { &drained.iter().find(|(job, _)| job.webhook_id == webhook).unwrap().1 };
    let expect = serde_json::json!({ "id": feed, "url": URL, "title": "Title", "folderId": null });
    assert_eq!(data_to(readers)["feed"], expect);
    let expect = serde_json::json!({ "id": feed, "url": URL, "title": "Ann's", "folderId": mine });
    assert_eq!(data_to(anns)["feed"], expect);
    for (webhook, is_marked) in [(readers, false), (anns, true)] {
        let entry = &data_to(webhook)["entry"];
        assert_eq!((entry["isRead"].clone(), entry["isStarred"].clone()), (is_marked.into(), is_marked.into()));
    }
    assert_eq!(drained[0].0.event, drained[1].0.event);
}

async fn a2_backlog_of_a_new_follower(harness: &Harness) {
    let backlog = || NewWebhook { backlog: true, ..new_webhook("https://r.org/1") };
    let readers = harness.webhook_like(backlog()).await.id;
    let feed = harness.add(URL, vec![entry("old")]).await;
    harness.poll(feed, vec![entry("1"), entry("2")]).await;
    assert_eq!(harness.deliveries_to(readers).await.len(), 3);
    harness.advance(HOUR).await;
    let ann = harness.account("ann").await;
    let (wanting, other) = (ann.webhook_like(backlog()).await.id, ann.webhook("https://r.org/2").await);
    ann.follow(URL).await;
    assert_eq!(ann.kinds_to(wanting).await, [CREATED, CREATED], "what it had not, unread");
    assert_eq!(ann.deliveries_to(other).await, [], "backlog is no event");
    assert_eq!(harness.deliveries_to(readers).await.len(), 3, "nor is it for those who had it");
    let titles: Vec<_> = harness
        .drain()
        .await
        .into_iter()
        .filter(|(job, _)| job.webhook_id == wanting)
        .map(|(_, data)| data["entry"]["title"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(titles, ["2", "1"], "as they came");
    assert_eq!(harness.store.replay(readers, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(3), "its own alone");
    assert_eq!(ann.store.replay(wanting, Timestamp::UNIX_EPOCH, None).await.unwrap(), Some(2));
    // Whoever wants none is not told of any.
    let bob = harness.account("bob").await;
    let events = harness.number("SELECT count(*) FROM events").await;
    bob.webhook("https://r.org/3").await;
    bob.follow(URL).await;
    assert_eq!(harness.number("SELECT count(*) FROM events").await, events);
}

async fn a2_replay_begins_with_the_follow(harness: &Harness) {
    harness.webhook("https://r.org/1").await;
    let feed = harness.add(URL, vec![]).await;
    harness.poll(feed, vec![entry("1")]).await;
    harness.advance(HOUR).await;
    let ann = harness.account("ann").await;
    let webhook = ann.webhook("https://r.org/2").await;
    let replay = async || ann.store.replay(webhook, Timestamp::UNIX_EPOCH, None).await.unwrap();
    assert_eq!(replay().await, Some(0), "not followed");
    ann.follow(URL).await;
    assert_eq!(replay().await, Some(0), "before it was followed");
    harness.poll(feed, vec![entry("2")]).await;
    harness.drain().await;
    assert_eq!(replay().await, Some(1));
    let theirs = harness.store.webhooks().await.unwrap()[0].id;
    assert_eq!(ann.store.replay(theirs, Timestamp::UNIX_EPOCH, None).await.unwrap(), None);
}

async fn a1_trouble_of_a_webhook_concerns_its_own_account(harness: &Harness) {
    let ann = harness.account("ann").await;
    let readers = harness.webhook("https://r.org/1").await;
    let (broken, own) = (ann.webhook("https://r.org/2").await, ann.webhook("https://r.org/3").await);
    ann.queue(broken, 2).await;
    let jobs = harness.take("worker", 2).await;
    harness.end(&jobs[0], Verdict::Failed).await;
    let gone = super::given_outbox::finished(&jobs[1], Verdict::Gone);
    assert_eq!(harness.mark(vec![gone]).await.disabled.len(), 1);
    let mut kinds = ann.kinds_to(own).await;
    kinds.sort();
    assert_eq!(kinds, [EventType::WebhookDisabled, EventType::DeliveryFailed, EventType::DeliveryFailed]);
    assert_eq!(harness.deliveries_to(readers).await, []);
    let disabled = ann.the_webhook(broken).await;
    assert_eq!((disabled.enabled, disabled.account_id), (false, ann.id()));
}
