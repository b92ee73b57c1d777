//! F3: known, new and changed entries told apart.

use std::{collections::BTreeSet, time::Duration};

use domain::{
    Entry, EntryPatch,
    ingest::{Document, Hash, IncomingEntry, KNOWN_OF_IDENTITY_MAX, Known, PollOutcome, Stored, Traits, Validators},
};

use super::{
    Harness,
    given::{HOUR, LEASE, document, entry, fetched, result, sharing, version},
    given_push::push,
};

contract! {
    f3_an_entry_seen_again_is_not_stored_again,
    f3_a_changed_entry_keeps_its_marks_and_its_place,
    f4_a_slow_poll_does_not_undo_what_is_newer,
    f3_older_version_never_replaces_a_newer_one,
    f3_older_version_stays_older_after_one_without_a_time,
    f3_what_is_twice_in_one_document_counts_once,
    f3_entries_of_one_identity_are_all_kept,
    f3_shared_identities_stay_as_document_moves_on,
    f3_entry_with_own_identity_may_change_otherwise,
    f3_an_entry_that_was_cut_off_replaces_nothing,
    f3_entries_sort_by_publication_capped_at_receipt,
    f3_the_same_guid_in_two_feeds_is_two_entries,
    f3_a_feed_keeps_its_name_until_it_has_another,
    f3_it_is_known_what_is_known,
    f3_recognises_the_newest_of_one_identity,
    f3_gives_each_entry_of_a_feed_another_guid,
}

async fn f3_an_entry_seen_again_is_not_stored_again(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    let before = harness.all().await;
    harness.advance(HOUR).await;
    assert_eq!(
        harness.poll(id, vec![entry("1"), entry("2")]).await,
        Stored { applied: true, new: 0, changed: 0, ..Stored::default() }
    );
    assert_eq!(harness.all().await, before);
    assert_eq!(
        harness.poll(id, vec![entry("3"), entry("1")]).await,
        Stored { applied: true, new: 1, changed: 0, ..Stored::default() }
    );
    assert_eq!(harness.all().await.len(), 3);
    assert_eq!(harness.unread_of(id).await, 3);
}

async fn f3_a_changed_entry_keeps_its_marks_and_its_place(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1"), entry("2")]).await;
    let before = harness.entry("1").await;
    harness.store.patch_entry(before.id, EntryPatch { is_read: Some(true), is_starred: Some(true) }).await.unwrap();
    harness.advance(HOUR).await;
    let changed = IncomingEntry {
        url: Some("http://e.org/new".to_owned()),
        author: Some("New".to_owned()),
        summary: Some("new".to_owned()),
        published_at: Some(harness.now()),
        updated_at: Some(harness.now()),
        categories: vec!["new".to_owned()],
        ..version("1", "changed")
    };
    assert_eq!(
        harness.poll(id, vec![changed.clone(), entry("2")]).await,
        Stored { applied: true, new: 0, changed: 1, ..Stored::default() }
    );
    let expect = Entry {
        url: changed.url,
        title: changed.title,
        author: changed.author,
        summary: changed.summary,
        content: changed.content,
        published_at: changed.published_at,
        updated_at: changed.updated_at,
        categories: changed.categories,
        is_read: true,
        is_starred: true,
        ..before
    };
    assert_eq!(harness.entry("1").await, expect);
    assert_eq!(harness.unread_of(id).await, 1);
}

async fn f4_a_slow_poll_does_not_undo_what_is_newer(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![version("1", "first"), version("2", "first")]).await;
    harness.advance(HOUR).await;
    let slow = harness.claim(id).await;
    harness.advance(LEASE).await;
    // Another has the feed meanwhile, and brings something newer; then the first claims it again, but still holds an
    // answer from before.
    harness.poll(id, vec![version("1", "second"), version("2", "first")]).await;
    harness.advance(Duration::from_secs(1)).await;
    let mut late =
        fetched(&harness.claim(id).await, vec![version("1", "slow"), version("2", "slow"), version("3", "slow")]);
    late.claimed_at = slow.claimed_at;
    if let PollOutcome::Fetched(document) = &mut late.outcome {
        document.validators.etag = Some("\"slow\"".to_owned());
    }
    assert_eq!(harness.finish(late).await, Stored { applied: true, new: 1, changed: 1, ..Stored::default() });
    let titles: Vec<_> = [harness.entry("1").await, harness.entry("2").await, harness.entry("3").await]
        .into_iter()
        .filter_map(|entry| entry.title)
        .collect();
    assert_eq!(titles, ["second", "slow", "slow"]);
    // Something of the answer was passed over: the next poll asks for the whole, not whether it has changed.
    let next = harness.claim(id).await;
    assert_eq!(next.validators, Validators::default());
    harness.store.release_polls(&[(id, next.lease)]).await.unwrap();
    // What was written at the very moment of the claim may be changed by it.
    let now = harness.claim(id).await;
    assert_eq!(harness.finish(fetched(&now, vec![version("3", "third")])).await.changed, 1);
}

