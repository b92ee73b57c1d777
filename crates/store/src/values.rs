//! Values on their way into a database and out of it.

use std::{borrow::Cow, time::Duration};

use domain::{
    AccountId, File,
    account::TokenScope,
    delivery::{DeliveryStatus, EventType, HeaderValue, OldSecrets, WebhookHeaders, WebhookSecret},
    feed_state::FeedAddress,
    figures::{Metric, Series},
    found_by::FoundBy,
    ingest::Hash,
    push::{Mode, Secrets, Subscription, SubscriptionState},
};
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};

/// The longest delay that is kept: beyond it an instant might not fit.
const DELAY_MAX: Duration = Duration::from_hours(24 * 365 * 100);

/// The states of subscriptions that this version knows, for a statement. A later one, on the same database, may know more,
/// and sees to those.
macro_rules! known_states {
    () => {
        "state IN ('pending', 'active', 'inactive', 'unsubscribing')"
    };
}
pub(crate) use known_states;

/// When tests of webhooks are due: before all else that waits for theirs.
pub(crate) const DUE_FIRST_MS: i64 = 0;

/// A text as both stores keep it: PostgreSQL refuses NUL, and no reader ever sees one.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// The same, of a text that may not be there.
pub(crate) fn optional(value: Option<&String>) -> Option<Cow<'_, str>> {
    value.map(|value| text(value))
}

/// Whether a document gives its feed another title than is known. One without a title changes none.
pub(crate) fn is_renamed(new: Option<&String>, known: Option<&str>) -> bool {
    let new = optional(new);
    new.is_some() && new.as_deref() != known
}

/// The hash of the feed that an account means by an address.
pub(crate) fn url_hash(address: &FeedAddress, account: AccountId) -> [u8; 16] {
    FoundBy::at(address, account).hash(&address.url).0
}

/// What a feed with this URL may be found by, for an account that follows it.
pub(crate) fn url_hashes(url: &str, account: AccountId) -> [[u8; 16]; 3] {
    FoundBy::all(account).map(|found| found.hash(url).0)
}

pub(crate) fn millis(delay: Duration) -> i64 {
    i64::try_from(delay.min(DELAY_MAX).as_millis()).unwrap_or(i64::MAX)
}

/// The instant of a column. What no clock can show becomes the nearest that one can.
pub(crate) fn time(millis: i64) -> Timestamp {
    let nearest = if millis < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(millis).unwrap_or(nearest)
}

/// A subscription as it will be read again: times in milliseconds, texts without NUL.
pub(crate) fn as_kept(subscription: Subscription) -> Subscription {
    let kept = |at: Option<Timestamp>| at.map(|at| time(at.as_millisecond()));
    Subscription {
        base_url: text(&subscription.base_url).into_owned(),
        expires_at: kept(subscription.expires_at),
        activated_at: kept(subscription.activated_at),
        verified_at: kept(subscription.verified_at),
        verify_by: kept(subscription.verify_by),
        last_error: optional(subscription.last_error.as_ref()).map(Cow::into_owned),
        last_push_at: kept(subscription.last_push_at),
        next_step_at: kept(subscription.next_step_at),
        retry_at: kept(subscription.retry_at),
        ..subscription
    }
}

/// A count of a column, which is never below zero.
pub(crate) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The same, where 32 bits are enough.
pub(crate) fn to_u32(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

/// The account that a figure is of, for a column: 0, which no account has, for the whole server.
pub(crate) fn figure_account(account: Option<AccountId>) -> i64 {
    account.map_or(0, |account| account.0)
}

/// What a metric is made of, for a statement.
pub(crate) fn series_of(metric: Metric) -> Vec<i64> {
    metric.series().into_iter().map(Series::number).collect()
}

/// How many there are, for a column.
pub(crate) fn usize_to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Categories in one column, without NUL, which no database takes however it is written.
pub(crate) fn categories(categories: &[String]) -> serde_json::Result<Cow<'static, str>> {
    json(categories, |category| text(category))
}

/// The same of enclosures.
pub(crate) fn enclosures(files: &[File]) -> serde_json::Result<Cow<'static, str>> {
    json(files, |file| File {
        url: text(&file.url).into_owned(),
        mime: optional(file.mime.as_ref()).map(Cow::into_owned),
        length: file.length,
        duration_secs: file.duration_secs,
    })
}

fn json<'a, T, C: Serialize>(list: &'a [T], cleaned: impl Fn(&'a T) -> C) -> serde_json::Result<Cow<'static, str>> {
    if list.is_empty() {
        return Ok(Cow::Borrowed("[]"));
    }
    serde_json::to_string(&list.iter().map(cleaned).collect::<Vec<_>>()).map(Cow::Owned)
}

/// The hash that a topic is found by. A topic is a string and no address: nothing in it is put in order.
pub(crate) fn topic_hash(topic: &str) -> [u8; 16] {
    Hash::of(topic.as_bytes()).0
}

/// Hubs in one column.
pub(crate) fn hubs(hubs: &[String]) -> serde_json::Result<Cow<'static, str>> {
    json(hubs, |hub| text(hub))
}

/// Hubs out of their column.
pub(crate) fn hubs_of(column: &str) -> serde_json::Result<Vec<String>> {
    serde_json::from_str(column)
}

/// Secrets in one column.
pub(crate) fn secrets(secrets: &Secrets) -> serde_json::Result<String> {
    serde_json::to_string(secrets)
}

