//! The ports: what the domain needs of the world, filled by adapters.

mod account_store;
mod change_store;
mod clock;
mod delivery_store;
mod figure_store;
mod http;
mod icon_store;
mod store;

pub use account_store::{AccountOutcome, AccountStore};
pub use change_store::ChangeStore;
pub use clock::{Clock, Ids};
pub use delivery_store::{DeliveryStore, TestOutcome};
pub use figure_store::FigureStore;
pub use http::{Arrived, Headers, Http, HttpError, HttpRequest, HttpResponse, MemoryPermit, Method};
pub use icon_store::IconStore;
pub use store::{
    BatchResult, Batched, Changed, Claim, Conflict, EntryStore, FeedStore, FolderStore, FollowOutcome, ImportOutcome,
    MarkRead, NewFeedOutcome, PollStore, PruneLimits, PushStore, Store, StoreError, StoreResult, SubscriptionChange,
    UpdateOutcome, Viewer,
};
