//! A1: each account has its own folders, feeds, marks, counts, webhooks and deliveries.

use std::time::Duration;

use domain::{
    EntryFilter, EntryPatch, FeedPatch, FolderId,
    delivery::{DeliveryFilter, Moved, WebhookPatch},
    follow::NewFollow,
    ports::{MarkRead, PruneLimits, TestOutcome, UpdateOutcome, Viewer},
};
use jiff::Timestamp;

use super::{
    Harness,
    given::{HOUR, entry, entry_at, new_feed, new_follow, titles, version},
    given_outbox::secret,
};

contract! {
    a1_two_accounts_see_only_their_own,
    a1_webhooks_and_deliveries_are_their_accounts,
    a1_marks_of_one_are_not_the_others,
    a1_changes_say_whom_they_concern,
    a1_a_viewer_sees_what_concerns_its_feeds,
    f7_pruning_leaves_what_another_has,
    f7_the_newest_of_a_feed_are_counted_for_all,
    a1_counts_equal_counting,
    u2_counts_of_several_accounts_are_theirs,
}

const URL: &str = "http://e.org/1";
const READ: EntryPatch = EntryPatch { is_read: Some(true), is_starred: None };

async fn a1_two_accounts_see_only_their_own(harness: &Harness) {
    let ann = harness.account("ann").await;
    let folder = harness.store.create_folder("News").await.unwrap().unwrap().id;
    let anns = ann.store.create_folder("News").await.unwrap().unwrap().id;
    assert_ne!(folder, anns, "of the same name");
    let feed =
        harness.add_feed(domain::NewFeed { folder_id: Some(folder), ..new_feed(URL, vec![entry("1")]) }).await.id;
    let entry = harness.entry("1").await.id;
    assert_eq!(ann.store.folders().await.unwrap().iter().map(|folder| folder.id).collect::<Vec<_>>(), [anns]);
    assert_eq!(ann.store.rename_folder(folder, "x").await.unwrap(), UpdateOutcome::NotFound);
    assert!(!ann.store.delete_folder(folder).await.unwrap());
    assert_eq!(ann.store.reorder_folders(&[folder]).await.unwrap(), None);
    assert_eq!((ann.store.feeds().await.unwrap(), ann.store.feed(feed).await.unwrap()), (vec![], None));
    assert_eq!(ann.store.feed_by_url(URL).await.unwrap(), None);
    assert_eq!(ann.store.update_feed(feed, FeedPatch::default()).await.unwrap(), UpdateOutcome::NotFound);
    assert!(!ann.store.delete_feed(feed).await.unwrap());
    for filter in [
        EntryFilter::default(),
        EntryFilter { feed_id: Some(feed), ..EntryFilter::default() },
        EntryFilter { folder_id: Some(folder), ..EntryFilter::default() },
        EntryFilter { unread: Some(true), ..EntryFilter::default() },
        EntryFilter { ids: Some(vec![entry]), ..EntryFilter::default() },
        EntryFilter { search: domain::Search::parse("1").unwrap(), ..EntryFilter::default() },
        EntryFilter { search: domain::Search::parse("-2").unwrap(), ..EntryFilter::default() },
        EntryFilter { since: Some(domain::entry::Since::Changed(Timestamp::UNIX_EPOCH)), ..EntryFilter::default() },
    ] {
        assert_eq!(harness.entries(filter.clone()).await.len(), 1, "{filter:?}");
        assert_eq!(ann.entries(filter.clone()).await, [], "{filter:?}");
    }
    assert_eq!(ann.store.entry(entry).await.unwrap(), None);
    assert_eq!(ann.store.patch_entry(entry, READ).await.unwrap(), None);
    assert_eq!(ann.store.patch_entries(&[entry], READ).await.unwrap(), 0);
    for which in [MarkRead::default(), MarkRead { feed_id: Some(feed), ..MarkRead::default() }] {
        assert_eq!(ann.store.mark_read(which).await.unwrap(), 0);
    }
    assert_eq!(ann.store.counts().await.unwrap(), domain::entry::Counts::default());
    assert_eq!(harness.unread_of(feed).await, 1);
    assert_eq!(harness.feed(feed).await.folder_id, Some(folder));
    // A folder of another's is none.
    ann.follow(URL).await;
    let into = FeedPatch { folder_id: Some(Some(folder)), ..FeedPatch::default() };
    assert_eq!(ann.store.update_feed(feed, into).await.unwrap(), UpdateOutcome::NoSuchFolder);
    // Nor does one's folder empty another's.
    ann.update(feed, FeedPatch { folder_id: Some(Some(anns)), ..FeedPatch::default() }).await;
    assert!(harness.store.delete_folder(folder).await.unwrap());
    assert_eq!((harness.feed(feed).await.folder_id, ann.feed(feed).await.folder_id), (None, Some(anns)));
    let in_anns = EntryFilter { folder_id: Some(anns), ..EntryFilter::default() };
    assert_eq!((harness.entries(in_anns.clone()).await.len(), ann.entries(in_anns).await.len()), (0, 1));
}

