//! The ports: what the domain needs of the world, filled by adapters.

mod change_store;
mod clock;
mod delivery_store;
mod http;
mod store;

pub use change_store::ChangeStore;
pub use clock::{Clock, Ids};
pub use delivery_store::{DeliveryStore, TestOutcome};
pub use http::{Headers, Http, HttpError, HttpRequest, HttpResponse, MemoryPermit, Method};
pub use store::{
    BatchResult, Batched, Changed, Claim, Conflict, EntryStore, FeedStore, FolderStore, ImportOutcome, MarkRead,
    NewFeedOutcome, PollStore, PruneLimits, PushStore, Store, StoreError, StoreResult, SubscriptionChange,
    UpdateOutcome,
};
