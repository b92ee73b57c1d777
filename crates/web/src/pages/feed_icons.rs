//! The icons of all feeds that somebody follows, as one style sheet: a request for each would be hundreds, and an element
//! for each a fifth of a list's. A row names its feed (`data-feed`), and the sheet says what its icon is.

use std::fmt::Write;

use axum::{
    extract::State,
    http::{HeaderName, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use domain::{Feed, FeedId, IconId, icon::FeedIcons};
use sha2::{Digest, Sha256};

use super::problem::PageResult;
use crate::{auth::Actor, state::AppState};

pub(super) const PATH: &str = "/feed-icons.css";

/// Bytes of an icon that is in the sheet; a larger one would hold up all others.
const ICON_BYTES_MAX: usize = 24 * 1024;

/// Bytes of all icons in the sheet.
const SHEET_BYTES_MAX: usize = 1024 * 1024;

/// Which icons there are is in its address, so it never changes.
const CACHE: &str = "private, max-age=31536000, immutable";

/// Where the sheet of these feeds is; `None` if none has an icon.
pub(super) fn address(feeds: &[Feed]) -> Option<String> {
    let mut hash = Sha256::new();
    let mut is_empty = true;
    for (feed, icon) in feeds.iter().filter_map(|feed| Some((feed.id, feed.icon_id?))) {
        hash.update(feed.0.to_le_bytes());
        hash.update(icon.0.to_le_bytes());
        is_empty = false;
    }
    let version: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    (!is_empty).then(|| format!("{PATH}?v={version}"))
}

pub(super) async fn sheet(State(state): State<AppState>, actor: Actor) -> PageResult {
    let page = state.answers.answer(async {
        let icons = state.store().feed_icons(actor.account).await?;
        Ok(response(write(&icons)))
    });
    Ok(page.await?)
}

fn response(css: String) -> Response {
    let fixed: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, CACHE)];
    (fixed, css).into_response()
}

/// One rule for each icon, for all feeds that have it.
fn write(FeedIcons { by_feed, icons }: &FeedIcons) -> String {
    let mut css = String::new();
    let mut left = SHEET_BYTES_MAX;
    for icon in icons.iter().filter(|icon| icon.bytes.len() <= ICON_BYTES_MAX) {
        let Some(rest) = left.checked_sub(icon.bytes.len()) else { break };
        left = rest;
        let feeds = feeds_of(by_feed, icon.id);
        let data = STANDARD.encode(&icon.bytes);
        let _ = writeln!(
            css,
            "{feeds}{{--icon:url(data:{};base64,{data});--letter:\"\";--plate:var(--under-icon)}}",
            icon.kind.mime()
        );
    }
    css
}

fn feeds_of(by_feed: &[(FeedId, IconId)], icon: IconId) -> String {
    let feeds = by_feed.iter().filter(|(_, known)| *known == icon).map(|(feed, _)| format!("[data-feed=\"{feed}\"]"));
    feeds.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use domain::{icon::Icon, raster::RasterKind};

    use super::*;

    fn icon(id: i64, bytes: usize) -> Icon {
        Icon { id: IconId(id), kind: RasterKind::Png, bytes: vec![0; bytes] }
    }

    #[test]
    fn u1_the_sheet_has_a_rule_for_each_icon_and_is_bounded() {
        let by_feed = [(1, 7), (2, 8), (3, 7)].map(|(feed, icon)| (FeedId(feed), IconId(icon))).to_vec();
        let css = write(&FeedIcons { by_feed: by_feed.clone(), icons: vec![icon(7, 3), icon(8, ICON_BYTES_MAX + 1)] });
        assert_eq!(
            css,
            "[data-feed=\"1\"],[data-feed=\"3\"]{--icon:url(data:image/png;base64,AAAA);--letter:\"\";--plate:var(--under-icon)}\n"
        );
        let many = (0..100).map(|id| icon(id, ICON_BYTES_MAX)).collect();
        assert!(write(&FeedIcons { by_feed, icons: many }).len() < SHEET_BYTES_MAX * 3 / 2);
    }
}
