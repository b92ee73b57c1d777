//! A2: a feed is stored once, whoever follows it.

use domain::{
    EntryFilter, FeedPatch, FeedSeed, FolderId, NewFeed,
    entry::Since,
    feed_state::FeedAddress,
    follow::NewFollow,
    ingest::{Document, Hash, Known, PollOutcome, PollResult},
    ports::{FollowOutcome, ImportOutcome, MarkRead, NewFeedOutcome, PruneLimits, UpdateOutcome},
    push::SubscriptionState,
};

use super::{
    Harness,
    given::{HOUR, address, document, entry, fetched, new_feed, new_follow, result, seed},
    given_push::{HUB, TOPIC, found, push},
};

contract! {
    a2_following_a_known_feed_costs_no_request,
    a2_add_feed_follows_what_is_there_meanwhile,
    a2_last_follower_removes_the_feed,
    a2_what_only_the_leaver_had_goes,
    a2_what_was_pruned_is_there_for_a_new_follower,
    a2_shortest_interval_counts,
    a2_push_is_wanted_if_anybody_wants_it,
    a2_credentials_are_never_shared,
    a2_a_private_feed_moves_alone,
    a2_what_was_private_stays_so,
    a2_another_url_leaves_the_others_alone,
    a2_another_url_may_be_a_known_feed,
    a2_import_follows_known_feeds,
    a1_what_a_file_calls_a_feed_is_for_its_account_alone,
    f1_a_feed_that_was_only_imported_is_fetched_by_who_adds_it,
    a2_entries_of_an_old_url_are_not_for_new_followers,
    a2_entries_that_were_moved_are_not_for_new_followers,
}

const URL: &str = "http://e.org/1";

fn secret(url: &str) -> FeedAddress {
    FeedAddress { url: url.to_owned(), credentials: Some("me:secret".to_owned()) }
}

fn to(address: FeedAddress) -> FeedPatch {
    FeedPatch { address: Some(address), ..FeedPatch::default() }
}

async fn a2_following_a_known_feed_costs_no_request(harness: &Harness) {
    let (feed, subscription) = harness.pushed(URL, "token").await;
    harness.poll(feed, vec![entry("old")]).await;
    harness.advance(HOUR).await;
    harness.poll(feed, vec![entry("1"), entry("2")]).await;
    harness.advance(HOUR).await;
    harness.push(push(subscription, "token", vec![entry("pushed")])).await;
    harness.advance(HOUR).await;
    let before = harness.feed(feed).await;
    let ann = harness.account("ann").await;
    assert_eq!(ann.store.follow(new_follow("http://e.org/2")).await.unwrap(), FollowOutcome::NotKnown);
    let theirs = harness.store.create_folder("News").await.unwrap().unwrap().id;
    for folder_id in [theirs, FolderId(999)] {
        let new = NewFollow { folder_id: Some(folder_id), ..new_follow(URL) };
        assert_eq!(ann.store.follow(new).await.unwrap(), FollowOutcome::NoSuchFolder);
    }
    assert_eq!(ann.store.feeds().await.unwrap(), []);

    let folder = ann.store.create_folder("Mine").await.unwrap().unwrap().id;
    let new = NewFollow { folder_id: Some(folder), custom_title: Some("Ann's".to_owned()), ..new_follow(URL) };
    let followed = ann.follow_as(new).await;
    assert_eq!((followed.id, followed.folder_id), (feed, Some(folder)));
    assert_eq!((followed.custom_title.as_deref(), followed.title.as_deref()), (Some("Ann's"), Some("Title")));
    assert_eq!((followed.next_check_at, followed.last_fetched_at), (before.next_check_at, before.last_fetched_at));
    assert_eq!(followed.subscription, before.subscription);
    assert_eq!(ann.unread_titles().await, ["pushed", "1", "2"], "the last document, and what was pushed since");
    assert_eq!(ann.all().await.len(), 4, "older ones are there, read");
    assert_eq!(ann.unread_of(feed).await, 3);
    let of_folder = EntryFilter { folder_id: Some(folder), ..EntryFilter::default() };
    assert_eq!(ann.entries(of_folder).await.len(), 4);
    for since in [Since::Received(harness.now()), Since::Changed(harness.now())] {
        let filter = EntryFilter { since: Some(since), ..EntryFilter::default() };
        assert_eq!((ann.entries(filter.clone()).await.len(), harness.entries(filter).await.len()), (4, 0));
    }
    assert_eq!(ann.store.follow(new_follow(URL)).await.unwrap(), FollowOutcome::AlreadyThere(feed));
    assert_eq!(harness.feed(feed).await, before, "nothing changes for the other");
    assert_eq!(harness.unread_of(feed).await, 4);
}

