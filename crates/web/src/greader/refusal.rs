//! Errors as the clients of this interface know them: a status and a few words of plain text. 401 makes a client log in
//! again, so it is said for nothing else.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::ports::StoreError;

use super::Endpoint;
use crate::error::ApiError;

const BAD_TOKEN: HeaderName = HeaderName::from_static("x-reader-google-bad-token");
const OLD_BAD_TOKEN: HeaderName = HeaderName::from_static("google-bad-token");

pub(super) type Answer = Result<Response, Refusal>;

/// Why a call is not answered as asked.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A parameter is missing or means nothing.
    BadRequest,
    NotFound,
    /// For a reason that every other interface has too.
    Api(ApiError),
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Api(error.into())
    }
}

impl Refusal {
    /// As it is said at this place: whoever cannot log in is told so in another way.
    pub(super) fn at(self, endpoint: &Endpoint) -> Response {
        let is_refused_login = *endpoint == Endpoint::Login && matches!(self, Self::Api(ApiError::Unauthorized));
        if is_refused_login {
            return (StatusCode::UNAUTHORIZED, "Error=BadAuthentication\n").into_response();
        }
        self.into_response()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = match self {
            Self::BadRequest => return (StatusCode::BAD_REQUEST, "Bad Request!").into_response(),
            Self::NotFound => return (StatusCode::NOT_FOUND, "Not Found!").into_response(),
            Self::Api(error) => error,
        };
        let text = match &error {
            ApiError::Unauthorized => "Unauthorized!".to_owned(),
            other => other.to_string(),
        };
        // For its status, its headers and what it logs.
        let (mut parts, _) = error.into_response().into_parts();
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if parts.status == StatusCode::UNAUTHORIZED {
            parts.headers.remove(header::WWW_AUTHENTICATE);
            for name in [BAD_TOKEN, OLD_BAD_TOKEN] {
                parts.headers.insert(name, HeaderValue::from_static("true"));
            }
        }
        Response::from_parts(parts, text.into())
    }
}
