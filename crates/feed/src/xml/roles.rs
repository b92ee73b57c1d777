//! Which element means what, by vocabulary and place: one table for all XML formats, because feeds mix them.

use crate::namespace::Namespace;

/// What an element is while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Holds other elements that mean something.
    Scope(Scope),
    /// Holds a value: all inside is text or markup of that text.
    Field(Field),
    /// Markup inside a field; `shown` if it was taken over into the text.
    Inline { shown: bool },
    /// Means nothing here, and neither does anything in it.
    Ignored,
}

/// An element that holds others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Around the feed: nothing yet, or markup of an error message before it.
    Document,
    Feed,
    Entry,
    Author,
    Contributor,
    /// A podcast's owner or a site's keeper: an author if there is no other.
    Owner,
    Image,
    Source,
    SkipHours,
    SkipDays,
    /// Belongs to its parent as if it were not there.
    Transparent,
    /// The same, with a value in its attributes.
    ItunesCategory,
    MediaContent,
}

impl Scope {
    /// Whether what is in it belongs to the scope around it.
    pub(super) fn is_transparent(self) -> bool {
        matches!(self, Self::Transparent | Self::ItunesCategory | Self::MediaContent)
    }

    /// Whether text that stands in it, outside any element, is kept: `<author>mail@example.org</author>`.
    pub(super) fn keeps_loose_text(self) -> bool {
        matches!(self, Self::Author | Self::Contributor | Self::Owner | Self::Image | Self::Source)
    }
}

/// An element that holds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Title,
    /// A title of another vocabulary, for want of the feed's own.
    OtherTitle,
    Link,
    Id,
    Subtitle,
    /// A description of another vocabulary, for want of the feed's own.
    OtherSubtitle,
    Summary,
    OtherSummary,
    Content,
    Published,
    Updated,
    Created,
    Language,
    Icon,
    Logo,
    Ttl,
    Rights,
    Generator,
    /// An author in one text: `mail@example.org (Name)`.
    Creator,
    /// The same of a podcast, which counts only if there is no other.
    OtherCreator,
    Category,
    Keywords,
    MediaCategory,
    Comments,
    Duration,
    Enclosure,
    ItunesImage,
    MediaThumbnail,
    MediaPlayer,
    PersonName,
    PersonEmail,
    PersonUrl,
    ImageUrl,
    ImageWidth,
    ImageHeight,
    Hour,
    Day,
    UpdatePeriod,
    UpdateFrequency,
}

impl Field {
    /// Whether markup is at home in it. In any other field, a tag means that its end tag was forgotten.
    pub(super) fn holds_markup(self) -> bool {
        matches!(
            self,
            Self::Title
                | Self::OtherTitle
                | Self::Subtitle
                | Self::OtherSubtitle
                | Self::Summary
                | Self::OtherSummary
                | Self::Content
                | Self::Rights
        )
    }
}

/// What an element means. `local` is its local name in lower case.
pub(super) fn role(scope: Scope, namespace: Namespace, local: &str) -> Role {
    match scope {
        Scope::Document => document_role(namespace, local),
        Scope::Feed => feed_role(namespace, local),
        Scope::Entry => entry_role(namespace, local),
        Scope::Author | Scope::Contributor | Scope::Owner => match local {
            "name" => Role::Field(Field::PersonName),
            "email" => Role::Field(Field::PersonEmail),
            "uri" | "url" | "homepage" => Role::Field(Field::PersonUrl),
            _ => Role::Ignored,
        },
        Scope::Image => match local {
            "url" => Role::Field(Field::ImageUrl),
            "title" => Role::Field(Field::Title),
            "link" => Role::Field(Field::Link),
            "width" => Role::Field(Field::ImageWidth),
            "height" => Role::Field(Field::ImageHeight),
            _ => Role::Ignored,
        },
        Scope::Source => match local {
            "title" => Role::Field(Field::Title),
            "link" => Role::Field(Field::Link),
            _ => Role::Ignored,
        },
        Scope::SkipHours if local == "hour" => Role::Field(Field::Hour),
        Scope::SkipDays if local == "day" => Role::Field(Field::Day),
        _ => Role::Ignored,
    }
}

/// Whether an element begins an entry, wherever it stands. Its name is in lower case, as everywhere here.
pub(super) fn begins_entry(namespace: Namespace, local: &str) -> bool {
    matches!((namespace, local), (Namespace::Plain | Namespace::Atom, "item" | "entry"))
}

/// Whether an element is the root of a feed.
pub(super) fn begins_feed(namespace: Namespace, local: &str) -> bool {
    matches!(
        (namespace, local),
        (Namespace::Plain, "rss") | (Namespace::Rdf, "rdf") | (Namespace::Plain | Namespace::Atom, "feed")
    )
}

fn document_role(namespace: Namespace, local: &str) -> Role {
    match (namespace, local) {
        (
            Namespace::Plain | Namespace::Atom | Namespace::Rdf | Namespace::Other,
            "rss" | "rdf" | "feed" | "channel",
        ) => Role::Scope(Scope::Feed),
        _ if begins_entry(namespace, local) => Role::Scope(Scope::Entry),
        _ => Role::Scope(Scope::Transparent),
    }
}

