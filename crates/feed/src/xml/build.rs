//! Puts the values of a feed where they belong, and decides which counts where several say the same.

use std::sync::Arc;

use url::Url;

use super::{
    Element,
    capture::Capture,
    relative,
    roles::{Field, Scope},
    values::{
        category, day, duration_secs, enclosure, image_attribute, language_tag, media_of, period_secs,
        person_from_text, picture, version,
    },
};
use crate::{
    date,
    entity::{Declared, decode, decode_into},
    limits::{DATE_WARNINGS_MAX, ENTRIES_MAX, LIST_MAX, TEXT_BYTES_MAX, WARNINGS_MAX},
    model::{Enclosure, Entry, Feed, Image, Link, Media, Person, Source, Tag, Text, Warning},
    namespace::Namespace,
    resolve::{self, Room},
};

/// The vocabulary of a podcast's categories.
const ITUNES_SCHEME: &str = "http://www.itunes.com/";

/// A feed while it is being read.
pub(super) struct Build<'a> {
    pub(super) declared: Declared,
    feed: Feed,
    /// There is a feed: its root or an entry was seen.
    found: bool,
    entry: Option<Entry>,
    /// What was said by another vocabulary and yields to the feed's own.
    head_weak: Weak,
    entry_weak: Weak,
    /// What RSS 1.0 calls the open entry: its identity for want of a link.
    entry_about: Option<String>,
    person: Person,
    image: Image,
    source: Source,
    loose: String,
    capture: Option<Capture<'a>>,
    update_period_secs: Option<u32>,
    update_frequency: Option<u32>,
    document_base: Option<Arc<Url>>,
    /// What making links absolute may still add.
    room: Room,
}

/// Which values are there only for want of better ones.
#[derive(Debug, Clone, Copy, Default)]
struct Weak {
    title: bool,
    body: bool,
    author: bool,
}

impl<'a> Build<'a> {
    /// For a document of so many bytes.
    pub(super) fn new(document_base: Option<Arc<Url>>, document_bytes: usize) -> Self {
        Self {
            declared: Declared::none(),
            feed: Feed::default(),
            found: false,
            entry: None,
            head_weak: Weak::default(),
            entry_weak: Weak::default(),
            entry_about: None,
            person: Person::default(),
            image: Image::default(),
            source: Source::default(),
            loose: String::new(),
            capture: None,
            update_period_secs: None,
            update_frequency: None,
            document_base,
            room: Room::of(document_bytes),
        }
    }

    /// Whether an entry has begun that is one more than allowed.
    pub(super) fn is_full(&self) -> bool {
        self.entry.is_some() && self.feed.entries.len() >= ENTRIES_MAX
    }

    pub(super) fn warn(&mut self, warning: Warning) {
        if self.feed.warnings.len() < WARNINGS_MAX && !self.feed.warnings.contains(&warning) {
            self.feed.warnings.push(warning);
        }
    }

    /// The feed, if there was one.
    pub(super) fn finish(mut self) -> Option<Feed> {
        if !self.found {
            return None;
        }
        let head = &mut self.feed.head;
        head.update_interval_secs =
            self.update_period_secs.map(|period| period / self.update_frequency.unwrap_or(1).max(1));
        if head.image.is_none() {
            head.image = head.logo.clone().map(|href| Image { href: Some(href), ..Image::default() });
        }
        if self.document_base.is_none() {
            relative::resolve_by_feed_link(&mut self.feed, &self.room);
        }
        Some(self.feed)
    }

    /// A base URL that an element states, relative to the one around it.
    pub(super) fn rebase(&mut self, outer: Option<&Arc<Url>>, raw: &str) -> Option<Arc<Url>> {
        let stated = decode(raw, &mut self.declared);
        let url = resolve::base(outer.map(AsRef::as_ref), &stated, &self.room);
        url.map(Arc::new).or_else(|| outer.cloned())
    }

    pub(super) fn open_scope(&mut self, scope: Scope, element: &Element<'_>) {
        self.loose.clear();
        match scope {
            Scope::Feed => self.open_feed(element),
            Scope::Entry => self.open_entry(element),
            Scope::Author | Scope::Contributor | Scope::Owner => self.person = Person::default(),
            Scope::Image => self.image = Image { href: self.link_attribute(element, "href"), ..Image::default() },
            Scope::Source => self.source = Source { title: None, link: self.link_attribute(element, "url") },
            Scope::ItunesCategory => {
                let term = element.attribute(&mut self.declared, "text");
                self.add_tag(Tag { term, scheme: Some(ITUNES_SCHEME.to_owned()), label: None });
            }
            Scope::MediaContent => {
                let media = self.media(element);
                if let (Some(entry), Some(media)) = (&mut self.entry, media) {
                    push(&mut entry.media_content, media);
                }
            }
            _ => {}
        }
    }