async fn a1_webhooks_and_deliveries_are_their_accounts(harness: &Harness) {
    let ann = harness.account("ann").await;
    let webhook = harness.webhook("https://r.org/1").await;
    let queued = harness.queue(webhook, 1).await.remove(0);
    assert_eq!(ann.store.webhooks().await.unwrap(), []);
    assert_eq!(ann.store.webhook(webhook).await.unwrap(), None);
    assert_eq!(harness.store.receiver(webhook).await.unwrap().unwrap().account_id, harness.id());
    let disable = WebhookPatch { enabled: Some(false), ..WebhookPatch::default() };
    assert_eq!(ann.store.update_webhook(webhook, disable).await.unwrap(), None);
    assert!(!ann.store.delete_webhook(webhook).await.unwrap());
    assert_eq!(ann.store.rotate_secret(webhook, secret("second"), HOUR).await.unwrap(), None);
    assert_eq!(ann.store.test_webhook(webhook).await.unwrap(), TestOutcome::NotFound);
    assert_eq!(ann.store.replay(webhook, Timestamp::UNIX_EPOCH, None).await.unwrap(), None);
    assert_eq!(ann.store.requeue_failed(webhook).await.unwrap(), None);
    assert_eq!(ann.store.delivery(&queued.id).await.unwrap(), None);
    for filter in [DeliveryFilter::default(), DeliveryFilter { webhook_id: Some(webhook), ..DeliveryFilter::default() }]
    {
        assert_eq!((ann.outbox(filter).await.len(), harness.outbox(filter).await.len()), (0, 1));
    }
    assert_eq!(ann.store.cancel_delivery(&queued.id, "no").await.unwrap(), Moved::NotFound);
    assert_eq!(ann.store.requeue_delivery(&queued.id).await.unwrap(), Moved::NotFound);
    let overview = async |viewer| harness.store.store.outbox_overview(viewer).await.unwrap().pending;
    assert_eq!(overview(Viewer::Server).await, 1);
    assert_eq!((overview(Viewer::Account(harness.id())).await, overview(Viewer::Account(ann.id())).await), (1, 0));
    assert_eq!(harness.shown(&queued.id).await, queued);
}

async fn a1_marks_of_one_are_not_the_others(harness: &Harness) {
    let feed = harness.add(URL, vec![entry("1"), entry("2"), entry("3")]).await;
    let ann = harness.account("ann").await;
    ann.follow(URL).await;
    harness.patch("1", Some(true), Some(true)).await;
    ann.patch("2", Some(true), Some(true)).await;
    ann.patch("3", None, Some(true)).await;
    assert_eq!((harness.unread_titles().await, ann.unread_titles().await.len()), (vec!["2".into(), "3".into()], 2));
    let starred = EntryFilter { starred: Some(true), ..EntryFilter::default() };
    assert_eq!(titles(&harness.entries(starred.clone()).await), ["1"]);
    assert_eq!(titles(&ann.entries(starred).await), ["2", "3"]);
    assert_eq!((harness.store.counts().await.unwrap().starred, ann.store.counts().await.unwrap().starred), (1, 2));
    assert_eq!(ann.store.mark_read(MarkRead { feed_id: Some(feed), ..MarkRead::default() }).await.unwrap(), 2);
    assert_eq!((harness.unread_of(feed).await, ann.unread_of(feed).await), (2, 0));
    harness.advance(HOUR).await;
    harness.patch("2", Some(true), None).await;
    let changed = EntryFilter { since: Some(domain::entry::Since::Changed(harness.now())), ..EntryFilter::default() };
    assert_eq!((harness.entries(changed.clone()).await.len(), ann.entries(changed).await.len()), (1, 0));
}

