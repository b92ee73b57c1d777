//! F1 and F6: feeds added, changed, removed.

use domain::{
    EntryFilter, Feed, FeedId, FeedPatch, FolderId, NewFeed,
    feed_state::FeedAddress,
    ingest::{PollOutcome, Validators},
    ports::{NewFeedOutcome, UpdateOutcome},
};

use super::{
    Harness,
    given::{HOUR, LEASE, address, document, entry, fetched, new_feed, result},
};

contract! {
    f1_a_new_feed_is_kept_with_its_entries_and_validators,
    f1_a_url_is_there_once,
    f1_nothing_is_kept_without_the_folder,
    f1_a_password_is_used_and_not_shown,
    f1_a_password_stays_with_its_origin,
    f1_a_password_can_be_taken_away,
    f6_feeds_are_sorted_by_what_they_are_called,
    f6_a_feed_is_changed,
    f6_entries_follow_their_feed_into_a_folder,
    f6_a_change_that_cannot_be_is_none_at_all,
    f6_another_url_forgets_what_was_learnt_at_the_old_one,
    f6_a_poll_of_the_old_url_changes_nothing,
    f6_a_deleted_feed_takes_its_entries_with_it,
}

async fn f1_a_new_feed_is_kept_with_its_entries_and_validators(harness: &Harness) {
    let validators =
        Validators { etag: Some("\"1\"".to_owned()), last_modified: Some("then".to_owned()), body_hash: None };
    let mut new =
        NewFeed { custom_title: Some("Mine".to_owned()), ..new_feed("http://e.org/1", vec![entry("1"), entry("2")]) };
    new.document.validators = validators.clone();
    new.document.site_url = Some("http://e.org/".to_owned());
    let feed = harness.add_feed(new).await;
    let expect = Feed {
        id: feed.id,
        url: "http://e.org/1".to_owned(),
        has_credentials: false,
        site_url: Some("http://e.org/".to_owned()),
        title: Some("Title".to_owned()),
        custom_title: Some("Mine".to_owned()),
        folder_id: None,
        last_fetched_at: Some(harness.now()),
        next_check_at: harness.after(3600),
        failure_count: 0,
        last_error: None,
        is_gone: false,
        unread_count: 2,
        icon_id: None,
        poll_interval: None,
        push_enabled: true,
        subscription: None,
    };
    assert_eq!(feed, expect);
    assert_eq!(harness.feed(feed.id).await, expect);
    assert_eq!(harness.store.feeds().await.unwrap(), [expect]);
    assert_eq!(harness.all().await.len(), 2);
    let job = harness.claim(feed.id).await;
    assert_eq!(job.validators, validators);
    assert!(!job.is_first_fetch);
}

async fn f1_a_url_is_there_once(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1")]).await;
    let again = harness.store.add_feed(new_feed("http://e.org/1", vec![entry("2")])).await.unwrap();
    assert_eq!(again, NewFeedOutcome::AlreadyThere(id));
    assert_eq!(harness.store.feeds().await.unwrap().len(), 1);
    assert_eq!(harness.all().await.len(), 1);
    assert_eq!(harness.store.feed_by_url("http://e.org/1").await.unwrap(), Some(id));
    assert_eq!(harness.store.feed_by_url("http://e.org/2").await.unwrap(), None);
    assert_eq!(harness.store.feed(FeedId(999)).await.unwrap(), None);
}

async fn f1_nothing_is_kept_without_the_folder(harness: &Harness) {
    let new = NewFeed { folder_id: Some(FolderId(999)), ..new_feed("http://e.org/1", vec![entry("1")]) };
    assert_eq!(harness.store.add_feed(new).await.unwrap(), NewFeedOutcome::NoSuchFolder);
    assert_eq!(harness.store.feeds().await.unwrap(), []);
    assert_eq!(harness.all().await, []);
}

async fn f1_a_password_is_used_and_not_shown(harness: &Harness) {
    let secret = FeedAddress { url: "http://e.org/1".to_owned(), credentials: Some("me:secret".to_owned()) };
    let feed = harness.add_feed(NewFeed { address: secret.clone(), ..new_feed("", vec![]) }).await;
    assert!(!format!("{feed:?}").contains("secret"));
    assert!(feed.has_credentials);
    assert_eq!(harness.claim(feed.id).await.address, secret);
    assert!(!harness.add_feed(new_feed("http://e.org/2", vec![])).await.has_credentials);
}

