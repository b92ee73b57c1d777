//! What happens: polling, push, delivering, adding, importing, pruning.
//!
//! ```text
//!           ┌─ poll ─────> http (guarded) ─> feed::parse ─> ingest ─> Store::finish_polls   one transaction a batch
//! Engine ───┼─ push ─────> http (guarded); hubs ─> receive ─> ingest ─> Store::push
//!           └─ dispatch ─> http (guarded); Store::claim_deliveries ─> ... ─> Store::finish_deliveries
//!                └───────> all three know the context, and none of them another
//! ```
//!
//! The `context` has what they share: [`Deps`] (store, HTTP, clock, ids, settings), the wake-ups, the CPU pool, and the
//! limits of hosts and memory. Where push needs a feed polled, it says so through the context: `Context::poll_soon`, or
//! the port `PollFeed` where it waits for the end. Adding a feed (`add`) and OPML use the context as well.
//!
//! The engine decides nothing that is not in `domain`, keeps nothing that is not in the store, and asks nobody but through
//! [`http`]. Time and chance come in as ports; [`system`] holds the real ones. Which of its callers' requests go to the
//! engine and which to the store: see `engine.rs`.

mod add;
mod api;
mod changes;
mod clock_watch;
mod coalesce;
mod context;
mod cpu;
mod dispatch;
mod document_memory;
mod documents;
mod engine;
mod fetch;
mod hosts;
pub mod http;
mod icons;
mod ingest;
mod measure;
mod opml;
mod overview;
mod pictures;
mod poll;
mod prune;
mod push;
mod settings;
pub mod system;
mod trace;

pub use api::{
    AddFeed, AddFeedError, AddedFeed, ImportError, ImportReport, OfferedFeed, RefreshSummary, SubscribeError,
};
pub use changes::{ChangeListener, ChangeStream, Heard};
pub use engine::Engine;
pub use measure::register_metrics;
pub use opml::OpmlError;
pub use pictures::{NoPicture, Picture, PictureSettings, Pictures};
pub use poll::Outage;
pub use push::{
    PushAnswer, PushRequest, Recipient, RenewResult, RenewStatus, RenewSummary, TimeLeft, Verification, VerifyAnswer,
};
pub use settings::{DeliverySettings, Deps, EngineSettings, PushSettings};
pub use system::{SystemClock, SystemIds};
