//! The reader: lists, and entries beside the list that they are read in.

use axum::{
    extract::State,
    http::Uri,
    response::{IntoResponse, Response},
};
use domain::{EntryId, EntryPage, entry::PAGE_ENTRIES_DEFAULT};
use maud::html;

use super::{
    article, forms,
    layout::Frame,
    list::{self, Listed},
    pictures::proxied,
    problem::{Named, PageResult},
    settings::PageSettings,
    view::{Place, Show, View, cursor, list_of},
};
use crate::{
    auth::Actor,
    error::{ApiError, ApiResult},
    extract::Id,
    state::AppState,
};

/// Where one begins.
pub(super) async fn start() -> Response {
    forms::see_other("/unread")
}

/// A list, with nothing open beside it.
pub(super) async fn list(State(state): State<AppState>, actor: Actor, settings: PageSettings, uri: Uri) -> PageResult {
    let address = uri.path_and_query().map_or("/", |address| address.as_str());
    let view = View::of(address).ok_or(ApiError::NotFound("page"))?;
    let answers = if matches!(view.place, Place::Search(_)) { &state.slow_answers } else { &state.answers };
    let page = answers.answer(async {
        let mut frame = Frame::load(&state, actor, settings).await?;
        if let Place::Search(text) = &view.place {
            frame.searched = Some(text.clone());
        }
        let listed = load(&state, &frame, view, uri.query()).await?;
        Ok(show(&frame, &listed, None))
    });
    Ok(page.await?)
}

/// An entry, beside the list that its address names; else beside its feed.
pub(super) async fn entry(
    State(state): State<AppState>,
    actor: Actor,
    settings: PageSettings,
    Named(Id(id)): Named<Id<EntryId>>,
    uri: Uri,
) -> PageResult {
    let page = state.answers.answer(async {
        let account = actor.account;
        let (frame, entry) = tokio::try_join!(Frame::load(&state, actor, settings), async {
            let entry = state.store().entry(account, id).await?.ok_or(ApiError::NotFound("entry"))?;
            Ok(proxied(&state, entry))
        })?;
        let own = || View { place: Place::Feed(entry.feed_id), show: Show::All, order: None };
        let view = list_of(uri.query()).filter(|view| list::title_of(&frame, view).is_some()).unwrap_or_else(own);
        let listed = load(&state, &frame, view, None).await?;
        Ok(show(&frame, &listed, Some(&entry)))
    });
    Ok(page.await?)
}

async fn load(state: &AppState, frame: &Frame, view: View, query: Option<&str>) -> ApiResult<Listed> {
    let what = if matches!(view.place, Place::Feed(_)) { "feed" } else { "folder" };
    let title = list::title_of(frame, &view).ok_or(ApiError::NotFound(what))?;
    let order = view.order.unwrap_or(frame.settings.order);
    let after = cursor(query, state.store().installation());
    let EntryPage { entries, next_cursor } = match view.filter(order)? {
        Some(filter) => state.store().entries(frame.actor.account, &filter, PAGE_ENTRIES_DEFAULT, after).await?,
        None => EntryPage { entries: Vec::new(), next_cursor: None },
    };
    let next = next_cursor.map(|cursor| cursor.encode(state.store().installation()));
    Ok(Listed { view, order, title, entries, next, is_later_page: after.is_some() })
}

fn show(frame: &Frame, listed: &Listed, entry: Option<&domain::Entry>) -> Response {
    let view = &listed.view;
    let (title, here) = match entry {
        Some(entry) => (list::title(entry), view.entry_address(entry.id)),
        None => (listed.title.clone(), view.address()),
    };
    let count =
        if *view == (View { place: Place::Everywhere, show: Show::Unread, order: view.order }) && entry.is_none() {
            Some(frame.counts.total).filter(|count| *count > 0)
        } else {
            None
        };
    let title = count.map_or(title.clone(), |count| format!("({count}) {title}"));
    let current = view.address();
    let current = current.split('?').next().unwrap_or_default();
    let content = html! {
        main #main .panes tabindex="-1" data-open[entry.is_some()] {
            (list::column(frame, listed, &here))
            (article::column(frame, view, entry))
        }
    };
    frame.page(&title, current, &content).into_response()
}
