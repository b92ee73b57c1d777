//! Headers that a user wants to be sent along.

use std::fmt;

use axum::http::HeaderName;
use domain::delivery::{HeaderValue, Webhook, WebhookHeaders, WebhookPatch, unknown_masked_header};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use url::Url;

use crate::error::{ApiError, ApiResult};

/// Headers of one webhook.
pub(super) const HEADERS_MAX: usize = 20;

/// Characters of a name, and of a value.
pub(super) const HEADER_NAME_CHARS_MAX: usize = 96;
pub(super) const HEADER_VALUE_CHARS_MAX: usize = 4000;

/// Bytes of all of them, names and values.
const HEADERS_BYTES_MAX: usize = 4096;

/// Headers that are ours to set: they say where a request goes, how it is sent, what it holds and who sends it.
const RESERVED_HEADERS: [&str; 16] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// What our own headers begin with.
const RESERVED_PREFIXES: [&str; 2] = ["webhook-", "pirssonite-"];

/// Names and values as they were given, in their order.
#[derive(Default)]
pub(crate) struct HeadersInput(Vec<(String, String)>);

impl<'de> Deserialize<'de> for HeadersInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = HeadersInput;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of names and texts")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<HeadersInput, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(HeadersInput(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// Headers that can be sent. No sentence shows a value, which may be a secret.
pub(super) fn checked(HeadersInput(given): HeadersInput) -> ApiResult<WebhookHeaders> {
    let refused = |problem: String| Err(ApiError::field("headers", problem));
    if given.len() > HEADERS_MAX {
        return refused(format!("more than {HEADERS_MAX}"));
    }
    if given.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > HEADERS_BYTES_MAX {
        return refused(format!("more than {HEADERS_BYTES_MAX} bytes in all"));
    }
    let mut headers: WebhookHeaders = Vec::with_capacity(given.len());
    for (name, value) in given {
        if name.chars().count() > HEADER_NAME_CHARS_MAX || value.chars().count() > HEADER_VALUE_CHARS_MAX {
            return refused(format!(
                "a name has at most {HEADER_NAME_CHARS_MAX} characters, and a value {HEADER_VALUE_CHARS_MAX}"
            ));
        }
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return refused(format!("`{name}` can be no header's name"));
        }
        let known = name.to_ascii_lowercase();
        if RESERVED_HEADERS.contains(&known.as_str())
            || RESERVED_PREFIXES.iter().any(|prefix| known.starts_with(prefix))
        {
            return refused(format!("`{name}` is set by this server itself"));
        }
        if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            return refused(format!("`{name}` is given more than once"));
        }
        if !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
            return refused(format!("the value of `{name}` must be one line of ASCII"));
        }
        headers.push((name, HeaderValue::new(value.trim())));
    }
    Ok(headers)
}

/// Refuses another server where stored values would go along: they are secrets of the one that they were given for, and who
/// may change a webhook may not read them.
pub(super) fn check_not_for_another(wanted: &WebhookPatch, before: &Webhook) -> ApiResult<()> {
    let origin = |url: &str| Url::parse(url).map(|url| url.origin());
    let is_another = wanted.url.as_deref().is_some_and(|url| origin(url) != origin(&before.url));
    let are_stored_sent = wanted.headers.is_none() || wanted.has_masked_headers();
    if !is_another || !are_stored_sent || before.headers.is_empty() {
        return Ok(());
    }
    let problem =
        "the stored values are not sent to another server: send all headers with their values, or null for none";
    Err(ApiError::field("headers", problem))
}

/// Refuses a value that is masked where there is no stored one that it could stand for.
pub(super) fn check_masked(wanted: &WebhookPatch, stored: &[(String, HeaderValue)]) -> ApiResult<()> {
    let wanted = wanted.headers.as_deref().unwrap_or_default();
    match unknown_masked_header(wanted, stored) {
        None => Ok(()),
        Some(name) => Err(ApiError::field(
            "headers",
            format_args!("`***` keeps the stored value of `{name}`, but none is stored: send its value"),
        )),
    }
}
