//! The lists of a feed (links, authors, tags, files), bounded each and all together.

use crate::limits::{LIST_ITEMS_MAX, LIST_MAX};

/// How many items the lists of a document may still hold, all together.
pub(crate) struct ListBudget {
    left: usize,
}

impl Default for ListBudget {
    fn default() -> Self {
        Self { left: LIST_ITEMS_MAX }
    }
}

impl ListBudget {
    pub(crate) fn has_capacity<T>(&self, list: &[T]) -> bool {
        list.len() < LIST_MAX && self.left > 0
    }

    /// Adds to a list, which grows from one on: most hold one item, and ten thousand entries have eight of them each.
    pub(crate) fn push<T>(&mut self, list: &mut Vec<T>, item: T) {
        if self.has_capacity(list) {
            self.left -= 1;
            if list.len() == list.capacity() {
                list.reserve_exact(list.len().max(1));
            }
            list.push(item);
        }
    }
}
