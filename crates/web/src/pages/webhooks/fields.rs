//! The form of a webhook, and what it asks for.

use std::collections::BTreeSet;

use domain::delivery::{EventType, MASK, Webhook};
use maud::{Markup, html};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::super::{
    board::Form,
    layout::{Frame, name_of, shortened},
};
use crate::error::{ApiError, ApiResult};

const NAME_CHARS_MAX: usize = 80;

/// What the fields hold.
pub(super) struct Values {
    url: String,
    description: String,
    /// `None` for all.
    events: Option<BTreeSet<String>>,
    feeds: BTreeSet<String>,
    folders: BTreeSet<String>,
    headers: String,
    rate: String,
    has_content: bool,
    has_backlog: bool,
}

impl Values {
    /// Of a webhook that is not made yet.
    pub(super) fn blank() -> Self {
        Self {
            url: String::new(),
            description: String::new(),
            events: None,
            feeds: BTreeSet::new(),
            folders: BTreeSet::new(),
            headers: String::new(),
            rate: String::new(),
            has_content: true,
            has_backlog: false,
        }
    }

    /// As they are stored.
    pub(super) fn stored(webhook: &Webhook) -> Self {
        let events = webhook.event_types.as_ref();
        Self {
            url: webhook.url.clone(),
            description: webhook.description.clone().unwrap_or_default(),
            events: events.map(|kinds| kinds.iter().map(|kind| kind.name().to_owned()).collect()),
            feeds: webhook.feed_ids.iter().flatten().map(ToString::to_string).collect(),
            folders: webhook.folder_ids.iter().flatten().map(ToString::to_string).collect(),
            headers: webhook.headers.iter().map(|(name, _)| format!("{name}: {MASK}\n")).collect(),
            rate: webhook
                .rate_per_second
                .map_or_else(String::new, |rate| (f64::from(rate.thousandths()) / 1000.0).to_string()),
            has_content: webhook.include_content,
            has_backlog: webhook.backlog,
        }
    }

    /// As they were sent, and refused: nobody has to fill them in again.
    pub(super) fn typed(form: &Form) -> Self {
        let all = |name| form.all(name).map(ToOwned::to_owned).collect::<BTreeSet<_>>();
        let text = |name| form.text(name).to_owned();
        Self {
            url: text("url"),
            description: text("description"),
            events: Some(all("eventTypes")),
            feeds: all("feedIds"),
            folders: all("folderIds"),
            headers: text("headers"),
            rate: text("ratePerSecond"),
            has_content: form.text("includeContent") == "true",
            has_backlog: form.text("backlog") == "true",
        }
    }
}

/// The fields, with what they hold.
pub(super) fn fields(frame: &Frame, values: &Values) -> Markup {
    let has_event = |kind: EventType| values.events.as_ref().is_none_or(|names| names.contains(kind.name()));
    html! {
        label { "Address" input type="url" name="url" required maxlength="2000" placeholder="https://example.org/hook" value=(values.url); }
        label { "Note" input type="text" name="description" maxlength="500" value=(values.description); }
        fieldset {
            legend { "Events" }
            @for kind in EventType::ALL {
                label .check { input type="checkbox" name="eventTypes" value=(kind.name()) checked[has_event(kind)]; (kind.name()) }
            }
        }
        div .pair {
            @if !frame.feeds.is_empty() {
                label { "Only of these feeds (none chosen: all)"
                    select name="feedIds" multiple size="5" {
                        @for feed in &frame.feeds { option value=(feed.id) selected[values.feeds.contains(&feed.id.to_string())] { (shortened(name_of(feed), NAME_CHARS_MAX)) } }
                    }
                }
            }
            @if !frame.folders.is_empty() {
                label { "Only of feeds in these folders (none chosen: all)"
                    select name="folderIds" multiple size="5" {
                        @for folder in &frame.folders { option value=(folder.id) selected[values.folders.contains(&folder.id.to_string())] { (shortened(&folder.name, NAME_CHARS_MAX)) } }
                    }
                }
            }
        }
        label { "Headers to send along, each in a line"
            textarea name="headers" rows="2" maxlength="5000" placeholder="Authorization: Bearer …" aria-describedby="headers-note" { (values.headers) }
        }
        p .note #headers-note {
            "Values are secrets: a stored one is shown as " code { (MASK) }
            ", and that keeps it, as long as the URL leads to the same server."
        }
        label { "Requests a second at most (empty: no limit)" input type="number" name="ratePerSecond" min="0.001" max="10000" step="any" value=(values.rate); }
        label .check { input type="checkbox" name="includeContent" value="true" checked[values.has_content]; "Send entries with their content" }
        label .check { input type="checkbox" name="backlog" value="true" checked[values.has_backlog]; "Also send what a feed holds when it is first fetched" }
    }
}

/// What a form asks for, as a program would ask the API.
pub(super) fn body<T: DeserializeOwned>(form: &Form, stored: Option<&Webhook>) -> ApiResult<T> {
    let mut body = Map::new();
    body.insert("url".to_owned(), json!(form.text("url")));
    body.insert("description".to_owned(), json!(form.some("description")));
    body.insert("includeContent".to_owned(), json!(form.text("includeContent") == "true"));
    body.insert("backlog".to_owned(), json!(form.text("backlog") == "true"));
    body.insert("headers".to_owned(), headers(form.text("headers"))?);
    body.insert("ratePerSecond".to_owned(), rate(form.text("ratePerSecond"))?);
    let kinds: Vec<&str> = form.all("eventTypes").collect();
    // All of them means also those that a later version knows.
    let is_all = EventType::ALL.iter().all(|kind| kinds.contains(&kind.name()));
    body.insert("eventTypes".to_owned(), if is_all { Value::Null } else { json!(kinds) });
    for (name, of_none) in [
        ("feedIds", stored.is_some_and(|webhook| webhook.feed_ids.as_ref().is_some_and(Vec::is_empty))),
        ("folderIds", stored.is_some_and(|webhook| webhook.folder_ids.as_ref().is_some_and(Vec::is_empty))),
    ] {
        let ids: Vec<i64> = form.all(name).filter_map(|id| id.parse().ok()).collect();
        // A program may have asked for none at all, which a form cannot say: then it stays so.
        if !(ids.is_empty() && of_none) {
            body.insert(name.to_owned(), if ids.is_empty() { Value::Null } else { json!(ids) });
        }
    }
    serde_json::from_value(Value::Object(body)).map_err(|error| ApiError::BadRequest(error.to_string()))
}

/// `Name: value`, each in a line.
fn headers(text: &str) -> ApiResult<Value> {
    let mut pairs = Map::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // No sentence shows a line, which may be a secret.
        let wrong = || ApiError::field("headers", "write each in a line, as `Name: value`");
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        if pairs.insert(name.trim().to_owned(), json!(value.trim())).is_some() {
            return Err(ApiError::field("headers", "one is given more than once"));
        }
    }
    Ok(Value::Object(pairs))
}

fn rate(text: &str) -> ApiResult<Value> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let rate: f64 = text.trim().parse().map_err(|_| ApiError::field("ratePerSecond", "expected a number"))?;
    Ok(json!(rate))
}