async fn a2_add_feed_follows_what_is_there_meanwhile(harness: &Harness) {
    let feed = harness.add(URL, vec![entry("1")]).await;
    let ann = harness.account("ann").await;
    let added = ann.add_feed(new_feed(URL, vec![entry("1"), entry("later")])).await;
    assert_eq!((added.id, added.unread_count), (feed, 1), "as it is");
    assert_eq!(harness.all().await.len(), 1);
    let again = ann.store.add_feed(new_feed(URL, vec![])).await.unwrap();
    assert_eq!(again, NewFeedOutcome::AlreadyThere(feed));
}

async fn a2_last_follower_removes_the_feed(harness: &Harness) {
    let (feed, subscription) = harness.pushed(URL, "token").await;
    harness.poll(feed, vec![entry("1")]).await;
    let ann = harness.account("ann").await;
    ann.follow(URL).await;
    harness.patch("1", None, Some(true)).await;
    assert!(harness.store.delete_feed(feed).await.unwrap());
    assert!(!harness.store.delete_feed(feed).await.unwrap());
    assert_eq!((harness.store.feed(feed).await.unwrap(), harness.all().await), (None, vec![]));
    assert_eq!(harness.store.counts().await.unwrap(), domain::entry::Counts::default());
    assert_eq!(ann.unread_of(feed).await, 1);
    assert_eq!(ann.current(feed).await.id, subscription);
    assert!(harness.store.polled_feed(feed).await.unwrap().is_some());

    assert!(ann.store.delete_feed(feed).await.unwrap());
    assert_eq!(harness.store.polled_feed(feed).await.unwrap(), None);
    let left = harness.store.subscription(subscription).await.unwrap().unwrap();
    assert_eq!((left.feed_id, left.state), (None, SubscriptionState::Unsubscribing));
    for table in ["feeds", "follows", "entries", "entry_states", "entry_bodies", "entry_words", "last_documents"] {
        assert_eq!(harness.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
    assert_ne!(harness.add(URL, vec![]).await, feed);
}

async fn a2_what_only_the_leaver_had_goes(harness: &Harness) {
    let feed = harness.add(URL, vec![entry("1"), entry("2")]).await;
    let ann = harness.account("ann").await;
    ann.follow(URL).await;
    ann.store.mark_read(MarkRead::default()).await.unwrap();
    harness.patch("2", Some(true), Some(true)).await;
    harness.advance(HOUR * 2).await;
    let limits = PruneLimits { read_older_than: HOUR, unread_older_than: None, per_feed: 1000, chunk: 100 };
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 2);
    assert_eq!((harness.all().await.len(), ann.all().await.len()), (2, 0));
    // The last document holds them no longer.
    harness.poll(feed, vec![]).await;
    harness.store.delete_feed(feed).await.unwrap();
    assert_eq!(harness.number("SELECT count(*) FROM entries").await, 0);
    let known = harness.store.known_entries(feed, &[Hash::of(b"1"), Hash::of(b"2")]).await.unwrap();
    assert!(known.values().all(|known| matches!(known[..], [Known::Pruned(..)])) && known.len() == 2, "{known:?}");
    assert_eq!(ann.poll(feed, vec![entry("1"), entry("2"), entry("3")]).await.new, 1);
    assert_eq!(ann.unread_titles().await, ["3"]);
    let search = EntryFilter { search: domain::Search::parse("2").unwrap(), ..EntryFilter::default() };
    assert_eq!(ann.entries(search).await, []);
}

async fn a2_what_was_pruned_is_there_for_a_new_follower(harness: &Harness) {
    let rows = async |statement: &str| harness.number(&format!("SELECT {statement}")).await;
    let counted = async || (rows("count(*) FROM entries").await, rows("max(entry_count) FROM feeds").await);
    let limits = PruneLimits { read_older_than: HOUR, unread_older_than: None, per_feed: 1000, chunk: 100 };
    let feed = harness.add(URL, vec![entry("old"), entry("1"), entry("2")]).await;
    harness.poll(feed, vec![entry("1"), entry("2")]).await;
    harness.store.mark_read(MarkRead::default()).await.unwrap();
    harness.advance(HOUR * 2).await;
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 3);
    assert_eq!((harness.all().await, counted().await), (vec![], (2, 0)), "kept, and counted nowhere");
    let identities = ["old", "1", "2"].map(|guid| Hash::of(guid.as_bytes()));
    let known = harness.store.known_entries(feed, &identities).await.unwrap();
    assert!(identities.iter().all(|identity| matches!(known[identity][..], [Known::Pruned(..)])), "{known:?}");

    let (ann, bob) = (harness.account("ann").await, harness.account("bob").await);
    assert_eq!(ann.follow(URL).await.unread_count, 2);
    bob.store.import_feeds(vec![seed(URL)]).await.unwrap();
    for account in [&ann, &bob] {
        assert_eq!((account.unread_titles().await.len(), account.all().await.len()), (2, 2));
    }
    let search = EntryFilter { search: domain::Search::parse("2").unwrap(), ..EntryFilter::default() };
    assert_eq!((ann.entries(search.clone()).await.len(), harness.entries(search).await.len()), (1, 0));
    assert_eq!((harness.all().await, counted().await), (vec![], (2, 2)));
    assert_eq!(harness.poll(feed, vec![entry("1"), entry("2"), entry("3")]).await.new, 1);
    assert_eq!((harness.unread_titles().await, ann.unread_of(feed).await), (vec!["3".to_owned()], 3));

    // Who leaves takes nothing of that away, and what the feed no longer holds goes.
    bob.store.delete_feed(feed).await.unwrap();
    ann.store.delete_feed(feed).await.unwrap();
    assert_eq!(counted().await, (3, 1));
    harness.poll(feed, vec![entry("2"), entry("3")]).await;
    assert_eq!(counted().await, (2, 1));
    assert_eq!(harness.poll(feed, vec![entry("1"), entry("2"), entry("3")]).await.new, 1, "it is new again");
    harness.store.delete_feed(feed).await.unwrap();
    for table in ["feeds", "entries", "entry_bodies", "entry_words", "entry_states"] {
        assert_eq!(rows(&format!("count(*) FROM {table}")).await, 0, "{table}");
    }
}