async fn f3_older_version_never_replaces_a_newer_one(harness: &Harness) {
    let of =
        |text: &str, seconds: i64| IncomingEntry { updated_at: Some(harness.after(seconds)), ..version("1", text) };
    let (old, new) = (of("old", -200), of("new", -100));
    let id = harness.add("http://e.org/1", vec![old.clone()]).await;
    let nothing = Stored { applied: true, ..Stored::default() };
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(id, vec![new.clone()]).await, Stored { changed: 1, ..nothing });
    // A cache that is behind, asked for long after.
    harness.advance(HOUR).await;
    let validators = Validators { etag: Some("\"old\"".to_owned()), ..Validators::default() };
    let job = harness.claim(id).await;
    let stale = Document { validators: validators.clone(), ..document(vec![old.clone()]) };
    assert_eq!(harness.finish(result(&job, PollOutcome::Fetched(stale))).await, nothing);
    assert_eq!(harness.entry("1").await.title.as_deref(), Some("new"));
    let job = harness.claim(id).await;
    assert_eq!(job.validators, validators, "what is older for good is not fetched whole for ever");
    harness.store.release_polls(&[(id, job.lease)]).await.unwrap();
    // What says nothing of its time, or the same, may be newer.
    assert_eq!(harness.poll(id, vec![of("mended", -100)]).await, Stored { changed: 1, ..nothing });
    assert_eq!(harness.poll(id, vec![version("1", "without a time")]).await, Stored { changed: 1, ..nothing });
}

async fn f3_older_version_stays_older_after_one_without_a_time(harness: &Harness) {
    let of =
        |text: &str, seconds: i64| IncomingEntry { updated_at: Some(harness.after(seconds)), ..version("1", text) };
    let (old, new) = (of("old", -200), of("new", -100));
    let id = harness.add("http://e.org/1", vec![new.clone()]).await;
    let nothing = Stored { applied: true, ..Stored::default() };
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(id, vec![version("1", "without a time")]).await, Stored { changed: 1, ..nothing });
    harness.advance(HOUR).await;
    assert_eq!(harness.poll(id, vec![old]).await, nothing);
    assert_eq!(harness.entry("1").await.title.as_deref(), Some("without a time"));
    // One of the same time or later is not older, and its time counts from then on.
    assert_eq!(harness.poll(id, vec![new]).await, Stored { changed: 1, ..nothing });
    assert_eq!(harness.poll(id, vec![of("newer", -50)]).await, Stored { changed: 1, ..nothing });
    assert_eq!(harness.poll(id, vec![of("new again", -100)]).await, nothing);
}

async fn f3_what_is_twice_in_one_document_counts_once(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1"), entry("1"), entry("2")]).await;
    assert_eq!(harness.unread_of(id).await, 2);
    let stored = harness.poll(id, vec![version("1", "changed"), version("1", "changed")]).await;
    assert_eq!((stored.new, stored.changed), (0, 1));
    assert_eq!(harness.all().await.len(), 2);
}

