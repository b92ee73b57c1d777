//! Pages of a search. They are ordered by time, and the index of words knows nothing of time: so there are two ways.
//!
//! *Walking*: the newest entries one by one, each asked for the words. Quick for words that many entries hold, endless
//! for a rare one. *Collecting*: all entries with the words, sorted. Quick for rare words, slow for common ones. Which
//! is better is not left to the planner, whose guess is off by any factor for words it has no statistics of: a short
//! walk comes first, which fills the page if the words are common, and otherwise has measured how common they are.

use deadpool_postgres::GenericClient;
use tokio_postgres::{Error, Row};

use super::{
    pages::{HAS_NEXT_AT, Wanted, rows_of, run},
    query_opt,
    values::total,
    words::query_of,
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

pub(super) async fn page(client: &impl GenericClient, wanted: &Wanted<'_>) -> Result<Vec<Row>, Error> {
    let Some(words) = query_of(&wanted.filter.words) else { return Ok(Vec::new()) };
    let first = FIRST_WALK_MIN.max(wanted.rows.saturating_mul(FIRST_WALK_A_ROW));
    let rows = walk(client, wanted, &words, first).await?;
    if is_full(wanted, &rows) || !has_more(client, wanted, first).await? {
        return Ok(rows);
    }
    let found = rows.len();
    drop(rows);
    if let Some(second) = second_walk(wanted.rows, found, first, entries_about(client).await?) {
        let rows = walk(client, wanted, &words, second).await?;
        if is_full(wanted, &rows) {
            return Ok(rows);
        }
    }
    collect(client, wanted, &words).await
}

/// Full by number, or cut because its texts are too long.
fn is_full(wanted: &Wanted<'_>, rows: &[Row]) -> bool {
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

/// The rows with the words among the newest `entries`. Row by row: it ends as soon as the page is full.
async fn walk(
    client: &impl GenericClient,
    wanted: &Wanted<'_>,
    words: &str,
    entries: usize,
) -> Result<Vec<Row>, Error> {
    let (words_at, entries_at) = places_after(wanted);
    let sql = format!(
        "
        SELECT walked.id, walked.sort_at AS at
        FROM (
            SELECT id, sort_at
            FROM entries
            WHERE {}
            {}
            LIMIT ${entries_at}
        ) AS walked
        CROSS JOIN LATERAL (
            SELECT
            FROM entry_words
            WHERE entry_words.entry_id = walked.id
              AND entry_words.words @@ ${words_at}::text::tsquery
            LIMIT 1
        ) AS hit
        {}
        LIMIT $3",
        wanted.conditions(),
        wanted.order_by("entries.sort_at", "entries.id"),
        wanted.order_by("walked.sort_at", "walked.id"),
    );
    run(client, wanted, &rows_of(wanted, &sql), &[&words, &total(entries)]).await
}

/// Whether a walk of so many entries left any.
async fn has_more(client: &impl GenericClient, wanted: &Wanted<'_>, entries: usize) -> Result<bool, Error> {
    let sql = format!(
        "
SELECT id
FROM entries
WHERE {}
{}
OFFSET $3
LIMIT 1",
        wanted.conditions(),
        wanted.order_by("entries.sort_at", "entries.id"),
    );
    let wanted = Wanted { rows: entries, ..*wanted };
    Ok(!run(client, &wanted, &sql, &[]).await?.is_empty())
}

/// About how many entries there are in all, as of the last analysis.
async fn entries_about(client: &impl GenericClient) -> Result<f64, Error> {
    let row = query_opt(client, "SELECT reltuples FROM pg_class WHERE oid = 'entries'::regclass", &[]).await?;
    Ok(row.map_or(0.0, |row| f64::from(row.get::<_, f32>(0))))
}

/// All entries with the words, in order, each looked at until the page is full.
async fn collect(client: &impl GenericClient, wanted: &Wanted<'_>, words: &str) -> Result<Vec<Row>, Error> {
    let (words_at, _) = places_after(wanted);
    let sql = format!(
        "
        WITH hits AS MATERIALIZED (
            SELECT entry_id, sort_at
            FROM entry_words
            WHERE words @@ ${words_at}::text::tsquery
              AND (sort_at, entry_id) {} ($1, $2)
            {}
        )
        SELECT hits.entry_id AS id, hits.sort_at AS at
        FROM hits
        CROSS JOIN LATERAL (
            SELECT
            FROM entries
            WHERE entries.id = hits.entry_id
              AND {}
            LIMIT 1
        ) AS entry
        LIMIT $3",
        wanted.comes_after(),
        wanted.order_by("sort_at", "entry_id"),
        wanted.conditions(),
    );
    run(client, wanted, &rows_of(wanted, &sql), &[&words]).await
}

/// The numbers of the two parameters that follow those of the conditions.
fn places_after(wanted: &Wanted<'_>) -> (usize, usize) {
    let next = 4 + wanted.ids().len();
    (next, next + 1)
}
