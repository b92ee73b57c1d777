//! What a user wants of a webhook, checked field by field.

use std::collections::HashSet;

use domain::{
    AccountId, FeedId, FolderId,
    delivery::{EventType, NewWebhook, Rate, Webhook, WebhookPatch, WebhookSecret},
    feed_state::FeedAddress,
};
use serde::Deserialize;
use url::Url;
use utoipa::ToSchema;

use super::{
    headers::{self, HeadersInput},
    schemas,
};
use crate::{
    error::{ApiError, ApiResult},
    extract::{PatchField, check_length, patch_field},
    state::AppState,
    views::ids,
};

/// Characters of a webhook's URL as it is written.
const URL_CHARS_MAX: usize = 2000;

/// The same as it is kept and shown. What is a URL after RFC 3986 is never longer: `'` becomes `%27`, a path that is not
/// there `/`, and an address such as `127.1` has four numbers.
const URL_KEPT_CHARS_MAX: usize = 3 * URL_CHARS_MAX + 16;

/// Characters of its description.
const DESCRIPTION_CHARS_MAX: usize = 500;

/// Feeds, or folders, that one names.
const IDS_MAX: usize = 10_000;

/// A webhook to make.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewWebhook)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateBody {
    /// Where events are sent: http or https, without a user, a password or a fragment. It is kept and shown as it is sent
    /// to: what is not ASCII is percent-encoded.
    #[schema(format = "uri", max_length = 2000, pattern = r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]*([/?][^#]*)?$")]
    url: String,
    /// A note about it.
    #[schema(max_length = 500)]
    description: Option<String>,
    /// Whether events are sent; they are, if it is not said.
    enabled: Option<bool>,
    /// Which; null for all.
    #[schema(schema_with = schemas::event_types)]
    event_types: Option<Vec<String>>,
    /// Of which feeds; null for all, an empty list for none. If folders are named too: of either.
    #[schema(value_type = Option<Vec<ids::FeedId>>, max_items = 10_000)]
    feed_ids: Option<Vec<FeedId>>,
    /// Of the feeds in which folders; null for all, an empty list for none.
    #[schema(value_type = Option<Vec<ids::FolderId>>, max_items = 10_000)]
    folder_ids: Option<Vec<FolderId>>,
    /// Headers to send along, such as `Authorization`. Their values are secrets, and shown as `***` from then on.
    #[schema(schema_with = schemas::headers)]
    headers: Option<HeadersInput>,
    /// Whether entries are sent with their content and summary; they are, if it is not said.
    include_content: Option<bool>,
    /// Whether the entries that a feed holds when it is first fetched are sent; they are not, if it is not said.
    backlog: Option<bool>,
    /// Requests a second that it is sent at most, to a thousandth; null for no such limit.
    #[schema(minimum = 0.001, maximum = 10_000)]
    rate_per_second: Option<f64>,
}

/// What to change about a webhook. What is not named stays.
#[derive(Deserialize, ToSchema)]
#[schema(as = WebhookPatch)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchBody {
    /// Where events are sent: http or https, without a user, a password or a fragment. The stored one can be sent back as
    /// it is shown, also if percent-encoding has made it longer than may be written.
    #[schema(format = "uri", max_length = 2000, pattern = r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]*([/?][^#]*)?$")]
    url: Option<String>,
    /// A note about it; null for none.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(value_type = Option<String>, max_length = 500)]
    description: PatchField<String>,
    /// Whether events are sent.
    enabled: Option<bool>,
    /// Which; null for all.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(schema_with = schemas::event_types)]
    event_types: PatchField<Vec<String>>,
    /// Of which feeds; null for all, an empty list for none.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(value_type = Option<Vec<ids::FeedId>>, max_items = 10_000)]
    feed_ids: PatchField<Vec<FeedId>>,
    /// Of the feeds in which folders; null for all, an empty list for none.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(value_type = Option<Vec<ids::FolderId>>, max_items = 10_000)]
    folder_ids: PatchField<Vec<FolderId>>,
    /// All headers to send along; null for none. The value `***` keeps the stored value of the header of that name.
    /// With a URL of another origin all have to be sent again, if there are any.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(schema_with = schemas::headers)]
    headers: PatchField<HeadersInput>,
    /// Whether entries are sent with their content and summary.
    include_content: Option<bool>,
    /// Whether the entries that a feed holds when it is first fetched are sent.
    backlog: Option<bool>,
    /// Requests a second that it is sent at most, to a thousandth; null for no such limit.
    #[serde(default, deserialize_with = "patch_field")]
    #[schema(value_type = Option<f64>, minimum = 0.001, maximum = 10_000)]
    rate_per_second: PatchField<f64>,
}

