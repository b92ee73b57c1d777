//! Streams: a feed, a folder (which is a label here), or a state; and which entries a call wants of one.

use domain::{
    Cursor, EntryFilter, Feed, FeedId, Folder,
    entry::{Order, Since},
    folder::one_line,
};
use jiff::Timestamp;

use super::{
    refusal::Refusal,
    request::{Call, Params},
};

/// What the ids of states begin with.
const STATE: &str = "state/com.google/";
const LABEL: &str = "label/";

/// What is named by the id of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stream {
    Feed(FeedId),
    FeedUrl(String),
    Label(String),
    ReadingList,
    Read,
    Unread,
    Starred,
    /// A state that nothing has here: `broadcast`, `like` and others.
    Nothing,
}

impl Stream {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(feed) = text.strip_prefix("feed/") {
            return Some(feed.parse().map_or_else(|_| Self::FeedUrl(feed.to_owned()), |id| Self::Feed(FeedId(id))));
        }
        let (_, rest) = text.strip_prefix("user/")?.split_once('/')?;
        if let Some(label) = rest.strip_prefix(LABEL) {
            return Some(Self::Label(one_line(label)));
        }
        match rest.strip_prefix(STATE) {
            Some("reading-list") => Some(Self::ReadingList),
            Some("read") => Some(Self::Read),
            Some("unread" | "kept-unread") => Some(Self::Unread),
            Some("starred") => Some(Self::Starred),
            _ => rest.starts_with("state/").then_some(Self::Nothing),
        }
    }
}

pub(super) fn state_id(name: &str) -> String {
    format!("user/-/{STATE}{name}")
}

pub(super) fn label_id(folder: &str) -> String {
    format!("user/-/{LABEL}{folder}")
}

pub(super) fn feed_id(id: FeedId) -> String {
    format!("feed/{id}")
}

/// What a feed is called: by the account, by itself, or by where it is.
pub(super) fn title_of(feed: &Feed) -> &str {
    feed.custom_title.as_deref().or(feed.title.as_deref()).unwrap_or(&feed.url)
}

impl Call {
    /// The folder of this name.
    pub(super) async fn folder(&self, name: &str) -> Result<Option<Folder>, Refusal> {
        let folders = self.state.store().folders(self.actor.account).await?;
        Ok(folders.into_iter().find(|folder| folder.name == name))
    }

    /// The feed that a stream names, if the account follows it.
    pub(super) async fn feed(&self, stream: &Stream) -> Result<Option<FeedId>, Refusal> {
        let (store, account) = (self.state.store(), self.actor.account);
        Ok(match stream {
            Stream::Feed(id) => store.feed(account, *id).await?.map(|feed| feed.id),
            Stream::FeedUrl(url) => store.feed_by_url(account, url).await?,
            _ => None,
        })
    }

    /// The entries of a stream that a call wants; `None` if there can be none, because there is no such feed or folder or
    /// what is wanted is also unwanted.
    pub(super) async fn filter(&self, stream: &Stream) -> Result<Option<EntryFilter>, Refusal> {
        let mut wanted = Wanted::of(&self.params)?;
        match stream {
            Stream::Feed(id) => wanted.filter.feed_id = Some(*id),
            Stream::FeedUrl(_) => match self.feed(stream).await? {
                Some(id) => wanted.filter.feed_id = Some(id),
                None => return Ok(None),
            },
            Stream::Label(name) => match self.folder(name).await? {
                Some(folder) => wanted.filter.folder_id = Some(folder.id),
                None => return Ok(None),
            },
            state => wanted.include(state),
        }
        Ok((!wanted.is_empty).then_some(wanted.filter))
    }

    /// Where the page before ended.
    pub(super) fn continuation(&self) -> Result<Option<Cursor>, Refusal> {
        let Some(text) = self.params.first("c") else { return Ok(None) };
        let cursor = Cursor::decode(text, self.state.store().installation());
        cursor.map(Some).ok_or(Refusal::BadRequest)
    }

    pub(super) fn encoded(&self, cursor: Option<Cursor>) -> Option<String> {
        cursor.map(|cursor| cursor.encode(self.state.store().installation()))
    }
}

/// Conditions that add up, and may contradict each other.
#[derive(Debug)]
struct Wanted {
    filter: EntryFilter,
    is_empty: bool,
}