async fn a2_shortest_interval_counts(harness: &Harness) {
    let feed = harness.add(URL, vec![]).await;
    let ann = harness.account("ann").await;
    ann.follow(URL).await;
    let every = |seconds| FeedPatch { poll_interval: Some(seconds), ..FeedPatch::default() };
    let polled = async || harness.store.polled_feed(feed).await.unwrap().unwrap().poll_interval;
    harness.update(feed, every(Some(900))).await;
    assert_eq!(ann.update(feed, every(Some(600))).await.next_check_at, harness.after(600), "at once");
    assert_eq!((harness.feed(feed).await.poll_interval, ann.feed(feed).await.poll_interval), (Some(900), Some(600)));
    assert_eq!(polled().await, Some(600));
    assert_eq!(harness.claim(feed).await.poll_interval, Some(600));
    harness.update(feed, every(Some(300))).await;
    assert_eq!(polled().await, Some(300));
    harness.update(feed, every(None)).await;
    assert_eq!(polled().await, Some(600));
    ann.store.delete_feed(feed).await.unwrap();
    assert_eq!(polled().await, None);
}

async fn a2_push_is_wanted_if_anybody_wants_it(harness: &Harness) {
    let (feed, subscription) = harness.pushed(URL, "token").await;
    let ann = harness.account("ann").await;
    ann.follow(URL).await;
    let push = |push_enabled| FeedPatch { push_enabled: Some(push_enabled), ..FeedPatch::default() };
    let state = async || harness.store.subscription(subscription).await.unwrap().unwrap().state;
    harness.update(feed, push(false)).await;
    assert_eq!((harness.feed(feed).await.push_enabled, ann.feed(feed).await.push_enabled), (false, true));
    assert!(harness.store.polled_feed(feed).await.unwrap().unwrap().push_enabled);
    assert_eq!(state().await, SubscriptionState::Active);
    harness.discover(feed, vec![], found(&[HUB], Some(TOPIC), "other")).await;
    assert_eq!(state().await, SubscriptionState::Active);
    ann.store.delete_feed(feed).await.unwrap();
    assert_eq!(state().await, SubscriptionState::Unsubscribing, "the last who wanted it has left");
    assert!(!harness.store.polled_feed(feed).await.unwrap().unwrap().push_enabled);
    ann.follow(URL).await;
    assert!(harness.store.polled_feed(feed).await.unwrap().unwrap().push_enabled);
}

