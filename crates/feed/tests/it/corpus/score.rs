//! Whether a model meets an expectation, by the rules of the corpus' own `score.py`.
//!
//! It differs where that is lax: two values that are no instants are not the same instant, and what is active in HTML
//! is so in SVG as well. Nothing in the corpus turns on either.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{
    html::{escaped, folded, is_safe, normalised},
    path::Path,
};

/// A line of `expectations.jsonl`.
#[derive(Debug, Deserialize)]
pub(super) struct Expectation {
    pub(super) file: String,
    pub(super) path: String,
    pub(super) op: Op,
    pub(super) value: Value,
    pub(super) cat: String,
    pub(super) tier: String,
    pub(super) flags: Vec<String>,
}

/// How the value found is compared with the one wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Op {
    Html,
    Eq,
    Ne,
    Instant,
    AuthorDisplay,
    Len,
    Absent,
    Present,
    Falsy,
    Truthy,
    Safe,
}

pub(super) fn is_met(expectation: &Expectation, model: &Value) -> bool {
    let Expectation { path, op, value: wanted, .. } = expectation;
    let steps = Path::of(path);
    let key = steps.key().unwrap_or_default();
    let found = steps.find(model);
    match op {
        Op::Html => is_same_html(&steps, found, &written(wanted), model),
        Op::Safe => is_safe_everywhere(&steps, &found, model),
        Op::Eq => found.iter().any(|found| is_equal(key, found, wanted)),
        Op::Ne => !found.iter().any(|found| is_equal(key, found, wanted)),
        Op::Instant => found.iter().any(|found| second(found).is_some_and(|found| Some(found) == second(wanted))),
        Op::AuthorDisplay => found.iter().any(|found| is_shown_as(found, &folded(&written(wanted)))),
        Op::Len => found.first().and_then(|found| found.as_array()).map_or(0, Vec::len) == length(wanted),
        Op::Absent => found.iter().all(|found| is_empty(found)),
        Op::Present => found.iter().any(|found| !matches!(found, Value::Null) && *found != ""),
        Op::Falsy => !found.iter().any(|found| is_truthy(found)),
        Op::Truthy => found.iter().any(|found| is_truthy(found)),
    }
}

/// Equal as HTML. Where there is no summary the content may stand for it, and the other way round.
fn is_same_html<'m>(steps: &Path<'_>, mut found: Vec<&'m Value>, wanted: &str, model: &'m Value) -> bool {
    if found.iter().all(|found| texts(found).is_empty()) {
        match steps.field() {
            Some("summary") => found = contents(steps, model),
            Some("content") => found = steps.of_entry("summary").find(model),
            _ => {}
        }
    }
    let found: Vec<String> = found.into_iter().flat_map(texts).collect();
    if found.is_empty() {
        return folded(wanted).is_empty();
    }
    found.iter().any(|found| folded(found) == folded(wanted))
        || found.iter().any(|found| normalised(found) == normalised(wanted))
}

/// No active content in any text. One that is declared plain is escaped by whoever shows it.
fn is_safe_everywhere(steps: &Path<'_>, found: &[&Value], model: &Value) -> bool {
    if found.iter().any(|found| is_plain(found)) {
        return true;
    }
    let mut shown: Vec<String> = found.iter().flat_map(|found| texts(found)).collect();
    if shown.is_empty() && steps.field() == Some("summary") {
        shown =
            contents(steps, model).iter().filter_map(|content| content["value"].as_str()).map(str::to_owned).collect();
    }
    shown.iter().all(|shown| is_safe(shown))
}

/// The contents beside a summary, each on its own.
fn contents<'m>(summary: &Path<'_>, model: &'m Value) -> Vec<&'m Value> {
    let found = summary.beside("content").find(model);
    found.into_iter().flat_map(|found| found.as_array().map_or(vec![found], |items| items.iter().collect())).collect()
}

/// The strings that a text may be taken as: a plain one also as the HTML that shows it.
fn texts(found: &Value) -> Vec<String> {
    match found {
        Value::Null => Vec::new(),
        Value::Object(_) => match found["value"].as_str() {
            None => Vec::new(),
            Some(text) if is_plain(found) => vec![text.to_owned(), escaped(text)],
            Some(text) => vec![text.to_owned()],
        },
        _ => vec![written(found)],
    }
}

fn is_plain(found: &Value) -> bool {
    matches!(found["type"].as_str(), Some("text" | "text/plain"))
}

/// Equal as values under this key: types in their long or short form, URLs with or without a slash at the end, numbers
/// by what they are worth.
fn is_equal(key: &str, found: &Value, wanted: &Value) -> bool {
    let found = found.get("value").unwrap_or(found);
    match (found, wanted) {
        (Value::Null, _) => wanted.is_null() || key == "rel" && wanted == "alternate",
        (_, Value::Null) => false,
        (Value::Bool(_), _) | (_, Value::Bool(_)) => is_same_truth(found, wanted),
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_)) => found == wanted,
        _ => is_equal_text(key, &folded(&written(found)), &folded(&written(wanted))),
    }
}

fn is_same_truth(found: &Value, wanted: &Value) -> bool {
    let meant = match written(wanted).as_str() {
        "true" | "True" | "1" => ["true", "yes", "1"].as_slice(),
        _ => &["false", "no", "0", "clean"],
    };
    meant.contains(&written(found).to_lowercase().as_str())
}

fn is_equal_text(key: &str, found: &str, wanted: &str) -> bool {
    if found == wanted {
        return true;
    }
    if key == "type" {
        return media_type(found) == media_type(wanted);
    }
    if ["link", "href", "url", "icon", "logo", "id", "src"].iter().any(|end| key.ends_with(end)) {
        return found.trim_end_matches('/') == wanted.trim_end_matches('/');
    }
    let is_number = wanted.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_number && found.parse::<f64>().is_ok_and(|found| wanted.parse() == Ok(found))
}

fn media_type(name: &str) -> &str {
    match name {
        "text" => "text/plain",
        "html" => "text/html",
        "xhtml" => "application/xhtml+xml",
        other => other,
    }
}

/// Whether an author may be shown so: by name, address or page alone, or by name and address in either order.
fn is_shown_as(author: &Value, wanted: &str) -> bool {
    let part = |key: &str| author[key].as_str().unwrap_or_default();
    let (name, email) = (part("name"), part("email"));
    match author {
        Value::String(author) => folded(author) == wanted,
        Value::Object(_) => {
            [name, email, part("url"), &format!("{name} ({email})"), &format!("{email} ({name})")].contains(&wanted)
        }
        _ => false,
    }
}

fn second(value: &Value) -> Option<i64> {
    value.as_str()?.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

fn length(wanted: &Value) -> usize {
    wanted.as_u64().and_then(|length| usize::try_from(length).ok()).expect("a length of the corpus is a number")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        other => !is_empty(other),
    }
}

fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
