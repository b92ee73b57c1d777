//! Fever's API, as its public documentation has it: one address, and what is wanted in parameters. A client may ask for
//! several things at once. A key that is not good is answered with `auth: 0`, whatever else is wrong with it.
//!
//! The key is the MD5 of an account's name and one of its tokens, never of its password: why, is in `docs/decisions`.

mod marks;
mod parameters;
mod views;

use axum::{
    Json, Router,
    extract::{Request, State},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::any,
};
use domain::{
    AccountId, EntryId,
    entry::Order,
    entry_query::{EntryQuery, FOUND_MAX, FeedCounter, SortBy},
};
use serde_json::{Map, Value, json};

use self::{
    parameters::{Given, Sent},
    views::{ItemShape, favicons, feed_groups, feeds, groups},
};
use crate::{
    auth::{Actor, AppClient, AppKey, app_actor, with_two_slashes},
    entry_stream::EntryStream,
    error::{ApiError, ApiResult},
    middleware,
    state::AppState,
};

/// Where clients look for it: some add `fever`, some `fever.php` or `api/fever.php` to what the user typed, and a slash.
const PATHS: [&str; 6] = ["/fever", "/fever/", "/fever.php", "/fever.php/", "/api/fever.php", "/api/fever.php/"];

/// The version of the API that has all of this.
const API_VERSION: u32 = 3;

/// Items of a page.
const ITEMS_MAX: u32 = 50;

pub(crate) fn routes(state: &AppState) -> Router<AppState> {
    let paths = PATHS.into_iter().flat_map(with_two_slashes);
    let routes = paths.fold(Router::new(), |router, path| router.route(&path, any(serve)));
    routes.layer(from_fn_with_state(state.settings.quick_timeout, middleware::time_limit))
}

async fn serve(State(state): State<AppState>, from: AppClient, request: Request) -> ApiResult<Response> {
    let sent = Sent::read(request, &state).await?;
    let key = sent.given().await?.text("api_key").unwrap_or_default().to_owned();
    let actor = match app_actor(&state, &from, AppKey::Fever(&key)).await {
        Ok(actor) => actor,
        Err(ApiError::Unauthorized | ApiError::TooManyAttempts(_)) => {
            return Ok(Json(json!({ "api_version": API_VERSION, "auth": 0 })).into_response());
        }
        Err(error) => return Err(error),
    };
    let given = sent.given().await?;
    drop(sent);
    marks::mark(&state, &actor, &given).await?;
    answer(&state, &actor, &given).await
}