    fn open_feed(&mut self, element: &Element<'_>) {
        self.found = true;
        let version = version(element);
        if self.feed.version.is_empty() || version != "rss" && self.feed.version == "rss" {
            self.feed.version = version;
        }
        if self.feed.head.language.is_none() {
            self.feed.head.language = element.attribute(&mut self.declared, "xml:lang").as_deref().map(language_tag);
        }
        if version == "cdf" {
            self.open_cdf(element);
        }
    }

    /// CDF keeps in attributes what the others keep in elements.
    fn open_cdf(&mut self, element: &Element<'_>) {
        let link = self.link_attribute(element, "href");
        let updated = element.attribute(&mut self.declared, "lastmod").and_then(|text| self.date(&text));
        let (link_slot, updated_slot) = match &mut self.entry {
            Some(entry) => (&mut entry.link, &mut entry.updated),
            None => (&mut self.feed.head.link, &mut self.feed.head.updated),
        };
        *link_slot = link;
        *updated_slot = updated;
    }

    fn open_entry(&mut self, element: &Element<'_>) {
        self.found = true;
        if self.feed.version.is_empty() {
            self.feed.version = version(element);
        }
        self.entry_weak = Weak::default();
        self.entry_about = element.attribute(&mut self.declared, "rdf:about");
        let language = element.attribute(&mut self.declared, "xml:lang").as_deref().map(language_tag);
        self.entry = Some(Entry { language, ..Entry::default() });
        if element.attributes.get("href").is_some() {
            self.open_cdf(element);
        }
    }

    pub(super) fn close_scope(&mut self, scope: Scope) {
        match scope {
            Scope::Entry => self.close_entry(),
            Scope::Author | Scope::Owner => {
                if let Some(person) = self.take_person() {
                    self.add_author(person, scope == Scope::Owner);
                }
            }
            Scope::Contributor => {
                if let Some(person) = self.take_person() {
                    let list = match &mut self.entry {
                        Some(entry) => &mut entry.contributors,
                        None => &mut self.feed.head.contributors,
                    };
                    push(list, person);
                }
            }
            Scope::Image => self.close_image(),
            Scope::Source => self.close_source(),
            _ => {}
        }
    }

    fn close_entry(&mut self) {
        let Some(mut entry) = self.entry.take() else { return };
        if entry.link.is_none() && entry.guid_is_link == Some(true) {
            entry.link.clone_from(&entry.guid);
        }
        if entry.guid.is_none() && entry.link.is_none() {
            entry.guid = self.entry_about.take();
            // An element with nothing in it is no post.
            if entry == Entry::default() {
                return;
            }
        }
        if entry.image.is_none() {
            entry.image = picture(&entry).map(|href| Image { href: Some(href), ..Image::default() });
        }
        self.feed.entries.push(entry);
    }

    fn close_image(&mut self) {
        let mut image = std::mem::take(&mut self.image);
        image.href = image.href.or_else(|| resolve::link(None, self.loose.trim(), &self.room));
        let slot = match &mut self.entry {
            Some(entry) => &mut entry.image,
            None => &mut self.feed.head.image,
        };
        // RSS 1.0 has an empty one in its channel, which only says that another follows.
        if slot.is_none() && image != Image::default() {
            *slot = Some(image);
        }
    }

    fn close_source(&mut self) {
        let mut source = std::mem::take(&mut self.source);
        let loose = self.loose.trim();
        if source.title.is_none() && !loose.is_empty() {
            source.title = Some(Text { value: loose.to_owned(), ..Text::default() });
        }
        if let Some(entry) = &mut self.entry {
            entry.source = (source != Source::default()).then_some(source);
        }
    }

    /// The person just read, by its elements or by its text.
    fn take_person(&mut self) -> Option<Person> {
        let mut person = std::mem::take(&mut self.person);
        if person == Person::default() {
            person = person_from_text(&self.loose);
        }
        (person != Person::default()).then_some(person)
    }

    /// The document ended here: keeps of the open value and entry what is certain.
    ///
    /// Half a link is a wrong link, and an entry without its whole identity would come back under another one.
    pub(super) fn cut_off(&mut self) {
        let in_guid = self.capture.as_ref().is_some_and(|capture| capture.field == Field::Id);
        self.capture = self.capture.take().filter(|capture| capture.field.holds_markup());
        let have_guids = in_guid || self.feed.entries.iter().any(|entry| entry.guid.is_some());
        self.entry = self.entry.take().filter(|entry| entry.guid.is_some() || entry.link.is_some() && !have_guids);
    }

