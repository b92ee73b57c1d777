//! F2 to F5 and F7: polling.

use domain::account::READER;
use std::{net::Ipv4Addr, time::Duration};

use domain::{EntryPatch, ports::MarkRead};
use engine::{EngineSettings, RefreshSummary};
use futures_util::future::join_all;
use testkit::{Gate, Page, Publisher};
use tokio_util::sync::CancellationToken;

use crate::world::{self, import, rss};

#[tokio::test]
async fn f4_an_unchanged_feed_costs_one_304() {
    for world in world::each().await {
        world.stop_clocks().await;
        let page = Page::body(rss(&[("1", "One")])).etag("W/\"1\"").last_modified("Mon, 02 Mar 2026 12:00:00 GMT");
        world.publisher.set("/feed", page.header("Cache-Control", "max-age=18000"));
        let id = world.import(&["/feed"]).await[0];
        let first = world.engine.refresh_due().await.unwrap();
        assert_eq!(first, RefreshSummary { polled: 1, fetched: 1, new_entries: 1, ..RefreshSummary::default() });
        let second = world.refresh(id).await;
        assert_eq!(second, RefreshSummary { polled: 1, unchanged: 1, ..RefreshSummary::default() });
        let request = &world.publisher.requests("/feed")[1];
        assert_eq!(request.header("if-none-match"), Some("W/\"1\""));
        assert_eq!(request.header("if-modified-since"), Some("Mon, 02 Mar 2026 12:00:00 GMT"));
        let feed = world.feed(id).await;
        assert!((17_900..19_900).contains(&world.due_in(&feed)), "Cache-Control is honoured: {}", world.due_in(&feed));
        assert_eq!(world.titles(id).await, ["One"]);
        assert_eq!(world.engine.refresh_due().await.unwrap(), RefreshSummary::default(), "nothing is due any more");
    }
}

#[tokio::test]
async fn f4_the_same_bytes_without_validators_are_unchanged() {
    for world in world::each().await {
        world.publisher.set("/feed", Page::body(rss(&[("1", "One")])).gzip());
        let id = world.import(&["/feed"]).await[0];
        assert_eq!(world.refresh(id).await.new_entries, 1);
        assert_eq!(world.refresh(id).await.unchanged, 1);
    }
}

#[tokio::test]
async fn f3_entries_are_new_changed_or_known() {
    for world in world::each().await {
        let bodies = [rss(&[("1", "One"), ("2", "Two")]), rss(&[("1", "One"), ("2", "Changed"), ("3", "Three")])];
        world.publisher.set_all("/feed", bodies.map(Page::body).into());
        let id = world.import(&["/feed"]).await[0];
        world.refresh(id).await;
        let before = world.entries(id).await;
        let patch = EntryPatch { is_read: Some(true), is_starred: Some(true) };
        world.store.patch_entry(READER, before[1].id, patch).await.unwrap();
        let second = world.refresh(id).await;
        assert_eq!((second.fetched, second.new_entries, second.changed_entries), (1, 1, 1));
        let after = world.entries(id).await;
        assert_eq!(world.titles(id).await, ["One", "Changed", "Three"]);
        assert_eq!(after[0], before[0]);
        assert!(after[1].is_read && after[1].is_starred);
        assert_eq!(after[1].sort_at, before[1].sort_at);
        assert_eq!(after[1].summary.as_deref(), Some("About Changed"));
    }
}

#[tokio::test]
async fn f4_moved_feed_is_polled_at_new_url() {
    for world in world::each().await {
        world.publisher.set("/old", Page::redirect(301, "/new"));
        world.publisher.set("/new", Page::body(rss(&[("1", "One")])));
        world.publisher.set("/broken", Page::redirect(308, "/nothing"));
        world.publisher.set("/for-now", Page::redirect(302, "/new"));
        let ids = world.import(&["/old", "/broken", "/for-now"]).await;
        world.engine.refresh_due().await.unwrap();
        let urls = [world.feed(ids[0]).await.url, world.feed(ids[1]).await.url, world.feed(ids[2]).await.url];
        assert_eq!(urls, ["/new", "/broken", "/for-now"].map(|path| world.publisher.url(path)));
        world.refresh(ids[0]).await;
        assert_eq!(world.publisher.requests("/old").len(), 1);
    }
}

