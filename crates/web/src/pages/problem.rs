//! Pages that say what went wrong, for people; programs get JSON.

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header},
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

fn words(error: &ApiError) -> (&'static str, String) {
    match error {
        ApiError::NotFound(what) => ("Not here", format!("There is no such {what}. It may have been removed.")),
        ApiError::Unavailable(_) | ApiError::StoreUnavailable(_) => {
            ("Not now", "The server or its database is too busy right now. Try again in a moment.".to_owned())
        }
        ApiError::Internal(_) => {
            ("Something went wrong", "The server's log has the reason. Trying again may help.".to_owned())
        }
        error => ("That did not work", format!("{error}.")),
    }
}

/// The answer to a path that leads nowhere.
pub(crate) async fn not_found(request: Request) -> Response {
    if !wants_page(&request) {
        return ApiError::NotFound("path").into_response();
    }
    page(StatusCode::NOT_FOUND, "Not here", "There is no page at this address.")
}

fn wants_page(request: &Request) -> bool {
    let accept = |headers: &HeaderMap| {
        headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|it| it.contains("text/html"))
    };
    request.method().is_safe() && !request.uri().path().starts_with("/api/") && accept(request.headers())
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
