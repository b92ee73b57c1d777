//! Where what a poll or a push brings is stored.

use domain::trace::TraceContext;

/// The feed that a document or a push belongs to, as its row was read in the transaction that stores it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) feed_id: i64,
    /// What was changed after this is newer than the document.
    pub(crate) claimed_at: i64,
    /// What is new in it is backlog: the feed was never fetched before.
    pub(crate) is_backlog: bool,
    pub(crate) now: i64,
    /// The trace that it came by.
    pub(crate) trace: Option<TraceContext>,
}
