//! Icons of feeds: whose they are, when they are looked for, and what becomes of those that nobody has.

use std::time::Duration;

use domain::{
    FeedId,
    changes::ChangeKind,
    icon::{IconLook, NewIcon},
    ingest::PollOutcome,
    ports::FollowOutcome,
};

use super::{
    Harness,
    given::{entry, fetched, new_follow},
};

const LEASE: Duration = Duration::from_mins(10);
const DAY: Duration = Duration::from_hours(24);

contract!(
    u1_an_icon_is_for_followers_alone,
    u1_the_same_icon_is_kept_once,
    u1_icons_are_looked_for_weekly,
    u1_a_feed_is_looked_at_once_it_was_fetched,
    u1_a_failed_look_keeps_the_icon_and_backs_off,
    u1_u2_another_icon_is_a_change_of_its_feed,
    u1_a_feed_that_moved_is_looked_at_again_within_a_day,
    u1_icons_go_with_their_last_feed,
    a1_page_settings_are_of_the_account,
);

pub(super) fn icon(byte: u8) -> NewIcon {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x20".to_vec();
    bytes.push(byte);
    NewIcon::of(bytes).unwrap()
}

/// Claims all that is due, and ends each look so.
pub(super) async fn settle(harness: &Harness, look: &IconLook) -> Vec<FeedId> {
    let store = harness.store.store.as_ref();
    let jobs = store.claim_due_icons(100, LEASE).await.unwrap();
    for job in &jobs {
        store.finish_icon(job, look.clone()).await.unwrap();
    }
    jobs.into_iter().map(|job| job.feed).collect()
}

async fn u1_an_icon_is_for_followers_alone(harness: &Harness) {
    let (store, other) = (harness.store.store.as_ref(), harness.account("other").await);
    let feed = harness.add("http://e.org/feed", vec![]).await;
    assert_eq!(settle(harness, &IconLook::Found(icon(1))).await, [feed]);
    let found = store.feed_icon(harness.id(), feed).await.unwrap().unwrap();
    assert_eq!(found.bytes, icon(1).bytes);
    assert_eq!(harness.feed(feed).await.icon_id, Some(found.id));
    assert_eq!(store.icon(harness.id(), found.id).await.unwrap().as_ref(), Some(&found));
    let all = store.feed_icons(harness.id()).await.unwrap();
    assert_eq!((all.by_feed, all.icons), (vec![(feed, found.id)], vec![found.clone()]));
    assert_eq!(store.feed_icon(other.id(), feed).await.unwrap(), None);
    assert_eq!(store.icon(other.id(), found.id).await.unwrap(), None);
    assert_eq!(store.feed_icons(other.id()).await.unwrap(), domain::icon::FeedIcons::default());
}

async fn u1_the_same_icon_is_kept_once(harness: &Harness) {
    let store = harness.store.store.as_ref();
    let feeds = [harness.add("http://e.org/a", vec![]).await, harness.add("http://e.org/b", vec![]).await];
    settle(harness, &IconLook::Found(icon(1))).await;
    let all = store.feed_icons(harness.id()).await.unwrap();
    assert_eq!(all.icons.len(), 1);
    assert_eq!(all.by_feed, feeds.map(|feed| (feed, all.icons[0].id)));
}

async fn u1_icons_are_looked_for_weekly(harness: &Harness) {
    let store = harness.store.store.as_ref();
    assert_eq!(store.next_icon_in().await.unwrap(), None);
    let feed = harness.add("http://e.org/feed", vec![]).await;
    assert_eq!(store.next_icon_in().await.unwrap(), Some(Duration::ZERO));
    let jobs = store.claim_due_icons(100, LEASE).await.unwrap();
    assert_eq!(jobs.iter().map(|job| (job.feed, job.url.as_str())).collect::<Vec<_>>(), [(feed, "http://e.org/feed")]);
    assert_eq!(store.claim_due_icons(100, LEASE).await.unwrap(), [], "it is claimed");
    harness.advance(LEASE).await;
    assert_eq!(store.claim_due_icons(100, LEASE).await.unwrap().len(), 1, "whoever had it is gone");
    store.finish_icon(&jobs[0], IconLook::None).await.unwrap();
    assert_eq!(store.next_icon_in().await.unwrap(), Some(7 * DAY));
    harness.advance((7 * DAY).saturating_sub(Duration::from_millis(1))).await;
    assert_eq!(settle(harness, &IconLook::None).await, []);
    harness.advance(Duration::from_millis(1)).await;
    assert_eq!(settle(harness, &IconLook::None).await, [feed]);
}

async fn u1_a_feed_is_looked_at_once_it_was_fetched(harness: &Harness) {
    let store = harness.store.store.as_ref();
    let feeds = harness.import(&["http://e.org/feed"]).await;
    assert_eq!(store.next_icon_in().await.unwrap(), None, "where its site is is not known yet");
    let job = harness.claim(feeds[0]).await;
    let mut polled = fetched(&job, vec![entry("1")]);
    if let PollOutcome::Fetched(document) = &mut polled.outcome {
        document.site_url = Some("http://e.org/".to_owned());
        document.icon_url = Some("http://e.org/icon.png".to_owned());
        document.logo_url = Some("http://e.org/logo.png".to_owned());
    }
    harness.finish(polled).await;
    let jobs = store.claim_due_icons(100, LEASE).await.unwrap();
    let found: Vec<_> = jobs.iter().flat_map(|job| [&job.site_url, &job.icon_url, &job.logo_url]).flatten().collect();
    assert_eq!(found, ["http://e.org/", "http://e.org/icon.png", "http://e.org/logo.png"]);
}

