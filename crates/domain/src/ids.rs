//! Names for things: an id of a feed is never mistaken for one of an entry.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

id! { AccountId }
id! { SessionId }
id! { TokenId }
id! { FeedId }
id! { FolderId }
id! { IconId }
id! { EntryId }
id! { SubscriptionId }
id! { WebhookId }
id! {
    /// A row of the table of events. The world knows it by [`public_id`](crate::delivery::public_id).
    EventId
}
id! {
    /// A row of the table of deliveries. The world knows it by [`public_id`](crate::delivery::public_id).
    DeliveryId
}
