//! The parameters of a call: in the query or in the body, which is a form of either kind. What stands in the body counts
//! before what stands in the query. Unknown ones are passed over: clients send what other servers take.

use axum::{extract::Request, http::request::Parts};
use bytes::Bytes;
use domain::EntryId;

use crate::{
    body::{self, MemoryPermit},
    error::ApiResult,
    extract::check_not_encoded,
    form,
    state::AppState,
};

/// Bytes of a body: fifty ids and a key are far less.
const FORM_BYTES_MAX: usize = 64 * 1024;

/// A call as it was sent. Its parameters take many times its memory, so they are made when they are needed, and not while
/// it is found out whose call it is.
pub(super) struct Sent {
    parts: Parts,
    body: Bytes,
    _memory: MemoryPermit,
}

impl Sent {
    pub(super) async fn read(request: Request, state: &AppState) -> ApiResult<Self> {
        check_not_encoded(request.headers())?;
        let (parts, body) = request.into_parts();
        let time_max = state.settings.json_timeout;
        let read = body::read_within_budget(&state.stranger_memory, body, FORM_BYTES_MAX, time_max).await;
        read.map(|(body, memory)| Self { parts, body, _memory: memory })
    }

    pub(super) async fn given(&self) -> ApiResult<Given> {
        Ok(Given(form::fields(self.parts.uri.query(), &self.parts.headers, self.body.clone()).await?))
    }
}

pub(super) struct Given(Vec<(String, String)>);

impl Given {
    /// Those of a query.
    #[cfg(test)]
    pub(super) fn of(query: &str) -> Self {
        Self(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.trim().parse().ok()
    }

    /// The first so many ids of a list; what is no id is left out.
    pub(super) fn ids(&self, name: &str, ids_max: usize) -> Vec<EntryId> {
        let ids = self.text(name).unwrap_or_default().split(',');
        ids.filter_map(|id| id.trim().parse().ok()).map(EntryId).take(ids_max).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_bad_numbers_are_none() {
        let given = |value: &str| Given(vec![("id".to_owned(), value.to_owned())]);
        for (value, number, ids) in [
            ("7", Some(7), vec![7]),
            (" 7 ", Some(7), vec![7]),
            ("-1", Some(-1), vec![-1]),
            ("1, 2,x,,3,4", None, vec![1, 2, 3]),
            ("", None, vec![]),
            ("99999999999999999999", None, vec![]),
        ] {
            let given = given(value);
            assert_eq!(given.number("id"), number, "{value}");
            assert_eq!(given.ids("id", 3), ids.into_iter().map(EntryId).collect::<Vec<_>>(), "{value}");
        }
        assert!(!given("").has("other") && given("").has("id"));
    }
}