async fn f3_entries_of_one_identity_are_all_kept(harness: &Harness) {
    let shared = |title: &str| sharing("http://e.org/news", title);
    let id = harness.add("http://e.org/1", vec![shared("a")]).await;
    let first = harness.all().await.remove(0).id;
    for (step, (titles, new)) in
        [(vec!["b", "a"], 1), (vec!["b"], 0), (vec!["a"], 0), (vec!["c", "b"], 1), (vec!["d"], 1), (vec!["d", "a"], 0)]
            .into_iter()
            .enumerate()
    {
        let stored = harness.poll(id, titles.iter().map(|title| shared(title)).collect()).await;
        assert_eq!((stored.new, stored.changed), (new, 0), "{step}");
    }
    let mut titles: Vec<_> = harness.all().await.into_iter().map(|entry| (entry.title.unwrap(), entry.id)).collect();
    titles.sort();
    assert_eq!(titles.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert_eq!(titles[0].1, first);
    // Where the document goes over only the one that has changed is sent, and is told by what stands beside it.
    let edited = IncomingEntry { fingerprint: Hash::of(b"b, edited"), ..shared("b") };
    let job = harness.claim(id).await;
    let edit = Document { entries: vec![edited.clone()], ..document(vec![shared("a"), edited]) };
    let stored = harness.finish(result(&job, PollOutcome::Fetched(edit))).await;
    assert_eq!((stored.new, stored.changed), (0, 1));
    assert_eq!(harness.unread_of(id).await, 4);
}

/// Random windows over a line of entries that share their identity, in any order: each is new once, and never again.
async fn f3_shared_identities_stay_as_document_moves_on(harness: &Harness) {
    let shared =
        |number: usize| IncomingEntry { is_shared: true, ..sharing("http://e.org/", &format!("entry {number}")) };
    let id = harness.add("http://e.org/1", vec![shared(0)]).await;
    let mut seen = BTreeSet::from([0]);
    let mut chance: usize = 17;
    for step in 0..40 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (first, length) = ((step / 2 + (chance >> 33) % 7).saturating_sub(3), (chance >> 40) % 5 + 1);
        let mut window: Vec<usize> = (first..first + length).collect();
        if chance >> 60 & 1 == 1 {
            window.reverse();
        }
        let expect = window.iter().filter(|number| seen.insert(**number)).count();
        let stored = harness.poll(id, window.iter().map(|number| shared(*number)).collect()).await;
        assert_eq!((stored.new as usize, stored.changed), (expect, 0), "{step}: {window:?}");
    }
    let titles: BTreeSet<_> = harness.all().await.into_iter().filter_map(|entry| entry.title).collect();
    assert_eq!(titles, seen.iter().map(|number| format!("entry {number}")).collect());
    assert_eq!(harness.unread_of(id).await, seen.len() as u64);
}

async fn f3_entry_with_own_identity_may_change_otherwise(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![sharing("http://e.org/a", "Old"), entry("2")]).await;
    let stored = harness.poll(id, vec![entry("2"), sharing("http://e.org/a", "New")]).await;
    assert_eq!((stored.new, stored.changed), (0, 1));
    // What was stored tells it from one that comes later.
    let stored = harness.poll(id, vec![sharing("http://e.org/a", "Other"), sharing("http://e.org/a", "New")]).await;
    assert_eq!((stored.new, stored.changed), (1, 0));
    let titles: BTreeSet<_> = harness.all().await.into_iter().filter_map(|entry| entry.title).collect();
    assert_eq!(titles, ["2", "New", "Other"].map(str::to_owned).into());
}

async fn f3_an_entry_that_was_cut_off_replaces_nothing(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1"), sharing("2", "a"), sharing("2", "b")]).await;
    let cut = |guid: &str| IncomingEntry { is_cut: true, ..version(guid, "half") };
    for (entries, new) in [(vec![cut("1")], 0), (vec![entry("1"), cut("2")], 0), (vec![cut("3")], 1)] {
        let stored = harness.poll(id, entries).await;
        assert_eq!((stored.new, stored.changed), (new, 0));
    }
}

async fn f3_entries_sort_by_publication_capped_at_receipt(harness: &Harness) {
    let (now, past, long_ago, future) = (harness.now(), harness.after(-60), harness.after(-120), harness.after(60));
    for (number, (published_at, updated_at, expect)) in [
        (None, None, now),
        (Some(past), None, past),
        (Some(past), Some(long_ago), past),
        (Some(past), Some(now), past),
        (None, Some(past), past),
        (None, Some(future), now),
        (Some(future), None, now),
        (Some(future), Some(past), now),
        (Some("1960-01-01T00:00:00.123Z".parse().unwrap()), None, "1960-01-01T00:00:00.123Z".parse().unwrap()),
    ]
    .into_iter()
    .enumerate()
    {
        let guid = number.to_string();
        harness
            .add(&format!("http://e.org/{number}"), vec![IncomingEntry { published_at, updated_at, ..entry(&guid) }])
            .await;
        let stored = harness.entry(&guid).await;
        assert_eq!(stored.sort_at, expect, "{published_at:?} {updated_at:?}");
        assert_eq!((stored.published_at, stored.updated_at), (published_at, updated_at));
    }
}

async fn f3_the_same_guid_in_two_feeds_is_two_entries(harness: &Harness) {
    harness.add("http://e.org/1", vec![entry("1")]).await;
    harness.add("http://e.org/2", vec![version("1", "other")]).await;
    assert_eq!(harness.all().await.len(), 2);
}

