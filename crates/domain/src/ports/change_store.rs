//! The change stream.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreResult;
use crate::changes::{ChangeNumber, ChangesPage};

/// The change stream: rows that are written in the transactions that change something.
///
/// Whoever pages through it hears every change once, in the order of their numbers, however many write meanwhile and on
/// whichever node it asks.
#[async_trait]
pub trait ChangeStore: Send + Sync + std::fmt::Debug {
    /// The end of the stream: whoever loads something after asking for this, and then follows the stream from here, misses
    /// nothing.
    async fn last_change(&self) -> StoreResult<ChangeNumber>;
    /// At most so many changes after this one.
    async fn changes_after(&self, after: ChangeNumber, limit: u32) -> StoreResult<ChangesPage>;
    /// Waits until something was changed since this returned `seen`, here or, as far as that can be known, in another
    /// process; returns what to wait for next. Begins at 0. Never an error: it is a hint, and may be lost.
    async fn changed_since(&self, seen: u64) -> u64;
    /// Removes the oldest changes, as far as they are [old or too many](crate::changes::prune_to), at most so many; returns
    /// how many.
    async fn prune_changes(&self, older_than: Duration, limit: u32) -> StoreResult<u64>;
}
