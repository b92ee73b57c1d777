//! The store as one account uses it: the methods of the port that ask for an account, without that.

use std::{ops::Deref, sync::Arc, time::Duration};

use domain::{
    AccountId, Cursor, Entry, EntryFilter, EntryId, EntryPage, EntryPatch, Feed, FeedId, FeedPatch, FeedSeed, Folder,
    FolderId, NewFeed, WebhookId,
    delivery::{
        Attempt, Delivery, DeliveryFilter, DeliveryPage, Moved, NewWebhook, Overview, Webhook, WebhookPatch,
        WebhookSecret,
    },
    entry::{Counts, EntryIdPage},
    entry_query::{EntryQuery, FeedCounter},
    follow::NewFollow,
    ports::{
        Conflict, FollowOutcome, ImportOutcome, MarkRead, NewFeedOutcome, Store, StoreResult, TestOutcome,
        UpdateOutcome, Viewer,
    },
    push::Subscription,
};
use jiff::Timestamp;

/// A store in the hands of one account. All else that the store can do is there by the port itself.
#[derive(Clone)]
pub(super) struct AsAccount {
    pub(super) store: Arc<dyn Store>,
    pub(super) account: AccountId,
}

impl Deref for AsAccount {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

/// Each as the method of the port of the same name.
macro_rules! as_account {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)+) => {
        impl AsAccount {
            $(
                pub(super) async fn $name(&self, $($argument: $kind),*) -> StoreResult<$answer> {
                    self.store.$name(self.account, $($argument),*).await
                }
            )+
        }
    };
}

as_account! {
    folders() -> Vec<Folder>;
    create_folder(name: &str) -> Result<Folder, Conflict>;
    rename_folder(id: FolderId, name: &str) -> UpdateOutcome<Folder>;
    delete_folder(id: FolderId) -> bool;
    reorder_folders(ids: &[FolderId]) -> Option<Vec<Folder>>;

    feeds() -> Vec<Feed>;
    feed(id: FeedId) -> Option<Feed>;
    feed_by_url(url: &str) -> Option<FeedId>;
    follow(new: NewFollow) -> FollowOutcome;
    add_feed(feed: NewFeed) -> NewFeedOutcome;
    import_feeds(feeds: Vec<FeedSeed>) -> Vec<ImportOutcome>;
    update_feed(id: FeedId, patch: FeedPatch) -> UpdateOutcome<Feed>;
    delete_feed(id: FeedId) -> bool;

    entries(filter: &EntryFilter, limit: u32, after: Option<Cursor>) -> EntryPage;
    entry_ids(filter: &EntryFilter, limit: u32, after: Option<Cursor>) -> EntryIdPage;
    entry(id: EntryId) -> Option<Entry>;
    find_entries(query: &EntryQuery, offset: u32, limit: u32) -> Vec<EntryId>;
    count_entries(query: &EntryQuery) -> u64;
    changed_at(ids: &[EntryId]) -> Vec<(EntryId, Timestamp)>;
    feed_counters() -> Vec<FeedCounter>;
    patch_entry(id: EntryId, patch: EntryPatch) -> Option<Entry>;
    patch_entries(ids: &[EntryId], patch: EntryPatch) -> u64;
    mark_read(which: MarkRead) -> u64;
    counts() -> Counts;
    newest_unread() -> Vec<(FeedId, Timestamp)>;

    webhooks() -> Vec<Webhook>;
    webhook(id: WebhookId) -> Option<Webhook>;
    create_webhook(new: NewWebhook) -> Webhook;
    update_webhook(id: WebhookId, patch: WebhookPatch) -> Option<Webhook>;
    delete_webhook(id: WebhookId) -> bool;
    rotate_secret(id: WebhookId, secret: WebhookSecret, keep: Duration) -> Option<Webhook>;
    test_webhook(id: WebhookId) -> TestOutcome;
    replay(id: WebhookId, since: Timestamp, until: Option<Timestamp>) -> Option<u64>;

    deliveries(filter: DeliveryFilter, limit: u32, after: Option<&str>) -> DeliveryPage;
    delivery(id: &str) -> Option<(Delivery, Vec<Attempt>)>;
    requeue_delivery(id: &str) -> Moved;
    cancel_delivery(id: &str, reason: &str) -> Moved;
    requeue_failed(webhook: WebhookId) -> Option<u64>;
}

impl AsAccount {
    pub(super) async fn subscriptions(&self) -> StoreResult<Vec<Subscription>> {
        self.store.subscriptions(Viewer::Server).await
    }

    pub(super) async fn outbox_overview(&self) -> StoreResult<Overview> {
        self.store.outbox_overview(Viewer::Server).await
    }
}
