//! Everything that a request can end with but success: a status and `{"error": "a sentence"}`.
//!
//! A sentence says what is wrong and names the field. What went wrong inside goes to the log and never to the client.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    FeedId,
    ports::{StoreError, UpdateOutcome},
};
use engine::{AddFeedError, OpmlError, SubscribeError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::views::ids;

/// Seconds after which a client may try again when we are not available.
const RETRY_AFTER_SECS: u32 = 5;

/// Seconds after which a hub that pushes too much may try again.
const RETRY_AFTER_PUSHES_SECS: u32 = 60;
/// Characters of a sentence: some quote what the client sent, and that can be a megabyte.
const SENTENCE_CHARS_MAX: usize = 500;
/// Of a longer one, so many of the end are kept, where it says what was expected and where.
const SENTENCE_END_CHARS: usize = 200;

/// What a handler returns.
pub(crate) type ApiResult<T> = Result<T, ApiError>;

/// Why a request was not answered as asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// 400: what the client sent is wrong.
    #[error("{0}")]
    BadRequest(String),
    /// 401: whatever is wrong with what somebody comes in with, or that there is nothing.
    #[error("not logged in: no name and password, session or token that is valid came with this request")]
    Unauthorized,
    /// 403: not for whoever asks, or a foreign web page asks.
    #[error("{0}")]
    Forbidden(&'static str),
    /// 404: there is no such thing.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// 404: a field names what does not exist.
    #[error("`{0}`: {1}")]
    UnknownReference(&'static str, String),
    /// 405; the router adds `Allow`.
    #[error("this method is not allowed here")]
    MethodNotAllowed,
    /// 408: the body has not come within this time.
    #[error("the body did not come within {} seconds; try again on a faster connection", .0.as_secs())]
    BodyTimeout(Duration),
    /// 409: it is taken, if by a feed then by this one.
    #[error("{0}")]
    Conflict(String, Option<FeedId>),
    /// 410: it was there.
    #[error("{0}")]
    Gone(&'static str),
    /// 413: more than so many bytes.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// 415: not a content type that is read here.
    #[error("{0}")]
    UnsupportedMediaType(&'static str),
    /// 421: a name that is not ours.
    #[error("this server does not answer to the host `{0}`; the setting `base_url` can allow it")]
    Misdirected(String),
    /// 422: understood, but it cannot be done with this.
    #[error("{0}")]
    Unprocessable(String),
    /// 429: too often.
    #[error("too many requests of this kind; try again later")]
    TooManyRequests,
    /// 429: too many guesses; when there may be another.
    #[error("too many attempts from this address; try again in {} seconds", whole_secs(.0))]
    TooManyAttempts(Duration),
    /// 502: somebody else's server failed.
    #[error("{0}")]
    BadGateway(String),
    /// 503: not now; trying again later may succeed.
    #[error("{0}")]
    Unavailable(&'static str),
    /// 503: the store does not answer, for a reason that only the log tells.
    #[error("the store is not available now; try again later")]
    StoreUnavailable(String),
    /// 500: our fault, for a reason that only the log tells.
    #[error("something went wrong inside; the log has the reason under this request's id")]
    Internal(String),
}

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorBody {
    /// What is wrong, as a sentence.
    error: String,
    /// The feed that is already there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ids::FeedId>)]
    feed_id: Option<FeedId>,
}

impl ApiError {
    /// 400 for a field, with what is wrong with it.
    pub(crate) fn field(name: &str, problem: impl std::fmt::Display) -> Self {
        Self::BadRequest(format!("`{name}`: {problem}"))
    }

    /// What is wrong, for somebody who sees the field: programs are told its name.
    pub(crate) fn for_people(&self) -> String {
        let text = self.to_string();
        let rest = text.strip_prefix('`').and_then(|rest| rest.split_once("`: "));
        rest.filter(|(name, _)| name.chars().all(char::is_alphanumeric))
            .map_or(text.clone(), |(_, rest)| rest.to_owned())
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) | Self::UnknownReference(..) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::BodyTimeout(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict(..) => StatusCode::CONFLICT,
            Self::Gone(_) => StatusCode::GONE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Misdirected(_) => StatusCode::MISDIRECTED_REQUEST,
            Self::Unprocessable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooManyRequests | Self::TooManyAttempts(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::BadGateway(_) => StatusCode::BAD_GATEWAY,
            Self::Unavailable(_) | Self::StoreUnavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Why a request failed inside, beside its answer: for the log and [`InProcessApi`](crate::InProcessApi), never for the
/// network.
#[derive(Debug, Clone)]
pub(crate) struct FailureReason(pub(crate) String);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        let reason = match &self {
            Self::Internal(reason) | Self::StoreUnavailable(reason) => Some(FailureReason(reason.clone())),
            _ => None,
        };
        let feed_id = if let Self::Conflict(_, feed_id) = &self { *feed_id } else { None };
        let attempts_wait = if let Self::TooManyAttempts(wait) = &self { Some(whole_secs(wait)) } else { None };
        let mut response = (status, Json(ErrorBody { error: shorten(self.to_string()), feed_id })).into_response();
        if let Some(reason) = reason {
            response.extensions_mut().insert(reason);
        }
        let headers = response.headers_mut();
        match status {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECS));
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let secs = attempts_wait.unwrap_or(RETRY_AFTER_PUSHES_SECS.into());
                headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            // The rest of the body would be read as the next request.
            StatusCode::REQUEST_TIMEOUT => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// A wait in seconds, no shorter than it is.
pub(crate) fn whole_secs(wait: &Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// A sentence of a length that a person reads, its middle left out if need be.
fn shorten(sentence: String) -> String {
    let chars = sentence.chars().count();
    if chars <= SENTENCE_CHARS_MAX {
        return sentence;
    }
    let begin: String = sentence.chars().take(SENTENCE_CHARS_MAX - SENTENCE_END_CHARS).collect();
    let end: String = sentence.chars().skip(chars - SENTENCE_END_CHARS).collect();
    format!("{begin} … {end}")
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::StoreUnavailable(error.to_string()),
            StoreError::Failed(_) => Self::Internal(error.to_string()),
        }
    }
}

impl From<AddFeedError> for ApiError {
    fn from(error: AddFeedError) -> Self {
        match error {
            AddFeedError::BadAddress(problem) => Self::field("url", problem),
            AddFeedError::NoSuchFolder => Self::UnknownReference("folderId", error.to_string()),
            AddFeedError::AlreadyThere(id) => Self::Conflict(error.to_string(), Some(id)),
            AddFeedError::NotAFeed(_) => Self::Unprocessable(error.to_string()),
            AddFeedError::Unreachable(_) => Self::BadGateway(error.to_string()),
            AddFeedError::Store(error) => error.into(),
        }
    }
}

impl From<SubscribeError> for ApiError {
    fn from(error: SubscribeError) -> Self {
        match error {
            SubscribeError::NoFeed => Self::NotFound("feed"),
            SubscribeError::Off => Self::Conflict(error.to_string(), None),
            SubscribeError::NoHub => Self::Unprocessable(error.to_string()),
            SubscribeError::Store(error) => error.into(),
        }
    }
}

impl From<OpmlError> for ApiError {
    fn from(error: OpmlError) -> Self {
        match error {
            OpmlError::NotOpml(_) => Self::BadRequest(error.to_string()),
            OpmlError::Store(error) => error.into(),
        }
    }
}

/// What became of a change, as an answer; `what` is the thing that was to be changed, `taken` the field that another
/// thing has already.
pub(crate) fn updated<T>(outcome: UpdateOutcome<T>, what: &'static str, taken: &str) -> ApiResult<T> {
    match outcome {
        UpdateOutcome::Updated(thing) => Ok(*thing),
        UpdateOutcome::NotFound => Err(ApiError::NotFound(what)),
        UpdateOutcome::NoSuchFolder => {
            Err(ApiError::UnknownReference("folderId", "there is no such folder".to_owned()))
        }
        UpdateOutcome::Conflict(id) => Err(ApiError::Conflict(format!("another {what} has this {taken} already"), id)),
    }
}
