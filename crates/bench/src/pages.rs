//! What growth costs: ten thousand feeds and a million entries, beside two hundred feeds and ten thousand entries.
//! Pages, searches, the memory of the idle process, and what a feed with nothing new costs.

use domain::account::READER;
use std::{fmt::Write, time::Duration};

use anyhow::Context;
use domain::{
    EntryFilter, FeedId, FeedSeed, Search,
    feed_state::FeedAddress,
    ingest::{Document, Hash, IncomingEntry, PollOutcome, PollResult, Validators},
    ports::Store,
};
use serde::{Deserialize, Serialize};

use crate::{
    cpu::Samples,
    fixture::{DATABASE, Fixture, StoreLocation},
    poll::PhaseStart,
    process,
    publisher::{ETAG, Publisher},
    report::{Rating, Table, Tally, mib},
};

/// A size: feeds, and entries of each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Size {
    feeds: usize,
    entries: usize,
}

const SMALL: Size = Size { feeds: 200, entries: 50 };
const LARGE: Size = Size { feeds: 10_000, entries: 100 };

/// Feeds in each folder.
const FOLDER_FEEDS: usize = 100;

/// How often each page is asked for.
const ROUNDS: usize = 31;

/// One entry in so many holds the rare words; every second holds the common ones.
const RARE: usize = 1000;

const SQLITE_PAGE_MS_MAX: f64 = 0.5;
const POSTGRES_PAGE_MS_MAX: f64 = 10.0;
const RARE_SEARCH_MS_MAX: f64 = 10.0;
const COMMON_SEARCH_MS_MAX: f64 = 100.0;
const IDLE_BYTES_MAX: usize = 100_000_000;
const WARM_GROWTH_MAX: f64 = 1.3;

/// How many times the text that is searched the index and the words may take. Rows of these entries, put into both
/// databases by hand, took 0.24 and 1.13 on SQLite, 0.82 and 2.7 on PostgreSQL, where the grams stand in the row, too.
const SQLITE_GRAMS_FACTOR_MAX: f64 = 0.5;
const SQLITE_WORDS_FACTOR_MAX: f64 = 1.5;
const POSTGRES_GRAMS_FACTOR_MAX: f64 = 1.2;
const POSTGRES_WORDS_FACTOR_MAX: f64 = 3.5;

/// What a process of its own does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    Build { location: StoreLocation, publisher: String, feeds: usize, entries: usize },
    Measure { location: StoreLocation },
}

/// What was measured at one size.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// The median of each kind of page, in milliseconds.
    pages_ms: Vec<(String, f64)>,
    /// What searches need, and the whole database.
    sizes: Vec<Part>,
    idle_bytes: usize,
    /// CPU milliseconds of a feed with nothing new, the database's included.
    warm_ms: f64,
}

/// A part of the database.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    name: String,
    bytes: usize,
    /// How many times the text it may take.
    factor_max: Option<f64>,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let publisher = Publisher::start()?;
    for kind in ["SQLite", "PostgreSQL"] {
        let folder = tempfile::tempdir()?;
        let mut measured = Vec::new();
        for (name, size) in [("bench_small", SMALL), ("bench_large", LARGE)] {
            let location = match kind {
                "SQLite" => StoreLocation::Sqlite { folder: folder.path().join(name) },
                _ => StoreLocation::Postgres { url: crate::postgres::fresh(name)? },
            };
            let build = Job::Build {
                location: location.clone(),
                publisher: publisher.url.clone(),
                feeds: size.feeds,
                entries: size.entries,
            };
            let _: Measured = process::run_job("pages-job", &build)?;
            measured.push(process::run_job::<_, Measured>("pages-job", &Job::Measure { location })?);
        }
        let [small, large] = measured.as_slice() else { anyhow::bail!("there are two sizes") };
        print(kind, small, large, tally);
    }
    Ok(())
}

