//! Which index a page walks, and the statement for it. Every kind of page is one walk, either way round: no sorting, and
//! no row is looked at that is not of the page's kind, but for those of a page of changes, which looks at so many and
//! no more. Which index that is stands in the statement, so that no statistics ever make the planner choose another.

use domain::{
    AccountId, Cursor, EntryFilter,
    entry::{Order, PAGE_WALK_MAX, Since},
};
use rusqlite::{Connection, Result, params_from_iter, types::Value};

use crate::values::{time, usize_to_i64};

/// Which rows a page wants: one more than it shows, to know whether there is a next page.
#[derive(Debug)]
pub(crate) struct PageQuery {
    pub(crate) account: AccountId,
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
    pub(crate) fn add(&mut self, sql: &str, values: &[i64]) {
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
        if looked_at == PAGE_WALK_MAX && wanted.filter.is_of_changes() {
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
    let walked = Walked::of(&wanted.filter);
    let mut part = Part::default();
    part.add(&format!("\nSELECT {}, {}, (true", walked.at, walked.id), &[]);
    if wanted.filter.is_of_changes() {
        add_kind(&mut part, &wanted.filter, walked);
    }
    part.add(&format!(") IS TRUE\nFROM {}", walked.from), &[]);
    part.add("\nWHERE account_id = ?", &[wanted.account.0]);
    if !wanted.filter.is_of_changes() {
        add_kind(&mut part, &wanted.filter, walked);
    }
    add_position(&mut part, wanted, walked);
    add_order(&mut part, &wanted.filter, walked);
    part
}

/// The places of those of some entries, given as a JSON array in `?1`, that are on the page, in order.
fn among_sql(wanted: &PageQuery) -> Part {
    let walked = Walked::of_states(&wanted.filter);
    let mut part = Part::default();
    part.add(
        &format!(
            "
SELECT {}, entry_id
FROM json_each(?) AS given
CROSS JOIN entry_states
WHERE entry_id = given.value",
            walked.at
        ),
        &[],
    );
    part.add("\n  AND account_id = ?", &[wanted.account.0]);
    add_kind(&mut part, &wanted.filter, walked);
    add_position(&mut part, wanted, walked);
    add_order(&mut part, &wanted.filter, walked);
    part.add("\nLIMIT ?", &[usize_to_i64(wanted.rows)]);
    part
}

/// What a page walks, and what its rows are ordered by.
#[derive(Debug, Clone, Copy)]
struct Walked {
    from: &'static str,
    at: &'static str,
    id: &'static str,
    feed: &'static str,
}

impl Walked {
    /// The smallest index that holds the page's kind in its order.
    fn of(filter: &EntryFilter) -> Self {
        let is_of_feed = filter.feed_id.is_some() && filter.unread != Some(true) && filter.starred != Some(true);
        match filter.since {
            None if is_of_feed => OF_FEED,
            Some(Since::Received(_)) if is_of_feed => OF_FEED_RECEIVED,
            _ => Self::of_states(filter),
        }
    }

    fn of_states(filter: &EntryFilter) -> Self {
        let states = |from, at| Self { from, at, id: "entry_states.entry_id", feed: "entry_states.feed_id" };
        match filter.since {
            None => states(from(filter), "entry_states.sort_at"),
            Some(Since::Received(_)) => states(from_received(filter), "entry_states.received_at"),
            Some(Since::Changed(_)) => states("entry_states INDEXED BY states_modified", "modified_at"),
        }
    }
}

/// The newest of a feed, whatever else is to be said of them: of each what the account has of it is looked up.
const OF_FEED: Walked = Walked {
    from: "entries INDEXED BY entries_of_feed\nCROSS JOIN entry_states ON entry_id = id",
    at: "entries.sort_at",
    id: "entries.id",
    feed: "entries.feed_id",
};

/// Those of a feed in the order that they were received: that of their ids, for whoever follows it since whenever.
const OF_FEED_RECEIVED: Walked = Walked {
    from: "entries INDEXED BY entries_received\nCROSS JOIN entry_states ON entry_id = id",
    at: "entry_states.received_at",
    ..OF_FEED
};

fn from(filter: &EntryFilter) -> &'static str {
    if filter.starred == Some(true) {
        return "entry_states INDEXED BY states_starred";
    }
    match (filter.unread == Some(true), filter.feed_id.is_some(), filter.folder_id.is_some()) {
        (true, true, _) => "entry_states INDEXED BY states_unread_of_feed",
        (true, false, true) => "entry_states INDEXED BY states_unread_of_folder",
        (true, false, false) => "entry_states INDEXED BY states_unread",
        (false, _, true) => "entry_states INDEXED BY states_of_folder",
        (false, _, false) => "entry_states INDEXED BY states_newest",
    }
}

/// The same in the order of receipt.
fn from_received(filter: &EntryFilter) -> &'static str {
    if filter.starred == Some(true) {
        return "entry_states INDEXED BY states_starred_received";
    }
    match (filter.unread == Some(true), filter.feed_id.is_some(), filter.folder_id.is_some()) {
        (true, true, _) => "entry_states INDEXED BY states_unread_received_of_feed",
        (true, false, true) => "entry_states INDEXED BY states_unread_received_of_folder",
        (true, false, false) => "entry_states INDEXED BY states_unread_received",
        (false, _, true) => "entry_states INDEXED BY states_received_of_folder",
        (false, _, false) => "entry_states INDEXED BY states_received",
    }
}