async fn a2_credentials_are_never_shared(harness: &Harness) {
    let with_secret = |entries| NewFeed { address: secret(URL), ..new_feed(URL, entries) };
    let own = harness.add_feed(with_secret(vec![entry("mine")])).await.id;
    let (ann, bob) = (harness.account("ann").await, harness.account("bob").await);
    for address in [address(URL), secret(URL)] {
        let new = NewFollow { address, ..new_follow(URL) };
        assert_eq!(ann.store.follow(new).await.unwrap(), FollowOutcome::NotKnown);
    }
    let anns = ann.add_feed(with_secret(vec![entry("ann's")])).await.id;
    let shared = bob.add(URL, vec![entry("all's")]).await;
    assert!(own != anns && anns != shared && shared != own);
    for (account, feed, title) in [(harness, own, "mine"), (&ann, anns, "ann's"), (&bob, shared, "all's")] {
        assert_eq!(account.unread_titles().await, [title]);
        assert_eq!(account.store.feed_by_url(URL).await.unwrap(), Some(feed));
        for address in [address(URL), secret(URL)] {
            let new = NewFeed { address: address.clone(), ..new_feed(URL, vec![]) };
            assert_eq!(account.store.add_feed(new).await.unwrap(), NewFeedOutcome::AlreadyThere(feed));
            let seeds = vec![FeedSeed::new(address)];
            assert_eq!(account.store.import_feeds(seeds).await.unwrap(), [ImportOutcome::AlreadyThere(feed)]);
        }
    }
    // With a password it is one's own from then on.
    let moved = bob.update(shared, to(secret("http://e.org/2"))).await;
    assert_eq!((moved.id, moved.has_credentials), (shared, true));
    assert_eq!(ann.store.follow(new_follow("http://e.org/2")).await.unwrap(), FollowOutcome::NotKnown);
}

async fn a2_what_was_private_stays_so(harness: &Harness) {
    let ann = harness.account("ann").await;
    let with_secret =
        |url: &str| NewFeed { address: secret(url), ..new_feed(url, vec![entry("read with a password")]) };
    let own = harness.add_feed(with_secret(URL)).await.id;
    let without = FeedPatch { forgets_credentials: true, ..FeedPatch::default() };
    for (there, patch) in [("http://other.org/1", to(address("http://other.org/1"))), ("http://other.org/1", without)] {
        assert!(!harness.update(own, patch).await.has_credentials);
        assert_eq!(ann.store.follow(new_follow(there)).await.unwrap(), FollowOutcome::NotKnown);
        assert_eq!(harness.store.feed_by_url(there).await.unwrap(), Some(own));
        harness.update(own, to(secret(there))).await;
    }
    let job = harness.claim(own).await;
    let public = FeedAddress { url: "http://cdn.org/1".to_owned(), credentials: Some(String::new()) };
    let moved = PollResult { moved_to: Some(public), ..fetched(&job, vec![]) };
    assert!(harness.finish(moved).await.applied);
    let feed = harness.feed(own).await;
    assert_eq!((feed.url.as_str(), feed.has_credentials), ("http://cdn.org/1", false));
    assert_eq!(ann.store.follow(new_follow("http://cdn.org/1")).await.unwrap(), FollowOutcome::NotKnown);
    assert_ne!(ann.add("http://cdn.org/1", vec![entry("public")]).await, own);
    assert_eq!(ann.unread_titles().await, ["public"]);
    assert_eq!(harness.unread_titles().await, ["read with a password"]);
}

