//! Values as the driver takes and gives them.

use std::error::Error;

use domain::{
    AccountId, FeedId, FolderId,
    account::TokenScope,
    delivery::{DeliveryStatus, EventType, OldSecrets, WebhookHeaders, WebhookSecret},
    feed_state::FeedAddress,
    ingest::Hash,
    push::{Mode, Secrets, SubscriptionState},
};
use tokio_postgres::types::{FromSql, ToSql, Type};

pub(crate) use crate::values::{
    DUE_FIRST_MS, ERROR_BYTES_MAX, beginning, categories, ceiling_ms, count, enclosures, figure_account, headers, hubs,
    list, millis, old_secrets, optional, secrets, series_of, text, time, to_u32, u64_to_i64, usize_to_i64,
};

/// A column of several rows.
pub(crate) type Column<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// What a text in a column stands for. One that says nothing we know is an error of the statement that reads it.
#[derive(Debug)]
pub(crate) struct Parsed<T>(pub(crate) T);

/// What can be read from a text.
pub(crate) trait Parse: Sized {
    /// What it is, for people. The text itself may be secret.
    const WHAT: &'static str;

    fn parse(text: &str) -> Option<Self>;
}

impl Parse for SubscriptionState {
    const WHAT: &'static str = "the state of a subscription";

    fn parse(text: &str) -> Option<Self> {
        Self::by_name(text)
    }
}

impl Parse for Mode {
    const WHAT: &'static str = "what a hub is asked for";

    fn parse(text: &str) -> Option<Self> {
        Self::by_name(text)
    }
}

impl Parse for Secrets {
    const WHAT: &'static str = "the secrets of a subscription";

    fn parse(text: &str) -> Option<Self> {
        crate::values::secrets_of(text).ok()
    }
}

/// The hubs of a feed.
impl Parse for Vec<String> {
    const WHAT: &'static str = "the hubs of a feed";

    fn parse(text: &str) -> Option<Self> {
        crate::values::hubs_of(text).ok()
    }
}

/// The kinds of events that a webhook wants.
impl Parse for Vec<EventType> {
    const WHAT: &'static str = "which events a webhook wants";

    fn parse(text: &str) -> Option<Self> {
        crate::values::kinds_of(Some(text)).ok().flatten()
    }
}

impl Parse for Vec<FeedId> {
    const WHAT: &'static str = "of which feeds a webhook is";

    fn parse(text: &str) -> Option<Self> {
        crate::values::ids_of(Some(text)).ok().flatten()
    }
}

impl Parse for Vec<FolderId> {
    const WHAT: &'static str = "of which folders a webhook is";

    fn parse(text: &str) -> Option<Self> {
        crate::values::ids_of(Some(text)).ok().flatten()
    }
}

/// The headers of a webhook.
impl Parse for WebhookHeaders {
    const WHAT: &'static str = "the headers of a webhook";

    fn parse(text: &str) -> Option<Self> {
        crate::values::headers_of(text).ok()
    }
}

impl Parse for WebhookSecret {
    const WHAT: &'static str = "the secret of a webhook";

    fn parse(text: &str) -> Option<Self> {
        crate::values::webhook_secret_of(text).ok()
    }
}

impl Parse for OldSecrets {
    const WHAT: &'static str = "the old secrets of a webhook";

    fn parse(text: &str) -> Option<Self> {
        crate::values::old_secrets_of(text).ok()
    }
}

impl Parse for EventType {
    const WHAT: &'static str = "the kind of an event";

    fn parse(text: &str) -> Option<Self> {
        crate::values::kind_of(text).ok()
    }
}

impl Parse for TokenScope {
    const WHAT: &'static str = "what a token may do";

    fn parse(text: &str) -> Option<Self> {
        Self::by_name(text)
    }
}

impl Parse for DeliveryStatus {
    const WHAT: &'static str = "how a delivery stands";

    fn parse(text: &str) -> Option<Self> {
        crate::values::status_of(text).ok()
    }
}

impl<'a, T: Parse> FromSql<'a> for Parsed<T> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let text = <&str>::from_sql(kind, raw)?;
        T::parse(text).map(Self).ok_or_else(|| format!("this does not say {}", T::WHAT).into())
    }

    fn accepts(kind: &Type) -> bool {
        <&str as FromSql>::accepts(kind)
    }
}

/// The hash of the feed that an account means by an address.
pub(crate) fn url_hash(address: &FeedAddress, account: AccountId) -> Vec<u8> {
    crate::values::url_hash(address, account).to_vec()
}

/// The hash that a topic is found by.
pub(crate) fn topic_hash(topic: &str) -> Vec<u8> {
    crate::values::topic_hash(topic).to_vec()
}

/// The hash of a column.
pub(crate) fn hash(bytes: &[u8]) -> Option<Hash> {
    bytes.try_into().ok().map(Hash)
}

/// A column of these rows.
pub(crate) fn column<'a, R, T: ToSql + Sync + Send + 'a>(rows: &[&'a R], value: impl Fn(&'a R) -> T) -> Column<'a> {
    Box::new(rows.iter().map(|row| value(row)).collect::<Vec<T>>())
}

pub(crate) fn as_param<'a>(column: &'a Column<'_>) -> &'a (dyn ToSql + Sync) {
    column.as_ref()
}
