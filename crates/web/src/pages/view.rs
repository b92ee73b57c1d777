//! Which entries a page lists: each view has an address that can be opened, reloaded and gone back to.

use domain::{Cursor, EntryFilter, FeedId, FolderId, Search, entry::Order};
use url::form_urlencoded;

use crate::{
    error::{ApiError, ApiResult},
    query::Parameters,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Everywhere,
    Feed(FeedId),
    Folder(FolderId),
    Search(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    Unread,
    All,
    Starred,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) place: Place,
    pub(super) show: Show,
    /// The order that the address asks for; otherwise that of the settings.
    pub(super) order: Option<Order>,
}

impl Show {
    pub(super) const ALL: [(Self, &'static str); 3] =
        [(Self::Unread, "Unread"), (Self::All, "All"), (Self::Starred, "Starred")];

    fn name(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::All => "all",
            Self::Starred => "starred",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().map(|(show, _)| show).find(|show| show.name() == name)
    }
}

impl View {
    /// What is listed at an address; `None` if it is none of a list.
    pub(super) fn of(address: &str) -> Option<Self> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let mut given = Parameters::of(Some(query));
        let mut text = |name: &str| given.text(name).ok().flatten();
        let shown = text("show").as_deref().and_then(Show::of);
        let order = text("order").as_deref().and_then(Order::by_name);
        let mut parts = path.strip_prefix('/')?.split('/');
        let (place, show) = match (parts.next()?, parts.next(), parts.next()) {
            ("search", None, None) => (Place::Search(text("q").unwrap_or_default()), shown.unwrap_or(Show::All)),
            ("feed", Some(id), None) => (Place::Feed(FeedId(id.parse().ok()?)), shown.unwrap_or(Show::All)),
            ("folder", Some(id), None) => (Place::Folder(FolderId(id.parse().ok()?)), shown.unwrap_or(Show::All)),
            (name, None, None) => (Place::Everywhere, Show::of(name)?),
            _ => return None,
        };
        Some(Self { place, show, order })
    }

    pub(super) fn address(&self) -> String {
        let (path, mut query) = match &self.place {
            Place::Everywhere => (format!("/{}", self.show.name()), Vec::new()),
            Place::Feed(id) => (format!("/feed/{id}"), Vec::new()),
            Place::Folder(id) => (format!("/folder/{id}"), Vec::new()),
            Place::Search(text) => ("/search".to_owned(), vec![("q", text.as_str())]),
        };
        if self.place != Place::Everywhere && self.show != Show::All {
            query.push(("show", self.show.name()));
        }
        query.extend(self.order.map(|order| ("order", order.name())));
        with_query(path, &query)
    }

    /// The address of one of its entries.
    pub(super) fn entry_address(&self, id: domain::EntryId) -> String {
        with_query(format!("/entry/{id}"), &[("in", &self.address())])
    }

    pub(super) fn with_show(&self, show: Show) -> Self {
        Self { show, ..self.clone() }
    }

    /// What the API is asked for to get the same entries.
    pub(super) fn api_query(&self, order: Order) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        match &self.place {
            Place::Everywhere => {}
            Place::Feed(id) => drop(query.append_pair("feedId", &id.to_string())),
            Place::Folder(id) => drop(query.append_pair("folderId", &id.to_string())),
            Place::Search(text) => drop(query.append_pair("q", text)),
        }
        match self.show {
            Show::Unread => drop(query.append_pair("unread", "true")),
            Show::Starred => drop(query.append_pair("starred", "true")),
            Show::All => {}
        }
        query.append_pair("order", order.name()).finish()
    }

    /// Which entries of the store; `None` if nothing can be found.
    pub(super) fn filter(&self, order: Order) -> ApiResult<Option<EntryFilter>> {
        let mut filter = EntryFilter { order, ..EntryFilter::default() };
        match &self.place {
            Place::Everywhere => {}
            Place::Feed(id) => filter.feed_id = Some(*id),
            Place::Folder(id) => filter.folder_id = Some(*id),
            Place::Search(text) => {
                let search = Search::parse(text).map_err(|error| ApiError::field("q", error))?;
                let Some(search) = search.filter(|search| !search.is_empty()) else { return Ok(None) };
                filter.search = Some(search);
            }
        }
        match self.show {
            Show::Unread => filter.unread = Some(true),
            Show::Starred => filter.starred = Some(true),
            Show::All => {}
        }
        Ok(Some(filter))
    }
}

/// Where a page of the list begins, if its address says so.
pub(super) fn cursor(query: Option<&str>, installation: &str) -> Option<Cursor> {
    Cursor::decode(&Parameters::of(query).text("cursor").ok().flatten()?, installation)
}

/// The list that an entry is read in, if its address says so.
pub(super) fn list_of(query: Option<&str>) -> Option<View> {
    View::of(&Parameters::of(query).text("in").ok().flatten()?)
}

pub(super) fn with_query(path: String, query: &[(&str, &str)]) -> String {
    if query.is_empty() {
        return path;
    }
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    // Readable, and as good: a slash needs no quoting there.
    format!("{path}?{}", query.replace("%2F", "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_views_have_addresses() {
        for (address, query) in [
            ("/unread", "unread=true&order=newest"),
            ("/all", "order=newest"),
            ("/starred?order=oldest", "starred=true&order=oldest"),
            ("/feed/5", "feedId=5&order=newest"),
            ("/feed/5?show=unread", "feedId=5&unread=true&order=newest"),
            ("/folder/2?show=starred&order=oldest", "folderId=2&starred=true&order=oldest"),
            ("/search?q=fresh+bread%26%22", "q=fresh+bread%26%22&order=newest"),
        ] {
            let view = View::of(address).unwrap();
            assert_eq!(view.address(), address);
            assert_eq!(view.api_query(view.order.unwrap_or_default()), query, "{address}");
            let entry = view.entry_address(domain::EntryId(7));
            assert_eq!(list_of(entry.split_once('?').map(|(_, query)| query)), Some(view), "{entry}");
        }
        for address in ["", "/", "unread", "/entry/7", "/feed/x", "/feed/5/6", "//evil.example", "/feed", "/unread/5"] {
            assert_eq!(View::of(address), None, "{address}");
        }
        assert_eq!(View::of("/feed/5?show=nonsense&order=x").unwrap().address(), "/feed/5");
    }
}