#[tokio::test]
async fn f4_gone_feed_is_not_polled() {
    for world in world::each().await {
        world.publisher.set_all("/feed", vec![Page::body(rss(&[("1", "One")])), Page::status(410)]);
        let id = world.import(&["/feed"]).await[0];
        world.refresh(id).await;
        assert_eq!(world.refresh(id).await.failed, 1);
        let feed = world.feed(id).await;
        assert!(feed.is_gone);
        assert_eq!(feed.last_error.as_deref(), Some("the server answered 410 Gone: it is gone for good"));
        assert_eq!(world.titles(id).await, ["One"]);
        assert_eq!(world.engine.refresh_due().await.unwrap().polled, 0);
    }
}

#[tokio::test]
async fn f4_retry_after_and_ttl_are_honoured() {
    for world in world::each().await {
        world.stop_clocks().await;
        let busy = Page::status(429).header("Retry-After", "36000");
        let ttl = Page::body("<rss><channel><ttl>600</ttl><item><guid>1</guid></item></channel></rss>");
        world.publisher.set("/busy", busy);
        world.publisher.set("/ttl", ttl);
        world.publisher.set("/down", Page::status(503));
        let ids = world.import(&["/busy", "/ttl", "/down"]).await;
        world.engine.refresh_due().await.unwrap();
        for (id, secs) in ids.iter().zip([36_000, 36_000, 900]) {
            let due = world.due_in(&world.feed(*id).await);
            assert!((secs - 20..=secs * 11 / 10).contains(&due), "{due} instead of {secs}");
        }
        world.advance(Duration::from_hours(1)).await;
        assert_eq!(world.engine.refresh_due().await.unwrap().polled, 1);
        let feed = world.feed(ids[2]).await;
        assert_eq!(feed.failure_count, 2);
        assert!((1780..1980).contains(&world.due_in(&feed)), "it backs off: {}", world.due_in(&feed));
    }
}

#[tokio::test]
async fn f5_refresh_never_slows_a_feed() {
    for world in world::each().await {
        world.stop_clocks().await;
        world.publisher.set("/down", Page::status(503));
        world.publisher.set("/same", Page::body(rss(&[("1", "One")])));
        let ids = world.import(&["/down", "/same"]).await;
        assert_eq!(world.engine.refresh_due().await.unwrap().polled, 2);
        for id in ids.iter().copied() {
            let before = world.feed(id).await;
            for _ in 0..14 {
                assert_eq!(world.refresh(id).await.polled, 1);
            }
            let after = world.feed(id).await;
            assert!(after.next_check_at <= before.next_check_at, "{before:?} {after:?}");
            assert_eq!((after.failure_count, after.last_error), (before.failure_count, before.last_error));
        }
        // Unless the server wants it.
        world.publisher.set("/down", Page::status(503).header("Retry-After", "36000"));
        world.refresh(ids[0]).await;
        let due = world.due_in(&world.feed(ids[0]).await);
        assert!((36_000..36_100).contains(&due), "{due}");
        // What it adapted to is as it was: half an hour and a half after the first poll without entries.
        world.advance(Duration::from_hours(24)).await;
        assert_eq!(world.engine.refresh_due().await.unwrap().unchanged, 1);
        let due = world.due_in(&world.feed(ids[1]).await);
        assert!((5300..6000).contains(&due), "{due}");
    }
}

#[tokio::test]
async fn f4_absurd_intervals_are_capped() {
    const DAY: i64 = 24 * 60 * 60;
    let many = "99999999999999999999";
    for world in world::each().await {
        world.stop_clocks().await;
        let feed = || Page::body(rss(&[("1", "One")]));
        let ttl = format!("<rss><channel><ttl>{many}</ttl><item><guid>1</guid></item></channel></rss>");
        let pages = [
            ("/max-age", feed().header("Cache-Control", &format!("max-age={many}")), DAY),
            ("/expires", feed().header("Expires", "Thu, 31 Dec 2037 23:55:55 GMT"), DAY),
            ("/never", feed().header("Expires", "Fri, 31 Dec 9999 23:59:59 GMT"), DAY),
            ("/ttl", Page::body(ttl), DAY),
            ("/retry", Page::status(503).header("Retry-After", many), 7 * DAY),
        ];
        for (path, page, _) in &pages {
            world.publisher.set(path, page.clone());
        }
        let ids = world.import(&pages.each_ref().map(|(path, ..)| *path)).await;
        assert_eq!(world.engine.refresh_due().await.unwrap().polled, 5);
        for (id, (path, _, longest)) in ids.iter().zip(&pages) {
            // A tenth is left to chance.
            let due = world.due_in(&world.feed(*id).await);
            assert!((900 - 20..=longest * 11 / 10).contains(&due), "{path}: {due}");
        }
        for (id, longest) in [(ids[0], DAY), (ids[4], 7 * DAY)] {
            let due = world.due_in(&world.feed(id).await);
            assert!(due >= longest - 20, "what cannot be counted is much, and not nothing: {due}");
        }
    }
}