fn feed_role(namespace: Namespace, local: &str) -> Role {
    use Namespace::{Atom, Plain};
    let field = match (namespace, local) {
        (Plain | Atom | Namespace::Rdf, "channel" | "feed" | "rss") => return Role::Scope(Scope::Feed),
        _ if begins_entry(namespace, local) => return Role::Scope(Scope::Entry),
        (Plain | Atom, "image") => return Role::Scope(Scope::Image),
        (Plain | Atom, "author" | "managingeditor") => return Role::Scope(Scope::Author),
        (Plain | Atom, "contributor") => return Role::Scope(Scope::Contributor),
        (Plain | Atom, "skiphours") => return Role::Scope(Scope::SkipHours),
        (Plain | Atom, "skipdays") => return Role::Scope(Scope::SkipDays),
        (Namespace::Itunes, "owner") | (Plain | Atom, "webmaster") => return Role::Scope(Scope::Owner),
        (Plain | Atom, "title") => Field::Title,
        (Plain | Atom, "link") => Field::Link,
        (Plain | Atom, "id" | "guid") => Field::Id,
        (Plain | Atom, "description" | "subtitle" | "tagline" | "abstract") => Field::Subtitle,
        (Plain | Atom, "updated" | "modified" | "lastbuilddate") => Field::Updated,
        (Plain | Atom, "pubdate" | "published" | "issued") => Field::Published,
        (Plain | Atom, "created") => Field::Created,
        (Plain | Atom | Namespace::DublinCore, "language") => Field::Language,
        (Plain | Atom, "icon") => Field::Icon,
        (Plain | Atom, "logo") => Field::Logo,
        (Plain | Atom, "ttl") => Field::Ttl,
        (Plain | Atom | Namespace::DublinCore, "rights" | "copyright") => Field::Rights,
        (Plain | Atom, "generator") => Field::Generator,
        (Plain | Atom, "category") => Field::Category,
        (Namespace::Itunes, "image") => Field::ItunesImage,
        (Namespace::Itunes, "summary" | "subtitle") => Field::OtherSubtitle,
        (Namespace::Syndication, "updateperiod") => Field::UpdatePeriod,
        (Namespace::Syndication, "updatefrequency") => Field::UpdateFrequency,
        (Namespace::DublinCore, "description") => Field::OtherSubtitle,
        _ => return common_role(namespace, local),
    };
    Role::Field(field)
}

fn entry_role(namespace: Namespace, local: &str) -> Role {
    use Namespace::{Atom, Plain};
    let field = match (namespace, local) {
        _ if begins_entry(namespace, local) => return Role::Scope(Scope::Entry),
        (Plain | Atom, "author") => return Role::Scope(Scope::Author),
        (Plain | Atom, "contributor") => return Role::Scope(Scope::Contributor),
        (Plain | Atom, "source") => return Role::Scope(Scope::Source),
        (Namespace::Media, "group") => return Role::Scope(Scope::Transparent),
        (Plain | Atom, "title") => Field::Title,
        (Plain | Atom, "link") => Field::Link,
        (Plain | Atom, "id" | "guid") => Field::Id,
        (Plain | Atom, "description" | "summary" | "abstract") => Field::Summary,
        (Plain | Atom, "content" | "fullitem") | (Plain | Atom | Namespace::Xhtml, "body") => Field::Content,
        (Namespace::Content, "encoded") => Field::Content,
        (Plain | Atom, "updated" | "modified" | "lastmod") => Field::Updated,
        (Plain | Atom, "pubdate" | "published" | "issued") => Field::Published,
        (Plain | Atom, "created") => Field::Created,
        (Plain | Atom | Namespace::DublinCore, "language") => Field::Language,
        (Plain | Atom | Namespace::DublinCore, "rights" | "copyright") => Field::Rights,
        (Plain | Atom, "category") => Field::Category,
        (Plain | Atom, "comments") => Field::Comments,
        (Plain | Atom, "enclosure") => Field::Enclosure,
        (Namespace::Itunes, "image") => Field::ItunesImage,
        (Namespace::Itunes, "summary") => Field::OtherSummary,
        (Namespace::Itunes, "subtitle") => Field::Subtitle,
        (Namespace::Itunes, "duration") => Field::Duration,
        (Namespace::Media, "content") => return Role::Scope(Scope::MediaContent),
        (Namespace::Media, "thumbnail") => Field::MediaThumbnail,
        (Namespace::Media, "player") => Field::MediaPlayer,
        (Namespace::Media, "title") => Field::OtherTitle,
        (Namespace::Media, "description") => Field::OtherSummary,
        (Namespace::Media, "category") => Field::MediaCategory,
        (Namespace::Media, "keywords") => Field::Keywords,
        (Namespace::DublinCore, "description") => Field::OtherSummary,
        _ => return common_role(namespace, local),
    };
    Role::Field(field)
}

/// What means the same in the head and in an entry.
fn common_role(namespace: Namespace, local: &str) -> Role {
    Role::Field(match (namespace, local) {
        (Namespace::DublinCore, "title") => Field::OtherTitle,
        (Namespace::DublinCore, "date") => Field::Updated,
        (Namespace::DublinCore, "creator" | "author") => Field::Creator,
        (Namespace::DublinCore, "subject") => Field::Category,
        (Namespace::DublinCoreTerms, "issued") => Field::Published,
        (Namespace::DublinCoreTerms, "modified") => Field::Updated,
        (Namespace::DublinCoreTerms, "created") => Field::Created,
        (Namespace::Itunes, "author") => Field::OtherCreator,
        (Namespace::Itunes, "category") => return Role::Scope(Scope::ItunesCategory),
        (Namespace::Itunes, "keywords") | (Namespace::Plain, "tags") => Field::Keywords,
        _ => return Role::Ignored,
    })
}
