//! Following: what a new entry costs whose feed ten thousand accounts follow, polled and pushed, beside the same with one; how
//! long others wait meanwhile; and what the page of one account costs beside a hundred others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use domain::{
    AccountId, EntryFilter, FeedId, SubscriptionId,
    account::{AccountName, NewAccount, READER},
    feed_state::FeedAddress,
    follow::NewFollow,
    ingest::{Document, IncomingEntry, PollOutcome},
    ports::{FollowOutcome, Store, Viewer},
    push::{Push, PushStored},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;

use crate::{
    cpu::Samples,
    fixture::{Fixture, StoreLocation},
    pages::entry,
    poll::seed,
    postgres, process,
    push::subscriptions::{Plan, finish, secret},
    report::{Rating, Table, Tally},
};

const FOLLOWERS: [usize; 2] = [1, 10_000];

/// Entries that are published one by one, and those that the feed has before.
const PUBLISHED: usize = 10;
const BEFORE: usize = 20;

/// Until all followers have an entry, and the longest that a write of somebody else waits meanwhile.
const TO_ALL_MS_MAX: f64 = 1000.0;
const OTHER_WRITE_MS_MAX: f64 = 1000.0;

/// The accounts beside one, how many feeds each follows, and of how many.
const ACCOUNTS: usize = 100;
const FOLLOWED: usize = 200;
const FEEDS: usize = 400;
const PAGES: usize = 31;
const PAGE_GROWTH_MAX: f64 = 1.3;

/// Where the feeds are.
const FEEDS_URL: &str = "https://example.org/feeds";

/// Calls of the store at once while it is filled.
const AT_ONCE: usize = 32;

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let title = format!(
        "follows: {PUBLISHED} polls and pushes with one new entry each, from a poll's end or a push until all followers have it\n\
         CPU ms: of this process and of the database; another write: the longest that one of another account waits meanwhile"
    );
    let columns = ["", "median ms", "longest ms", "limit ms", "CPU ms each", "another write, ms", "limit ms"];
    let mut table = Table::new(title, &columns);
    for kind in ["SQLite", "PostgreSQL"] {
        for (way, followers) in WAYS.into_iter().flat_map(|way| FOLLOWERS.map(|followers| (way, followers))) {
            let location = location(kind, folder.path(), &format!("bench_follows_{}_{followers}", way.name()))?;
            let cost = runtime.block_on(publish(&location, way, followers))?;
            let is_within = cost.longest_ms <= TO_ALL_MS_MAX && cost.other_write_ms <= OTHER_WRITE_MS_MAX;
            let is_rated = followers > 1;
            let rating = if is_rated { Rating::of(is_within) } else { Rating::None };
            let limit = |ms: f64| if is_rated { format!("{ms:.0}") } else { String::new() };
            let cells = [
                format!("{kind}, {}, {followers} followers", way.name()),
                format!("{:.2}", cost.median_ms),
                format!("{:.2}", cost.longest_ms),
                limit(TO_ALL_MS_MAX),
                format!("{:.2}", cost.cpu_ms),
                format!("{:.2}", cost.other_write_ms),
                limit(OTHER_WRITE_MS_MAX),
            ];
            table.row(&cells, rating, "");
        }
    }
    table.print(tally);
    let title = format!(
        "follows: pages of 50 of one account that follows {FOLLOWED} of {FEEDS} feeds, alone and beside {ACCOUNTS} others \
         that do"
    );
    let mut table = Table::new(title, &["", "alone, ms", "beside others, ms", "ratio", "limit"]);
    for kind in ["SQLite", "PostgreSQL"] {
        let location = location(kind, folder.path(), "bench_accounts")?;
        for (name, alone, beside) in runtime.block_on(pages(&location))? {
            let ratio = beside / alone;
            let cells = [
                format!("{kind}, {name}"),
                format!("{alone:.3}"),
                format!("{beside:.3}"),
                format!("{ratio:.2}"),
                format!("{PAGE_GROWTH_MAX}"),
            ];
            table.row(&cells, Rating::of(ratio <= PAGE_GROWTH_MAX), "");
        }
    }
    table.print(tally);
    Ok(())
}

fn location(kind: &str, folder: &std::path::Path, name: &str) -> anyhow::Result<StoreLocation> {
    Ok(match kind {
        "SQLite" => StoreLocation::Sqlite { folder: folder.join(name) },
        _ => StoreLocation::Postgres { url: postgres::fresh(name)? },
    })
}

