//! Errors as Miniflux's clients know them: a few statuses, and `{"error_message": ...}`.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::ports::StoreError;
use engine::{AddFeedError, OpmlError};
use serde_json::json;

use crate::error::{ApiError, FailureReason, whole_secs};

/// What a handler returns.
pub(super) type Answer<T = Response> = Result<T, Refused>;

#[derive(Debug)]
pub(super) struct Refused(pub(super) ApiError);

impl Refused {
    pub(super) fn bad(problem: impl Into<String>) -> Self {
        Self(ApiError::BadRequest(problem.into()))
    }

    /// There is none, or it is not the account's.
    pub(super) fn none() -> Self {
        Self(ApiError::NotFound("resource"))
    }

    pub(super) fn forbidden(why: &'static str) -> Self {
        Self(ApiError::Forbidden(why))
    }
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self(error.into())
    }
}

impl From<AddFeedError> for Refused {
    fn from(error: AddFeedError) -> Self {
        Self(error.into())
    }
}

impl From<OpmlError> for Refused {
    fn from(error: OpmlError) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = status(&self.0);
        let attempts_wait = if let ApiError::TooManyAttempts(wait) = &self.0 { Some(whole_secs(wait)) } else { None };
        let message = match &self.0 {
            ApiError::Unauthorized => "access unauthorized".to_owned(),
            ApiError::NotFound(_) => "resource not found".to_owned(),
            error => error.to_string(),
        };
        // What is logged, and what waits, is as everywhere.
        let (mut parts, _) = self.0.into_response().into_parts();
        let reason = parts.extensions.remove::<FailureReason>();
        let mut answer = (status, Json(json!({ "error_message": message }))).into_response();
        if let Some(reason) = reason {
            answer.extensions_mut().insert(reason);
        }
        let headers = answer.headers_mut();
        if let Some(after) = parts.headers.remove(header::RETRY_AFTER) {
            headers.insert(header::RETRY_AFTER, attempts_wait.map_or(after, HeaderValue::from));
        }
        if let Some(allow) = parts.headers.remove(header::ALLOW) {
            headers.insert(header::ALLOW, allow);
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"piRSSonite\""));
        }
        answer
    }
}

/// What is the caller's mistake is 400: the statuses beyond that are not known to these clients.
fn status(error: &ApiError) -> StatusCode {
    match error {
        ApiError::Conflict(..)
        | ApiError::Unprocessable(_)
        | ApiError::BadGateway(_)
        | ApiError::UnknownReference(..) => StatusCode::BAD_REQUEST,
        error => error.status(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn s3_errors_have_the_statuses_that_clients_know() {
        for (error, expect) in [
            (ApiError::BadRequest("x".to_owned()), 400),
            (ApiError::Conflict("x".to_owned(), None), 400),
            (ApiError::Unprocessable("x".to_owned()), 400),
            (ApiError::BadGateway("x".to_owned()), 400),
            (ApiError::Unauthorized, 401),
            (ApiError::Forbidden("x"), 403),
            (ApiError::NotFound("feed"), 404),
            (ApiError::MethodNotAllowed, 405),
            (ApiError::TooManyAttempts(Duration::from_secs(3)), 429),
            (ApiError::StoreUnavailable("x".to_owned()), 503),
        ] {
            assert_eq!(Refused(error).into_response().status().as_u16(), expect);
        }
        let limited = Refused(ApiError::TooManyAttempts(Duration::from_secs(3))).into_response();
        assert_eq!(limited.headers()["retry-after"], "3");
        assert!(Refused(ApiError::Unauthorized).into_response().headers().contains_key("www-authenticate"));
    }
}