async fn a2_a_private_feed_moves_alone(harness: &Harness) {
    let own = harness.add_feed(NewFeed { address: secret(URL), ..new_feed(URL, vec![]) }).await.id;
    let ann = harness.account("ann").await;
    let there = "http://e.org/2";
    let theirs = ann.add(there, vec![]).await;
    let job = harness.claim(own).await;
    let moved = PollResult { moved_to: Some(secret(there)), ..fetched(&job, vec![entry("1")]) };
    assert!(harness.finish(moved).await.applied);
    assert_eq!((harness.feed(own).await.url.as_str(), harness.feed(own).await.has_credentials), (there, true));
    assert_eq!(harness.store.feed_by_url(there).await.unwrap(), Some(own));
    assert_eq!(ann.store.feed_by_url(there).await.unwrap(), Some(theirs));
    // What several follow is given no password.
    harness.account("bob").await.follow(there).await;
    let job = ann.claim(theirs).await;
    let moved = PollResult { moved_to: Some(secret("http://e.org/3")), ..fetched(&job, vec![]) };
    assert!(ann.finish(moved).await.applied);
    assert_eq!(ann.feed(theirs).await.url, there);
}

async fn a2_another_url_leaves_the_others_alone(harness: &Harness) {
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let feed = harness.add(URL, vec![entry("1")]).await;
    let own = FeedPatch {
        custom_title: Some(Some("Mine".to_owned())),
        folder_id: Some(Some(folder)),
        poll_interval: Some(Some(600)),
        push_enabled: Some(false),
        ..FeedPatch::default()
    };
    harness.update(feed, own).await;
    let ann = harness.account("ann").await;
    let before = ann.follow(URL).await;
    assert_eq!(harness.update(feed, to(address(URL))).await.id, feed, "where it is already");

    let moved = harness.update(feed, to(address("http://e.org/2"))).await;
    assert_ne!(moved.id, feed);
    assert_eq!((moved.url.as_str(), moved.next_check_at), ("http://e.org/2", harness.now()));
    assert_eq!((moved.custom_title.as_deref(), moved.folder_id), (Some("Mine"), Some(folder)));
    assert_eq!((moved.poll_interval, moved.push_enabled, moved.last_fetched_at), (Some(600), false, None));
    assert_eq!((harness.store.feed(feed).await.unwrap(), harness.all().await), (None, vec![]));
    let after = ann.feed(feed).await;
    assert_eq!((after.id, after.url, after.unread_count), (before.id, before.url, 1));
    harness.poll(moved.id, vec![entry("2")]).await;
    assert_eq!((harness.unread_titles().await, ann.unread_titles().await), (vec!["2".into()], vec!["1".into()]));
    // Alone now: it is the same feed at another address.
    assert_eq!(ann.update(feed, to(address("http://e.org/3"))).await.id, feed);
}