async fn a1_changes_say_whom_they_concern(harness: &Harness) {
    let feed = harness.add(URL, vec![entry("1")]).await;
    let ann = harness.account("ann").await;
    let begin = harness.store.last_change().await.unwrap();
    ann.follow(URL).await;
    ann.patch("1", Some(true), None).await;
    ann.update(feed, FeedPatch { custom_title: Some(Some("Ann's".to_owned())), ..FeedPatch::default() }).await;
    ann.webhook("https://r.org/1").await;
    ann.store.create_folder("Mine").await.unwrap().unwrap();
    let of_ann = harness.store.changes_after(begin, 100).await.unwrap();
    assert!(of_ann.changes.len() >= 5);
    assert!(of_ann.changes.iter().all(|change| change.account_id == Some(ann.id())), "{of_ann:?}");
    harness.poll(feed, vec![entry("2")]).await;
    let of_all = harness.store.changes_after(of_ann.next, 100).await.unwrap();
    assert!(!of_all.changes.is_empty() && of_all.changes.iter().all(|change| change.account_id.is_none()));
}

async fn a1_a_viewer_sees_what_concerns_its_feeds(harness: &Harness) {
    let (feed, subscription) = harness.with_hub(URL, "token").await;
    let ann = harness.account("ann").await;
    let (server, of_ann) = (Viewer::Server, Viewer::Account(ann.id()));
    let of_reader = Viewer::Account(harness.id());
    let subscriptions = async |viewer| -> Vec<_> {
        let all = harness.store.store.subscriptions(viewer).await.unwrap();
        all.into_iter().map(|subscription| subscription.id).collect()
    };
    assert_eq!(subscriptions(server).await, [subscription]);
    assert_eq!((subscriptions(of_reader).await, subscriptions(of_ann).await), (vec![subscription], vec![]));
    let due = async |limit| harness.store.due_polls(limit).await.unwrap();
    assert_eq!(due(10).await, []);
    harness.advance(HOUR * 2).await;
    assert_eq!((due(10).await, due(0).await), (vec![feed], vec![]));
    ann.follow(URL).await;
    assert_eq!(subscriptions(of_ann).await, [subscription]);
    harness.poll(feed, vec![]).await;
    assert_eq!(due(10).await, []);
}

async fn f7_pruning_leaves_what_another_has(harness: &Harness) {
    let feed = harness.add(URL, vec![entry("1"), entry("2"), entry("3")]).await;
    let ann = harness.account("ann").await;
    ann.follow(URL).await;
    harness.store.mark_read(MarkRead::default()).await.unwrap();
    harness.patch("3", None, Some(true)).await;
    ann.patch("1", Some(true), None).await;
    harness.advance(HOUR * 2).await;
    let limits = PruneLimits { read_older_than: HOUR, unread_older_than: None, per_feed: 1000, chunk: 100 };
    assert_eq!(harness.store.prune_entries(limits).await.unwrap(), 3);
    assert_eq!((titles(&harness.all().await), titles(&ann.all().await)), (vec!["3"], vec!["2", "3"]));
    let entries = async || harness.number("SELECT count(*) FROM entries WHERE NOT is_kept").await;
    assert_eq!(entries().await, 2, "the first is nobody's");
    let stored = harness.poll(feed, vec![entry("1"), version("2", "changed"), entry("3")]).await;
    assert_eq!((stored.new, stored.changed), (0, 1));
    assert_eq!((harness.all().await.len(), titles(&ann.all().await)), (1, vec!["changed", "3"]));
    // Unread ones, too, each by the time that its account got it.
    let unread = PruneLimits { unread_older_than: Some(HOUR), ..limits };
    assert_eq!(harness.store.prune_entries(unread).await.unwrap(), 2);
    assert_eq!((ann.all().await, ann.unread_of(feed).await), (vec![], 0));
    let bob = harness.account("bob").await;
    bob.follow(URL).await;
    assert_eq!(titles(&bob.all().await), ["1", "changed", "3"], "all that the last document holds");
    assert_eq!((harness.all().await.len(), ann.all().await.len(), entries().await), (1, 0, 3));
    assert_eq!(harness.store.prune_entries(unread).await.unwrap(), 0, "just got");
}

