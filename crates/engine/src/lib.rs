//! What happens: polling, ingesting, adding, importing, pruning.
//!
//! ```text
//! poll ─┬─> http (guarded) ─> feed::parse ─> ingest ─> Store::finish_polls     one transaction a batch
//! add ──┘                                                └> Store::add_feed
//! opml ─────────────────────────────────────────────────> Store::import_feeds ─> due at once ─> poll
//! ```
//!
//! It decides nothing that is not in `domain`, keeps nothing that is not in the store, and asks nobody but through
//! [`http`]. Time and chance come in as ports; [`system`] holds the real ones.

mod add;
mod api;
mod changes;
mod clock_watch;
mod cpu;
mod dispatch;
mod engine;
mod fetch;
mod gather;
pub mod http;
mod ingest;
mod measure;
mod opml;
mod overview;
mod poll;
mod prune;
mod push;
mod settings;
pub mod system;

pub use api::{
    AddFeed, AddFeedError, AddedFeed, ImportError, ImportReport, OfferedFeed, RefreshSummary, SubscribeError,
};
pub use changes::{ChangeListener, ChangeStream, Heard};
pub use engine::Engine;
pub use measure::register_metrics;
pub use opml::OpmlError;
pub use poll::Outage;
pub use push::{
    PushAnswer, PushRequest, Recipient, RenewResult, RenewStatus, RenewSummary, Verification, VerifyAnswer,
};
pub use settings::{DeliverySettings, EngineSettings, Parts, PushSettings};
pub use system::{SystemClock, SystemIds};
