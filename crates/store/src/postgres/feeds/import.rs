//! Imports: many feeds that were not fetched yet, and the folders that they name. They are made one after the other.

use std::collections::HashMap;

use deadpool_postgres::{Client, Transaction};
use domain::{AccountId, FeedId, FeedSeed, FolderId, changes::ChangeLog, follow::FollowSettings, ports::ImportOutcome};
use tokio_postgres::Error;

use crate::postgres::{
    PostgresStore, execute,
    feeds::{feed_changes::adaptive_first, folders, follows},
    now_ms, query,
    shared::values::{optional, text, url_hash},
};

/// The lock of whoever imports: of two that name the same feeds in another order each would wait for the other.
const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";

/// Its key: `import` as a number.
const KEY: i64 = 0x0069_6d70_6f72_7400;

const INSERT: &str = include_str!("sql/import_insert.sql");

const KNOWN: &str = include_str!("sql/import_known.sql");

/// What is to be done about a seed.
#[derive(Debug, Clone, Copy)]
enum Todo {
    /// The account follows a feed at its URL.
    Nothing(FeedId),
    /// It is in the file at this place already.
    Repeated(usize),
    /// The server has it.
    Follow(FeedId),
    Insert,
}

/// `None` if somebody else kept one of the feeds in the same moment.
pub(crate) async fn import(
    store: &PostgresStore,
    client: &mut Client,
    account: AccountId,
    seeds: &[FeedSeed],
) -> Result<Option<Vec<ImportOutcome>>, Error> {
    let transaction = client.transaction().await?;
    execute(&transaction, LOCK, &[&KEY]).await?;
    folders::lock(&transaction, account).await?;
    let mut log = ChangeLog::default();
    let folders = folders_of(&transaction, account, seeds, &mut log).await?;
    let settings = |seed: &FeedSeed| {
        let folder = seed.folder.as_deref().and_then(|name| folders.get(&*text(name)).copied());
        FollowSettings::of_seed(seed, folder)
    };
    let todo = plan(&transaction, account, seeds).await?;
    let missing: Vec<&FeedSeed> =
        seeds.iter().zip(&todo).filter(|(_, todo)| matches!(todo, Todo::Insert)).map(|(seed, _)| seed).collect();
    let inserted = insert_seeds(&transaction, account, &missing).await?;
    if inserted.len() < missing.len() {
        return Ok(None);
    }
    let now = now_ms(&transaction).await?;
    let (mut outcomes, mut new): (Vec<ImportOutcome>, _) = (Vec::with_capacity(seeds.len()), Vec::new());
    for (seed, todo) in seeds.iter().zip(todo) {
        outcomes.push(match todo {
            Todo::Nothing(id) => ImportOutcome::AlreadyThere(id),
            Todo::Repeated(place) => ImportOutcome::AlreadyThere(outcomes[place].feed_id()),
            Todo::Follow(id) => {
                log.add(follows::begin(&transaction, account, id, &settings(seed), now).await?);
                ImportOutcome::Imported(id)
            }
            Todo::Insert => {
                let id = inserted[&url_hash(&seed.address, account)];
                new.push((id, settings(seed)));
                ImportOutcome::Imported(id)
            }
        });
    }
    follows::insert(&transaction, account, &new, now).await?;
    let imported = outcomes.iter().filter(|outcome| matches!(outcome, ImportOutcome::Imported(_))).count();
    if imported > 0 {
        // Of however many, one change.
        log.feeds(account, None, imported as u64);
    }
    store.commit(transaction, log).await?;
    Ok(Some(outcomes))
}

/// The folders of the account by name, made as needed.
async fn folders_of(
    transaction: &Transaction<'_>,
    account: AccountId,
    seeds: &[FeedSeed],
    log: &mut ChangeLog,
) -> Result<HashMap<String, FolderId>, Error> {
    let mut names: Vec<&str> = Vec::new();
    for name in seeds.iter().filter_map(|seed| seed.folder.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let folders = folders::create_missing(transaction, account, &names, log).await?;
    Ok(folders.into_iter().map(|folder| (folder.name, folder.id)).collect())
}

/// What is to be done about each. The rows of the feeds that the server has are locked.
async fn plan(transaction: &Transaction<'_>, account: AccountId, seeds: &[FeedSeed]) -> Result<Vec<Todo>, Error> {
    let own: Vec<Vec<u8>> = seeds.iter().map(|seed| url_hash(&seed.address, account)).collect();
    let all: Vec<_> = seeds.iter().map(|seed| follows::hashes_of(account, &seed.address.url)).collect();
    let known = query(transaction, KNOWN, &[&own]).await?;
    let followed = follows::followed_at(transaction, account, &all.concat()).await?;
    let known: HashMap<Vec<u8>, FeedId> = known.iter().map(|row| (row.get(1), FeedId(row.get(0)))).collect();
    let followed: HashMap<Vec<u8>, FeedId> = followed.iter().map(|row| (row.get(1), FeedId(row.get(0)))).collect();
    let todo = FeedSeed::repeats(seeds).into_iter().zip(&own).zip(&all).map(|((repeat, own), any)| {
        match (any.iter().find_map(|hash| followed.get(hash)), repeat, known.get(own)) {
            (Some(id), ..) => Todo::Nothing(*id),
            (None, Some(first), _) => Todo::Repeated(first),
            (None, None, Some(id)) => Todo::Follow(*id),
            (None, None, None) => Todo::Insert,
        }
    });
    Ok(todo.collect())
}

/// Keeps feeds that the server has not, due at once; those that it has are not in the answer.
pub(crate) async fn insert_seeds(
    transaction: &Transaction<'_>,
    account: AccountId,
    seeds: &[&FeedSeed],
) -> Result<HashMap<Vec<u8>, FeedId>, Error> {
    let urls: Vec<_> = seeds.iter().map(|seed| text(&seed.address.url)).collect();
    let hashes: Vec<_> = seeds.iter().map(|seed| url_hash(&seed.address, account)).collect();
    let credentials: Vec<_> = seeds.iter().map(|seed| optional(seed.address.credentials.as_ref())).collect();
    let titles: Vec<_> = seeds.iter().map(|seed| optional(seed.title.as_ref())).collect();
    let sites: Vec<_> = seeds.iter().map(|seed| optional(seed.site_url.as_ref())).collect();
    let intervals: Vec<_> = seeds.iter().map(|seed| seed.poll_interval.map(i64::from)).collect();
    let pushes: Vec<_> = seeds.iter().map(|seed| seed.push_enabled).collect();
    let rows = query(
        transaction,
        INSERT,
        &[&urls, &hashes, &credentials, &titles, &sites, &adaptive_first(), &intervals, &pushes],
    )
    .await?;
    Ok(rows.iter().map(|row| (row.get(1), FeedId(row.get(0)))).collect())
}
