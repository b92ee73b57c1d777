//! The icons of feeds.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreResult;
use crate::{
    icon::{FeedIcons, Icon, IconJob, IconLook},
    ids::{AccountId, FeedId, IconId},
};

/// The icons of feeds, each kept once for all feeds that have the same. Only who follows a feed gets its icon.
#[async_trait]
pub trait IconStore {
    /// The icon of a feed that the account follows; `None` if it does not, or the feed has none.
    async fn feed_icon(&self, account: AccountId, feed: FeedId) -> StoreResult<Option<Icon>>;
    /// An icon that a feed of the account's has.
    async fn icon(&self, account: AccountId, id: IconId) -> StoreResult<Option<Icon>>;
    /// The icons of all feeds that the account follows, up to [`ICONS_MAX`](crate::icon::ICONS_MAX) feeds and
    /// [`ICONS_BYTES_MAX`](crate::icon::ICONS_BYTES_MAX); what is beyond is left out, and no more than that is ever read.
    async fn feed_icons(&self, account: AccountId) -> StoreResult<FeedIcons>;

    /// Claims feeds whose icon is to be looked for, longest due first: those that were fetched for the first time, whose
    /// last look was long ago, or whose address or page is another since. Nobody else gets them for as long as the lease.
    async fn claim_due_icons(&self, limit: u32, lease: Duration) -> StoreResult<Vec<IconJob>>;
    /// Stores how a look ended, and when the next is due ([`IconLook::again_in`]). A feed that is gone is passed over.
    async fn finish_icon(&self, job: &IconJob, look: IconLook) -> StoreResult<()>;
    /// When the next is due, as a delay from now; `None` if there are no feeds.
    async fn next_icon_in(&self) -> StoreResult<Option<Duration>>;
    /// Removes icons that no feed has any more, at most so many; returns how many.
    async fn prune_icons(&self, limit: u32) -> StoreResult<u64>;
}