    /// A feed begins inside an entry: that was no entry, but a word in a message before the feed.
    pub(super) fn forget_entry(&mut self) {
        self.entry = None;
        self.capture = None;
        self.feed.version = "";
    }

    pub(super) fn loose_text(&mut self, raw: &str, is_cdata: bool) {
        if self.loose.len() + raw.len() > TEXT_BYTES_MAX {
            return;
        }
        if is_cdata {
            self.loose.push_str(raw);
        } else {
            decode_into(raw, &mut self.declared, &mut self.loose);
        }
    }

    pub(super) fn text(&mut self, raw: &str, is_cdata: bool, in_markup: bool) {
        if let Some(capture) = &mut self.capture {
            capture.push(raw, is_cdata, in_markup, &mut self.declared);
        }
    }

    pub(super) fn open_inline(&mut self, element: &Element<'_>) -> bool {
        self.capture.as_mut().is_some_and(|capture| capture.open_tag(element))
    }

    pub(super) fn close_inline(&mut self, local: &str) {
        if let Some(capture) = &mut self.capture {
            capture.close_tag(local);
        }
    }

    pub(super) fn open_field(&mut self, field: Field, element: &Element<'a>) {
        self.capture = Some(Capture::new(field, element, &mut self.declared));
    }

    /// Puts the value that just ended where it belongs.
    pub(super) fn close_field(&mut self, scope: Scope) {
        let Some(capture) = self.capture.take() else { return };
        if capture.cut {
            self.warn(Warning::TextCut);
        }
        match scope {
            Scope::Author | Scope::Contributor | Scope::Owner => self.close_person_field(&capture),
            Scope::Image => self.close_image_field(&capture),
            Scope::Source => self.close_source_field(capture),
            _ => self.close_feed_or_entry_field(capture),
        }
    }

    fn close_person_field(&mut self, capture: &Capture<'_>) {
        let value = capture.word().map(str::to_owned);
        match capture.field {
            Field::PersonName => self.person.name = value,
            Field::PersonEmail => self.person.email = value,
            Field::PersonUrl => {
                self.person.url = value.and_then(|href| capture.link(&href, &self.room));
            }
            _ => {}
        }
    }

    fn close_image_field(&mut self, capture: &Capture<'_>) {
        let value = capture.word().map(str::to_owned);
        let link = || value.as_deref().and_then(|href| capture.link(href, &self.room));
        match capture.field {
            Field::ImageUrl => self.image.href = link(),
            Field::Link => self.image.link = link(),
            Field::Title => self.image.title = value,
            Field::ImageWidth => self.image.width = value,
            Field::ImageHeight => self.image.height = value,
            _ => {}
        }
    }

    fn close_source_field(&mut self, capture: Capture<'_>) {
        match capture.field {
            Field::Title => self.source.title = capture.into_text(),
            Field::Link if matches!(capture.attribute("rel"), None | Some("alternate")) => {
                let href = capture.attribute("href").or(capture.word());
                self.source.link = href.and_then(|href| capture.link(href, &self.room));
            }
            _ => {}
        }
    }

    fn close_feed_or_entry_field(&mut self, capture: Capture<'_>) {
        match capture.field {
            Field::Link => self.close_link(&capture),
            Field::Category | Field::MediaCategory => {
                let tag = category(&capture);
                self.add_tag(tag);
            }
            Field::Keywords => {
                let scheme = (capture.namespace == Namespace::Itunes).then(|| ITUNES_SCHEME.to_owned());
                for word in capture.value.split(',').map(str::trim).filter(|word| !word.is_empty()).take(LIST_MAX) {
                    self.add_tag(Tag { term: Some(word.to_owned()), scheme: scheme.clone(), label: None });
                }
            }
            Field::Creator | Field::OtherCreator => {
                let person = person_from_text(&capture.value);
                if person != Person::default() {
                    self.add_author(person, capture.field == Field::OtherCreator);
                }
            }
            Field::Published | Field::Updated | Field::Created => {
                let time = capture.word().and_then(|text| self.date(text));
                let slot = self.date_slot(capture.field);
                *slot = time.or(*slot);
            }
            _ if self.entry.is_some() => self.close_entry_field(capture),
            _ => self.close_head_field(capture),
        }
    }