/// Secrets out of their column.
pub(crate) fn secrets_of(column: &str) -> serde_json::Result<Secrets> {
    serde_json::from_str(column)
}

/// A state out of its column.
pub(crate) fn state_of(column: &str) -> Result<SubscriptionState, Unreadable> {
    SubscriptionState::by_name(column).ok_or_else(|| Unreadable(column.to_owned()))
}

/// What a hub was asked for, out of its column.
pub(crate) fn asked_of(column: Option<&str>) -> Result<Option<Mode>, Unreadable> {
    let mode = |name: &str| Mode::by_name(name).ok_or_else(|| Unreadable(name.to_owned()));
    column.map(mode).transpose()
}

/// A count, for a column.
pub(crate) fn u64_to_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A text in a column that says nothing we know: a later version's, or a person's.
#[derive(Debug, thiserror::Error)]
#[error("nobody knows what {0:?} means here")]
pub(crate) struct Unreadable(String);

/// What an attempt's error may be long.
pub(crate) const ERROR_BYTES_MAX: usize = 1024;

/// The beginning of a text, without NUL: at most so many bytes, and no half of a character.
pub(crate) fn beginning(value: &str, bytes_max: usize) -> Cow<'_, str> {
    let mut end = value.len().min(bytes_max);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    text(&value[..end])
}

/// A list in one column, or none: kinds of events, ids of feeds and of folders.
pub(crate) fn list<T: Serialize>(list: Option<&Vec<T>>) -> serde_json::Result<Option<String>> {
    list.map(serde_json::to_string).transpose()
}

/// Ids out of their column.
pub(crate) fn ids_of<T: DeserializeOwned>(column: Option<&str>) -> serde_json::Result<Option<Vec<T>>> {
    column.map(serde_json::from_str).transpose()
}

/// Kinds of events out of their column. One that nobody knows is wanted by nobody.
pub(crate) fn kinds_of(column: Option<&str>) -> serde_json::Result<Option<Vec<EventType>>> {
    let names: Option<Vec<String>> = column.map(serde_json::from_str).transpose()?;
    Ok(names.map(|names| names.iter().filter_map(|name| EventType::by_name(name)).collect()))
}

/// Headers in one column.
pub(crate) fn headers(headers: &[(String, HeaderValue)]) -> serde_json::Result<Cow<'static, str>> {
    json(headers, |(name, value)| (text(name), text(value.expose())))
}

/// Headers out of their column.
pub(crate) fn headers_of(column: &str) -> Result<WebhookHeaders, Unreadable> {
    // The error would quote what may be a password.
    let headers: Vec<(String, String)> =
        serde_json::from_str(column).map_err(|_| Unreadable("the headers of a webhook".to_owned()))?;
    Ok(headers.into_iter().map(|(name, value)| (name, HeaderValue::new(value))).collect())
}

/// A webhook's secret out of its column.
pub(crate) fn webhook_secret_of(column: &str) -> Result<WebhookSecret, Unreadable> {
    // Never the text itself: what says nothing to us may still be a secret.
    WebhookSecret::parse(column).ok_or_else(|| Unreadable("a webhook's secret".to_owned()))
}

/// Old secrets in one column.
pub(crate) fn old_secrets(old: &OldSecrets) -> serde_json::Result<String> {
    let old: Vec<_> = old.0.iter().map(|(secret, until)| (secret.expose(), until.as_millisecond())).collect();
    serde_json::to_string(&old)
}

/// Old secrets out of their column.
pub(crate) fn old_secrets_of(column: &str) -> Result<OldSecrets, Unreadable> {
    let old: Result<Vec<(String, i64)>, _> = serde_json::from_str(column);
    let old = old.map_err(|_| Unreadable("the old secrets of a webhook".to_owned()))?;
    let old = old.iter().map(|(secret, until)| Ok((webhook_secret_of(secret)?, time(*until))));
    old.collect::<Result<_, _>>().map(OldSecrets)
}

/// What happened in the millisecond of an instant, but before it, is not since then.
pub(crate) fn ceiling_ms(since: Timestamp) -> i64 {
    let millis = since.as_millisecond();
    if Timestamp::from_millisecond(millis).is_ok_and(|kept| kept < since) { millis + 1 } else { millis }
}

/// What a token may do, out of its column.
pub(crate) fn scope_of(column: &str) -> Result<TokenScope, Unreadable> {
    TokenScope::by_name(column).ok_or_else(|| Unreadable(column.to_owned()))
}

/// A kind of event out of its column.
pub(crate) fn kind_of(column: &str) -> Result<EventType, Unreadable> {
    EventType::by_name(column).ok_or_else(|| Unreadable(column.to_owned()))
}

/// How a delivery stands, out of its column.
pub(crate) fn status_of(column: &str) -> Result<DeliveryStatus, Unreadable> {
    DeliveryStatus::by_name(column).ok_or_else(|| Unreadable(column.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p2_statements_name_the_states_that_are_known() {
        let names = SubscriptionState::ALL.map(|state| format!("'{}'", state.name())).join(", ");
        assert_eq!(known_states!(), format!("state IN ({names})"));
        for by_due in [
            include_str!("postgres/push/sql/subscription_claims_by_due.sql"),
            include_str!("sqlite/push/sql/subscription_claims_by_due.sql"),
            include_str!("postgres/push/sql/living.sql"),
        ] {
            assert!(by_due.contains(known_states!()), "{by_due}");
        }
    }
}
