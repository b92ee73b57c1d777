//! Pages of a search. They are ordered by time, and the index of grams knows nothing of time: so there are two ways.
//!
//! *Walking*: the account's newest entries one by one, each asked for the grams. Quick for grams that many entries hold, endless
//! for a rare one. *Collecting*: all entries with the grams, whosever they are, sorted. Quick for rare grams, slow for common ones. Which
//! is better is not left to the planner, whose guess is off by any factor for grams it has no statistics of: a short
//! walk comes first, which fills the page if they are common, and otherwise has measured how common they are.
//!
//! An account that has fewer entries than there are with the grams is walked to its end instead: what others read costs it
//! little. A few thousand are collected in any case: to find out how many entries an account has would take longer.
//!
//! Where grams alone do not tell (phrases), the words of what they propose are looked at.

pub(crate) mod words;

use deadpool_postgres::{Client, GenericClient};
use domain::{
    AccountId, Cursor, EntryId, Search,
    entry::{PAGE_WALK_MAX, PHRASE_WALK_MAX},
};
use tokio_postgres::{Error, IsolationLevel, Row, types::ToSql};

use crate::postgres::{
    entries::pages::{HAS_NEXT_AT, PageQuery, rows_of, run},
    query_opt,
    search::words::{patterns_of, query_of},
    shared::values::{time, usize_to_i64},
};

/// Entries of the first walk, at least, and for each row of the page.
const FIRST_WALK_MIN: usize = 400;
/// See [`FIRST_WALK_MIN`].
const FIRST_WALK_A_ROW: usize = 4;

/// What asking one entry costs, against fetching one that the index of words has found. Measured with a million
/// entries: 2.7 µs against 4.
const WALK_COST: f64 = 0.7;

/// How much longer than expected a second walk may take.
const SECOND_WALK_SLACK: f64 = 3.0;
/// Entries of the second walk, at most.
const SECOND_WALK_MAX: usize = 100_000;

/// Entries that are collected to look at their words. Where there are more, they are walked, so many a page.
const CANDIDATES_MAX: i64 = 5_000;

const ENTRIES_OF_ACCOUNT: &str = include_str!("sql/entries_of_account.sql");

/// What a search asks of a row of `entry_words`.
#[derive(Debug)]
struct Question {
    grams: Option<String>,
    patterns: Vec<String>,
    unwanted_patterns: Vec<String>,
}

impl Question {
    fn of(search: &Search) -> Self {
        Self {
            grams: query_of(search),
            patterns: patterns_of(&search.needles()),
            unwanted_patterns: patterns_of(&search.unwanted_needles()),
        }
    }

    /// The condition, with the values of [`Question::values`] from this number on.
    fn condition(&self, first: usize) -> String {
        let asks_grams = match self.grams {
            Some(_) => format!("entry_words.grams @@ ${first}::text::tsquery"),
            None => format!("${first}::text IS NULL"),
        };
        format!(
            "{asks_grams}
              AND entry_words.words LIKE ALL (${}::text[])
              AND NOT entry_words.words LIKE ANY (${}::text[])",
            first + 1,
            first + 2
        )
    }

    fn values(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.grams, &self.patterns, &self.unwanted_patterns]
    }
}

/// The rows of a page, and where it stopped if it did before its end.
pub(crate) async fn page(
    client: &mut Client,
    wanted: &PageQuery<'_>,
    search: &Search,
) -> Result<(Vec<Row>, Option<Cursor>), Error> {
    if search.is_empty() {
        return Ok((Vec::new(), None));
    }
    let question = Question::of(search);
    if search.is_exclusion() {
        return walk_so_far(client, wanted, &question, PAGE_WALK_MAX).await;
    }
    match page_of_grams(&*client, wanted, &question).await? {
        Some(rows) => Ok((rows, None)),
        None => walk_so_far(client, wanted, &question, PHRASE_WALK_MAX).await,
    }
}

/// The rows of a page; none if the grams propose so many entries that their words are only looked at piece by piece.
async fn page_of_grams(
    client: &impl GenericClient,
    wanted: &PageQuery<'_>,
    question: &Question,
) -> Result<Option<Vec<Row>>, Error> {
    let first = FIRST_WALK_MIN.max(wanted.rows.saturating_mul(FIRST_WALK_A_ROW));
    let rows = walk(client, wanted, question, first).await?;
    if is_full(wanted, &rows) || nth(client, wanted, first).await?.is_none() {
        return Ok(Some(rows));
    }
    let found = rows.len();
    drop(rows);
    let has_many = has_many_candidates(client, question).await?;
    if has_many && !question.patterns.is_empty() {
        return Ok(None);
    }
    if let Some(second) = second_walk(wanted.rows, found, first, entries_about(client).await?) {
        let rows = walk(client, wanted, question, second).await?;
        if is_full(wanted, &rows) {
            return Ok(Some(rows));
        }
    }
    if has_many {
        let own = entries_of_account(client, wanted.account).await?;
        if own <= SECOND_WALK_MAX && has_more_hits(client, question, own).await? {
            return walk(client, wanted, question, SECOND_WALK_MAX).await.map(Some);
        }
    }
    collect(client, wanted, question).await.map(Some)
}

/// A page of which only so many entries are asked, and where it stopped: no index lists what is found, or it lists too
/// much. The next page goes on after them. Both are of one moment, or an entry that comes in between would be passed over.
async fn walk_so_far(
    client: &mut Client,
    wanted: &PageQuery<'_>,
    question: &Question,
    entries: u32,
) -> Result<(Vec<Row>, Option<Cursor>), Error> {
    let entries = usize::try_from(entries).unwrap_or(usize::MAX);
    let snapshot = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = snapshot.start().await?;
    let rows = walk(&transaction, wanted, question, entries).await?;
    let last = nth(&transaction, wanted, entries - 1).await?;
    transaction.commit().await?;
    let stopped_at = last.map(|row| Cursor { at: time(row.get(1)), id: EntryId(row.get(0)) });
    Ok((rows, stopped_at))
}