    fn date_slot(&mut self, field: Field) -> &mut Option<jiff::Timestamp> {
        match (field, &mut self.entry) {
            (Field::Published, Some(entry)) => &mut entry.published,
            (Field::Published, None) => &mut self.feed.head.published,
            (Field::Created, Some(entry)) => &mut entry.created,
            (Field::Created, None) => &mut self.feed.head.created,
            (_, Some(entry)) => &mut entry.updated,
            (_, None) => &mut self.feed.head.updated,
        }
    }

    fn close_entry_field(&mut self, capture: Capture<'_>) {
        let Some(entry) = &mut self.entry else { return };
        let weak = &mut self.entry_weak;
        match capture.field {
            Field::Title => set(&mut entry.title, capture.into_text(), &mut weak.title, false),
            Field::OtherTitle => set(&mut entry.title, capture.into_text(), &mut weak.title, true),
            Field::Summary if entry.summary.is_some() && !weak.body => {
                entry.content.extend(capture.into_text().filter(|_| entry.content.len() < LIST_MAX));
            }
            Field::Summary => set(&mut entry.summary, capture.into_text(), &mut weak.body, false),
            Field::OtherSummary => set(&mut entry.summary, capture.into_text(), &mut weak.body, true),
            Field::Content => {
                if let Some(href) = capture.attribute("src") {
                    let link = capture.link(href, &self.room);
                    entry.link = entry.link.take().or(link);
                }
                entry.content.extend(capture.into_text().filter(|_| entry.content.len() < LIST_MAX));
            }
            Field::Id => {
                entry.guid = entry.guid.take().or_else(|| capture.word().map(str::to_owned));
                let is_link =
                    !capture.attribute("ispermalink").is_some_and(|value| value.eq_ignore_ascii_case("false"));
                let looks_like_link = entry
                    .guid
                    .as_deref()
                    .is_some_and(|guid| guid.starts_with("http://") || guid.starts_with("https://"));
                entry.guid_is_link = Some(is_link && looks_like_link && capture.namespace == Namespace::Plain);
            }
            Field::Subtitle => entry.subtitle = entry.subtitle.take().or_else(|| capture.into_text()),
            Field::Language => entry.language = capture.word().map(language_tag),
            Field::Rights => entry.rights = capture.into_text(),
            Field::Comments => {
                entry.comments = capture.word().and_then(|href| capture.link(href, &self.room));
            }
            Field::Duration => entry.duration_secs = capture.word().and_then(duration_secs),
            Field::Enclosure => {
                if let Some(Enclosure { href, mime, length }) = enclosure(&capture, &self.room) {
                    let link = Link {
                        rel: "enclosure".to_owned(),
                        href: href.clone(),
                        mime: mime.clone(),
                        length: length.clone(),
                        ..Link::default()
                    };
                    push(&mut entry.links, link);
                    push(&mut entry.enclosures, Enclosure { href, mime, length });
                }
            }
            Field::ItunesImage => entry.image = image_attribute(&capture, &self.room).or(entry.image.take()),
            Field::MediaThumbnail => {
                entry
                    .media_thumbnail
                    .extend(media_of(&capture, &self.room).filter(|_| entry.media_thumbnail.len() < LIST_MAX));
            }
            Field::MediaPlayer => entry.media_player = media_of(&capture, &self.room),
            _ => {}
        }
    }

    fn close_head_field(&mut self, capture: Capture<'_>) {
        let head = &mut self.feed.head;
        let weak = &mut self.head_weak;
        let word = || capture.word().map(str::to_owned);
        // CDF has the address of its logo in an attribute.
        let href = || capture.word().or_else(|| capture.attribute("href"));
        let link = || href().and_then(|href| capture.link(href, &self.room));
        match capture.field {
            Field::Title => set(&mut head.title, capture.into_text(), &mut weak.title, false),
            Field::OtherTitle => set(&mut head.title, capture.into_text(), &mut weak.title, true),
            Field::Subtitle => set(&mut head.subtitle, capture.into_text(), &mut weak.body, false),
            Field::OtherSubtitle => set(&mut head.subtitle, capture.into_text(), &mut weak.body, true),
            Field::Id => head.id = word(),
            Field::Language => head.language = capture.word().map(language_tag),
            Field::Icon => head.icon = link(),
            Field::Logo => head.logo = link(),
            Field::Ttl => head.ttl = capture.word().and_then(|value| value.parse().ok()),
            Field::Rights => head.rights = capture.into_text(),
            Field::Generator => head.generator = word(),
            Field::ItunesImage => head.image = image_attribute(&capture, &self.room).or(head.image.take()),
            Field::UpdatePeriod => self.update_period_secs = capture.word().and_then(period_secs),
            Field::UpdateFrequency => self.update_frequency = capture.word().and_then(|value| value.parse().ok()),
            Field::Hour => {
                // Some count from 1 to 24; 24 is midnight.
                let hour = capture.word().and_then(|value| value.parse::<u32>().ok()).filter(|hour| *hour <= 24);
                head.skips.hours |= hour.map_or(0, |hour| 1 << (hour % 24));
            }
            Field::Day => head.skips.days |= capture.word().and_then(day).map_or(0, |day| 1 << day),
            _ => {}
        }
    }