#[expect(clippy::struct_field_names, reason = "units come last in names")]
struct Cost {
    median_ms: f64,
    longest_ms: f64,
    cpu_ms: f64,
    other_write_ms: f64,
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
async fn publish(location: &StoreLocation, way: Way, followers: usize) -> anyhow::Result<Cost> {
    let fixture = Fixture::open(location).await?;
    let store = &fixture.store;
    let publisher = Publisher::make(store.as_ref(), way).await?;
    let accounts = accounts(store, followers - 1).await?;
    follow(store, &accounts, |_| vec![url(0)]).await?;
    fixture.vacuum_analyze().await?;

    let is_over = Arc::new(AtomicBool::new(false));
    let other = tokio::spawn(write_meanwhile(Arc::clone(store), Arc::clone(&is_over)));
    let cpu_secs = process::cpu_secs() + fixture.database_cpu_secs();
    let mut took_ms = Vec::new();
    for number in BEFORE..BEFORE + PUBLISHED {
        let begun = Instant::now();
        publisher.publish(store.as_ref(), number).await?;
        took_ms.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let cpu_secs = process::cpu_secs() + fixture.database_cpu_secs() - cpu_secs;
    is_over.store(true, Ordering::Relaxed);
    let other_write_ms = other.await??;
    for account in accounts.first().into_iter().chain(accounts.last()) {
        let unread = store.counts(*account).await?.total;
        anyhow::ensure!(unread == (BEFORE + PUBLISHED) as u64, "{unread} entries are unread");
    }
    took_ms.sort_by(f64::total_cmp);
    let cpu_ms = cpu_secs * 1e3 / PUBLISHED as f64;
    Ok(Cost { median_ms: took_ms[PUBLISHED / 2], longest_ms: took_ms[PUBLISHED - 1], cpu_ms, other_write_ms })
}

/// How new entries come.
#[derive(Debug, Clone, Copy)]
enum Way {
    Polled,
    Pushed,
}

const WAYS: [Way; 2] = [Way::Polled, Way::Pushed];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Polled => "polled",
            Self::Pushed => "pushed",
        }
    }
}

/// Where the entries of the one feed come from.
enum Publisher {
    Polled(FeedId),
    Hub(SubscriptionId),
}

impl Publisher {
    /// Of a feed that has some entries.
    async fn make(store: &dyn Store, way: Way) -> anyhow::Result<Self> {
        match way {
            Way::Polled => {
                let feed = import(store, 1).await?[0];
                store_document(store, feed, 0..BEFORE).await?;
                Ok(Self::Polled(feed))
            }
            Way::Pushed => {
                let (hubs, base_url) = (["https://hub.example.org/".to_owned()], "https://reader.example.org");
                Plan { count: 1, entries: BEFORE, publisher: FEEDS_URL, hubs: &hubs, base_url }.make(store).await?;
                let subscriptions = store.subscriptions(Viewer::Server).await?;
                Ok(Self::Hub(subscriptions.first().context("there is a subscription")?.id))
            }
        }
    }

    /// One more entry, after so many.
    async fn publish(&self, store: &dyn Store, number: usize) -> anyhow::Result<()> {
        match self {
            Self::Polled(feed) => store_document(store, *feed, 0..=number).await,
            Self::Hub(subscription_id) => {
                let (subscription_id, entry) = (*subscription_id, entry(number));
                let document = Document { present: vec![entry.key()], entries: vec![entry], ..Document::default() };
                let push = Push { subscription_id, secret: secret(0), document, poll_in: None };
                let stored = store.push(push).await?;
                anyhow::ensure!(matches!(stored, PushStored::Stored(_)), "a push was not stored: {stored:?}");
                Ok(())
            }
        }
    }
}