async fn f3_a_feed_keeps_its_name_until_it_has_another(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![]).await;
    for (title, site_url, expect) in [
        (Some("Second"), Some("http://e.org/"), (Some("Second"), Some("http://e.org/"))),
        (None, None, (Some("Second"), Some("http://e.org/"))),
        (Some("Third"), None, (Some("Third"), Some("http://e.org/"))),
    ] {
        let job = harness.claim(id).await;
        let document =
            Document { title: title.map(str::to_owned), site_url: site_url.map(str::to_owned), ..document(vec![]) };
        harness.finish(result(&job, PollOutcome::Fetched(document))).await;
        let feed = harness.feed(id).await;
        assert_eq!((feed.title.as_deref(), feed.site_url.as_deref()), expect);
    }
}

async fn f3_it_is_known_what_is_known(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![entry("1"), version("2", "text")]).await;
    let other = harness.add("http://e.org/2", vec![entry("3")]).await;
    let identities: Vec<Hash> = ["1", "2", "3"].into_iter().map(|guid| Hash::of(guid.as_bytes())).collect();
    let known = harness.store.known_entries(id, &identities).await.unwrap();
    assert_eq!(known.len(), 2);
    let fingerprints = |identity| known[identity].iter().map(|known| known.version().1).collect::<Vec<_>>();
    assert_eq!(fingerprints(&identities[0]), [Hash::of(b"1")]);
    assert_eq!(fingerprints(&identities[1]), [Hash::of(b"text")]);
    let known = harness.store.known_entries(other, &identities).await.unwrap();
    assert_eq!(known.into_keys().collect::<Vec<_>>(), [identities[2]]);
    assert!(harness.store.known_entries(id, &[]).await.unwrap().is_empty());
}

/// All entries of the feed link to its front page.
async fn f3_recognises_the_newest_of_one_identity(harness: &Harness) {
    let front = |number: u32, text: &str| IncomingEntry {
        identity: Hash::of(b"http://e.org/"),
        traits: Traits { link: 0, title: i64::from(number) + 1 },
        is_shared: true,
        has_own_guid: true,
        ..version(&format!("front {number}, {text}"), text)
    };
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    harness.poll(feed, vec![IncomingEntry { guid: "front".to_owned(), ..front(0, "first") }]).await;
    harness.copy_entry("front", KNOWN_OF_IDENTITY_MAX).await;
    let identity = Hash::of(b"http://e.org/");
    let known = harness.store.known_entries(feed, &[identity]).await.unwrap().remove(&identity).unwrap();
    let titles: Vec<i64> = known.iter().map(|known| known.version().0.title).collect();
    assert!(titles.iter().copied().eq(2..=i64::from(KNOWN_OF_IDENTITY_MAX) + 1), "{} of them", titles.len());
    assert!(known.iter().all(|known| matches!(known, Known::Entry(_))));
    harness.advance(HOUR).await;
    let stored = harness.poll(feed, vec![front(KNOWN_OF_IDENTITY_MAX, "a"), front(1, "a")]).await;
    assert_eq!((stored.new, stored.changed), (0, 2));
    harness.advance(HOUR).await;
    let stored = harness.push(push(id, "secret", vec![front(KNOWN_OF_IDENTITY_MAX, "b"), front(1, "b")])).await;
    assert_eq!((stored.new, stored.changed), (0, 2));
    // What is older than all these comes again.
    let stored = harness.poll(feed, vec![front(0, "first")]).await;
    assert_eq!((stored.new, stored.changed), (1, 0));
}

/// By poll or by push, and whatever was known when it was parsed.
async fn f3_gives_each_entry_of_a_feed_another_guid(harness: &Harness) {
    let post = |title: i64, text: &str| IncomingEntry {
        identity: Hash::of(b"http://e.org/"),
        traits: Traits { link: 0, title },
        is_shared: true,
        ..version("http://e.org/", text)
    };
    let (feed, id) = harness.pushed("http://e.org/1", "secret").await;
    for (step, entry) in [post(1, "a"), post(2, "b"), post(3, "c"), post(4, "d")].into_iter().enumerate() {
        harness.advance(HOUR).await;
        let stored = match step % 2 {
            0 => harness.push(push(id, "secret", vec![entry])).await,
            _ => harness.poll(feed, vec![entry]).await,
        };
        assert_eq!((stored.new, stored.changed), (1, 0), "{step}");
    }
    let guids: BTreeSet<String> = harness.all().await.into_iter().map(|entry| entry.guid).collect();
    assert_eq!(guids.len(), 4, "{guids:?}");
    assert!(guids.contains("http://e.org/") && guids.iter().all(|guid| guid.starts_with("http://e.org/")), "{guids:?}");
    // Seen again it is what it was.
    let stored = harness.push(push(id, "secret", vec![post(3, "c")])).await;
    assert_eq!((stored.new, stored.changed), (0, 0));
}
