//! Ids in the description: a whole number each, with a name of its own. Only described: what is read and written is the
//! domain's type of the same name.

use utoipa::ToSchema;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(ToSchema)]
        #[expect(dead_code, reason = "it is only described")]
        pub(crate) struct $name(i64);
    };
}

id! {
    /// A feed.
    FeedId
}
id! {
    /// A folder.
    FolderId
}
id! {
    /// An entry.
    EntryId
}
id! {
    /// A webhook.
    WebhookId
}
id! {
    /// An account.
    AccountId
}
id! {
    /// A session.
    SessionId
}
id! {
    /// A token.
    TokenId
}
