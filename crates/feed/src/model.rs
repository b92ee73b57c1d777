//! What a feed is once it has been read, whatever it was written in. Serialised, it is what `pirssonite parse` prints.
//!
//! Texts are as received. [`Entry::sanitise`] and [`Head::sanitise`] make them fit to be shown; until then no text may
//! reach a page.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use url::Url;

use crate::{resolve, sanitise::Scope};

/// A feed: what it says of itself, its entries in the order of the document, and what was odd about it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Feed {
    /// What it was written in, such as `rss20` or `atom10`.
    pub version: &'static str,
    /// The encoding that its bytes were read in.
    pub encoding: &'static str,
    #[serde(rename = "feed")]
    pub head: Head,
    /// Its entries, each once.
    pub entries: Vec<Entry>,
    /// What had to be overlooked to read it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Feed {
    /// Whether the document was read to its end: only then does the absence of an entry mean that it is gone.
    pub fn is_complete(&self) -> bool {
        !self.warnings.iter().any(|warning| matches!(warning, Warning::Truncated | Warning::TooManyEntries))
    }
}

/// Something that had to be overlooked to read a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Warning {
    /// The document ends in the middle.
    Truncated,
    /// It is in another encoding than this one, which it claims.
    EncodingLied(String),
    /// Elements are closed in another order than they were opened.
    MismatchedTags,
    /// Elements are nested deeper than the limit.
    TooDeep,
    /// There are more entries than the limit; the rest is left out.
    TooManyEntries,
    /// A text was longer than the limit and has been cut.
    TextCut,
    /// An entry stands in it more than once; one version is kept.
    DuplicateIdentity,
    /// A date cannot be understood.
    BadDate(String),
    /// JSON that had to be mended before it could be read.
    MendedJson,
}

/// What a feed says of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Head {
    pub title: Option<Text>,
    pub subtitle: Option<Text>,
    /// The page it belongs to.
    pub link: Option<String>,
    /// Every link in the head.
    pub links: Vec<Link>,
    /// What it calls itself.
    pub id: Option<String>,
    /// When it last changed.
    pub updated: Option<Timestamp>,
    /// When it was published.
    pub published: Option<Timestamp>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// Its language, as a BCP 47 tag.
    pub language: Option<String>,
    /// A small square picture.
    pub icon: Option<String>,
    pub logo: Option<String>,
    /// RSS's picture, or that of a podcast.
    pub image: Option<Image>,
    /// Minutes for which it need not be asked again.
    pub ttl: Option<u32>,
    pub authors: Vec<Person>,
    /// Who else writes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contributors: Vec<Person>,
    /// What it is about.
    pub tags: Vec<Tag>,
    /// Its licence or copyright.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rights: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// The WebSub hubs that push it, in order of preference, as absolute URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hubs: Vec<String>,
    /// Its WebSub topic: the URL that it has for itself, exactly as written but made absolute.
    #[serde(rename = "self", skip_serializing_if = "Option::is_none")]
    pub self_url: Option<String>,
    /// When it asks not to be polled.
    #[serde(skip_serializing_if = "Skips::is_empty")]
    pub skips: Skips,
    /// How often it changes, in seconds, by `sy:updatePeriod` and `sy:updateFrequency`.
    #[serde(rename = "updateIntervalSecs", skip_serializing_if = "Option::is_none")]
    pub update_interval_secs: Option<u32>,
}

/// Hours (UTC) and days at which a feed asks not to be polled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Skips {
    /// Bit `n` for the hour `n`, 0 to 23.
    pub hours: u32,
    /// Bit `n` for a day, 0 for Monday to 6 for Sunday.
    pub days: u8,
}

