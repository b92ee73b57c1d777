//! Pages that say what went wrong, for people; programs get JSON.

use axum::{
    extract::{FromRequestParts, Request},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use maud::{Markup, html};

use super::layout;
use crate::error::{ApiError, FailureReason};

/// What a page's handler returns.
pub(super) type PageResult = Result<Response, Problem>;

/// An error, shown as a page.
#[derive(Debug)]
pub(super) struct Problem(ApiError);

impl<E: Into<ApiError>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (heading, sentence) = words(&self.0);
        let status = self.0.status();
        // For the log, and for the headers that go with the status.
        let mut plain = self.0.into_response();
        let mut response = page(status, heading, &sentence);
        if let Some(reason) = plain.extensions_mut().remove::<FailureReason>() {
            response.extensions_mut().insert(reason);
        }
        if let Some(wait) = plain.headers_mut().remove(header::RETRY_AFTER) {
            response.headers_mut().insert(header::RETRY_AFTER, wait);
        }
        response
    }
}

/// What a path names. Where it can name nothing, a page says so.
#[derive(Debug)]
pub(super) struct Named<T>(pub(super) T);

impl<T: FromRequestParts<S>, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        T::from_request_parts(parts, state).await.map(Self).map_err(|_| ApiError::NotFound("page").into())
    }
}

fn words(error: &ApiError) -> (&'static str, String) {
    match error {
        ApiError::NotFound(what) => ("Not here", format!("There is no such {what}. It may have been removed.")),
        ApiError::Unavailable(_) | ApiError::StoreUnavailable(_) => {
            ("Not now", "The server or its database is too busy right now. Try again in a moment.".to_owned())
        }
        ApiError::Internal(_) => {
            ("Something went wrong", "The server's log has the reason. Trying again may help.".to_owned())
        }
        error => ("That did not work", format!("{}.", error.for_people())),
    }
}

/// The answer to a path that leads nowhere.
pub(crate) async fn not_found(request: Request) -> Response {
    if !wants_page(&request) {
        return ApiError::NotFound("path").into_response();
    }
    page(StatusCode::NOT_FOUND, "Not here", "There is no page at this address.")
}

/// The answer to a request that gets no further, as a page if a person is to see it.
pub(crate) fn refuse(request: &Request, error: ApiError) -> Response {
    if is_by_browser(request) { Problem(error).into_response() } else { error.into_response() }
}

fn wants_page(request: &Request) -> bool {
    request.method().is_safe() && is_by_browser(request)
}

/// Whether a page or a form is asked for.
fn is_by_browser(request: &Request) -> bool {
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    !request.uri().path().starts_with("/api/") && accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

fn page(status: StatusCode, heading: &str, sentence: &str) -> Response {
    let content: Markup = html! {
        main #main .problem {
            h1 { (heading) }
            p { (sentence) }
            p { a .button href="/unread" { "Go to unread" } }
        }
    };
    (status, layout::bare(heading, &content)).into_response()
}