/// Full by number, or cut because its texts are too long.
fn is_full(wanted: &PageQuery<'_>, rows: &[Row]) -> bool {
    rows.len() >= wanted.rows || rows.last().is_some_and(|last| last.get(HAS_NEXT_AT))
}

/// How far to walk, if walking is likely to be quicker than collecting: `found` of the `walked` newest had the words.
fn second_walk(rows: usize, found: usize, walked: usize, entries: f64) -> Option<usize> {
    let (rows, found, walked) = (as_float(rows), as_float(found), as_float(walked));
    if found == 0.0 {
        return None;
    }
    let expected_walk = rows * walked / found;
    let expected_hits = entries * found / walked;
    let budget = expected_walk * SECOND_WALK_SLACK;
    if expected_walk * WALK_COST >= expected_hits || budget > as_float(SECOND_WALK_MAX) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and at most SECOND_WALK_MAX")]
    Some(budget as usize)
}

fn as_float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// The rows that are found among the newest `entries`. Row by row: it ends as soon as the page is full.
async fn walk(
    client: &impl GenericClient,
    wanted: &PageQuery<'_>,
    question: &Question,
    entries: usize,
) -> Result<Vec<Row>, Error> {
    let entries_at = next_place(wanted);
    let sql = format!(
        "
        SELECT walked.id, walked.at, walked.is_read, walked.is_starred, walked.received_at
        FROM ({}
            LIMIT ${entries_at}
        ) AS walked
        CROSS JOIN LATERAL (
            SELECT
            FROM entry_words
            WHERE entry_words.entry_id = walked.id
              AND {}
            LIMIT 1
        ) AS hit
        {}
        LIMIT $3",
        wanted.walk(),
        question.condition(entries_at + 1),
        wanted.order_by("walked.at", "walked.id"),
    );
    let [grams, patterns, unwanted] = question.values();
    run(client, wanted, &rows_of(wanted, &sql), &[&usize_to_i64(entries), grams, patterns, unwanted]).await
}

/// The entry that a walk comes to after so many.
async fn nth(client: &impl GenericClient, wanted: &PageQuery<'_>, entries: usize) -> Result<Option<Row>, Error> {
    let sql = format!("{}\n            OFFSET $3\n            LIMIT 1", wanted.walk());
    let wanted = PageQuery { rows: entries, ..*wanted };
    Ok(run(client, &wanted, &sql, &[]).await?.into_iter().next())
}

/// How many entries the feeds have that an account follows: no fewer than it has itself. Nothing is counted one by one.
async fn entries_of_account(client: &impl GenericClient, account: AccountId) -> Result<usize, Error> {
    let row = query_opt(client, ENTRIES_OF_ACCOUNT, &[&account.0]).await?;
    Ok(row.map_or(0, |row| usize::try_from(row.get::<_, i64>(0)).unwrap_or(usize::MAX)))
}

/// Whether more entries of all have the grams than it costs to ask so many of one account's.
async fn has_more_hits(client: &impl GenericClient, question: &Question, own: usize) -> Result<bool, Error> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than a number that fits")]
    let as_many = (as_float(own) * WALK_COST) as usize;
    has_candidates(client, question, usize_to_i64(as_many)).await
}

/// Whether the grams propose more entries than are soon looked at.
async fn has_many_candidates(client: &impl GenericClient, question: &Question) -> Result<bool, Error> {
    has_candidates(client, question, CANDIDATES_MAX).await
}

/// Whether the grams propose more entries than this.
async fn has_candidates(client: &impl GenericClient, question: &Question, than: i64) -> Result<bool, Error> {
    let sql = "
SELECT count(*) > $2::bigint
FROM (
    SELECT
    FROM entry_words
    WHERE grams @@ $1::text::tsquery
    LIMIT $2::bigint + 1
) AS candidates";
    let row = query_opt(client, sql, &[&question.grams, &than]).await?;
    Ok(row.is_some_and(|row| row.get(0)))
}

/// About how many entries there are in all, as of the last analysis.
async fn entries_about(client: &impl GenericClient) -> Result<f64, Error> {
    let row = query_opt(client, "SELECT reltuples FROM pg_class WHERE oid = 'entries'::regclass", &[]).await?;
    Ok(row.map_or(0.0, |row| f64::from(row.get::<_, f32>(0))))
}

/// All entries that are found, in order, each looked at until the page is full.
async fn collect(client: &impl GenericClient, wanted: &PageQuery<'_>, question: &Question) -> Result<Vec<Row>, Error> {
    let sql = format!(
        "
        WITH hits AS MATERIALIZED (
            SELECT entry_id, sort_at
            FROM entry_words
            WHERE {}
              AND (sort_at, entry_id) {} ($1, $2)
            {}
        )
        SELECT hits.entry_id AS id, hits.sort_at AS at, state.is_read, state.is_starred, state.received_at
        FROM hits
        CROSS JOIN LATERAL (
            SELECT is_read, is_starred, received_at
            FROM entry_states
            WHERE entry_states.entry_id = hits.entry_id
              AND {}
            LIMIT 1
        ) AS state
        LIMIT $3",
        question.condition(next_place(wanted)),
        wanted.comes_after(),
        wanted.order_by("sort_at", "entry_id"),
        wanted.conditions(),
    );
    run(client, wanted, &rows_of(wanted, &sql), &question.values()).await
}

/// The number of the parameter that follows those of the conditions.
fn next_place(wanted: &PageQuery<'_>) -> usize {
    4 + wanted.ids().len()
}