impl From<CreateBody> for PatchBody {
    fn from(body: CreateBody) -> Self {
        Self {
            url: Some(body.url),
            description: Some(body.description),
            enabled: body.enabled,
            event_types: Some(body.event_types),
            feed_ids: Some(body.feed_ids),
            folder_ids: Some(body.folder_ids),
            headers: Some(body.headers),
            include_content: body.include_content,
            backlog: body.backlog,
            rate_per_second: Some(body.rate_per_second),
        }
    }
}

impl PatchBody {
    /// Whether its URL is longer than may be written, and may be a stored one.
    pub(super) fn may_have_stored_url(&self) -> bool {
        self.url.as_deref().is_some_and(|text| (URL_CHARS_MAX + 1..=URL_KEPT_CHARS_MAX).contains(&text.len()))
    }

    /// The same without a URL that is the stored one, as it is shown: that changes nothing.
    pub(super) fn without_url_of(self, before: &Webhook) -> Self {
        let url = self.url.filter(|url| *url != before.url);
        Self { url, ..self }
    }

    /// All that can be known to be right by itself.
    pub(super) fn checked(self) -> ApiResult<WebhookPatch> {
        Ok(WebhookPatch {
            url: self.url.as_deref().map(url).transpose()?,
            description: self.description.map(|text| description(&text.unwrap_or_default())).transpose()?,
            enabled: self.enabled,
            event_types: self.event_types.map(|kinds| kinds.map(event_types).transpose()).transpose()?,
            feed_ids: self.feed_ids.map(|ids| ids.map(|ids| deduplicated("feedIds", ids)).transpose()).transpose()?,
            folder_ids: self
                .folder_ids
                .map(|ids| ids.map(|ids| deduplicated("folderIds", ids)).transpose())
                .transpose()?,
            headers: self.headers.map(|given| headers::checked(given.unwrap_or_default())).transpose()?,
            include_content: self.include_content,
            backlog: self.backlog,
            rate_per_second: self.rate_per_second.map(|given| given.map(rate).transpose()).transpose()?,
        })
    }
}

/// A webhook as it is wanted, with what is not said.
pub(super) fn new_webhook(wanted: WebhookPatch, secret: WebhookSecret) -> NewWebhook {
    let usual = NewWebhook::to(wanted.url.unwrap_or_default(), secret);
    NewWebhook {
        description: wanted.description.flatten(),
        enabled: wanted.enabled.unwrap_or(usual.enabled),
        event_types: wanted.event_types.flatten(),
        feed_ids: wanted.feed_ids.flatten(),
        folder_ids: wanted.folder_ids.flatten(),
        headers: wanted.headers.unwrap_or_default(),
        include_content: wanted.include_content.unwrap_or(usual.include_content),
        backlog: wanted.backlog.unwrap_or(usual.backlog),
        rate_per_second: wanted.rate_per_second.flatten(),
        ..usual
    }
}

fn rate(given: f64) -> ApiResult<Rate> {
    let (min, max) = Rate::RANGE;
    let wrong =
        || ApiError::field("ratePerSecond", format!("write a number from {min} to {max}, or null for no limit"));
    Rate::per_second(given).ok_or_else(wrong)
}

/// Whether a change can be judged only beside what is stored.
pub(super) fn needs_stored(patch: &WebhookPatch) -> bool {
    patch.url.is_some() || patch.feed_ids.is_some() || patch.folder_ids.is_some() || patch.has_masked_headers()
}

