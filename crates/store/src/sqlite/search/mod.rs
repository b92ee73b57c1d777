//! Pages of a search. They are ordered by time, and the index of grams knows nothing of time: so there are three ways.
//!
//! Few entries hold the grams: they are listed and sorted. More do: they are listed, and the page is walked from its
//! newest entry, until enough of the list are found. Very many do: the page is walked and the words of each entry are
//! looked at, which soon fills it; if it does not, they are listed after all. Where grams alone do not tell (phrases), the
//! words of what was listed are looked at, too.
//!
//! Measured with a million entries of 250 words: listing costs 0.1 µs an entry, sorting 3 µs. What looking at its words
//! costs is in the rows of phrases that `bench -- pages` prints, with a million entries. A start (`conf*`) has to be put
//! together from the lists of all grams that start so, before the first entry is known: so the walk comes first.

pub(crate) mod search_index;

use domain::{
    Search,
    entry::{PAGE_WALK_MAX, PHRASE_WALK_MAX},
    search::Gram,
};
use rusqlite::{Connection, OptionalExtension, Result, params_from_iter};

use crate::sqlite::entries::pages::{PageQuery, Position, Walk, walk_among, walk_sql};
use crate::values::usize_to_i64;

/// So many entries are sorted.
const SORTED_MAX: usize = 2_000;
/// So many entries are listed before any is looked at.
const LISTED_MAX: usize = 50_000;
/// So many are listed after the first were looked at: a tenth of a second. Where there are more, whosever they are, a page
/// looks at the words of some, and the next goes on.
const LISTED_AFTER_MAX: usize = 1_000_000;
/// Entries of a walk that are looked at one by one.
const LOOKED_AT_MAX: u32 = 1_000;

const LIST: &str = include_str!("sql/list.sql");

const WORDS: &str = include_str!("sql/words.sql");

/// The places of a page.
pub(crate) fn places(connection: &Connection, wanted: &PageQuery, search: &Search) -> Result<Walk> {
    if search.is_empty() {
        return Ok(Walk::default());
    }
    if search.is_exclusion() {
        return walk_excluding(connection, wanted, search);
    }
    match first_list(connection, search)? {
        Some(listed) if listed.len() <= SORTED_MAX => sort(connection, wanted, search, &listed),
        listed => walk(connection, wanted, search, listed.filter(|listed| listed.len() <= LISTED_MAX)),
    }
}

/// The entries with all whole grams, by id, as far as they count. None if there are only starts.
fn first_list(connection: &Connection, search: &Search) -> Result<Option<Vec<i64>>> {
    let whole: Vec<&Gram> = search.grams().into_iter().filter(|gram| matches!(gram, Gram::Whole(_))).collect();
    if whole.is_empty() {
        return Ok(None);
    }
    list(connection, search, &whole, LISTED_MAX + 1).map(Some)
}

/// The entries with these grams, and none of those that are not wanted, in the query language of the index. It takes any
/// text in quotes, and grams hold none.
fn match_of(grams: &[&Gram], search: &Search) -> String {
    let wanted: Vec<String> = grams
        .iter()
        .map(|gram| match gram {
            Gram::Whole(gram) => format!("\"{gram}\""),
            Gram::Start(start) => format!("\"{start}\"*"),
        })
        .collect();
    let unwanted: Vec<String> = search.unwanted_grams().iter().map(|gram| format!("\"{gram}\"")).collect();
    if unwanted.is_empty() {
        return wanted.join(" AND ");
    }
    format!("({}) NOT ({})", wanted.join(" AND "), unwanted.join(" OR "))
}

/// The entries with these grams, by id, as far as they count: of those that are indexed, and what is found of the rest,
/// whose ids are greater.
fn list(connection: &Connection, search: &Search, grams: &[&Gram], limit: usize) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(LIST)?;
    let indexed = statement.query_map((match_of(grams, search), usize_to_i64(limit)), |row| row.get(0))?;
    let mut listed = indexed.collect::<Result<Vec<i64>>>()?;
    if listed.len() < limit {
        listed.extend(search_index::found_in_tail(connection, search)?);
    }
    Ok(listed)
}