async fn a2_another_url_may_be_a_known_feed(harness: &Harness) {
    let (one, two) = (harness.add(URL, vec![entry("1")]).await, harness.add("http://e.org/2", vec![entry("2")]).await);
    let ann = harness.account("ann").await;
    let own = ann.add("http://e.org/3", vec![entry("3")]).await;
    ann.patch("3", None, Some(true)).await;
    let title = Some(Some("Mine".to_owned()));
    let moved = ann.update(own, FeedPatch { custom_title: title, ..to(address(URL)) }).await;
    assert_eq!((moved.id, moved.custom_title.as_deref(), moved.unread_count), (one, Some("Mine"), 1));
    assert_eq!(harness.store.polled_feed(own).await.unwrap(), None, "nobody follows it any more");
    assert_eq!(ann.store.counts().await.unwrap().starred, 0);
    assert_eq!(ann.update(one, to(address("http://e.org/2"))).await.id, two);
    assert_eq!(ann.unread_titles().await, ["2"]);
    let taken = to(address("http://e.org/2"));
    assert_eq!(harness.store.update_feed(one, taken).await.unwrap(), UpdateOutcome::Conflict(Some(two)));
    assert_eq!(ann.store.update_feed(one, FeedPatch::default()).await.unwrap(), UpdateOutcome::NotFound);
    assert_eq!((harness.unread_of(one).await, harness.unread_of(two).await), (1, 1));
}

async fn a2_import_follows_known_feeds(harness: &Harness) {
    let known = harness.add(URL, vec![entry("1")]).await;
    let next = harness.feed(known).await.next_check_at;
    let ann = harness.account("ann").await;
    let seeds = vec![
        FeedSeed {
            folder: Some("News".to_owned()),
            custom_title: Some("Ann's".to_owned()),
            title: Some("Other".to_owned()),
            poll_interval: Some(1200),
            push_enabled: false,
            ..seed(URL)
        },
        seed("http://e.org/2"),
        seed(URL),
    ];
    let outcomes = ann.store.import_feeds(seeds).await.unwrap();
    let [ImportOutcome::Imported(first), ImportOutcome::Imported(second), third] = outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert_eq!((first, third), (known, ImportOutcome::AlreadyThere(known)));
    let feed = ann.feed(known).await;
    assert_eq!((feed.title.as_deref(), feed.custom_title.as_deref()), (Some("Title"), Some("Ann's")));
    assert_eq!((feed.poll_interval, feed.push_enabled, feed.unread_count), (Some(1200), false, 1));
    assert_eq!(feed.next_check_at, harness.after(1200).min(next), "no request but by its interval");
    let folders = ann.store.folders().await.unwrap();
    assert_eq!((folders.len(), feed.folder_id), (1, Some(folders[0].id)));
    assert_eq!(harness.store.folders().await.unwrap(), []);
    assert_eq!(ann.feed(second).await.next_check_at, harness.now());
    let polled = harness.store.polled_feed(known).await.unwrap().unwrap();
    assert_eq!((polled.poll_interval, polled.push_enabled), (Some(1200), true));
}

async fn a1_what_a_file_calls_a_feed_is_for_its_account_alone(harness: &Harness) {
    const SITE: &str = "https://anns.example/";
    let ann = harness.account("ann").await;
    let of_ann = |url: &str| FeedSeed {
        title: Some("Ann's".to_owned()),
        custom_title: Some("Mine".to_owned()),
        site_url: Some(SITE.to_owned()),
        ..seed(url)
    };
    ann.store.import_feeds(vec![of_ann(URL), of_ann("http://e.org/2")]).await.unwrap();
    let [one, two] = [URL, "http://e.org/2"].map(|url| ann.store.feed_by_url(url));
    let (one, two) = (one.await.unwrap().unwrap(), two.await.unwrap().unwrap());
    let of = async |account: &Harness, feed| {
        let feed = account.feed(feed).await;
        [feed.title, feed.custom_title, feed.site_url]
    };
    let [title, custom, site] = ["Ann's", "Mine", SITE].map(|text| Some(text.to_owned()));
    assert_eq!(of(&ann, one).await, [title, custom.clone(), site]);
    // Somebody else's file names it before it was fetched.
    harness.store.import_feeds(vec![seed(URL)]).await.unwrap();
    assert_eq!(of(harness, one).await, [None, None, None]);
    assert_eq!(of(&ann, one).await, [None, custom.clone(), None]);
    // It is fetched first, and its document says neither.
    let job = ann.claim(two).await;
    let nameless = Document { title: None, ..document(vec![]) };
    harness.finish(result(&job, PollOutcome::Fetched(nameless))).await;
    assert_eq!(of(&ann, two).await, [None, custom, None]);
    harness.follow("http://e.org/2").await;
    assert_eq!(of(harness, two).await, [None, None, None]);
}