/// The longest that a small write of somebody else takes.
async fn write_meanwhile(store: Arc<dyn Store>, is_over: Arc<AtomicBool>) -> anyhow::Result<f64> {
    const PAUSE: Duration = Duration::from_millis(5);
    let mut longest: f64 = 0.0;
    let folder = store.create_folder(READER, "a").await?.ok().context("there is such a folder")?;
    for round in 0_u64.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        store.rename_folder(READER, folder.id, &format!("folder {round}")).await?;
        longest = longest.max(begun.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(longest)
}

async fn pages(location: &StoreLocation) -> anyhow::Result<Vec<(&'static str, f64, f64)>> {
    let fixture = Fixture::open(location).await?;
    let store = &fixture.store;
    let feeds = import(store.as_ref(), FEEDS).await?;
    for (number, feed) in feeds.iter().enumerate() {
        store_document(store.as_ref(), *feed, number * BEFORE..(number + 1) * BEFORE).await?;
    }
    let accounts = accounts(store, ACCOUNTS).await?;
    let of = |account: usize| (0..FOLLOWED).map(|feed| url((account * 3 + feed) % FEEDS)).collect::<Vec<_>>();
    follow(store, &accounts[..1], of).await?;
    fixture.vacuum_analyze().await?;
    let alone = page_times(store.as_ref(), accounts[0]).await?;
    follow(store, &accounts[1..], |account| of(account + 1)).await?;
    fixture.vacuum_analyze().await?;
    let beside = page_times(store.as_ref(), accounts[0]).await?;
    Ok(alone.into_iter().zip(beside).map(|((name, alone), (_, beside))| (name, alone, beside)).collect())
}

async fn page_times(store: &dyn Store, account: AccountId) -> anyhow::Result<Vec<(&'static str, f64)>> {
    const PAGE: u32 = 50;
    let kinds = [
        ("all", EntryFilter::default()),
        ("unread", EntryFilter { unread: Some(true), ..EntryFilter::default() }),
        ("unread of a feed", EntryFilter { unread: Some(true), feed_id: Some(FeedId(1)), ..EntryFilter::default() }),
    ];
    let mut times = Vec::new();
    for (name, filter) in kinds {
        let mut samples = Samples::default();
        for _ in 0..PAGES {
            let begun = Instant::now();
            store.entries(account, &filter, PAGE, None).await?;
            samples.add(begun.elapsed().as_secs_f64() * 1e3);
        }
        times.push((name, samples.median()));
    }
    Ok(times)
}

pub(crate) fn url(number: usize) -> String {
    format!("{FEEDS_URL}/{number}")
}

pub(crate) async fn import(store: &dyn Store, feeds: usize) -> anyhow::Result<Vec<FeedId>> {
    let seeds = (0..feeds).map(|number| seed(&url(number))).collect::<anyhow::Result<Vec<_>>>()?;
    store.import_feeds(READER, seeds).await?;
    let mut feeds: Vec<FeedId> = store.feeds(READER).await?.iter().map(|feed| feed.id).collect();
    feeds.sort_unstable();
    Ok(feeds)
}

/// Has a poll of a feed end with a document of these entries.
async fn store_document(
    store: &dyn Store,
    feed: FeedId,
    numbers: impl Iterator<Item = usize> + Clone,
) -> anyhow::Result<()> {
    finish(store, &[feed], |_| {
        let entries: Vec<IncomingEntry> = numbers.clone().map(entry).collect();
        let present = entries.iter().map(IncomingEntry::key).collect();
        Ok(PollOutcome::Fetched(Document { present, entries, is_complete: true, ..Document::default() }))
    })
    .await
}

pub(crate) async fn accounts(store: &Arc<dyn Store>, count: usize) -> anyhow::Result<Vec<AccountId>> {
    let make = |number: usize| async move {
        let name = AccountName::parse(&format!("reader {number}"))?;
        let made = store.create_account(NewAccount { name, password_hash: None, is_admin: false }).await?;
        anyhow::Ok(made.ok().context("there is such an account")?.id)
    };
    stream::iter(1..=count).map(make).buffered(AT_ONCE).try_collect().await
}

/// Has accounts follow these feeds.
pub(crate) async fn follow(
    store: &Arc<dyn Store>,
    accounts: &[AccountId],
    of: impl Fn(usize) -> Vec<String>,
) -> anyhow::Result<()> {
    let follows = accounts
        .iter()
        .enumerate()
        .flat_map(|(number, account)| of(number).into_iter().map(move |url| (*account, url)).collect::<Vec<_>>());
    let follow = |(account, url): (AccountId, String)| async move {
        let address = FeedAddress::parse(&url)?;
        let new = NewFollow { address, folder_id: None, custom_title: None };
        let outcome = store.follow(account, new).await?;
        anyhow::ensure!(matches!(outcome, FollowOutcome::Followed(_)), "{outcome:?}");
        Ok(())
    };
    stream::iter(follows).map(follow).buffer_unordered(AT_ONCE).try_collect::<()>().await
}
