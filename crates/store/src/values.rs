//! Values on their way into a database and out of it.

use std::{borrow::Cow, time::Duration};

use domain::{
    File,
    feed_state::FeedAddress,
    ingest::Hash,
    push::{Mode, Secrets, SubscriptionState},
};
use jiff::Timestamp;
use serde::Serialize;

/// The longest delay that is kept: beyond it an instant might not fit.
const DELAY_MAX: Duration = Duration::from_hours(24 * 365 * 100);

/// A text as both stores keep it: PostgreSQL refuses NUL, and no reader ever sees one.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// The same, of a text that may not be there.
pub(crate) fn optional(value: Option<&String>) -> Option<Cow<'_, str>> {
    value.map(|value| text(value))
}

/// The hash that a URL is found by.
pub(crate) fn url_hash(address: &FeedAddress) -> [u8; 16] {
    Hash::of(address.url.as_bytes()).0
}

pub(crate) fn millis(delay: Duration) -> i64 {
    i64::try_from(delay.min(DELAY_MAX).as_millis()).unwrap_or(i64::MAX)
}

/// The instant of a column. What no clock can show becomes the nearest that one can.
pub(crate) fn time(millis: i64) -> Timestamp {
    let nearest = if millis < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(millis).unwrap_or(nearest)
}

/// A count of a column, which is never below zero.
pub(crate) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The same, where 32 bits are enough.
pub(crate) fn small(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

/// How many there are, for a column.
pub(crate) fn total(count: usize) -> i64 {
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
pub(crate) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A text in a column that says nothing we know: a later version's, or a person's.
#[derive(Debug, thiserror::Error)]
#[error("nobody knows what {0:?} means here")]
pub(crate) struct Unreadable(String);