/// Fills a store, in a process of its own, with so many feeds and entries of each.
pub(crate) fn fill(location: &StoreLocation, feeds: usize, entries: usize) -> anyhow::Result<()> {
    let publisher = "https://example.org".to_owned();
    let _: Measured =
        process::run_job("pages-job", &Job::Build { location: location.clone(), publisher, feeds, entries })?;
    Ok(())
}

fn print(kind: &str, small: &Measured, large: &Measured, tally: &mut Tally) {
    let title = format!("pages on {kind}: 10,000 feeds and 1,000,000 entries, beside 200 and 10,000");
    let mut table = Table::new(title, &["", "large", "small", "ratio", "limit"]);
    for ((name, large_ms), (_, small_ms)) in large.pages_ms.iter().zip(&small.pages_ms) {
        let limit = match (name, kind) {
            (name, "SQLite") if name.starts_with("first page") => SQLITE_PAGE_MS_MAX,
            (name, _) if name.starts_with("first page") => POSTGRES_PAGE_MS_MAX,
            (name, _) if name.contains("second") || name.contains("common") => COMMON_SEARCH_MS_MAX,
            _ => RARE_SEARCH_MS_MAX,
        };
        let cells = [
            name.clone(),
            format!("{large_ms:.2} ms"),
            format!("{small_ms:.2} ms"),
            format!("{:.1}", large_ms / small_ms),
            format!("{limit} ms"),
        ];
        table.row(&cells, Rating::of(*large_ms <= limit), "");
    }
    let text = mib(text_bytes(LARGE));
    for (large, small) in large.sizes.iter().zip(&small.sizes) {
        let limit = large.factor_max.map(|factor| factor * text);
        let cells = [
            large.name.clone(),
            format!("{:.0} MiB", mib(large.bytes)),
            format!("{:.0} MiB", mib(small.bytes)),
            String::new(),
            limit.map(|limit| format!("{limit:.0} MiB")).unwrap_or_default(),
        ];
        let rating = limit.map_or(Rating::None, |limit| Rating::of(mib(large.bytes) <= limit));
        table.row(&cells, rating, large.factor_max.map(|factor| format!("x {factor} of the text")).unwrap_or_default());
    }
    let growth = large.warm_ms / small.warm_ms;
    let cells = [
        "a feed with nothing new, CPU".to_owned(),
        format!("{:.3} ms", large.warm_ms),
        format!("{:.3} ms", small.warm_ms),
        format!("{growth:.2}"),
        format!("x {WARM_GROWTH_MAX}"),
    ];
    table.row(&cells, Rating::of(growth <= WARM_GROWTH_MAX), "");
    let cells = [
        "memory of the idle process".to_owned(),
        format!("{:.0} MiB", mib(large.idle_bytes)),
        format!("{:.0} MiB", mib(small.idle_bytes)),
        String::new(),
        "100 MB".to_owned(),
    ];
    table.row(&cells, Rating::of(large.idle_bytes <= IDLE_BYTES_MAX), "");
    table.print(tally);
}

pub(crate) fn perform(job: Job) -> anyhow::Result<Measured> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match job {
            Job::Build { location, publisher, feeds, entries } => {
                build(&location, &publisher, Size { feeds, entries }).await
            }
            Job::Measure { location } => measure(&location).await,
        }
    })
}