/// Whether the words of an entry are what is searched for.
fn is_found(connection: &Connection, search: &Search, id: i64) -> Result<bool> {
    let found = connection.prepare_cached(WORDS)?.query_row([id], |row| Ok(search.finds(row.get_ref(0)?.as_str()?)));
    Ok(found.optional()?.unwrap_or(false))
}

/// Whether a list holds all grams of a search, and these alone decide that an entry is found.
fn is_decided_by_list(search: &Search) -> bool {
    !search.has_needles() && !search.grams().iter().any(|gram| matches!(gram, Gram::Start(_)))
}

/// The places of those of a list that are found, in order.
fn sort(connection: &Connection, wanted: &PageQuery, search: &Search, listed: &[i64]) -> Result<Walk> {
    if is_decided_by_list(search) {
        return Ok(Walk { places: walk_among(connection, wanted, listed)?, stopped_at: None });
    }
    let all =
        PageQuery { account: wanted.account, rows: listed.len(), filter: wanted.filter.clone(), after: wanted.after };
    let mut found = Vec::new();
    for place in walk_among(connection, &all, listed)? {
        if found.len() == wanted.rows {
            break;
        }
        found.extend(is_found(connection, search, place.id)?.then_some(place));
    }
    Ok(Walk { places: found, stopped_at: None })
}

/// The walk of a page, as far as it takes to fill it with entries of the list, if there is one yet. It ends early where
/// the words of very many entries would have to be looked at.
fn walk(connection: &Connection, wanted: &PageQuery, search: &Search, listed: Option<Vec<i64>>) -> Result<Walk> {
    let part = walk_sql(wanted);
    let mut statement = connection.prepare_cached(&part.sql)?;
    let mut rows = statement.query(params_from_iter(part.values))?;
    let is_decided = is_decided_by_list(search);
    let mut listed = listed;
    let mut looked_at = 0;
    let mut walked = Walk::default();
    while walked.places.len() < wanted.rows {
        let Some(row) = rows.next()? else { break };
        let place = Position { at: row.get(0)?, id: row.get(1)? };
        if listed.is_none() && looked_at == LOOKED_AT_MAX {
            let all = list(connection, search, &search.grams(), LISTED_AFTER_MAX + 1)?;
            if all.len() <= SORTED_MAX {
                return sort(connection, wanted, search, &all);
            }
            listed = (all.len() <= LISTED_AFTER_MAX).then_some(all);
        }
        if listed.as_ref().is_some_and(|listed| listed.binary_search(&place.id).is_err()) {
            continue;
        }
        if is_decided && listed.is_some() {
            walked.places.push(place);
            continue;
        }
        looked_at += 1;
        if is_found(connection, search, place.id)? {
            walked.places.push(place);
        }
        if looked_at == PHRASE_WALK_MAX {
            walked.stopped_at = Some(place);
            break;
        }
    }
    Ok(walked)
}

/// The walk of a page of a search that only excludes. No index lists what it finds: the words of so many entries are
/// looked at, and the next page goes on after them.
fn walk_excluding(connection: &Connection, wanted: &PageQuery, search: &Search) -> Result<Walk> {
    let part = walk_sql(wanted);
    let mut statement = connection.prepare_cached(&part.sql)?;
    let mut rows = statement.query(params_from_iter(part.values))?;
    let mut walked = Walk::default();
    let mut looked_at = 0;
    while walked.places.len() < wanted.rows {
        let Some(row) = rows.next()? else { break };
        let place = Position { at: row.get(0)?, id: row.get(1)? };
        if is_found(connection, search, place.id)? {
            walked.places.push(place);
        }
        looked_at += 1;
        if looked_at == PAGE_WALK_MAX {
            walked.stopped_at = Some(place);
            break;
        }
    }
    Ok(walked)
}
