//! The routes: each takes a request apart, asks the engine or the store, and puts the answer together.
//!
//! **Which of the two:** the engine for whatever has consequences beyond its own transaction: a request to somebody else
//! (a feed, a hub, the name service), a wake-up of polling or push, a secret or a token made by chance. What only reads or
//! changes rows goes to the store directly. So:
//!
//! | asks the engine | asks the store |
//! | --- | --- |
//! | feeds: add, patch, delete, refresh, subscribe, unsubscribe | feeds: list, get |
//! | `refresh`, `websub/renew`, the callback with all its steps | subscriptions: list |
//! | webhooks: create, rotate the secret, check a URL | webhooks: all else |
//! | OPML: import; export, because only the engine writes the format | folders, entries, counts |
//! | | accounts, sessions, tokens, figures |
//! | readiness: the outage, which is in memory | outbox: all; readiness: the store itself |
//!
//! Queueing deliveries (test, replay, requeue, enabling a webhook) needs no engine: the store announces with the commit
//! that something is due.

pub(crate) mod accounts;
mod entries;
mod events;
mod feeds;
mod folders;
pub(crate) mod icons;
mod operations;
pub(crate) mod opml;
pub(crate) mod outbox;
mod page_settings;
pub(crate) mod refresh;
pub(crate) mod sessions;
pub(crate) mod stats;
pub(crate) mod tokens;
pub(crate) mod webhooks;
pub(crate) mod websub;

pub(crate) use self::icons::is_known;

use std::time::Duration;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{error::ApiError, fever, greader, middleware, miniflux, openapi, pages, state::AppState};

pub fn router(state: AppState) -> Router {
    let (routes, _) = described(state.settings.quick_timeout, state.settings.long_timeout).split_for_parts();
    let apps = fever::routes(&state).merge(miniflux::routes(&state));
    wrapped(routes.merge(apps), state)
}

/// Only what an operator asks of a node that serves nobody else: health, readiness and metrics.
pub fn operations_router(state: AppState) -> Router {
    let time_limit = from_fn_with_state(state.settings.quick_timeout, middleware::time_limit);
    let (routes, _) = operations().layer(time_limit).split_for_parts();
    wrapped(routes, state)
}

/// Routes with all that every request passes.
fn wrapped(routes: Router<AppState>, state: AppState) -> Router {
    routes
        .fallback(pages::not_found)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .layer(from_fn_with_state(state.clone(), middleware::observe))
        // Bodies are counted where they are read.
        .layer(DefaultBodyLimit::disable())
        .with_state(state)
}

/// The routes with their description, and the time that each kind may take.
pub(crate) fn described(quick_timeout: Duration, long_timeout: Duration) -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::base())
        .merge(
            quick()
                .route_layer(from_fn(middleware::no_parameters))
                .layer(from_fn_with_state(quick_timeout, middleware::time_limit)),
        )
        .merge(
            long()
                .route_layer(from_fn(middleware::no_parameters))
                .layer(from_fn_with_state(long_timeout, middleware::time_limit)),
        )
        // The interfaces of other readers: their own parameters, their own time limits, and no part of the description.
        .merge(greader::routes())
        // Whatever parameters a hub adds are its own business.
        .merge(callbacks().route_layer(from_fn_with_state(quick_timeout, middleware::callback)))
}

/// Routes that wait for the store alone, but for those that check a webhook's URL: the name service has a short time limit.
fn quick() -> OpenApiRouter<AppState> {
    let old = outbox::old_routes().into_iter();
    old.fold(OpenApiRouter::new(), |router, (path, route)| router.route(path, route))
        .routes(routes!(feeds::list))
        .routes(routes!(feeds::get, feeds::patch, feeds::delete))
        .routes(routes!(icons::get))
        .routes(routes!(folders::list, folders::create))
        .routes(routes!(folders::reorder))
        .routes(routes!(folders::rename, folders::delete))
        .routes(routes!(entries::list, entries::patch_many))
        .routes(routes!(entries::get, entries::patch))
        .routes(routes!(entries::mark_read))
        .routes(routes!(entries::counts))
        .routes(routes!(events::follow))
        .routes(routes!(opml::export))
        .routes(routes!(websub::subscriptions))
        .routes(routes!(websub::unsubscribe))
        .routes(routes!(webhooks::list, webhooks::create))
        .routes(routes!(webhooks::get, webhooks::patch, webhooks::delete))
        .routes(routes!(webhooks::test))
        .routes(routes!(webhooks::rotate_secret))
        .routes(routes!(outbox::overview))
        .routes(routes!(outbox::list))
        .routes(routes!(outbox::get))
        .routes(routes!(outbox::requeue))
        .routes(routes!(outbox::cancel))
        .routes(routes!(stats::get))
        .routes(routes!(sessions::create, sessions::delete_own))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::delete))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::delete))
        .routes(routes!(accounts::get_own, accounts::patch_own))
        .routes(routes!(page_settings::get, page_settings::patch))
        .routes(routes!(accounts::list, accounts::create))
        .routes(routes!(accounts::get, accounts::patch, accounts::delete))
        .routes(routes!(operations::openapi))
        .merge(operations())
        .merge(pages::routes())
}

/// Routes that hubs call.
fn callbacks() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(websub::verify, websub::receive))
        .routes(routes!(websub::verify_by_topic, websub::receive_by_topic))
}

/// Routes for whoever runs it.
fn operations() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(operations::healthz))
        .routes(routes!(operations::readyz))
        .routes(routes!(operations::metrics))
}

/// Routes that fetch feeds, or store or queue many.
fn long() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(feeds::add))
        .routes(routes!(refresh::feed))
        .routes(routes!(refresh::due))
        .routes(routes!(opml::import))
        .routes(routes!(websub::subscribe))
        .routes(routes!(websub::renew))
        .routes(routes!(webhooks::replay))
        .routes(routes!(outbox::requeue_failed))
        .merge(pages::long_routes())
}
