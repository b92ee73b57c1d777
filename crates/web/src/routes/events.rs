//! What happens, as it happens.

use axum::{
    Extension,
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use domain::changes::ChangeNumber;

use crate::{
    auth::Actor,
    error::ApiResult,
    live::{self, OpenEnded, ServerStop},
    query::Parameters,
    state::AppState,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A place that was never given: what follows it is not known.
const UNKNOWN: ChangeNumber = ChangeNumber(-1);

/// Follow what happens
///
/// Server-sent events, without end: entries that came, what was marked elsewhere, counts. At most 20 a second: what comes
/// faster is put together. Data is JSON:
///
/// - `entries`: entries came or changed: `feedId` (null if of several), `feedIds`, `count`, `ids` (empty if more than 100).
/// - `marks`: entries were marked, here or elsewhere: the same. How they stand tells `GET /api/entries?ids=`.
/// - `counts`: `total` and `starred`, and `byFeed` and `byFolder` of what has changed, as in `GET /api/counts`.
/// - `feed`: a feed changed, came or went: `feedId`, `feedIds`; both empty: load the list of feeds and folders anew.
/// - `subscription`: how a feed is pushed changed: the same.
/// - `delivery`: webhooks changed, or deliveries were queued, given up or called off: nothing.
/// - `heartbeat`: nothing happened for 15 seconds: nothing. Whoever hears nothing for longer has lost the connection.
/// - `reset`: what was missed is not known any more: load everything anew.
///
/// Everybody hears of their own feeds and webhooks; administrators of all subscriptions, deliveries and feeds. Its `id` is a
/// number that rises. Whoever comes back with the last one hears what was missed since. The stream ends with the login.
#[utoipa::path(
    get, path = "/api/events", tag = "entries", operation_id = "followEvents",
    params(
        ("lastEventId" = Option<i64>, Query, description = "The id of the last event that was heard; the header is used if there are both."),
        ("Last-Event-ID" = Option<i64>, Header, description = "The same, as browsers send it.")
    ),
    responses((
        status = 200, description = "The events, as they come.", body = String, content_type = "text/event-stream",
        example = "event: entries\nid: 812\ndata: {\"feedId\":5,\"feedIds\":[5],\"count\":1,\"ids\":[77]}\n\n"
    ))
)]
pub(crate) async fn follow(
    State(state): State<AppState>,
    actor: Actor,
    stop: Option<Extension<ServerStop>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> ApiResult<Response> {
    let after = read_place(&headers, query.as_deref())?;
    let stop = stop.map(|Extension(ServerStop(stop))| stop).unwrap_or_default();
    let stream = live::open(&state, &actor, after, stop).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies must not gather it (nginx), nor the connection be used for anything else.
        (HeaderName::from_static("x-accel-buffering"), "no"),
        (header::CONNECTION, "close"),
    ];
    let mut response = Body::from_stream(stream.into_chunks()).into_response();
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.extensions_mut().insert(OpenEnded);
    Ok(response)
}

/// The last event that was heard. A browser repeats whatever it was given, so what cannot be read is only unknown.
fn read_place(headers: &HeaderMap, query: Option<&str>) -> ApiResult<Option<ChangeNumber>> {
    let mut parameters = Parameters::of(query);
    let given = parameters.id("lastEventId")?;
    parameters.finish("`lastEventId`")?;
    let header = headers.get(LAST_EVENT_ID).filter(|value| !value.is_empty());
    let repeated = header.map(|value| value.to_str().ok().and_then(|text| text.trim().parse().ok()));
    Ok(match repeated {
        Some(number) => Some(number.map_or(UNKNOWN, ChangeNumber)),
        None => given.map(ChangeNumber),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u2_header_is_before_parameter() {
        for (header, query, expect) in [
            (None, None, Ok(None)),
            (None, Some("lastEventId=5"), Ok(Some(5))),
            (Some("7"), Some("lastEventId=5"), Ok(Some(7))),
            (Some(""), Some("lastEventId=5"), Ok(Some(5))),
            (Some("x"), None, Ok(Some(-1))),
            (None, Some("lastEventId=x"), Err(())),
            (None, Some("last=5"), Err(())),
        ] {
            let headers: HeaderMap =
                header.into_iter().map(|value: &str| (LAST_EVENT_ID, value.parse().unwrap())).collect();
            let got = read_place(&headers, query).map(|place| place.map(|number| number.0)).map_err(|_| ());
            assert_eq!(got, expect, "{header:?} {query:?}");
        }
    }
}
