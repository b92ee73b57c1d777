//! Pages for people. The server writes each as a whole: it can be read without scripts, reloaded, and gone back to. Scripts
//! (`assets/js`) make it quick and live; they ask the API that everybody asks.
//!
//! A further page is `layout::Frame::load(...)` and `frame.page(title, path, content)`.

mod account;
mod article;
mod assets;
mod board;
mod feed_icons;
mod forms;
mod icons;
mod layout;
mod list;
mod login;
mod pictures;
mod plot;
mod policy;
mod problem;
mod push;
mod reader;
mod settings;
mod sidebar;
mod status;
mod view;
mod webhooks;
mod when;

use axum::{
    http::{HeaderName, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use utoipa_axum::router::OpenApiRouter;

use self::login::local;
pub(crate) use self::{
    pictures::proxied,
    problem::{not_found, refuse},
};
use crate::state::AppState;

/// What the login may load and where its form may go: here, and nowhere else.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// How long a browser keeps what a page is made of.
const ASSET_CACHE: &str = "public, max-age=3600";

/// Pages, and what they are made of. They are no part of the API, and not described with it.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .route("/", get(reader::start))
        .route("/unread", get(reader::list))
        .route("/all", get(reader::list))
        .route("/starred", get(reader::list))
        .route("/search", get(reader::list))
        .route("/feed/{id}", get(reader::list))
        .route("/folder/{id}", get(reader::list))
        .route("/entry/{id}", get(reader::entry).post(forms::mark))
        .route("/mark-read", post(forms::mark_all_read))
        .route("/preferences", post(settings::save))
        .route("/push", get(push::show))
        .route("/webhooks", get(webhooks::show).post(webhooks::create))
        .route("/webhooks/{id}", get(webhooks::show_one))
        .route("/deliveries/{id}", get(webhooks::show_delivery).post(webhooks::act_delivery))
        .route("/status", get(status::show))
        .route("/settings", get(account::show).post(account::act))
        .route(feed_icons::PATH, get(feed_icons::sheet))
        .route("/assets/{name}", get(assets::get))
        .route("/login", get(login::show).post(login::submit))
        .route("/logout", post(login::log_out))
        .route("/assets/login.css", get(async || asset("text/css; charset=utf-8", LOGIN_CSS)))
        .route("/assets/icon.svg", get(async || asset("image/svg+xml", ICON)))
        .route("/favicon.ico", get(assets::favicon))
        .route("/robots.txt", get(async || asset("text/plain; charset=utf-8", ROBOTS)))
}

/// Forms that ask somebody else's server, or queue many.
pub(crate) fn long_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .route("/pictures/{signature}/{place}", get(pictures::get))
        .route("/push", post(push::act))
        .route("/webhooks/{id}", post(webhooks::act_one))
        .route("/status", post(status::act))
}

const LOGIN_CSS: &str = include_str!("../../assets/login.css");
const ICON: &str = include_str!("../../assets/icon.svg");
const ROBOTS: &str = "User-agent: *\nDisallow: /\n";

fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, ASSET_CACHE)], text).into_response()
}

fn page(html: String) -> Response {
    let headers: [(HeaderName, &str); 1] = [(header::CONTENT_SECURITY_POLICY, POLICY)];
    (headers, Html(html)).into_response()
}

/// A text as it may stand between tags and in quoted attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
