//! The frame of every page: its head, the feeds beside it, the place for messages.
//!
//! A page for somebody who is logged in is `Frame::load(...)`, then `frame.page(title, path, content)`, where the content
//! is a `main` with the id `main`. What stands in `head` is all that pages load: styles and scripts of ours.

use axum::{
    http::header,
    response::{Html, IntoResponse, Response},
};
use domain::{Feed, Folder, changes::ChangeNumber, entry::Counts};
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};

use super::{
    assets::ASSETS,
    feed_icons,
    policy::{players, policy},
    settings::PageSettings,
    sidebar,
};
use crate::{auth::Actor, error::ApiResult, state::AppState};

const NAME: &str = "piRSSonite";

/// What every page of somebody shows around its content.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(super) actor: Actor,
    pub(super) settings: PageSettings,
    pub(super) feeds: Vec<Feed>,
    pub(super) folders: Vec<Folder>,
    pub(super) counts: Counts,
    pub(super) now: Timestamp,
    /// All changes up to here are on the page; its event stream tells what comes after.
    position: ChangeNumber,
    /// Pictures are fetched by this server.
    pub(super) has_proxied_pictures: bool,
    /// What was searched for.
    pub(super) searched: Option<String>,
}

impl Frame {
    pub(crate) async fn load(state: &AppState, actor: Actor, settings: PageSettings) -> ApiResult<Self> {
        let (store, account) = (state.store(), actor.account);
        // Before all that the page shows: a change in between is told twice, and none is missed.
        let (_, position) = state.engine.changes_since(None).await?;
        let (feeds, folders, counts, settings) = tokio::try_join!(
            async { Ok(store.feeds(account).await?) },
            async { Ok(store.folders(account).await?) },
            async { Ok(store.counts(account).await?) },
            settings.of_account(store.as_ref(), account),
        )?;
        let (now, has_proxied_pictures) = (state.engine.now(), state.settings.pictures.is_some());
        Ok(Self { actor, settings, feeds, folders, counts, now, position, has_proxied_pictures, searched: None })
    }

    /// A page with its title, the path that is marked as the current one, and its `main`.
    pub(crate) fn page(&self, title: &str, current: &str, content: &Markup) -> Response {
        let PageSettings { theme, size, marks_on_scroll, has_keys, .. } = self.settings;
        let body = html! {
            a .skip href="#main" { "Skip to content" }
            (sidebar::sidebar(self, current))
            (content)
            div #status .status role="status" aria-live="polite" {}
        };
        let has_proxied_pictures = self.has_proxied_pictures;
        let (position, icons) = (Some(self.position), feed_icons::address(&self.feeds));
        let attributes = Attributes { theme, size, marks_on_scroll, has_keys, position, has_proxied_pictures, icons };
        response(document(title, &attributes, &body), has_proxied_pictures)
    }

    pub(super) fn feed(&self, id: domain::FeedId) -> Option<&Feed> {
        self.feeds.iter().find(|feed| feed.id == id)
    }
}

/// A page for anybody, with nothing around its content.
pub(super) fn bare(title: &str, content: &Markup) -> Response {
    let PageSettings { theme, size, .. } = PageSettings::default();
    let attributes = Attributes { theme, size, ..Attributes::default() };
    response(document(title, &attributes, content), false)
}

#[derive(Default)]
struct Attributes {
    theme: &'static str,
    size: &'static str,
    marks_on_scroll: bool,
    has_keys: bool,
    /// Of a page with scripts.
    position: Option<ChangeNumber>,
    has_proxied_pictures: bool,
    /// Where the style sheet of the icons of feeds is.
    icons: Option<String>,
}

fn document(title: &str, attributes: &Attributes, body: &Markup) -> Markup {
    let Attributes { theme, size, marks_on_scroll, has_keys, position, has_proxied_pictures, icons } = attributes;
    html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme) data-size=(size) data-scroll[*marks_on_scroll] data-keys[*has_keys] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                meta name="theme-color" content="#f6f5f1" media="(prefers-color-scheme: light)";
                meta name="theme-color" content="#161a18" media="(prefers-color-scheme: dark)";
                title { (title) " · " (NAME) }
                link rel="icon" href=(ASSETS.inline_icon) type="image/svg+xml";
                link rel="apple-touch-icon" href=(ASSETS.icon_192.path());
                link rel="manifest" href=(ASSETS.manifest.path());
                link rel="stylesheet" href=(ASSETS.page_css.path());
                @if let Some(position) = position {
                    script type="module" src=(ASSETS.script.path()) #page-script data-change=(position)
                        data-entry-css=(ASSETS.entry_css.path()) data-players=(players())
                        data-proxied[*has_proxied_pictures] {}
                }
            }
            // Last, so that nothing waits for it.
            body { (body) @if let Some(icons) = icons { link rel="stylesheet" href=(icons); } }
        }
    }
}

fn response(page: Markup, has_proxied_pictures: bool) -> Response {
    ([(header::CONTENT_SECURITY_POLICY, policy(has_proxied_pictures))], Html(page.into_string())).into_response()
}

/// How a feed is called: by its reader, by itself, or by its address.
pub(super) fn name_of(feed: &Feed) -> &str {
    let given = feed.custom_title.as_deref().or(feed.title.as_deref()).filter(|title| !title.trim().is_empty());
    given.unwrap_or_else(|| feed.url.split_once("//").map_or(&*feed.url, |(_, rest)| rest))
}

/// No more than so many characters of a text.
pub(super) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}