impl Wanted {
    /// What the parameters say: `xt` leaves out, `it` takes only, `ot` and `nt` are times of receipt, `r=o` is oldest first.
    fn of(params: &Params) -> Result<Self, Refusal> {
        let since = time(params, "ot")?.unwrap_or(Timestamp::MIN);
        let order = if params.first("r") == Some("o") { Order::Oldest } else { Order::Newest };
        let (since, until) = (Some(Since::Received(since)), time(params, "nt")?);
        let filter = EntryFilter { since, until, order, ..EntryFilter::default() };
        let mut wanted = Self { filter, is_empty: false };
        for stream in params.all("it").filter_map(Stream::parse) {
            wanted.include(&stream);
        }
        for stream in params.all("xt").filter_map(Stream::parse) {
            wanted.exclude(&stream);
        }
        Ok(wanted)
    }

    fn include(&mut self, stream: &Stream) {
        match stream {
            Stream::Read => self.narrow(|filter| &mut filter.unread, false),
            Stream::Unread => self.narrow(|filter| &mut filter.unread, true),
            Stream::Starred => self.narrow(|filter| &mut filter.starred, true),
            Stream::Nothing => self.is_empty = true,
            Stream::Feed(_) | Stream::FeedUrl(_) | Stream::Label(_) | Stream::ReadingList => {}
        }
    }

    fn exclude(&mut self, stream: &Stream) {
        match stream {
            Stream::Read => self.narrow(|filter| &mut filter.unread, true),
            Stream::Unread => self.narrow(|filter| &mut filter.unread, false),
            Stream::Starred => self.narrow(|filter| &mut filter.starred, false),
            Stream::ReadingList => self.is_empty = true,
            Stream::Feed(_) | Stream::FeedUrl(_) | Stream::Label(_) | Stream::Nothing => {}
        }
    }

    fn narrow(&mut self, condition: fn(&mut EntryFilter) -> &mut Option<bool>, to: bool) {
        let condition = condition(&mut self.filter);
        self.is_empty |= condition.is_some_and(|before| before != to);
        *condition = Some(to);
    }
}

/// A parameter that is a time in seconds. Some write a fraction, which is dropped.
fn time(params: &Params, name: &str) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = params.first(name) else { return Ok(None) };
    let whole = text.split('.').next().unwrap_or_default();
    let seconds: i64 = whole.parse().map_err(|_| Refusal::BadRequest)?;
    let bound = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Ok(Some(Timestamp::from_second(seconds).unwrap_or(bound)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_streams_are_known_by_their_ids() {
        for (text, expect) in [
            ("feed/12", Some(Stream::Feed(FeedId(12)))),
            ("feed/https://e.org/f", Some(Stream::FeedUrl("https://e.org/f".to_owned()))),
            ("user/-/label/My Folder", Some(Stream::Label("My Folder".to_owned()))),
            ("user/1/label/a/b", Some(Stream::Label("a/b".to_owned()))),
            ("user/-/state/com.google/reading-list", Some(Stream::ReadingList)),
            ("user/12345/state/com.google/read", Some(Stream::Read)),
            ("user/-/state/com.google/starred", Some(Stream::Starred)),
            ("user/-/state/com.google/kept-unread", Some(Stream::Unread)),
            ("user/-/state/com.google/broadcast", Some(Stream::Nothing)),
            ("user/-/state/org.other/x", Some(Stream::Nothing)),
            ("user/-", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(Stream::parse(text), expect, "{text}");
        }
    }

    #[test]
    fn s1_conditions_add_up() {
        let of = |query: &str| Wanted::of(&Params::of_query(query));
        let wanted = of("xt=user/-/state/com.google/read&it=user/-/state/com.google/starred&ot=10&nt=20&r=o").unwrap();
        assert_eq!((wanted.filter.unread, wanted.filter.starred), (Some(true), Some(true)));
        assert_eq!(wanted.filter.since, Some(Since::Received(Timestamp::from_second(10).unwrap())));
        assert_eq!(wanted.filter.until, Some(Timestamp::from_second(20).unwrap()));
        assert_eq!((wanted.filter.order, wanted.is_empty), (Order::Oldest, false));
        let mut wanted = of("xt=user/-/state/com.google/read").unwrap();
        wanted.include(&Stream::Read);
        assert!(wanted.is_empty, "what is read, but not what is read");
        for (query, is_empty) in [
            ("xt=user/-/state/com.google/broadcast&xt=user/-/label/X&xt=", false),
            ("xt=user/-/state/com.google/reading-list", true),
            ("xt=user/-/state/com.google/read&xt=user/-/state/com.google/kept-unread", true),
        ] {
            assert_eq!(of(query).unwrap().is_empty, is_empty, "{query}");
        }
        assert_eq!(of("ot=99999999999999999").unwrap().filter.since, Some(Since::Received(Timestamp::MAX)));
        let fraction = of("ot=1700000000.75").unwrap().filter.since;
        assert_eq!(fraction, Some(Since::Received(Timestamp::from_second(1_700_000_000).unwrap())));
        assert!(of("ot=yesterday").is_err());
    }
}