async fn u1_a_failed_look_keeps_the_icon_and_backs_off(harness: &Harness) {
    let store = harness.store.store.as_ref();
    let feed = harness.add("http://e.org/feed", vec![]).await;
    settle(harness, &IconLook::Found(icon(1))).await;
    harness.advance(7 * DAY).await;
    for hours in [1, 2, 4] {
        assert_eq!(settle(harness, &IconLook::Failed).await, [feed]);
        assert_eq!(store.next_icon_in().await.unwrap(), Some(Duration::from_hours(hours)));
        harness.advance(Duration::from_hours(hours)).await;
    }
    assert!(store.feed_icon(harness.id(), feed).await.unwrap().is_some());
    assert_eq!(settle(harness, &IconLook::None).await, [feed]);
    assert_eq!(store.feed_icon(harness.id(), feed).await.unwrap(), None, "everybody answered, and nobody had one");
}

async fn u1_u2_another_icon_is_a_change_of_its_feed(harness: &Harness) {
    let store = harness.store.store.as_ref();
    let feed = harness.add("http://e.org/feed", vec![]).await;
    let mut after = store.last_change().await.unwrap();
    for (look, changes) in [
        (IconLook::None, 0),
        (IconLook::Found(icon(1)), 1),
        (IconLook::Found(icon(1)), 0),
        (IconLook::Failed, 0),
        (IconLook::Found(icon(2)), 1),
        (IconLook::None, 1),
    ] {
        assert_eq!(settle(harness, &look).await, [feed]);
        let page = store.changes_after(after, 100).await.unwrap();
        let of_feed = page.changes.iter().filter(|one| one.kind == ChangeKind::Feed && one.feed_id == Some(feed));
        assert_eq!((of_feed.count(), page.changes.len()), (changes, changes), "{look:?}");
        after = page.next;
        harness.advance(7 * DAY).await;
    }
}

async fn u1_a_feed_that_moved_is_looked_at_again_within_a_day(harness: &Harness) {
    let feed = harness.add("http://e.org/feed", vec![]).await;
    settle(harness, &IconLook::Found(icon(1))).await;
    harness.advance(Duration::from_hours(2)).await;
    harness.tamper("UPDATE feeds SET site_url = 'http://e.org/elsewhere'").await;
    assert_eq!(settle(harness, &IconLook::None).await, [], "not twice a day");
    harness.advance(Duration::from_hours(22)).await;
    assert_eq!(settle(harness, &IconLook::None).await, [feed]);
    harness.advance(DAY).await;
    harness.tamper("UPDATE feeds SET last_fetched_at = last_fetched_at + 1, site_url = site_url").await;
    assert_eq!(settle(harness, &IconLook::None).await, [], "nothing has moved");
}

async fn u1_icons_go_with_their_last_feed(harness: &Harness) {
    let store = harness.store.store.as_ref();
    let feeds = [harness.add("http://e.org/a", vec![]).await, harness.add("http://e.org/b", vec![]).await];
    settle(harness, &IconLook::Found(icon(1))).await;
    store.delete_feed(harness.id(), feeds[0]).await.unwrap();
    harness.advance(DAY).await;
    assert_eq!(store.prune_icons(100).await.unwrap(), 0);
    assert!(store.feed_icon(harness.id(), feeds[1]).await.unwrap().is_some());
    store.delete_feed(harness.id(), feeds[1]).await.unwrap();
    assert_eq!(store.prune_icons(100).await.unwrap(), 1);
    assert_eq!(store.next_icon_in().await.unwrap(), None);
    let known = store.follow(harness.id(), new_follow("http://e.org/a")).await.unwrap();
    assert_eq!(known, FollowOutcome::NotKnown);
}

async fn a1_page_settings_are_of_the_account(harness: &Harness) {
    use domain::account::{PageSettings, PageSettingsPatch, Theme};
    let (store, other) = (harness.store.store.as_ref(), harness.account("other").await);
    assert_eq!(store.page_settings(harness.id()).await.unwrap(), Some(PageSettings::default()));
    let patch = PageSettingsPatch { theme: Some(Theme::Dark), ..PageSettingsPatch::default() };
    let dark = PageSettings { theme: Theme::Dark, ..PageSettings::default() };
    assert_eq!(store.patch_page_settings(harness.id(), patch).await.unwrap(), Some(dark));
    let patch = PageSettingsPatch { has_keys: Some(false), ..PageSettingsPatch::default() };
    let both = PageSettings { has_keys: false, ..dark };
    assert_eq!(store.patch_page_settings(harness.id(), patch).await.unwrap(), Some(both));
    assert_eq!(store.page_settings(harness.id()).await.unwrap(), Some(both));
    assert_eq!(store.page_settings(other.id()).await.unwrap(), Some(PageSettings::default()));
    store.delete_account(other.id()).await.unwrap();
    assert_eq!(store.page_settings(other.id()).await.unwrap(), None);
    assert_eq!(store.patch_page_settings(other.id(), patch).await.unwrap(), None);
}