    /// A link by its text (RSS) or by its attributes (Atom, wherever it stands).
    fn close_link(&mut self, capture: &Capture<'_>) {
        let by_attribute = capture.attribute("href").or_else(|| capture.attribute("resource"));
        let Some(href) = by_attribute.or(capture.word()) else { return };
        let Some(href) = capture.link(href, &self.room) else { return };
        let of = |name| capture.attribute(name).map(str::to_owned);
        let rel = of("rel").unwrap_or_else(|| "alternate".to_owned());
        let mime = of("type").or_else(|| by_attribute.is_none().then(|| "text/html".to_owned()));
        let is = |wanted: &str| rel.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case(wanted));

        let (link_slot, links) = match &mut self.entry {
            Some(entry) => (&mut entry.link, &mut entry.links),
            None => (&mut self.feed.head.link, &mut self.feed.head.links),
        };
        let is_page = mime.as_deref().is_none_or(|mime| mime.contains("html"));
        let has_page = links
            .iter()
            .any(|link| link.rel == "alternate" && link.mime.as_deref().is_none_or(|mime| mime.contains("html")));
        if is("alternate") && (link_slot.is_none() || is_page && !has_page) {
            *link_slot = Some(href.clone());
        }
        if is("enclosure")
            && let Some(entry) = &mut self.entry
        {
            push(&mut entry.enclosures, Enclosure { href: href.clone(), mime: mime.clone(), length: of("length") });
        } else if self.entry.is_none() {
            let head = &mut self.feed.head;
            if is("hub") && head.hubs.len() < LIST_MAX && !head.hubs.contains(&href) {
                push(&mut head.hubs, href.clone());
            }
            if is("self") && head.self_url.is_none() {
                head.self_url = Some(href.clone());
            }
        }
        let links = match &mut self.entry {
            Some(entry) => &mut entry.links,
            None => &mut self.feed.head.links,
        };
        push(links, Link { rel, href, mime, title: of("title"), hreflang: of("hreflang"), length: of("length") });
    }

    fn add_author(&mut self, person: Person, weak: bool) {
        let (authors, is_weak) = match &mut self.entry {
            Some(entry) => (&mut entry.authors, &mut self.entry_weak.author),
            None => (&mut self.feed.head.authors, &mut self.head_weak.author),
        };
        if weak && !authors.is_empty() {
            return;
        }
        if *is_weak && !weak {
            authors.clear();
        }
        *is_weak = weak;
        if !authors.contains(&person) {
            push(authors, person);
        }
    }

    fn add_tag(&mut self, tag: Tag) {
        let tags = match &mut self.entry {
            Some(entry) => &mut entry.tags,
            None => &mut self.feed.head.tags,
        };
        if tags.len() < LIST_MAX && tag != Tag::default() && !tags.contains(&tag) {
            push(tags, tag);
        }
    }

    fn date(&mut self, text: &str) -> Option<jiff::Timestamp> {
        let time = date::parse(text);
        if time.is_none() && self.feed.warnings.len() < DATE_WARNINGS_MAX {
            self.warn(Warning::BadDate(text.chars().take(64).collect()));
        }
        time
    }

    fn link_attribute(&mut self, element: &Element<'_>, name: &str) -> Option<String> {
        let href = element.attribute(&mut self.declared, name)?;
        resolve::link(element.base.as_deref(), &href, &self.room)
    }

    fn media(&mut self, element: &Element<'_>) -> Option<Media> {
        let url = self.link_attribute(element, "url")?;
        let mut of = |name| element.attribute(&mut self.declared, name);
        Some(Media { url, mime: of("type"), medium: of("medium"), width: of("width"), height: of("height") })
    }
}

/// Sets a value unless there is one that counts as much.
fn set<T>(slot: &mut Option<T>, value: Option<T>, is_weak: &mut bool, weak: bool) {
    if value.is_some() && (slot.is_none() || *is_weak && !weak) {
        *slot = value;
        *is_weak = weak;
    }
}

fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() < LIST_MAX {
        list.push(item);
    }
}
