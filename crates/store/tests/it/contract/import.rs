//! F6: imports, with the folders that they name.

use domain::{FeedSeed, feed_state::FeedAddress, ports::ImportOutcome};

use super::{
    Harness,
    given::{LEASE, address, imported, seed},
};

contract! {
    f6_an_import_makes_the_folders_it_names,
    f6_a_feed_of_an_import_is_due_at_once,
    f6_what_is_there_already_is_left_as_it_is,
    f6_a_thousand_feeds_are_imported_at_once,
}

async fn f6_an_import_makes_the_folders_it_names(harness: &Harness) {
    let blogs = harness.store.create_folder("Blogs").await.unwrap().unwrap();
    let seeds = vec![
        FeedSeed { folder: Some("News".to_owned()), ..seed("http://e.org/1") },
        FeedSeed { folder: Some("Blogs".to_owned()), ..seed("http://e.org/2") },
        FeedSeed { folder: Some("News".to_owned()), ..seed("http://e.org/3") },
        FeedSeed { folder: Some("Art".to_owned()), ..seed("http://e.org/4") },
        seed("http://e.org/5"),
    ];
    let outcomes = harness.store.import_feeds(seeds).await.unwrap();
    let folders = harness.store.folders().await.unwrap();
    let names: Vec<_> = folders.iter().map(|folder| folder.name.as_str()).collect();
    assert_eq!(names, ["Blogs", "News", "Art"]);
    let mut in_folders = Vec::new();
    for outcome in outcomes {
        in_folders.push(harness.feed(imported(outcome)).await.folder_id);
    }
    let (news, art) = (folders[1].id, folders[2].id);
    assert_eq!(in_folders, [Some(news), Some(blogs.id), Some(news), Some(art), None]);
}

async fn f6_a_feed_of_an_import_is_due_at_once(harness: &Harness) {
    let there = FeedAddress { url: "http://e.org/1".to_owned(), credentials: Some("a:b".to_owned()) };
    let seed = FeedSeed {
        title: Some("Theirs".to_owned()),
        custom_title: Some("Mine".to_owned()),
        poll_interval: Some(600),
        push_enabled: false,
        site_url: Some("http://e.org/".to_owned()),
        ..FeedSeed::new(there.clone())
    };
    let id = imported(harness.store.import_feeds(vec![seed]).await.unwrap()[0]);
    let feed = harness.feed(id).await;
    assert_eq!((feed.title.as_deref(), feed.site_url.as_deref()), (Some("Theirs"), Some("http://e.org/")));
    assert_eq!((feed.custom_title.as_deref(), feed.poll_interval, feed.push_enabled), (Some("Mine"), Some(600), false));
    assert_eq!((feed.last_fetched_at, feed.next_check_at, feed.unread_count), (None, harness.now(), 0));
    let jobs = harness.store.claim_due_polls("worker", 10, LEASE).await.unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].address, there);
    assert!(jobs[0].is_first_fetch);
}

async fn f6_what_is_there_already_is_left_as_it_is(harness: &Harness) {
    let id = harness.add("http://e.org/1", vec![]).await;
    let before = harness.feed(id).await;
    let other = FeedSeed { title: Some("Other".to_owned()), ..seed("http://e.org/1") };
    let outcomes =
        harness.store.import_feeds(vec![other, seed("http://e.org/2"), seed("http://e.org/2")]).await.unwrap();
    assert_eq!(outcomes[0], ImportOutcome::AlreadyThere(id));
    let second = imported(outcomes[1]);
    assert_eq!(outcomes[2], ImportOutcome::AlreadyThere(second));
    assert_eq!(harness.feed(id).await, before);
    assert_eq!(harness.store.feeds().await.unwrap().len(), 2);
    assert_eq!(harness.store.import_feeds(vec![]).await.unwrap(), []);
}

async fn f6_a_thousand_feeds_are_imported_at_once(harness: &Harness) {
    let seeds = (0..1000)
        .map(|number| FeedSeed {
            address: address(&format!("http://e.org/{number}")),
            folder: Some(format!("folder {}", number % 20)),
            ..seed("")
        })
        .collect();
    let outcomes = harness.store.import_feeds(seeds).await.unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, ImportOutcome::Imported(_))));
    assert_eq!(harness.store.feeds().await.unwrap().len(), 1000);
    assert_eq!(harness.store.folders().await.unwrap().len(), 20);
}
