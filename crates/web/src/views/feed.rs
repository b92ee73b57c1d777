//! Feeds.

use domain::{Feed, FeedId, FolderId, IconId};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ids, subscription::SubscriptionView};

/// A feed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Feed)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeedView {
    /// Its id.
    #[schema(value_type = ids::FeedId)]
    id: FeedId,
    /// Where it is polled, without user and password.
    url: String,
    /// Whether it is asked for with a user and a password, which are shown nowhere.
    has_credentials: bool,
    /// The page it belongs to.
    site_url: Option<String>,
    /// What it calls itself.
    title: Option<String>,
    /// What the user calls it.
    custom_title: Option<String>,
    /// The folder it is in.
    #[schema(value_type = Option<ids::FolderId>)]
    folder_id: Option<FolderId>,
    /// When it was last fetched with success, changed or not.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_fetched_at: Option<Timestamp>,
    /// When it is to be polled next.
    #[schema(value_type = String, format = DateTime)]
    next_check_at: Timestamp,
    /// Failures since the last success.
    failure_count: u32,
    /// What the last of them was, in words a user understands.
    last_error: Option<String>,
    /// It answered 410: it is gone for good and not polled any more.
    is_gone: bool,
    /// Entries not read yet.
    unread_count: u64,
    /// Its own poll interval in seconds, if the user gave it one.
    poll_interval: Option<u32>,
    /// Whether push is wanted for it.
    push_enabled: bool,
    /// Its push subscription, if it has a hub.
    subscription: Option<SubscriptionView>,
    /// Its icon, if one was found: another number is another picture at `GET /api/feeds/{id}/icon`.
    #[schema(value_type = Option<i64>)]
    icon_id: Option<IconId>,
}

impl From<Feed> for FeedView {
    fn from(feed: Feed) -> Self {
        let Feed {
            id,
            url,
            has_credentials,
            site_url,
            title,
            custom_title,
            folder_id,
            last_fetched_at,
            next_check_at,
            failure_count,
            last_error,
            is_gone,
            unread_count,
            poll_interval,
            push_enabled,
            subscription,
            icon_id,
        } = feed;
        Self {
            id,
            url,
            has_credentials,
            site_url,
            title,
            custom_title,
            folder_id,
            last_fetched_at,
            next_check_at,
            failure_count,
            last_error,
            is_gone,
            unread_count,
            poll_interval,
            push_enabled,
            subscription: subscription.map(SubscriptionView::from),
            icon_id,
        }
    }
}