#[tokio::test]
async fn f4_host_concurrency_is_two() {
    const SLOW: usize = 40;
    let settings = EngineSettings { poll_concurrency: 4, ..world::settings() };
    for world in world::each_with(settings).await {
        let other = Publisher::start_at(Ipv4Addr::new(127, 0, 0, 2).into()).await;
        let gate = Gate::default();
        let slow: Vec<String> = (0..SLOW).map(|n| format!("/slow/{n}")).collect();
        for path in &slow {
            world.publisher.set(path, Page::body(rss(&[("1", path)])).behind(&gate));
            other.set(path, Page::body(rss(&[("1", path)])));
        }
        // Those of the slow host are due first, and are many more than there are slots.
        world.import(&slow.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let urls: Vec<String> = slow.iter().map(|path| other.url(path)).collect();
        import(&world.store, &urls).await;
        let engine = std::sync::Arc::clone(&world.engine);
        let refresh = tokio::spawn(async move { engine.refresh_due().await });
        for path in &slow {
            other.asked(path, 1).await;
        }
        assert!(world.publisher.request_count() <= 2);
        gate.open();
        let summary = refresh.await.unwrap().unwrap();
        assert_eq!((summary.polled, summary.new_entries), (2 * 40, 2 * 40));
        assert_eq!((world.publisher.concurrency_max(), other.concurrency_max()), (2, 2));
        assert_eq!(world.publisher.request_count(), SLOW);
    }
}

#[tokio::test]
async fn f4_hosts_that_hang_hold_up_no_other() {
    const SLOTS: usize = 4;
    const OTHERS: usize = 20;
    let settings = EngineSettings {
        poll_concurrency: SLOTS,
        slow_after: Duration::from_millis(20),
        slow_polls_max: 3 * SLOTS,
        ..world::settings()
    };
    for world in world::each_with(settings).await {
        let gate = Gate::default();
        // More than there are slots, each at a host of its own, and due before the others.
        let mut hanging = Vec::new();
        for _ in 0..2 * SLOTS {
            let publisher = Publisher::start().await;
            publisher.set("/feed", Page::body(rss(&[("1", "One")])).behind(&gate));
            import(&world.store, &[publisher.url("/feed")]).await;
            hanging.push(publisher);
        }
        let paths: Vec<String> = (0..OTHERS).map(|n| format!("/{n}")).collect();
        for path in &paths {
            world.publisher.set(path, Page::body(rss(&[("1", path)])));
        }
        world.import(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let engine = std::sync::Arc::clone(&world.engine);
        let refresh = tokio::spawn(async move { engine.refresh_due().await });
        for path in &paths {
            world.publisher.asked(path, 1).await;
        }
        // All that hang were asked, and still hang: nothing but their answers ends the refresh.
        for publisher in &hanging {
            publisher.asked("/feed", 1).await;
        }
        assert!(!refresh.is_finished());
        gate.open();
        let summary = refresh.await.unwrap().unwrap();
        assert_eq!((summary.polled, summary.fetched), (28, 28));
    }
}

/// That a poll gives its slot up if its server sends little: `poll/slot.rs`. Here it hears of what is sent.
#[tokio::test]
async fn f4_documents_that_arrive_keep_their_slots() {
    // A machine may stand still for as long.
    const SLOW_AFTER: Duration = Duration::from_secs(10);
    const PIECE_BYTES: usize = 2_000;
    const PIECE_EVERY: Duration = Duration::from_millis(50);
    let settings = EngineSettings { poll_concurrency: 1, slow_after: SLOW_AFTER, ..world::settings() };
    let worlds = world::each_with(settings).await;
    let kept = worlds.iter().map(async |world| {
        // It takes half as long again, but never stops.
        let document = rss(&[("1", "One")]) + &" ".repeat(300 * PIECE_BYTES);
        world.publisher.set("/long", Page::trickle(document, PIECE_EVERY, PIECE_BYTES));
        world.publisher.set("/other", Page::body(rss(&[("1", "One")])));
        world.import(&["/long"]).await;
        let engine = std::sync::Arc::clone(&world.engine);
        let first = tokio::spawn(async move { engine.refresh_due().await });
        world.publisher.asked("/long", 1).await;
        world.import(&["/other"]).await;
        world.engine.refresh_due().await.unwrap();
        first.await.unwrap().unwrap();
        assert_eq!((world.publisher.request_count(), world.publisher.concurrency_max()), (2, 1));
    });
    join_all(kept).await;
}

#[tokio::test]
async fn f4_slow_host_holds_up_no_other() {
    // More than wait for all hosts together.
    const SLOW: usize = 8_500;
    for world in world::each().await {
        world.stop_clocks().await;
        let other = Publisher::start_at(Ipv4Addr::new(127, 0, 0, 2).into()).await;
        other.set("/feed", Page::body(rss(&[("1", "One")])));
        let gate = Gate::default();
        world.publisher.set("/0", Page::body(rss(&[])).behind(&gate));
        world.publisher.set("/1", Page::body(rss(&[])).behind(&gate));
        let mut urls: Vec<String> = (0..SLOW).map(|n| world.publisher.url(&format!("/{n}"))).collect();
        urls.push(other.url("/feed"));
        let ids = import(&world.store, &urls).await;
        let stop = CancellationToken::new();
        let running = tokio::spawn(std::sync::Arc::clone(&world.engine).run(stop.clone()));
        other.asked("/feed", 1).await;
        assert!(world.publisher.request_count() <= 2);
        // What found no place in its host's queue was deferred; what has one is as it was.
        let (first, later) = (world.feed(ids[0]).await, world.feed(ids[SLOW / 2]).await);
        assert!(
            world.due_in(&first) <= 0 && (1..=60).contains(&world.due_in(&later)),
            "{} {}",
            world.due_in(&first),
            world.due_in(&later)
        );
        stop.cancel();
        running.await.unwrap();
    }
}

#[tokio::test]
async fn f4_deferred_feed_is_polled_when_queue_drains() {
    const FEEDS: usize = 600;
    for world in world::each().await {
        let paths: Vec<String> = (0..FEEDS).map(|n| format!("/{n}")).collect();
        for path in &paths {
            world.publisher.set(path, Page::body(rss(&[("1", path)])));
        }
        // They are deferred for a minute, which never passes.
        world.stop_clocks().await;
        world.import(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let stop = CancellationToken::new();
        let running = tokio::spawn(std::sync::Arc::clone(&world.engine).run(stop.clone()));
        for path in &paths {
            world.publisher.asked(path, 1).await;
        }
        stop.cancel();
        running.await.unwrap();
        assert_eq!((world.publisher.request_count(), world.publisher.concurrency_max()), (FEEDS, 2));
    }
}

#[tokio::test]
async fn f5_refresh_polls_deferred_feeds_too() {
    const FEEDS: usize = 1_000;
    for world in world::each().await {
        let gate = Gate::default();
        let paths: Vec<String> = (0..FEEDS).map(|n| format!("/{n}")).collect();
        for path in &paths {
            world.publisher.set(path, Page::body(rss(&[("1", path)])).behind(&gate));
        }
        world.import(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
        // The background was there first, and most of them were deferred.
        world.engine.poll_step().await.unwrap();
        let (summary, ()) = tokio::join!(world.engine.refresh_due(), async { gate.open() });
        let summary = summary.unwrap();
        assert_eq!((summary.polled, summary.fetched, summary.new_entries), (1_000, 1_000, 1_000));
        assert_eq!((world.publisher.request_count(), world.publisher.concurrency_max()), (FEEDS, 2));
        assert_eq!(world.engine.refresh_due().await.unwrap(), RefreshSummary::default());
    }
}

#[tokio::test]
async fn f5_refresh_skips_deleted_feeds() {
    const FEEDS: usize = 400;
    for world in world::each().await {
        world.stop_clocks().await;
        let gate = Gate::default();
        let paths: Vec<String> = (0..FEEDS).map(|n| format!("/{n}")).collect();
        for path in &paths {
            world.publisher.set(path, Page::body(rss(&[("1", path)])).behind(&gate));
        }
        let ids = world.import(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
        world.engine.poll_step().await.unwrap();
        world.publisher.asked("/0", 1).await;
        let deferred = ids[FEEDS - 1];
        assert!((1..=60).contains(&world.due_in(&world.feed(deferred).await)));
        let deleted = async {
            // One that is asked just now, one that waits for its host, and one that was deferred.
            for id in [ids[0], ids[100], deferred] {
                assert!(world.store.delete_feed(READER, id).await.unwrap());
            }
            gate.open();
        };
        let (summary, ()) = tokio::join!(world.engine.refresh_due(), deleted);
        let summary = summary.unwrap();
        assert_eq!((summary.polled, summary.new_entries), (397, 397));
        assert_eq!(world.feed_count().await, FEEDS - 3);
    }
}

#[tokio::test]
async fn f5_refresh_joins_running_poll() {
    for world in world::each().await {
        let gate = Gate::default();
        world.publisher.set("/feed", Page::body(rss(&[("1", "One")])).behind(&gate));
        let id = world.import(&["/feed"]).await[0];
        let opened = async {
            world.publisher.asked("/feed", 1).await;
            gate.open();
        };
        let (one, two, due, ()) =
            tokio::join!(world.refresh(id), world.refresh(id), world.engine.refresh_due(), opened);
        assert_eq!(one.new_entries, 1);
        assert_eq!((one, due.unwrap()), (two, one));
        assert_eq!(world.publisher.requests("/feed").len(), 1);
        assert_eq!(world.engine.refresh_feed(READER, domain::FeedId(4711)).await.unwrap(), None);
    }
}

#[tokio::test]
async fn f5_background_polls_and_releases_unbegun() {
    for world in world::each().await {
        let stop = CancellationToken::new();
        let running = tokio::spawn(std::sync::Arc::clone(&world.engine).run(stop.clone()));
        let gate = Gate::default();
        let paths = ["/a", "/b", "/c", "/d", "/e"];
        for path in paths {
            world.publisher.set(path, Page::body(rss(&[("1", path)])).behind(&gate));
        }
        world.publisher.set("/now", Page::body(rss(&[("1", "Now")])));
        let opml = |paths: &[&str]| -> String {
            let outlines: String =
                paths.iter().map(|path| format!("<outline xmlUrl='{}'/>", world.publisher.url(path))).collect();
            format!("<opml><body>{outlines}</body></opml>")
        };
        // An import wakes it: nobody refreshes.
        world.engine.import_opml(READER, opml(&["/now"]).as_bytes()).await.unwrap();
        world.publisher.asked("/now", 1).await;
        assert!(world.engine.refresh_due().await.is_ok());
        world.engine.import_opml(READER, opml(&paths).as_bytes()).await.unwrap();
        world.publisher.asked("/a", 1).await;
        world.publisher.asked("/b", 1).await;
        stop.cancel();
        running.await.unwrap();
        // Another process finds all five free at once, those that were broken off and those that waited.
        gate.open();
        let next = world::engine_on(std::sync::Arc::clone(&world.store), world::settings());
        let summary = next.refresh_due().await.unwrap();
        assert_eq!((summary.polled, summary.new_entries), (5, 5));
        assert_eq!(world.feed_count().await, 6);
    }
}

#[tokio::test]
async fn f7_what_was_pruned_does_not_come_back() {
    let mut settings = world::settings();
    settings.prune.per_feed = 1;
    settings.prune.chunk = 2;
    for world in world::each_with(settings).await {
        let items: Vec<(String, String)> = (0..7).map(|n| (n.to_string(), format!("Title {n}"))).collect();
        let items: Vec<(&str, &str)> = items.iter().map(|(guid, title)| (guid.as_str(), title.as_str())).collect();
        world.publisher.set("/feed", Page::body(rss(&items)));
        let id = world.import(&["/feed"]).await[0];
        world.refresh(id).await;
        let starred = world.entries(id).await[0].id;
        world.store.patch_entry(READER, starred, EntryPatch { is_starred: Some(true), is_read: None }).await.unwrap();
        world.store.mark_read(READER, MarkRead::default()).await.unwrap();
        let gone = world.engine.prune().await.unwrap();
        let left = world.entries(id).await;
        assert_eq!(gone, 7 - left.len() as u64);
        assert!(gone >= 5 && left.iter().any(|entry| entry.id == starred), "{gone}");
        world.publisher.set("/feed", Page::body(rss(&[&items[..], &[("8", "New")]].concat())));
        assert_eq!(world.refresh(id).await.new_entries, 1);
        assert_eq!(world.entries(id).await.len(), left.len() + 1);
    }
}

#[tokio::test]
async fn f2_cut_off_document_is_read_and_refetched() {
    for world in world::each().await {
        let whole = rss(&[("1", "One"), ("2", "Two")]);
        let cut = &whole[..whole.len() - 50];
        world.publisher.set("/feed", Page::body(cut).etag("\"1\""));
        let id = world.import(&["/feed"]).await[0];
        assert_eq!(world.refresh(id).await.new_entries, 2);
        world.publisher.set("/feed", Page::body(whole).etag("\"1\""));
        world.refresh(id).await;
        assert_eq!(world.publisher.requests("/feed")[1].header("if-none-match"), None);
        assert_eq!(world.entries(id).await[1].summary.as_deref(), Some("About Two"));
    }
}
