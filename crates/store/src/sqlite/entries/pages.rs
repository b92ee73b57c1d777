//! Which index a page walks, and the statement for it. Every kind of page is one walk, either way round: no sorting, and
//! no row is looked at that is not of the page's kind, but for those of a page since a time, which looks at so many and
//! no more. Which index that is stands in the statement, so that no statistics ever make the planner choose another.

use domain::{
    Cursor, EntryFilter,
    entry::{Order, PAGE_WALK_MAX, Since},
};
use rusqlite::{Connection, Result, params_from_iter, types::Value};

use crate::values::{time, usize_to_i64};

/// Which rows a page wants: one more than it shows, to know whether there is a next page.
#[derive(Debug)]
pub(crate) struct PageQuery {
    pub(crate) filter: EntryFilter,
    pub(crate) after: Option<Cursor>,
    pub(crate) rows: usize,
}

/// An entry's place in the order of a page: its time and its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) at: i64,
    pub(crate) id: i64,
}

impl From<Position> for Cursor {
    fn from(place: Position) -> Self {
        Self { at: time(place.at), id: domain::EntryId(place.id) }
    }
}

/// What a walk has found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) places: Vec<Position>,
    /// Where it stopped, if it did before the page was full and there may be more.
    pub(crate) stopped_at: Option<Position>,
}

/// A part of a statement, and the values for its question marks.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) sql: String,
    pub(crate) values: Vec<i64>,
}

impl Part {
    fn add(&mut self, sql: &str, values: &[i64]) {
        self.sql.push_str(sql);
        self.values.extend(values);
    }
}

/// The places of a page.
pub(crate) fn walk(connection: &Connection, wanted: &PageQuery) -> Result<Walk> {
    let part = walk_sql(wanted);
    let mut statement = connection.prepare_cached(&part.sql)?;
    let mut rows = statement.query(params_from_iter(part.values))?;
    let mut walked = Walk::default();
    let mut looked_at = 0;
    while walked.places.len() < wanted.rows {
        let Some(row) = rows.next()? else { break };
        let place = Position { at: row.get(0)?, id: row.get(1)? };
        if row.get(2)? {
            walked.places.push(place);
        }
        looked_at += 1;
        if looked_at == PAGE_WALK_MAX && wanted.filter.since.is_some() {
            walked.stopped_at = Some(place);
            break;
        }
    }
    Ok(walked)
}

/// The places of those of some entries that are on the page.
pub(crate) fn walk_among(connection: &Connection, wanted: &PageQuery, ids: &[i64]) -> Result<Vec<Position>> {
    let list = serde_json::Value::from(ids).to_string();
    let part = among_sql(wanted);
    let values = std::iter::once(Value::from(list)).chain(part.values.into_iter().map(Value::from));
    let place = |row: &rusqlite::Row<'_>| Ok(Position { at: row.get(0)?, id: row.get(1)? });
    connection.prepare_cached(&part.sql)?.query_map(params_from_iter(values), place)?.collect()
}

/// The places of all rows of a page's walk after its cursor, without end, and whether each is of the page's kind.
pub(crate) fn walk_sql(wanted: &PageQuery) -> Part {
    let (key, index) = (key(&wanted.filter), index(&wanted.filter));
    let mut part = Part::default();
    part.add(&format!("\nSELECT {key}, entries.id, (true"), &[]);
    if wanted.filter.since.is_some() {
        add_kind(&mut part, &wanted.filter);
    }
    part.add(&format!(") IS TRUE\nFROM entries INDEXED BY {index}\nWHERE true"), &[]);
    if wanted.filter.since.is_none() {
        add_kind(&mut part, &wanted.filter);
    }
    add_position(&mut part, wanted);
    add_order(&mut part, &wanted.filter);
    part
}

/// The places of those of some entries, given as a JSON array in `?1`, that are on the page, in order.
fn among_sql(wanted: &PageQuery) -> Part {
    let mut part = Part::default();
    part.add(
        &format!(
            "
SELECT {}, entries.id
FROM json_each(?) AS given
CROSS JOIN entries NOT INDEXED
WHERE entries.id = given.value",
            key(&wanted.filter)
        ),
        &[],
    );
    add_kind(&mut part, &wanted.filter);
    add_position(&mut part, wanted);
    add_order(&mut part, &wanted.filter);
    part.add("\nLIMIT ?", &[usize_to_i64(wanted.rows)]);
    part
}

/// The time that a page goes by.
fn key(filter: &EntryFilter) -> &'static str {
    match filter.since {
        None => "sort_at",
        Some(Since::Received(_)) => "received_at",
        Some(Since::Changed(_)) => "modified_at",
    }
}

/// The smallest index that holds the page's kind in its order.
fn index(filter: &EntryFilter) -> &'static str {
    match filter.since {
        Some(Since::Received(_)) => return "entries_received",
        Some(Since::Changed(_)) => return "entries_modified",
        None => {}
    }
    if filter.starred == Some(true) {
        return "entries_starred";
    }
    match (filter.unread == Some(true), filter.feed_id.is_some(), filter.folder_id.is_some()) {
        (true, true, _) => "entries_unread_of_feed",
        (true, false, true) => "entries_unread_of_folder",
        (true, false, false) => "entries_unread",
        (false, true, _) => "entries_of_feed",
        (false, false, true) => "entries_of_folder",
        (false, false, false) => "entries_newest",
    }
}

fn add_kind(part: &mut Part, filter: &EntryFilter) {
    if let Some(feed) = filter.feed_id {
        part.add("\n  AND feed_id = ?", &[feed.0]);
    }
    if let Some(folder) = filter.folder_id {
        part.add("\n  AND folder_id = ?", &[folder.0]);
    }
    // As they are in the definitions of the indexes, or these would not serve.
    part.add(of_state(filter.unread, ["\n  AND is_read = 0", "\n  AND is_read = 1"]), &[]);
    part.add(of_state(filter.starred, ["\n  AND is_starred = 1", "\n  AND is_starred = 0"]), &[]);
}

fn of_state(wanted: Option<bool>, [yes, no]: [&'static str; 2]) -> &'static str {
    match wanted {
        Some(true) => yes,
        Some(false) => no,
        None => "",
    }
}

/// After the cursor, and since the time. Where a walk begins is one condition: of two the planner might take the lesser.
fn add_position(part: &mut Part, wanted: &PageQuery) {
    let key = key(&wanted.filter);
    let since = wanted.filter.since.map(|(Since::Received(at) | Since::Changed(at))| at.as_millisecond());
    let after = wanted.after.map(|cursor| (cursor.at.as_millisecond(), cursor.id.0));
    match wanted.filter.order {
        Order::Newest => {
            if let Some((at, id)) = after {
                part.add(&format!("\n  AND ({key}, entries.id) < (?, ?)"), &[at, id]);
            }
            if let Some(since) = since {
                part.add(&format!("\n  AND {key} >= ?"), &[since]);
            }
        }
        Order::Oldest => {
            if let Some((at, id)) = after.max(since.map(|since| (since, i64::MIN))) {
                part.add(&format!("\n  AND ({key}, entries.id) > (?, ?)"), &[at, id]);
            }
        }
    }
}

fn add_order(part: &mut Part, filter: &EntryFilter) {
    let key = key(filter);
    part.add(
        &match filter.order {
            Order::Newest => format!("\nORDER BY {key} DESC, entries.id DESC"),
            Order::Oldest => format!("\nORDER BY {key}, entries.id"),
        },
        &[],
    );
}
