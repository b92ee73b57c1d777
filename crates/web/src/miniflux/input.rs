//! What requests say: ids in paths, and JSON whose unknown fields are passed over, because clients send what only Miniflux
//! has.

use axum::{
    body::Body,
    extract::{FromRequestParts, Path, Request},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use super::error::{Answer, Refused};
use crate::{body, extract::check_not_encoded, state::AppState};

/// The one id in a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathId(pub(super) i64);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        text.ok().and_then(|Path(text)| id(&text)).map(Self).ok_or_else(bad_id)
    }
}

/// The two ids in a path: of a feed or category, and of an entry in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathIds(pub(super) i64, pub(super) i64);

impl<S: Send + Sync> FromRequestParts<S> for PathIds {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let texts = Path::<(String, String)>::from_request_parts(parts, state).await;
        let ids = texts.ok().and_then(|Path((outer, inner))| Some(Self(id(&outer)?, id(&inner)?)));
        ids.ok_or_else(bad_id)
    }
}

fn id(text: &str) -> Option<i64> {
    text.parse().ok().filter(|id| *id > 0)
}

fn bad_id() -> Refused {
    Refused::bad("invalid ID")
}

/// The JSON of a body, whatever it says of its type: some clients say nothing.
pub(super) async fn json<T: DeserializeOwned>(state: &AppState, request: Request<Body>) -> Answer<T> {
    check_not_encoded(request.headers())?;
    let bytes = body::read(request.into_body(), state.settings.json_bytes_max, state.settings.json_timeout).await?;
    serde_json::from_slice(&bytes).map_err(|error| Refused::bad(format!("the body cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_ids_are_positive_numbers() {
        for (text, expect) in [("7", Some(7)), ("0", None), ("-1", None), ("x", None), ("", None), ("7.0", None)] {
            assert_eq!(id(text), expect, "{text}");
        }
    }
}