async fn f7_the_newest_of_a_feed_are_counted_for_all(harness: &Harness) {
    let entries = (0..10).map(|number| entry_at(&number.to_string(), harness.after(-number))).collect();
    let feed = harness.add(URL, entries).await;
    let ann = harness.account("ann").await;
    ann.follow(URL).await;
    harness.store.mark_read(MarkRead::default()).await.unwrap();
    ann.patch("9", Some(true), None).await;
    let day = Duration::from_hours(24);
    let limits = PruneLimits { read_older_than: day, unread_older_than: None, per_feed: 4, chunk: 5 };
    let mut pruned = 0;
    loop {
        match harness.store.prune_entries(limits).await.unwrap() {
            0 => break,
            count @ 1..=5 => pruned += count,
            more => panic!("{more} in a chunk of 5"),
        }
    }
    assert_eq!((pruned, harness.all().await.len(), ann.all().await.len()), (7, 4, 9));
    assert_eq!((harness.unread_of(feed).await, ann.unread_of(feed).await), (0, 9));
}

/// What does not agree, in words that both databases understand.
const VIOLATIONS: [(&str, &str); 8] = [
    (
        "unread counts",
        "SELECT count(*) FROM follows WHERE unread_count <> (SELECT count(*) FROM entry_states AS states
         WHERE states.feed_id = follows.feed_id AND states.account_id = follows.account_id AND NOT is_read)",
    ),
    (
        "starred counts",
        "SELECT count(*) FROM accounts WHERE deleted_at IS NULL AND starred_count <> (
         SELECT count(*) FROM entry_states WHERE account_id = accounts.id AND is_starred)",
    ),
    (
        "sizes",
        "SELECT count(*) FROM feeds WHERE entry_count <> (
         SELECT count(*) FROM entries WHERE feed_id = feeds.id AND NOT is_kept)",
    ),
    (
        "folders",
        "SELECT count(*) FROM entry_states AS states JOIN follows ON follows.feed_id = states.feed_id
         AND follows.account_id = states.account_id
         WHERE coalesce(states.folder_id, 0) <> coalesce(follows.folder_id, 0)",
    ),
    (
        "states of what is not followed",
        "SELECT count(*) FROM entry_states AS states JOIN accounts ON accounts.id = states.account_id
         WHERE deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM follows WHERE follows.feed_id = states.feed_id
         AND follows.account_id = states.account_id)",
    ),
    (
        "entries that nobody has and that are not kept, or the other way round",
        "SELECT count(*) FROM entries WHERE (CASE WHEN is_kept THEN 1 ELSE 0 END) = (CASE WHEN EXISTS (
         SELECT 1 FROM entry_states WHERE entry_id = entries.id) THEN 1 ELSE 0 END)",
    ),
    (
        "feeds that nobody follows",
        "SELECT count(*) FROM feeds WHERE NOT EXISTS (SELECT 1 FROM follows WHERE feed_id = feeds.id)",
    ),
    (
        "intervals",
        "SELECT count(*) FROM feeds WHERE coalesce(poll_interval_secs, 0) <> coalesce((
         SELECT min(poll_interval_secs) FROM follows WHERE feed_id = feeds.id), 0)",
    ),
];

/// Numbers that look like chance and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn url(&mut self) -> String {
        format!("http://e.org/{}", self.below(4))
    }

    fn flag(&mut self) -> Option<bool> {
        [None, Some(false), Some(true)][usize::try_from(self.below(3)).unwrap()]
    }
}

async fn a1_counts_equal_counting(harness: &Harness) {
    let accounts = [harness.as_account(harness.id()), harness.account("ann").await, harness.account("bob").await];
    let mut chance = Chance(20_260_101);
    for step in 0..250 {
        let account = &accounts[usize::try_from(chance.below(3)).unwrap()];
        let what = act(account, &mut chance).await;
        harness.advance(Duration::from_mins(7)).await;
        if step % 5 == 0 {
            for (name, statement) in VIOLATIONS {
                assert_eq!(harness.number(statement).await, 0, "{name} after step {step}: {what}");
            }
        }
    }
    assert!(harness.number("SELECT count(*) FROM entry_states").await > 0);
}