impl Skips {
    /// Whether it may be polled at any time.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One post. What few posts have is boxed: a document holds up to ten thousand of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Entry {
    /// The identity that the publisher gave it: guid or id.
    #[serde(rename = "id")]
    pub guid: Option<String>,
    /// Whether the guid is a link as well.
    #[serde(rename = "guidislink", skip_serializing_if = "Option::is_none")]
    pub guid_is_link: Option<bool>,
    /// By what it is known again: see [`identity`](crate::identity).
    #[serde(rename = "identity")]
    pub identity: String,
    /// What names it among others of its identity, where it shares that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Its identity is the address of a front page, which other entries have or will have as well.
    #[serde(skip)]
    pub is_shared: bool,
    /// Its link leads to a front page, as those of other entries do or will.
    #[serde(skip)]
    pub links_to_front_page: bool,
    /// The document ended inside it.
    #[serde(skip)]
    pub is_cut: bool,
    /// Where its feed is.
    #[serde(skip)]
    pub feed_url: Option<Arc<str>>,
    /// The page of its feed: what links in its texts are relative to where it has no link of its own.
    #[serde(skip)]
    pub site: Option<Arc<Url>>,
    pub title: Option<Text>,
    /// The page it stands on.
    pub link: Option<String>,
    pub links: Vec<Link>,
    pub summary: Option<Text>,
    /// The whole, in one or more forms.
    pub content: Vec<Text>,
    /// When it was published, even if that is in the future.
    pub published: Option<Timestamp>,
    /// When it last changed.
    pub updated: Option<Timestamp>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    pub authors: Vec<Person>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contributors: Vec<Person>,
    /// What it is about.
    pub tags: Vec<Tag>,
    /// Files that belong to it.
    pub enclosures: Vec<Enclosure>,
    /// Pictures, sounds and films of Media RSS.
    pub media_content: Vec<Media>,
    pub media_thumbnail: Vec<Media>,
    /// Where they are played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_player: Option<Box<Media>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Box<Image>>,
    /// A podcast episode's second heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<Box<Text>>,
    /// A podcast episode's length in seconds.
    #[serde(rename = "durationSecs", skip_serializing_if = "Option::is_none")]
    pub duration_secs: Option<u32>,
    /// Where it is discussed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comments: Option<String>,
    /// Its licence or copyright.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rights: Option<Box<Text>>,
    /// The feed that it was taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<Source>>,
}

impl Entry {
    /// The time to sort it by, which never changes: when it was published, but not after it was first seen.
    pub fn sort_at(&self, first_seen: Timestamp) -> Timestamp {
        self.published.or(self.updated).or(self.created).map_or(first_seen, |time| time.min(first_seen))
    }

    /// What tells the ids in its texts from those of other entries. A hash: only what is shown needs one.
    pub fn scope(&self) -> Scope {
        Scope::of(self.feed_url.as_deref(), &self.identity, self.variant.as_deref())
    }

    /// What the relative links in one of its texts are relative to: an `xml:base`, else its own page, else the site.
    pub fn base_of(&self, text: &Text) -> Option<Arc<Url>> {
        let page = || self.link.as_deref().and_then(resolve::page);
        text.base.clone().or_else(page).or_else(|| self.site.clone())
    }
}

/// The feed that an entry was taken from.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Source {
    pub title: Option<Text>,
    pub link: Option<String>,
}

/// A text and how to read it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Text {
    /// The text, as received or sanitised.
    pub value: String,
    /// Whether it is plain or HTML.
    #[serde(rename = "type")]
    pub kind: TextKind,
    /// What relative links in it are relative to, where the document says so: see [`Entry::base_of`].
    #[serde(skip)]
    pub base: Option<Arc<Url>>,
}

/// Whether a text is plain or markup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum TextKind {
    /// To be escaped before it is shown.
    #[default]
    #[serde(rename = "text/plain")]
    Plain,
    #[serde(rename = "text/html")]
    Html,
    /// HTML that was written as XML.
    #[serde(rename = "application/xhtml+xml")]
    Xhtml,
}

/// A link with its relation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Link {
    /// What it is to the feed or entry.
    pub rel: String,
    /// Where it leads, made absolute.
    pub href: String,
    /// The media type behind it.
    #[serde(rename = "type")]
    pub mime: Option<String>,
    /// What to show for it.
    pub title: Option<String>,
    /// The language behind it.
    pub hreflang: Option<String>,
    /// Bytes behind it.
    pub length: Option<String>,
}

/// An author or contributor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Person {
    pub name: Option<String>,
    pub email: Option<String>,
    pub url: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tag {
    pub term: Option<String>,
    /// The vocabulary that it is from.
    pub scheme: Option<String>,
    /// What to show for it.
    pub label: Option<String>,
}

/// A file that belongs to an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Enclosure {
    pub href: String,
    #[serde(rename = "type")]
    pub mime: Option<String>,
    /// Its bytes, as the publisher says.
    pub length: Option<String>,
    /// How long it plays, in seconds.
    #[serde(rename = "durationSecs", skip_serializing_if = "Option::is_none")]
    pub duration_secs: Option<u32>,
}

/// A picture, sound or film of Media RSS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Media {
    pub url: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Its kind: image, audio, video, document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<String>,
    /// Pixels across.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<String>,
    /// Pixels down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<String>,
    /// How long it plays, in seconds.
    #[serde(rename = "durationSecs", skip_serializing_if = "Option::is_none")]
    pub duration_secs: Option<u32>,
}

/// A feed's or an entry's picture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Image {
    pub href: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Pixels across.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<String>,
    /// Pixels down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<String>,
}