async fn f1_a_password_stays_with_its_origin(harness: &Harness) {
    let secret = FeedAddress { url: "http://e.org/1".to_owned(), credentials: Some("me:secret".to_owned()) };
    let id = harness.add_feed(NewFeed { address: secret, ..new_feed("", vec![]) }).await.id;
    let other = Some("you:other".to_owned());
    for (address, expect) in [
        // As it is shown.
        (address("http://e.org/1"), Some("me:secret")),
        (address("http://e.org/2"), Some("me:secret")),
        (FeedAddress { url: "http://e.org/2".to_owned(), credentials: other }, Some("you:other")),
        (address("http://e.org/2"), Some("you:other")),
        (address("http://other.org/2"), Some("")),
        (address("http://e.org/2"), Some("")),
    ] {
        let feed = harness.update(id, FeedPatch { address: Some(address.clone()), ..FeedPatch::default() }).await;
        assert_eq!((feed.url.as_str(), feed.has_credentials), (address.url.as_str(), expect != Some("")));
        let jobs = harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap();
        assert_eq!(jobs[0].address.credentials.as_deref(), expect, "{address:?}");
    }
}

async fn f1_a_password_can_be_taken_away(harness: &Harness) {
    let secret = FeedAddress { url: "http://e.org/1".to_owned(), credentials: Some("me:secret".to_owned()) };
    let without = FeedPatch { forgets_credentials: true, ..FeedPatch::default() };
    let shared = harness.add("http://e.org/3", vec![]).await;
    let before = harness.feed(shared).await;
    assert_eq!(harness.update(shared, without.clone()).await, before, "there was none");

    let id = harness.add_feed(NewFeed { address: secret.clone(), ..new_feed("", vec![entry("1")]) }).await.id;
    let job = harness.claim(id).await;
    let feed = harness.update(id, without.clone()).await;
    assert_eq!((feed.id, feed.url.as_str(), feed.has_credentials), (id, "http://e.org/1", false));
    assert_eq!((feed.next_check_at, feed.unread_count), (harness.now(), 1));
    assert!(!harness.finish(fetched(&job, vec![])).await.applied, "it was asked for with the password");
    assert_eq!(harness.claim(id).await.address.credentials.as_deref(), Some(""));
    // Together with another URL of the same origin.
    harness.update(id, FeedPatch { address: Some(secret), ..FeedPatch::default() }).await;
    let moved = FeedPatch { address: Some(address("http://e.org/2")), ..without };
    let feed = harness.update(id, moved).await;
    assert_eq!((feed.id, feed.url.as_str(), feed.has_credentials), (id, "http://e.org/2", false));
}

async fn f6_feeds_are_sorted_by_what_they_are_called(harness: &Harness) {
    for (url, title, custom_title) in [
        ("http://e.org/1", Some("delta"), None),
        ("http://e.org/2", Some("zulu"), Some("ALPHA")),
        ("http://e.org/3", Some("Échelle"), None),
        ("http://e.org/4", Some("Bravo"), None),
        ("http://e.org/5", None, None),
    ] {
        let mut new = NewFeed { custom_title: custom_title.map(str::to_owned), ..new_feed(url, vec![]) };
        new.document.title = title.map(str::to_owned);
        harness.add_feed(new).await;
    }
    let feeds = harness.store.feeds().await.unwrap();
    let order: Vec<_> = feeds.iter().map(|feed| feed.url.trim_start_matches("http://e.org/")).collect();
    assert_eq!(order, ["2", "4", "1", "5", "3"]);
}

async fn f6_a_feed_is_changed(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![]).await;
    let patch = FeedPatch {
        custom_title: Some(Some("Mine".to_owned())),
        poll_interval: Some(Some(900)),
        push_enabled: Some(false),
        ..FeedPatch::default()
    };
    let feed = harness.update(id, patch).await;
    assert_eq!((feed.custom_title.as_deref(), feed.poll_interval, feed.push_enabled), (Some("Mine"), Some(900), false));
    let same = harness.update(id, FeedPatch::default()).await;
    assert_eq!(same, feed);
    assert_eq!(feed.next_check_at, harness.now() + HOUR / 4, "f4: its own interval holds from now on");
    assert_eq!(harness.claim(id).await.poll_interval, Some(900));
    let clear = FeedPatch { custom_title: Some(None), poll_interval: Some(None), ..FeedPatch::default() };
    let feed = harness.update(id, clear).await;
    assert_eq!((feed.custom_title, feed.poll_interval, feed.push_enabled), (None, None, false));
}