async fn f1_a_feed_that_was_only_imported_is_fetched_by_who_adds_it(harness: &Harness) {
    let ann = harness.account("ann").await;
    ann.store.import_feeds(vec![FeedSeed { push_enabled: false, ..seed(URL) }]).await.unwrap();
    let feed = ann.store.feed_by_url(URL).await.unwrap().unwrap();
    assert_eq!(harness.store.follow(new_follow(URL)).await.unwrap(), FollowOutcome::NotKnown);
    assert_eq!(harness.store.feeds().await.unwrap(), []);
    let job = ann.claim(feed).await;
    let mut new = new_feed(URL, vec![entry("1"), entry("2")]);
    new.document.found = Some(found(&[HUB], Some(TOPIC), "token"));
    let added = harness.add_feed(new).await;
    assert_eq!((added.id, added.title.as_deref(), added.unread_count), (feed, Some("Title"), 2));
    assert_eq!((added.last_fetched_at, added.next_check_at), (Some(harness.now()), harness.after(3600)));
    assert_eq!(harness.current(feed).await.state, SubscriptionState::Pending);
    for account in [harness, &ann] {
        assert_eq!((account.unread_of(feed).await, account.all().await.len()), (2, 2));
    }
    assert!(!harness.finish(fetched(&job, vec![entry("1"), entry("late")])).await.applied, "it was asked before");
    assert_eq!(ann.poll(feed, vec![entry("1"), entry("2"), entry("3")]).await.new, 1);
    let bob = harness.account("bob").await;
    assert_eq!(bob.follow(URL).await.unread_count, 3);
}

/// They may have been meant for whoever knows a secret address, or be forged.
async fn a2_entries_of_an_old_url_are_not_for_new_followers(harness: &Harness) {
    let ann = harness.account("ann").await;
    let feed = ann.add("http://e.org/feed?secret=1", vec![entry("private")]).await;
    assert_eq!(ann.update(feed, to(address(URL))).await.id, feed);
    assert_eq!(ann.unread_titles().await, ["private"], "who had them keeps them");
    assert_eq!(harness.store.follow(new_follow(URL)).await.unwrap(), FollowOutcome::NotKnown);
    let theirs = harness.add(URL, vec![entry("public")]).await;
    assert_ne!(theirs, feed);
    assert_eq!(
        (harness.unread_titles().await, ann.unread_titles().await),
        (vec!["public".into()], vec!["private".into()])
    );
    ann.poll(feed, vec![entry("public")]).await;
    assert_eq!(ann.unread_titles().await.len(), 2);
    let other = ann.add("http://e.org/other", vec![]).await;
    assert_eq!(ann.store.update_feed(other, to(address(URL))).await.unwrap(), UpdateOutcome::Conflict(Some(feed)));
}

async fn a2_entries_that_were_moved_are_not_for_new_followers(harness: &Harness) {
    let (ann, ben) = (harness.account("ann").await, harness.account("ben").await);
    let alone = ann.add("http://e.org/alone?secret=1", vec![entry("of one")]).await;
    let shared = ann.add("http://e.org/shared?secret=1", vec![entry("of two")]).await;
    ben.follow("http://e.org/shared?secret=1").await;
    for (feed, url) in [(alone, "http://e.org/alone"), (shared, "http://e.org/shared")] {
        harness.advance(24 * HOUR).await;
        let job = harness.claim(feed).await;
        harness.finish(PollResult { moved_to: Some(address(url)), ..fetched(&job, vec![]) }).await;
        assert_eq!(ann.feed(feed).await.url, url);
        assert_eq!(harness.store.follow(new_follow(url)).await.unwrap(), FollowOutcome::NotKnown);
        assert_ne!(harness.add(url, vec![entry("public")]).await, feed);
        let again = ann.store.follow(new_follow(url)).await.unwrap();
        assert_eq!(again, FollowOutcome::AlreadyThere(feed));
    }
    assert_eq!(harness.unread_titles().await, ["public", "public"]);
}