async fn answer(state: &AppState, actor: &Actor, given: &Given) -> ApiResult<Response> {
    let counters = state.store().feed_counters(actor.account).await?;
    let mut members = base(&counters);
    add_feeds(state, actor.account, given, &mut members).await?;
    add_ids(state, actor.account, given, &mut members).await?;
    if given.has("links") {
        members.insert("links".to_owned(), json!([]));
    }
    if !given.has("items") {
        return state.answers.json(async { Ok(members) }).await;
    }
    members.insert("total_items".to_owned(), counters.iter().map(|counter| counter.entries).sum::<u64>().into());
    let ids = items(state, actor.account, given).await?;
    let mut head = Value::Object(members).to_string();
    head.truncate(head.len() - 1);
    head.push_str(r#","items":["#);
    EntryStream::new(state, actor.account, ids, ItemShape, head, "]}").respond().await
}

/// What every answer has.
fn base(counters: &[FeedCounter]) -> Map<String, Value> {
    let refreshed = counters.iter().filter_map(|counter| counter.last_fetched_at).max();
    let mut members = Map::new();
    members.insert("api_version".to_owned(), API_VERSION.into());
    members.insert("auth".to_owned(), 1.into());
    members.insert("last_refreshed_on_time".to_owned(), refreshed.map_or(0, jiff::Timestamp::as_second).into());
    members
}

async fn add_feeds(
    state: &AppState,
    account: AccountId,
    given: &Given,
    members: &mut Map<String, Value>,
) -> ApiResult<()> {
    if given.has("groups") {
        members.insert("groups".to_owned(), groups(state.store().folders(account).await?));
    }
    if given.has("groups") || given.has("feeds") {
        let all = state.store().feeds(account).await?;
        members.insert("feeds_groups".to_owned(), feed_groups(&all));
        if given.has("feeds") {
            members.insert("feeds".to_owned(), feeds(all));
        }
    }
    if given.has("favicons") {
        members.insert("favicons".to_owned(), favicons(&state.store().feed_icons(account).await?.icons));
    }
    Ok(())
}

async fn add_ids(
    state: &AppState,
    account: AccountId,
    given: &Given,
    members: &mut Map<String, Value>,
) -> ApiResult<()> {
    let unread = EntryQuery { unread: Some(true), ..EntryQuery::default() };
    let starred = EntryQuery { starred: Some(true), ..EntryQuery::default() };
    for (name, query) in [("unread_item_ids", unread), ("saved_item_ids", starred)] {
        if given.has(name) {
            let ids = state.store().find_entries(account, &query, 0, FOUND_MAX).await?;
            members.insert(name.to_owned(), listed(ids.iter().map(|id| id.0)).into());
        }
    }
    Ok(())
}

/// Numbers with commas between them.
fn listed(ids: impl Iterator<Item = i64>) -> String {
    ids.map(|id| id.to_string()).collect::<Vec<_>>().join(",")
}

/// The items that are asked for: those that are named, those before one, or those after one.
async fn items(state: &AppState, account: AccountId, given: &Given) -> ApiResult<Vec<EntryId>> {
    let by_id = EntryQuery { by: SortBy::Id, order: Order::Oldest, ..EntryQuery::default() };
    if given.has("with_ids") {
        let mut ids = given.ids("with_ids", ITEMS_MAX as usize);
        ids.sort_unstable();
        ids.dedup();
        return Ok(ids);
    }
    if !given.has("since_id")
        && let Some(max) = given.number("max_id")
    {
        // 0 stands for the newest.
        let before_id = Some(EntryId(max)).filter(|_| max > 0);
        let query = EntryQuery { before_id, order: Order::Newest, ..by_id };
        return Ok(state.store().find_entries(account, &query, 0, ITEMS_MAX).await?);
    }
    let since = given.number("since_id").unwrap_or(0);
    let query = EntryQuery { after_id: Some(EntryId(first_before(since))), ..by_id };
    let found = state.store().find_entries(account, &query, 0, ITEMS_MAX).await?;
    Ok(if found == [EntryId(since)] { Vec::new() } else { found })
}

/// The first item that there can be has the id 1, and one client takes ids for times and begins with 1, not with 0: it is
/// given that item too, if there are others after it. Alone it is not, or a client that has it would ask for ever.
fn first_before(since: i64) -> i64 {
    if since == 1 { 0 } else { since }
}

#[cfg(test)]
mod tests {
    use domain::FeedId;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn s2_every_answer_has_the_time_of_the_last_fetch() {
        let counter = |at: Option<i64>| FeedCounter {
            feed_id: FeedId(1),
            entries: 1,
            unread: 1,
            last_fetched_at: at.map(|at| Timestamp::from_second(at).unwrap()),
        };
        let members = base(&[counter(Some(5)), counter(None), counter(Some(9))]);
        assert_eq!(Value::Object(members), json!({ "api_version": 3, "auth": 1, "last_refreshed_on_time": 9 }));
        assert_eq!(base(&[])["last_refreshed_on_time"], 0);
    }

    #[test]
    fn s2_ids_are_one_text() {
        assert_eq!(listed([3, 1, 2].into_iter()), "3,1,2");
        assert_eq!(listed([].into_iter()), "");
    }
}