async fn f6_entries_follow_their_feed_into_a_folder(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let id = harness.add("http://e.org/1", vec![entry("1")]).await;
    let into = FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() };
    assert_eq!(harness.update(id, into).await.folder_id, Some(folder));
    // What comes later is in the folder as well.
    harness.poll(id, vec![entry("1"), entry("2")]).await;
    let of_folder = EntryFilter { folder_id: Some(folder), ..EntryFilter::default() };
    assert_eq!(harness.entries(of_folder.clone()).await.len(), 2);
    assert_eq!(harness.store.counts().await.unwrap().by_folder[&folder], 2);
    let out = FeedPatch { folder_id: Some(None), ..FeedPatch::default() };
    assert_eq!(harness.update(id, out).await.folder_id, None);
    assert_eq!(harness.entries(of_folder).await, []);
    assert_eq!(harness.all().await.len(), 2);
}

async fn f6_a_change_that_cannot_be_is_none_at_all(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![]).await;
    let other = harness.add("http://e.org/2", vec![]).await;
    let before = harness.feed(id).await;
    let title = Some(Some("Mine".to_owned()));
    let taken =
        FeedPatch { custom_title: title.clone(), address: Some(address("http://e.org/2")), ..FeedPatch::default() };
    assert_eq!(harness.store.update_feed(id, taken).await.unwrap(), UpdateOutcome::Conflict(Some(other)));
    let nowhere = FeedPatch {
        custom_title: title.clone(),
        address: Some(address("http://e.org/3")),
        folder_id: Some(Some(FolderId(999))),
        ..FeedPatch::default()
    };
    assert_eq!(harness.store.update_feed(id, nowhere).await.unwrap(), UpdateOutcome::NoSuchFolder);
    assert_eq!(harness.feed(id).await, before);
    let nobody = FeedPatch { custom_title: title, ..FeedPatch::default() };
    assert_eq!(harness.store.update_feed(FeedId(999), nobody).await.unwrap(), UpdateOutcome::NotFound);
}

async fn f6_another_url_forgets_what_was_learnt_at_the_old_one(harness: &Harness) {
    let mut new = new_feed("http://e.org/1", vec![entry("1")]);
    new.document.validators.etag = Some("\"1\"".to_owned());
    let id = harness.add_feed(new).await.id;
    let job = harness.claim(id).await;
    harness.finish(result(&job, PollOutcome::Gone("410".to_owned()))).await;
    assert!(harness.feed(id).await.is_gone);

    harness.advance(HOUR / 2).await;
    let there = FeedAddress { url: "http://e.org/2".to_owned(), credentials: Some("a:b".to_owned()) };
    let patch = FeedPatch { address: Some(there.clone()), ..FeedPatch::default() };
    let feed = harness.update(id, patch).await;
    assert_eq!(
        (feed.url.as_str(), feed.failure_count, feed.last_error, feed.is_gone),
        ("http://e.org/2", 0, None, false)
    );
    assert_eq!(feed.next_check_at, harness.now());
    assert_eq!(harness.store.feed_by_url("http://e.org/1").await.unwrap(), None);
    assert_eq!(harness.all().await.len(), 1);
    let jobs = harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap();
    assert_eq!(jobs[0].validators, Validators::default());
    assert_eq!(jobs[0].address, there);
}

async fn f6_a_poll_of_the_old_url_changes_nothing(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![]).await;
    let job = harness.claim(id).await;
    harness.update(id, FeedPatch { address: Some(address("http://e.org/2")), ..FeedPatch::default() }).await;
    assert_eq!(harness.store.renew_polls(&[(id, job.lease.clone())], LEASE).await.unwrap(), [id]);
    assert!(!harness.finish(fetched(&job, vec![entry("old")])).await.applied);
    assert_eq!(harness.all().await, []);
    assert_eq!(harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap().len(), 1);
}

async fn f6_a_deleted_feed_takes_its_entries_with_it(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("one"), entry("two")]).await;
    let other = harness.add("http://e.org/2", vec![entry("one")]).await;
    let job = harness.claim(id).await;
    assert!(harness.store.delete_feed(id).await.unwrap());
    assert!(!harness.store.delete_feed(id).await.unwrap());
    assert_eq!(harness.store.feed(id).await.unwrap(), None);
    assert_eq!(harness.all().await.iter().map(|entry| entry.feed_id).collect::<Vec<_>>(), [other]);
    let search = EntryFilter { search: domain::Search::parse("one").unwrap(), ..EntryFilter::default() };
    assert_eq!(harness.entries(search).await.len(), 1);
    assert_eq!(harness.store.counts().await.unwrap().total, 1);
    // A poll that was under way.
    assert!(!harness.finish(result(&job, PollOutcome::Fetched(document(vec![entry("3")])))).await.applied);
    assert_eq!(harness.all().await.len(), 1);
    // It can be added again, as if it had never been there.
    let again = harness.add("http://e.org/1", vec![entry("one")]).await;
    assert_ne!(again, id);
    assert_eq!(harness.unread_of(again).await, 1);
}
