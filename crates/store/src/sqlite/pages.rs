//! Which index a page walks, and the statement for it. Every kind of page is one walk, newest first: no sorting, and no
//! row is looked at that is not of the page's kind. Which index that is stands in the statement, so that no statistics
//! ever make the planner choose another.

use domain::{Cursor, Entry, EntryFilter};
use rusqlite::{Connection, Result, params_from_iter};

use super::entries::{COLUMNS, entry_of};
use crate::values::total;

/// Which rows a page wants: one more than it shows, to know whether there is a next page.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) filter: EntryFilter,
    pub(super) after: Option<Cursor>,
    pub(super) rows: usize,
}

/// A part of a statement, and the values for its question marks.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) sql: String,
    pub(super) values: Vec<i64>,
}

impl Part {
    fn add(&mut self, sql: &str, values: &[i64]) {
        self.sql.push_str(sql);
        self.values.extend(values);
    }
}

pub(super) fn page(connection: &Connection, wanted: &Wanted) -> Result<Vec<Entry>> {
    let page = page_sql(wanted);
    let mut statement = connection.prepare_cached(&page.sql)?;
    statement.query_map(params_from_iter(page.values), entry_of)?.collect()
}

/// One entry by its id.
pub(super) fn one_sql() -> String {
    format!(
        "
SELECT {COLUMNS}
FROM entries
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE entries.id = ?"
    )
}

/// A whole page.
pub(super) fn page_sql(wanted: &Wanted) -> Part {
    let mut part = Part::default();
    let index = index(&wanted.filter);
    part.add(
        &format!(
            "
SELECT {COLUMNS}
FROM entries INDEXED BY {index}
LEFT JOIN entry_bodies ON entry_bodies.entry_id = entries.id
WHERE true"
        ),
        &[],
    );
    add_conditions(&mut part, wanted);
    part.add("\nORDER BY sort_at DESC, entries.id DESC\nLIMIT ?", &[total(wanted.rows)]);
    part
}

/// The ids of all rows of a page's kind after its cursor, without end.
pub(super) fn walk_sql(wanted: &Wanted) -> Part {
    let mut part = Part::default();
    part.add(&format!("\nSELECT entries.id\nFROM entries INDEXED BY {}\nWHERE true", index(&wanted.filter)), &[]);
    add_conditions(&mut part, wanted);
    part.add("\nORDER BY sort_at DESC, entries.id DESC", &[]);
    part
}

/// Those of some entries, given as a JSON array in `?1`, that are on the page, in order.
pub(super) fn among_sql(wanted: &Wanted) -> Part {
    let mut part = Part::default();
    part.add(
        "
SELECT entries.id
FROM json_each(?) AS given
CROSS JOIN entries NOT INDEXED
WHERE entries.id = given.value",
        &[],
    );
    add_conditions(&mut part, wanted);
    part.add("\nORDER BY sort_at DESC, entries.id DESC\nLIMIT ?", &[total(wanted.rows)]);
    part
}

/// The smallest index that holds the page's kind in its order.
fn index(filter: &EntryFilter) -> &'static str {
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

fn add_conditions(part: &mut Part, wanted: &Wanted) {
    let filter = &wanted.filter;
    if let Some(feed) = filter.feed_id {
        part.add("\n  AND feed_id = ?", &[feed.0]);
    }
    if let Some(folder) = filter.folder_id {
        part.add("\n  AND folder_id = ?", &[folder.0]);
    }
    // As they are in the definitions of the indexes, or these would not serve.
    part.add(of_state(filter.unread, ["\n  AND is_read = 0", "\n  AND is_read = 1"]), &[]);
    part.add(of_state(filter.starred, ["\n  AND is_starred = 1", "\n  AND is_starred = 0"]), &[]);
    if let Some(after) = wanted.after {
        part.add("\n  AND (sort_at, entries.id) < (?, ?)", &[after.sort_at.as_millisecond(), after.id.0]);
    }
}

fn of_state(wanted: Option<bool>, [yes, no]: [&'static str; 2]) -> &'static str {
    match wanted {
        Some(true) => yes,
        Some(false) => no,
        None => "",
    }
}
