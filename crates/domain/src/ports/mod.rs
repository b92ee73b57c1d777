//! The ports: what the domain needs of the world, filled by adapters.

mod clock;
mod http;
mod store;

pub use clock::{Clock, Ids};
pub use http::{Headers, Http, HttpError, HttpRequest, HttpResponse, Method};
pub use store::{
    Changed, Claim, Conflict, EntryStore, FeedStore, FolderStore, ImportOutcome, MarkRead, NewFeedOutcome, PollStore,
    PruneLimits, PushStore, Store, StoreError, StoreResult, UpdateOutcome,
};