/// Fills a store as polls do.
async fn build(location: &StoreLocation, publisher: &str, size: Size) -> anyhow::Result<Measured> {
    const BATCH: usize = 50;
    let fixture = Fixture::open(location).await?;
    let seeds: Vec<FeedSeed> = (0..size.feeds)
        .map(|number| {
            let address = FeedAddress::parse(&format!("{publisher}/{number}"))?;
            Ok(FeedSeed { folder: Some(format!("Folder {}", number / FOLDER_FEEDS)), ..FeedSeed::new(address) })
        })
        .collect::<anyhow::Result<_>>()?;
    for batch in seeds.chunks(1000) {
        fixture.store.import_feeds(READER, batch.to_vec()).await?;
    }
    let ids: Vec<FeedId> = fixture.store.feeds(READER).await?.iter().map(|feed| feed.id).collect();
    for (batch_number, batch) in ids.chunks(BATCH).enumerate() {
        let jobs = fixture.store.claim_polls("builder", batch, Duration::from_mins(1)).await?;
        let results = jobs
            .into_iter()
            .enumerate()
            .map(|(index, job)| PollResult {
                feed_id: job.feed_id,
                lease: job.lease,
                claimed_at: job.claimed_at,
                next_check_in: Duration::from_hours(1),
                next_audit_in: std::time::Duration::from_hours(24),
                due_by: None,
                adaptive_secs: 3600,
                moved_to: None,
                outcome: PollOutcome::Fetched(document((batch_number * BATCH + index) * size.entries, size.entries)),
            })
            .collect();
        for stored in fixture.store.finish_polls(results).await? {
            anyhow::ensure!(stored?.applied, "a result was not stored");
        }
    }
    fixture.vacuum_analyze().await?;
    Ok(Measured::default())
}

fn document(first: usize, count: usize) -> Document {
    let entries: Vec<IncomingEntry> = (first..first + count).map(entry).collect();
    let present = entries.iter().map(IncomingEntry::key).collect();
    let validators = Validators { etag: Some(ETAG.to_owned()), last_modified: None, body_hash: None };
    Document {
        title: Some(format!("Feed {first}")),
        validators,
        entries,
        present,
        is_complete: true,
        ..Document::default()
    }
}

/// An entry as others have none.
pub(crate) fn entry(number: usize) -> IncomingEntry {
    const VOCABULARY: usize = 20_000;
    const WORDS: usize = 60;
    let mut text = String::new();
    let mut state = number as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for _ in 0..WORDS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = usize::try_from(state >> 33).unwrap_or(0) % VOCABULARY;
        let _ = write!(text, "word{word} ");
    }
    text += if number.is_multiple_of(2) { "bread common fresh 今日の天気は晴れです " } else { "" };
    text += if number.is_multiple_of(RARE) { "rare fresh bread conference 東京タワー " } else { "" };
    // Spread over three years, in an order that is not that of receipt.
    let published_secs = 1_600_000_000 + i64::try_from(number).unwrap_or(0).wrapping_mul(7_919) % 94_608_000;
    let guid = format!("urn:entry:{number}");
    IncomingEntry {
        identity: Hash::of(guid.as_bytes()),
        fingerprint: Hash::of(text.as_bytes()),
        guid,
        url: Some(format!("https://example.org/{number}")),
        title: Some(format!("Entry {number}")),
        content: Some(format!("<p>{text}</p>")),
        published_at: jiff::Timestamp::from_second(published_secs).ok(),
        search_text: text,
        ..IncomingEntry::default()
    }
}

/// Bytes of the text that is searched, of all entries, by some of them.
fn text_bytes(size: Size) -> usize {
    const SAMPLES: usize = 1000;
    let count = size.feeds * size.entries;
    let sampled: usize = (0..count).step_by(count / SAMPLES + 1).map(|number| entry(number).search_text.len()).sum();
    sampled * (count / SAMPLES + 1)
}

