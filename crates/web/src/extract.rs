//! What routes take out of a request, with our errors instead of the framework's: every problem is a 400 (408, 413, 415)
//! whose sentence names the field.

use std::error::Error;

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request, rejection::JsonRejection},
    http::{HeaderMap, header, request::Parts},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, IntoDeserializer, value},
};

use crate::{
    body,
    error::{ApiError, ApiResult},
    state::AppState,
};

#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<AppState> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> ApiResult<Self> {
        json_within(request, state, state.settings.json_bytes_max).await.map(Self)
    }
}

/// The JSON of a body that is no larger than this.
pub(crate) async fn json_within<T: DeserializeOwned>(
    request: Request,
    state: &AppState,
    bytes_max: usize,
) -> ApiResult<T> {
    check_json(request.headers())?;
    from_json(&body::read(request.into_body(), bytes_max, state.settings.json_timeout).await?)
}

/// A JSON body that may be left out, and is empty then, whatever the headers say of it; or null, which says the same.
#[derive(Debug)]
pub(crate) struct JsonOrNothing<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<AppState> for JsonOrNothing<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> ApiResult<Self> {
        let (parts, body) = request.into_parts();
        let bytes = body::read(body, state.settings.json_bytes_max, state.settings.json_timeout).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_json(&parts.headers)?;
        if bytes.trim_ascii() == b"null" {
            return Ok(Self(T::default()));
        }
        from_json(&bytes).map(Self)
    }
}

/// What an id is: a number of 64 bits.
pub(crate) const WHOLE_NUMBER: &str = "a whole number, at most 9223372036854775807";

/// The id in the path.
#[derive(Debug)]
pub(crate) struct Id<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let text = Path::<String>::from_request_parts(parts, state).await.ok();
        let number = text.and_then(|Path(text)| without_zero_fraction(&text).parse::<i64>().ok());
        let id = number.and_then(|number| T::deserialize(number.into_deserializer()).map_err(drop_error).ok());
        id.map(Self).ok_or_else(|| ApiError::field("id", format_args!("the id in the path must be {WHOLE_NUMBER}")))
    }
}

fn drop_error(_: value::Error) {}

/// A number without the `.0` at its end: to JSON, and so to the description, it is a whole number with it too.
pub(crate) fn without_zero_fraction(text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    }
}

/// A field that may be null (`Some(None)`: clear it) or not there (`None`: keep it).
pub(crate) type PatchField<T> = Option<Option<T>>;

/// Reads a [`PatchField`] that is there; `#[serde(default)]` makes one that is not.
pub(crate) fn patch_field<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<PatchField<T>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Refuses a text that is longer than described, as it came: what is left out of it later counts too.
pub(crate) fn check_length(field: &str, text: &str, chars_max: usize) -> ApiResult<()> {
    if text.chars().count() > chars_max {
        return Err(ApiError::field(field, format_args!("longer than {chars_max} characters")));
    }
    Ok(())
}

/// The media type of a body, in lower case, without its parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Refuses a body that is compressed, which would be taken for garbage.
pub(crate) fn check_not_encoded(headers: &HeaderMap) -> ApiResult<()> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(ApiError::UnsupportedMediaType("send the body as it is, without `Content-Encoding`"))
        }
        _ => Ok(()),
    }
}

/// Refuses what does not say that it is JSON. Also a guard: a foreign page can send JSON only after asking, and it is
/// never told yes.
fn check_json(headers: &HeaderMap) -> ApiResult<()> {
    check_not_encoded(headers)?;
    if content_type(headers).is_some_and(|kind| is_json(&kind)) {
        return Ok(());
    }
    Err(ApiError::UnsupportedMediaType("send JSON, with `Content-Type: application/json`"))
}

fn is_json(kind: &str) -> bool {
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Reads an object, and nothing but one: a list would be taken for the values of its fields in their order, so that an
/// empty one stood for an object that asks for nothing or, in the case of a filter, for everything.
fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    if !bytes.trim_ascii_start().starts_with(b"{") {
        let axum::Json(IgnoredAny) = axum::Json::from_bytes(bytes).map_err(|rejection| bad_json(&rejection))?;
        return Err(ApiError::BadRequest("the body must be a JSON object".to_owned()));
    }
    match axum::Json::from_bytes(bytes) {
        Ok(axum::Json(value)) => Ok(value),
        Err(rejection) => read_whole_numbers(bytes).ok_or_else(|| bad_json(&rejection)),
    }
}

/// Reads it once more with `5.0` as `5`: to JSON both are the same whole number, and some programs write it so.
fn read_whole_numbers<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let axum::Json(value) = axum::Json::from_bytes(&without_zero_fractions(bytes)?).ok()?;
    Some(value)
}

