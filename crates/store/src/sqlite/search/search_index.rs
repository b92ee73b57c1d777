//! The index of grams. It lags behind: it holds the entries up to some id, and those after it, the tail, wait in
//! `entry_words` until they are enough to be indexed together. Whoever searches looks at the words of the tail, too.
//!
//! With every transaction that writes to it the index makes a piece of its own, which has to be merged with others
//! later: for one entry that costs more than all else that is stored of it.
//!
//! What a transaction changes in it is written at its end, after the last savepoint, for the same reason.
//!
//! Differs from the other store: PostgreSQL keeps its index of grams (GIN) up to date by itself.

use std::{borrow::Cow, collections::HashSet};

use domain::{
    Search,
    words::{grams, is_unspaced},
};
use rusqlite::{Connection, Result};

/// Entries that wait, and bytes of their words: so much a search looks at besides.
pub(crate) const TAIL_ENTRIES_MAX: usize = 256;
pub(crate) const TAIL_BYTES_MAX: usize = 512 * 1024;

/// Entries go and come back into it under their ids, and get in by the order of their ids: so all after the last wait.
pub(crate) const LAST: &str = "SELECT coalesce(max(id), 0) FROM entry_grams_docsize";

pub(crate) const TAIL: &str = "SELECT entry_id, words FROM entry_words WHERE entry_id > ? ORDER BY entry_id";

/// Changes to come, in their order, and what waits.
#[derive(Debug, Default)]
pub(crate) struct WordChanges {
    changes: Vec<WordChange>,
    /// `None` if nobody knows, as after the start.
    tail: Option<Tail>,
    /// The same if what was written is committed.
    tail_to_be: Option<Tail>,
}

#[derive(Debug)]
enum WordChange {
    Add { bytes: usize },
    Replace { entry: i64, words: String },
    Remove { entry: i64 },
}

/// What waits, or more than that.
#[derive(Debug, Clone, Copy, Default)]
struct Tail {
    entries: usize,
    bytes: usize,
}

impl WordChanges {
    /// The words of a new entry are stored.
    pub(crate) fn add(&mut self, words: &str) {
        self.changes.push(WordChange::Add { bytes: words.len() });
    }

    /// The words of an entry that has others now.
    pub(crate) fn replace(&mut self, entry: i64, words: String) {
        self.changes.push(WordChange::Replace { entry, words });
    }

    /// An entry is gone.
    pub(crate) fn remove(&mut self, entry: i64) {
        self.changes.push(WordChange::Remove { entry });
    }

    /// A place to come back to.
    pub(crate) fn mark(&self) -> usize {
        self.changes.len()
    }

    /// Forgets what came after a mark.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        self.changes.truncate(mark);
    }

    /// The transaction is over.
    pub(crate) fn end(&mut self, is_committed: bool) {
        self.changes.clear();
        self.tail = self.tail_to_be.take().filter(|_| is_committed);
    }

    /// Changes what is indexed, and indexes what waits if that is enough.
    pub(crate) fn write(&mut self, connection: &Connection) -> Result<()> {
        self.tail_to_be = self.tail;
        if self.changes.is_empty() {
            return Ok(());
        }
        let last: i64 = connection.prepare_cached(LAST)?.query_row([], |row| row.get(0))?;
        let tail = self.change_indexed(connection, last)?;
        let is_enough = |tail: &Tail| tail.entries >= TAIL_ENTRIES_MAX || tail.bytes >= TAIL_BYTES_MAX;
        self.tail_to_be = tail.filter(|tail| !is_enough(tail));
        if self.tail_to_be.is_none() {
            index_tail(connection, last)?;
            self.tail_to_be = Some(Tail::default());
        }
        Ok(())
    }

    /// Changes what is indexed up to this last one; returns what waits now.
    fn change_indexed(&mut self, connection: &Connection, last: i64) -> Result<Option<Tail>> {
        let (mut changed, mut others) = (HashSet::new(), Vec::new());
        let mut tail = self.tail;
        // From the last: what is changed once more later need not be added.
        for change in self.changes.drain(..).rev() {
            match change {
                WordChange::Add { bytes } => wait(&mut tail, 1, bytes),
                // It may be longer now than what was counted.
                WordChange::Replace { entry, words } if entry > last => wait(&mut tail, 0, words.len()),
                WordChange::Replace { entry, words } if changed.insert(entry) => others.push((entry, words)),
                WordChange::Remove { entry } if entry <= last => drop(changed.insert(entry)),
                WordChange::Replace { .. } | WordChange::Remove { .. } => {}
            }
        }
        let mut changed: Vec<i64> = changed.into_iter().collect();
        changed.sort_unstable();
        let mut remove = connection.prepare_cached("DELETE FROM entry_grams WHERE rowid = ?")?;
        for entry in changed {
            remove.execute([entry])?;
        }
        others.sort_unstable_by_key(|(entry, _)| *entry);
        for (entry, words) in &others {
            index(connection, *entry, words)?;
        }
        Ok(tail)
    }
}

fn wait(tail: &mut Option<Tail>, entries: usize, bytes: usize) {
    if let Some(tail) = tail {
        tail.entries += entries;
        tail.bytes += bytes;
    }
}

/// Indexes all after this last one.
pub(crate) fn index_tail(connection: &Connection, last: i64) -> Result<()> {
    let mut tail = connection.prepare_cached(TAIL)?;
    let mut rows = tail.query([last])?;
    while let Some(row) = rows.next()? {
        index(connection, row.get(0)?, row.get_ref(1)?.as_str()?)?;
    }
    Ok(())
}

fn index(connection: &Connection, entry: i64, words: &str) -> Result<()> {
    let mut add = connection.prepare_cached("INSERT INTO entry_grams (rowid, grams) VALUES (?, ?)")?;
    add.execute((entry, grams_of(words))).map(drop)
}

/// Entries of the tail that a search finds, by id.
pub(crate) fn found_in_tail(connection: &Connection, search: &Search) -> Result<Vec<i64>> {
    let last: i64 = connection.prepare_cached(LAST)?.query_row([], |row| row.get(0))?;
    let mut tail = connection.prepare_cached(TAIL)?;
    let mut rows = tail.query([last])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if search.finds(row.get_ref(1)?.as_str()?) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// The grams of words, with spaces between them: mostly the words themselves.
fn grams_of(words: &str) -> Cow<'_, str> {
    if words.is_ascii() || !words.contains(is_unspaced) {
        return Cow::Borrowed(words);
    }
    let mut joined = String::with_capacity(words.len() * 2);
    for gram in grams(words) {
        joined.push_str(gram);
        joined.push(' ');
    }
    Cow::Owned(joined)
}
