//! What a transaction changes in the index of grams, written together at its end.
//!
//! At every savepoint the index writes out what it has gathered, as a piece of its own that has to be merged later. So
//! the grams of all entries of a group go in after the last savepoint, in the order of their ids: one piece.

use std::{borrow::Cow, collections::HashSet};

use domain::words::{grams, is_unspaced};
use rusqlite::Connection;

/// Changes to come, in their order.
#[derive(Debug, Default)]
pub(crate) struct WordChanges(Vec<WordChange>);

#[derive(Debug)]
enum WordChange {
    Add { entry: i64, words: String },
    Remove { entry: i64 },
}

impl WordChanges {
    /// The words of a new entry.
    pub(crate) fn add(&mut self, entry: i64, words: String) {
        self.0.push(WordChange::Add { entry, words });
    }

    /// The words of an entry that has others now.
    pub(crate) fn replace(&mut self, entry: i64, words: String) {
        self.remove(entry);
        self.add(entry, words);
    }

    /// An entry is gone.
    pub(crate) fn remove(&mut self, entry: i64) {
        self.0.push(WordChange::Remove { entry });
    }

    /// A place to come back to.
    pub(crate) fn mark(&self) -> usize {
        self.0.len()
    }

    /// Forgets what came after a mark.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    pub(crate) fn forget_all(&mut self) {
        self.0.clear();
    }

    pub(crate) fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut removed = HashSet::new();
        let mut added = Vec::new();
        // From the last: what is removed later need not be added.
        for change in self.0.drain(..).rev() {
            match change {
                WordChange::Add { entry, words } if !removed.contains(&entry) => added.push((entry, words)),
                WordChange::Add { .. } => {}
                WordChange::Remove { entry } => {
                    removed.insert(entry);
                }
            }
        }
        let mut removed: Vec<i64> = removed.into_iter().collect();
        removed.sort_unstable();
        let mut remove = connection.prepare_cached("DELETE FROM entry_grams WHERE rowid = ?")?;
        for entry in removed {
            remove.execute([entry])?;
        }
        added.sort_unstable_by_key(|(entry, _)| *entry);
        let mut add = connection.prepare_cached("INSERT INTO entry_grams (rowid, grams) VALUES (?, ?)")?;
        for (entry, words) in &added {
            add.execute((entry, grams_of(words)))?;
        }
        Ok(())
    }
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