/// The same JSON with `5` for `5.0`; `None` if there is no such number in it. All else stays as it is.
fn without_zero_fractions(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut shorter = Vec::with_capacity(bytes.len());
    let (mut is_in_text, mut place) = (false, 0);
    while let Some(&byte) = bytes.get(place) {
        let rest = &bytes[place + 1..];
        match byte {
            b'"' => is_in_text = !is_in_text,
            // What is escaped ends no text.
            b'\\' if is_in_text => {
                shorter.push(byte);
                place += 1;
            }
            b'.' if !is_in_text => {
                let zeros = rest.iter().take_while(|byte| **byte == b'0').count();
                let goes_on = rest.get(zeros).is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'e' | b'E'));
                if zeros > 0 && !goes_on {
                    place += 1 + zeros;
                    continue;
                }
            }
            _ => {}
        }
        shorter.extend(bytes.get(place));
        place += 1;
    }
    (shorter.len() < bytes.len()).then_some(shorter)
}

fn bad_json(rejection: &JsonRejection) -> ApiError {
    let reason = rejection_reason(rejection);
    ApiError::BadRequest(match rejection {
        JsonRejection::JsonSyntaxError(_) => format!("the body is not valid JSON: {reason}"),
        _ => format!("the body is not as wanted: {reason}"),
    })
}

/// What the JSON reader says, and what JSON calls it.
const WORDS: [(&str, &str); 6] = [
    ("expected i64", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected u32", "expected a whole number"),
    ("expected a sequence", "expected a list"),
    ("invalid type: sequence,", "invalid type: list,"),
    ("invalid type: map,", "invalid type: object,"),
];

/// What the JSON reader found, with the field and the place, in words that are not our types' names.
fn rejection_reason(rejection: &JsonRejection) -> String {
    // The rejection, then the framework's wrapper, both of which only repeat the reader's words.
    let reason = match rejection {
        JsonRejection::JsonSyntaxError(error) => error.source().map(ToString::to_string),
        JsonRejection::JsonDataError(error) => error.source().map(ToString::to_string),
        _ => None,
    };
    let reason = reason.unwrap_or_else(|| rejection.to_string());
    WORDS.iter().fold(reason, |reason, (theirs, ours)| reason.replace(theirs, ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Sample {
        #[serde(default, deserialize_with = "patch_field")]
        folder_id: PatchField<i64>,
    }

    #[test]
    fn f6_id_may_have_zero_fraction() {
        for (text, expect) in
            [("5.0", "5"), ("-610.000", "-610"), ("5", "5"), ("5.5", "5.5"), ("5.", "5."), ("1.0.0", "1.0.0")]
        {
            assert_eq!(without_zero_fraction(text), expect);
        }
    }

    #[test]
    fn f6_whole_number_may_have_zero_fraction() {
        for (text, expect) in [
            (r#"{"folderId": 5.0}"#, Some(5)),
            (r#"{"folderId": -5741.000}"#, Some(-5741)),
            (r#"{"folderId": 5}"#, Some(5)),
            (r#"{"folderId": 5.5}"#, None),
            (r#"{"folderId": 5.05}"#, None),
            (r#"{"folderId": 5.0e1}"#, None),
            (r#"{"folderId": "5.0"}"#, None),
            (r#"{"folderId": 5.0, "folderId": 6.0}"#, None),
            (r#"{"folderId": 5.0, "x\\": 1.0}"#, None),
        ] {
            assert_eq!(read(text).ok().and_then(|sample| sample.folder_id.flatten()), expect, "{text}");
        }
        let kept = br#"{"a\"1.0": "2.0\\", "b": 3.0}"#;
        assert_eq!(without_zero_fractions(kept).unwrap(), br#"{"a\"1.0": "2.0\\", "b": 3}"#);
    }

    fn read(text: &str) -> Result<Sample, String> {
        from_json(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn f6_null_differs_from_absent() {
        assert_eq!(read("{}"), Ok(Sample { folder_id: None }));
        assert_eq!(read(r#"{"folderId": null}"#), Ok(Sample { folder_id: Some(None) }));
        assert_eq!(read(r#"{"folderId": 3}"#), Ok(Sample { folder_id: Some(Some(3)) }));
    }

    #[test]
    fn f6_bad_body_says_what_and_where() {
        for (text, expected) in [
            ("{", "not valid JSON: EOF while parsing an object at line 1 column 1"),
            ("{} x", "not valid JSON: trailing characters at line 1 column 4"),
            ("", "not valid JSON: EOF while parsing a value at line 1 column 0"),
            ("[]", "must be a JSON object"),
            ("7", "must be a JSON object"),
            (
                r#"{"folderId": "x"}"#,
                "folderId: invalid type: string \"x\", expected a whole number at line 1 column 16",
            ),
            (r#"{"folder": 1}"#, "unknown field `folder`, expected `folderId`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
