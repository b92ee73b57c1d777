//! Work claimed by one worker for a limited time: polling a feed, renewing a subscription, delivering an event.
//!
//! The owner is unique to a process's life. The fence rises with every claim of the same row and is never reset, so a
//! worker that claims its own expired row again is not mistaken for its older self. Whatever a claim leads to is
//! written only while row, owner and fence still agree.

mod heartbeat;

pub use heartbeat::{LeaseTime, WrongLease};

/// Proof of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    /// Who holds it: unique to a process's life.
    pub owner: String,
    /// Which claim of the row it was.
    pub fence: i64,
}
