//! For tests only: a publisher, a hub and a receiver of webhooks on loopback, a simulated clock, a fresh store of each
//! kind, and, with the feature `browser`, a browser.

#[cfg(feature = "browser")]
pub mod browser;
mod clock;
mod hub;
mod ids;
mod line;
mod miscounts;
mod pooler;
mod postgres;
mod publisher;
mod receiver;
mod running;
mod stores;
mod wire;

pub use clock::SimulatedClock;
pub use hub::{
    Behaviour, CallbackAnswer, Hub, HubCounts, HubPush, HubRequest, HubSubscription, Lease, Param, Query, Signed,
    Verify,
};
pub use ids::SeededIds;
pub use line::{Line, LineState};
pub use miscounts::sqlite_miscounts;
pub use pooler::{PoolMode, Pooler};
pub use postgres::{FreshPostgres, LonePostgres, drop_database, empty_database, fresh_postgres, url_of};
pub use publisher::Publisher;
pub use receiver::{Answer, Receipt, Receipts, Receiver};
pub use running::Running;
pub use stores::{FreshSqlite, fresh_sqlite};
pub use wire::{Gate, Page, Request};