/// Refuses another URL that nothing may be sent to.
pub(super) async fn check_url(state: &AppState, wanted: &WebhookPatch, before: Option<&Webhook>) -> ApiResult<()> {
    let Some(url) = wanted.url.as_deref().filter(|url| before.is_none_or(|webhook| webhook.url != *url)) else {
        return Ok(());
    };
    state.engine.check_url(url).await.map_err(|error| ApiError::field("url", error))
}

/// Refuses feeds and folders that are not there, but for those that the webhook names already: one of a feed that was
/// removed can still be changed.
pub(super) async fn check_ids_exist(
    state: &AppState,
    account: AccountId,
    wanted: &WebhookPatch,
    before: Option<&Webhook>,
) -> ApiResult<()> {
    let had = before.and_then(|webhook| webhook.feed_ids.as_deref());
    let new = not_in(wanted.feed_ids.as_ref(), had);
    if !new.is_empty() {
        let there = state.store().feeds(account).await?.iter().map(|feed| feed.id).collect();
        check_exist("feedIds", "feed", &new, &there)?;
    }
    let had = before.and_then(|webhook| webhook.folder_ids.as_deref());
    let new = not_in(wanted.folder_ids.as_ref(), had);
    if !new.is_empty() {
        let there = state.store().folders(account).await?.iter().map(|folder| folder.id).collect();
        check_exist("folderIds", "folder", &new, &there)?;
    }
    Ok(())
}

fn not_in<T: Copy + PartialEq>(wanted: Option<&Option<Vec<T>>>, had: Option<&[T]>) -> Vec<T> {
    let wanted = wanted.into_iter().flatten().flatten().copied();
    wanted.filter(|id| !had.unwrap_or_default().contains(id)).collect()
}

fn check_exist<T>(field: &'static str, what: &str, ids: &[T], there: &HashSet<T>) -> ApiResult<()>
where
    T: Eq + std::hash::Hash + std::fmt::Display,
{
    match ids.iter().find(|id| !there.contains(id)) {
        Some(id) => Err(ApiError::UnknownReference(field, format!("there is no {what} {id}"))),
        None => Ok(()),
    }
}

/// Where events are sent.
fn url(text: &str) -> ApiResult<String> {
    let refused = |problem: &str| Err(ApiError::field("url", problem));
    check_length("url", text, URL_CHARS_MAX)?;
    let text = text.trim();
    let url = match (Url::parse(text), FeedAddress::parse(text)) {
        (Ok(url), _) => url,
        // What is wrong with it is the same as with a feed's, and told in the same words.
        (Err(_), Err(problem)) => return refused(&problem.to_string()),
        (Err(_), Ok(_)) => return refused("not a URL"),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refused("only http and https can be sent to");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("write it without a user and a password: `headers` can hold an `Authorization`");
    }
    if url.fragment().is_some() {
        return refused("write it without #: what follows is never sent");
    }
    if url.as_str().len() > URL_KEPT_CHARS_MAX {
        return refused(&format!("longer than {URL_KEPT_CHARS_MAX} characters when it is percent-encoded"));
    }
    Ok(url.into())
}

/// A note, in as many lines as one likes; an empty one is none.
fn description(text: &str) -> ApiResult<Option<String>> {
    check_length("description", text, DESCRIPTION_CHARS_MAX)?;
    let text: String = text.trim().chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn event_types(names: Vec<String>) -> ApiResult<Vec<EventType>> {
    let kind = |name: String| {
        EventType::by_name(&name).ok_or_else(|| {
            let known = EventType::ALL.map(EventType::name).join(", ");
            ApiError::field("eventTypes", format_args!("there is no `{name}`; there are {known}"))
        })
    };
    deduplicated("eventTypes", names.into_iter().map(kind).collect::<ApiResult<_>>()?)
}

/// The same without what is named twice.
fn deduplicated<T: Copy + Eq + std::hash::Hash>(field: &str, list: Vec<T>) -> ApiResult<Vec<T>> {
    if list.len() > IDS_MAX {
        return Err(ApiError::field(field, format_args!("more than {IDS_MAX}")));
    }
    let mut seen = HashSet::new();
    Ok(list.into_iter().filter(|item| seen.insert(*item)).collect())
}