fn add_kind(part: &mut Part, filter: &EntryFilter, walked: Walked) {
    if let Some(feed) = filter.feed_id {
        part.add(&format!("\n  AND {} = ?", walked.feed), &[feed.0]);
    }
    if let Some(folder) = filter.folder_id {
        part.add("\n  AND folder_id = ?", &[folder.0]);
    }
    // As they are in the definitions of the indexes, or these would not serve.
    part.add(of_state(filter.unread, ["\n  AND is_read = 0", "\n  AND is_read = 1"]), &[]);
    part.add(of_state(filter.starred, ["\n  AND is_starred = 1", "\n  AND is_starred = 0"]), &[]);
}

pub(crate) fn of_state(wanted: Option<bool>, [yes, no]: [&'static str; 2]) -> &'static str {
    match wanted {
        Some(true) => yes,
        Some(false) => no,
        None => "",
    }
}

/// After the cursor, and within the times. Where a walk begins is one condition: of two the planner might take the lesser.
fn add_position(part: &mut Part, wanted: &PageQuery, walked: Walked) {
    if walked.from == OF_FEED_RECEIVED.from {
        return add_position_in_feed(part, wanted, walked);
    }
    let Walked { at: key, id: row, .. } = walked;
    let (since, until) = times(&wanted.filter);
    let after = wanted.after.map(|cursor| (cursor.at.as_millisecond(), cursor.id.0));
    match wanted.filter.order {
        Order::Newest => {
            let last = until.map(|until| (until, i64::MAX));
            if let Some((at, id)) = [after, last].into_iter().flatten().min() {
                part.add(&format!("\n  AND ({key}, {row}) < (?, ?)"), &[at, id]);
            }
            if let Some(since) = since {
                part.add(&format!("\n  AND {key} >= ?"), &[since]);
            }
        }
        Order::Oldest => {
            if let Some((at, id)) = after.max(since.map(|since| (since, i64::MIN))) {
                part.add(&format!("\n  AND ({key}, {row}) > (?, ?)"), &[at, id]);
            }
            if let Some(until) = until {
                part.add(&format!("\n  AND {key} <= ?"), &[until]);
            }
        }
    }
}

/// The same where a walk goes by ids: it begins after the cursor's, and each row is asked for its time.
fn add_position_in_feed(part: &mut Part, wanted: &PageQuery, Walked { at: key, id: row, .. }: Walked) {
    let (since, until) = times(&wanted.filter);
    let comes_after = match wanted.filter.order {
        Order::Newest => "<",
        Order::Oldest => ">",
    };
    if let Some(after) = wanted.after {
        part.add(&format!("\n  AND {row} {comes_after} ?"), &[after.id.0]);
    }
    let bounds = (since.unwrap_or(i64::MIN), until.unwrap_or(i64::MAX));
    part.add(&format!("\n  AND {key} BETWEEN ? AND ?"), &[bounds.0, bounds.1]);
}

/// From when and until when, in milliseconds.
fn times(filter: &EntryFilter) -> (Option<i64>, Option<i64>) {
    let since = filter.since.map(|(Since::Received(at) | Since::Changed(at))| at.as_millisecond());
    let is_of_receipt = matches!(filter.since, Some(Since::Received(_)));
    (since, filter.until.filter(|_| is_of_receipt).map(jiff::Timestamp::as_millisecond))
}

fn add_order(part: &mut Part, filter: &EntryFilter, walked: Walked) {
    let (newest, oldest) = match walked {
        Walked { from, id, .. } if from == OF_FEED_RECEIVED.from => (format!("{id} DESC"), id.to_owned()),
        Walked { at, id, .. } => (format!("{at} DESC, {id} DESC"), format!("{at}, {id}")),
    };
    let by = match filter.order {
        Order::Newest => newest,
        Order::Oldest => oldest,
    };
    part.add(&format!("\nORDER BY {by}"), &[]);
}
