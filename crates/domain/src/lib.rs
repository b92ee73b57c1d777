//! The domain of piRSSonite: what there is (feeds, folders, entries, leases), what is decided (when to poll next), and
//! the ports through which the rest of the world comes in: [`Store`](ports::Store), [`Http`](ports::Http),
//! [`Clock`](ports::Clock), [`Ids`](ports::Ids).
//!
//! Nothing here waits, stores or sends. Every decision is a function of its arguments, so each can be tested as a table
//! of cases at an exact instant.

pub mod account;
pub mod changes;
pub mod cursor;
pub mod delivery;
pub mod entry;
pub mod entry_query;
pub mod feed_state;
pub mod figures;
pub mod folder;
pub mod follow;
pub mod found_by;
pub mod icon;
pub mod ids;
pub mod ingest;
pub mod lease;
pub mod outage;
pub mod overview;
pub mod picture;
pub mod ports;
pub mod push;
pub mod raster;
pub mod schedule;
pub mod search;
pub mod signer;
pub mod trace;
mod typed_address;
pub mod words;

pub use account::Account;
pub use cursor::Cursor;
pub use entry::{Entry, EntryFilter, EntryPage, EntryPatch, File};
pub use feed_state::{Feed, FeedPatch, FeedSeed, NewFeed};
pub use folder::Folder;
pub use ids::{
    AccountId, DeliveryId, EntryId, EventId, FeedId, FolderId, IconId, SessionId, SubscriptionId, TokenId, WebhookId,
};
pub use lease::{Lease, LeaseTime};
pub use search::Search;
pub use typed_address::typed_address;