async fn act(account: &Harness, chance: &mut Chance) -> String {
    let (store, kind) = (&account.store, chance.below(12));
    let feeds = store.feeds().await.unwrap();
    let feed = feeds.get(usize::try_from(chance.below(4)).unwrap()).map(|feed| feed.id);
    let folders = store.folders().await.unwrap();
    let folder: Option<FolderId> = folders.first().map(|folder| folder.id).filter(|_| chance.below(2) == 0);
    match (kind, feed) {
        (0..=1, _) => {
            let new = NewFollow { folder_id: folder, ..new_follow(&chance.url()) };
            format!("{:?}", store.follow(new).await.unwrap())
        }
        (2, _) => {
            let entries = (0..chance.below(5)).map(|number| entry(&format!("a{number}"))).collect();
            format!("{:?}", store.add_feed(new_feed(&chance.url(), entries)).await.unwrap())
        }
        (3..=5, Some(feed)) => {
            let from = chance.below(40);
            let text = format!("v{}", chance.below(2));
            let entries = (from..from + chance.below(8)).map(|number| version(&number.to_string(), &text)).collect();
            format!("{:?}", account.poll(feed, entries).await)
        }
        (6, Some(feed)) if chance.below(3) == 0 => format!("left: {}", store.delete_feed(feed).await.unwrap()),
        (7, Some(feed)) => {
            let address = (chance.below(3) == 0).then(|| super::given::address(&chance.url()));
            let poll_interval = (chance.below(3) == 0).then(|| Some(600 + u32::try_from(chance.below(9)).unwrap()));
            let patch = FeedPatch { folder_id: Some(folder), address, poll_interval, ..FeedPatch::default() };
            format!("{:?}", store.update_feed(feed, patch).await.unwrap())
        }
        (8, _) => match folder {
            Some(folder) => format!("folder: {}", store.delete_folder(folder).await.unwrap()),
            None => format!("{:?}", store.create_folder(&format!("f{}", chance.below(3))).await.unwrap()),
        },
        (9, feed_id) => {
            let which = MarkRead { feed_id, ..MarkRead::default() };
            format!("marked: {}", store.mark_read(which).await.unwrap())
        }
        (10, _) => {
            let limits =
                PruneLimits { read_older_than: HOUR, unread_older_than: Some(HOUR * 9), per_feed: 9, chunk: 7 };
            format!("pruned: {}", store.prune_entries(limits).await.unwrap())
        }
        _ => {
            let ids: Vec<_> = account.all().await.iter().map(|entry| entry.id).take(9).collect();
            let patch = EntryPatch { is_read: chance.flag(), is_starred: chance.flag() };
            format!("patched: {}", store.patch_entries(&ids, patch).await.unwrap())
        }
    }
}

async fn u2_counts_of_several_accounts_are_theirs(harness: &Harness) {
    let ann = harness.account("ann").await;
    let folder = ann.store.create_folder("News").await.unwrap().unwrap().id;
    let shared = harness.add_feed(new_feed(URL, vec![entry("1"), entry("2")])).await.id;
    ann.store.follow(NewFollow { folder_id: Some(folder), ..new_follow(URL) }).await.unwrap();
    let hers = ann.add_feed(new_feed("http://e.org/2", vec![entry("3")])).await.id;
    let star = EntryPatch { is_read: Some(true), is_starred: Some(true) };
    ann.store.patch_entries(&[harness.entry("1").await.id], star).await.unwrap();
    let (reader, anns) = (domain::account::READER, ann.id());
    let of = async |feeds: Option<&[domain::FeedId]>| {
        let counts = harness.store.counts_of(&[anns, reader, domain::AccountId(99)], feeds).await.unwrap();
        let row = |follow: &domain::entry::FollowCount| (follow.feed_id, follow.folder_id, follow.unread);
        let rows = counts.iter().map(|of| (of.account_id, of.starred, of.follows.iter().map(row).collect::<Vec<_>>()));
        rows.collect::<Vec<_>>()
    };
    let of_reader = (reader, 0, vec![(shared, None, 2)]);
    assert_eq!(of(None).await, [of_reader.clone(), (anns, 1, vec![(shared, Some(folder), 1), (hers, None, 1)])]);
    assert_eq!(of(Some(&[shared])).await, [of_reader, (anns, 1, vec![(shared, Some(folder), 1)])]);
    assert_eq!(of(Some(&[])).await, [(reader, 0, vec![]), (anns, 1, vec![])]);
}