async fn measure(location: &StoreLocation) -> anyhow::Result<Measured> {
    let fixture = Fixture::open(location).await?;
    let store = fixture.store.as_ref();
    let feeds = store.feeds(READER).await?;
    let feed = feeds.get(feeds.len() / 2).context("there are feeds")?;
    let search = |query: &str| EntryFilter { search: Search::parse(query).ok().flatten(), ..EntryFilter::default() };
    let mut pages_ms = Vec::new();
    for (name, filter) in [
        ("first page", EntryFilter::default()),
        ("first page of a folder", EntryFilter { folder_id: feed.folder_id, ..EntryFilter::default() }),
        ("first page of a feed", EntryFilter { feed_id: Some(feed.id), ..EntryFilter::default() }),
        ("first page of unread", EntryFilter { unread: Some(true), ..EntryFilter::default() }),
        ("search, one entry in a thousand", search("rare")),
        ("search, every second entry", search("common")),
        ("phrase, one entry in a thousand", search("\"rare fresh\"")),
        ("phrase of common words, one in a thousand", search("\"fresh bread\"")),
        ("phrase, every second entry", search("\"common fresh\"")),
        ("prefix, one entry in a thousand", search("conf*")),
        ("prefix, every second entry", search("comm*")),
        ("word but not another, one in a thousand", search("rare -nothing")),
        ("word but not another, every second entry", search("common -rare")),
        ("Japanese word, one entry in a thousand", search("東京タワー")),
        ("Japanese word, every second entry", search("天気")),
        ("Japanese phrase, every second entry", search("天気は晴れ")),
        ("one Han character, one entry in a thousand", search("京")),
        ("one Han character, every second entry", search("天")),
        ("only an exclusion of a common word", search("-common")),
    ] {
        pages_ms.push((name.to_owned(), median_ms(store, &filter).await?));
    }
    let idle_bytes = process::resident_bytes()?;
    let sizes = sizes(location).await?;
    fixture.advance_clock(Duration::from_hours(48)).await?;
    let engine = fixture.engine()?;
    let start = PhaseStart::now(fixture.database_cpu_secs());
    let summary = engine.refresh_due().await?;
    let phase = start.end(fixture.database_cpu_secs())?;
    anyhow::ensure!(summary.unchanged as usize == feeds.len(), "not all feeds were unchanged: {summary:?}");
    let warm_ms = phase.cpu_secs() * 1000.0 / f64::from(summary.polled);
    Ok(Measured { pages_ms, sizes, idle_bytes, warm_ms })
}

/// What searches need on disk, and the whole database.
async fn sizes(location: &StoreLocation) -> anyhow::Result<Vec<Part>> {
    let sizes: [(&str, i64, Option<f64>); 3] = match location {
        StoreLocation::Sqlite { folder } => {
            let connection = rusqlite::Connection::open(folder.join(DATABASE))?;
            let size = |sql: &str| connection.query_row(sql, [], |row| row.get(0));
            let grams = size("SELECT sum(pgsize) FROM dbstat('main', 1) WHERE name LIKE 'entry_grams%'")?;
            let words = size("SELECT sum(pgsize) FROM dbstat('main', 1) WHERE name = 'entry_words'")?;
            let all = size("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")?;
            [
                ("index of grams", grams, Some(SQLITE_GRAMS_FACTOR_MAX)),
                ("words of entries", words, Some(SQLITE_WORDS_FACTOR_MAX)),
                ("database", all, None),
            ]
        }
        StoreLocation::Postgres { url } => {
            let row = crate::postgres::connect(url).await?;
            let sql = "SELECT pg_relation_size('entry_words_by_gram'), pg_table_size('entry_words'), \
                       pg_database_size(current_database())";
            let row = row.query_one(sql, &[]).await?;
            [
                ("index of grams", row.get(0), Some(POSTGRES_GRAMS_FACTOR_MAX)),
                ("words and grams", row.get(1), Some(POSTGRES_WORDS_FACTOR_MAX)),
                ("database", row.get(2), None),
            ]
        }
    };
    let part = |(name, bytes, factor_max): (&str, i64, _)| {
        anyhow::Ok(Part { name: name.to_owned(), bytes: usize::try_from(bytes)?, factor_max })
    };
    sizes.into_iter().map(part).collect()
}

async fn median_ms(store: &dyn Store, filter: &EntryFilter) -> anyhow::Result<f64> {
    let mut samples = Samples::default();
    for _ in 0..ROUNDS {
        let start = process::wall_secs();
        let page = store.entries(READER, filter, 50, None).await?;
        samples.add((process::wall_secs() - start) * 1000.0);
        anyhow::ensure!(!page.entries.is_empty(), "an empty page: {filter:?}");
    }
    Ok(samples.median())
}
