//! A feed while it is being read: what is open, and what has been found so far.

mod fields;

use std::sync::Arc;

use url::Url;

use super::{
    Element, attribute_value,
    capture::{Buffers, Capture},
    roles::{Field, Scope},
    values::{duration_secs, language_tag, person_from_text, picture, plain, version},
};
use crate::{
    date,
    entity::{Declared, decode, decode_into},
    limits::{DATE_WARNINGS_MAX, ENTRIES_MAX, TEXT_BYTES_MAX, WARNINGS_MAX},
    lists::ListBudget,
    model::{Entry, Feed, Image, Media, Person, Source, Tag, Text, Warning},
    relative,
    resolve::{self, LinkBudget},
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
    /// The same, if that is a link: its link for want of another.
    entry_about_link: Option<String>,
    /// The guid of the open entry, if that is a link: its link for want of another page.
    entry_guid_link: Option<String>,
    person: Person,
    image: Image,
    source: Source,
    loose: String,
    capture: Option<Capture<'a>>,
    buffers: Buffers<'a>,
    update_period_secs: Option<u32>,
    update_frequency: Option<u32>,
    document_base: Option<Arc<Url>>,
    /// What making links absolute may still add.
    budget: LinkBudget,
    lists: ListBudget,
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
            entry_about_link: None,
            entry_guid_link: None,
            person: Person::default(),
            image: Image::default(),
            source: Source::default(),
            loose: String::new(),
            capture: None,
            buffers: Buffers::default(),
            update_period_secs: None,
            update_frequency: None,
            document_base,
            budget: LinkBudget::of(document_bytes),
            lists: ListBudget::default(),
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
        relative::resolve(&mut self.feed, self.document_base.as_ref(), &self.budget);
        Some(self.feed)
    }

    /// A base URL that an element states, relative to the one around it; none if it is no base.
    pub(super) fn rebase(&mut self, outer: Option<&Arc<Url>>, raw: &str) -> Option<Arc<Url>> {
        let stated = decode(raw, &mut self.declared);
        let around = outer.or(self.document_base.as_ref());
        resolve::base(around.map(AsRef::as_ref), &stated, &self.budget).map(Arc::new)
    }

    pub(super) fn open_scope(&mut self, scope: Scope, element: &Element<'_, '_>) {
        self.loose.clear();
        match scope {
            Scope::Feed => self.open_feed(element),
            Scope::Entry => self.open_entry(element),
            Scope::Author | Scope::Contributor | Scope::Owner => self.person = Person::default(),
            Scope::Image => self.image = Image { href: self.link_attribute(element, "href"), ..Image::default() },
            Scope::Source => self.source = Source { title: None, link: self.link_attribute(element, "url") },
            Scope::ItunesCategory => {
                let term = element.attribute(&mut self.declared, "text").as_deref().map(plain);
                self.add_tag(Tag { term, scheme: Some(ITUNES_SCHEME.to_owned()), label: None });
            }
            Scope::MediaContent => {
                let media = self.media(element);
                if let (Some(entry), Some(media)) = (&mut self.entry, media) {
                    self.lists.push(&mut entry.media_content, media);
                }
            }
            _ => {}
        }
    }

    fn open_feed(&mut self, element: &Element<'_, '_>) {
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
    fn open_cdf(&mut self, element: &Element<'_, '_>) {
        let link = self.link_attribute(element, "href");
        let updated = element.attribute(&mut self.declared, "lastmod").and_then(|text| self.date(&text));
        let (link_slot, updated_slot) = match &mut self.entry {
            Some(entry) => (&mut entry.link, &mut entry.updated),
            None => (&mut self.feed.head.link, &mut self.feed.head.updated),
        };
        *link_slot = link;
        *updated_slot = updated;
    }

    fn open_entry(&mut self, element: &Element<'_, '_>) {
        self.found = true;
        if self.feed.version.is_empty() {
            self.feed.version = version(element);
        }
        self.entry_weak = Weak::default();
        self.entry_about = element.attribute(&mut self.declared, "rdf:about");
        let about = self.entry_about.as_deref().filter(|about| resolve::is_page(about, false));
        self.entry_about_link =
            about.and_then(|about| resolve::link(element.base.map(AsRef::as_ref), about, &self.budget));
        self.entry_guid_link = None;
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
                    self.lists.push(list, person);
                }
            }
            Scope::Image => self.close_image(),
            Scope::Source => self.close_source(),
            _ => {}
        }
    }

    fn close_entry(&mut self) {
        let Some(mut entry) = self.entry.take() else { return };
        if entry.guid.is_none() && entry.link.is_none() {
            entry.guid = self.entry_about.take();
            // An element with nothing in it is no post.
            if entry == Entry::default() {
                return;
            }
        }
        if entry.link.as_deref().is_none_or(resolve::is_mail) {
            entry.link = self.entry_guid_link.take().or(self.entry_about_link.take()).or(entry.link);
        }
        if entry.image.is_none() {
            entry.image = picture(&entry).map(|href| Box::new(Image { href: Some(href), ..Image::default() }));
        }
        self.feed.entries.push(entry);
    }

    fn close_image(&mut self) {
        let mut image = std::mem::take(&mut self.image);
        image.href = image.href.or_else(|| resolve::link(None, self.loose.trim(), &self.budget));
        // RSS 1.0 has an empty one in its channel, which only says that another follows.
        if image == Image::default() {
            return;
        }
        match &mut self.entry {
            Some(entry) => drop(entry.image.get_or_insert_with(|| Box::new(image))),
            None => drop(self.feed.head.image.get_or_insert(image)),
        }
    }

    fn close_source(&mut self) {
        let mut source = std::mem::take(&mut self.source);
        let loose = self.loose.trim();
        if source.title.is_none() && !loose.is_empty() {
            source.title = Some(Text { value: loose.to_owned(), ..Text::default() });
        }
        if let Some(entry) = &mut self.entry {
            entry.source = (source != Source::default()).then(|| Box::new(source));
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
        if let Some(entry) = &mut self.entry {
            entry.is_cut = true;
        }
    }

    /// A feed begins inside an entry: that was no entry, but a word in a message before the feed.
    pub(super) fn discard_entry(&mut self) {
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

    pub(super) fn open_inline(&mut self, element: &Element<'_, '_>) -> bool {
        self.capture.as_mut().is_some_and(|capture| capture.open_tag(element))
    }

    pub(super) fn close_inline(&mut self, local: &str) {
        if let Some(capture) = &mut self.capture {
            capture.close_tag(local);
        }
    }

    /// Begins a value; false if nothing comes of it, as of the categories beyond their limit.
    pub(super) fn open_field(&mut self, field: Field, element: &Element<'a, '_>) -> bool {
        let is_tag = matches!(field, Field::Category | Field::MediaCategory | Field::Keywords);
        let is_wanted = !is_tag || !self.has_all_tags();
        self.capture = is_wanted.then(|| Capture::new(field, element, &mut self.declared, &mut self.buffers));
        is_wanted
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
            self.lists.push(authors, person);
        }
    }

    fn add_tag(&mut self, tag: Tag) {
        let tags = match &mut self.entry {
            Some(entry) => &mut entry.tags,
            None => &mut self.feed.head.tags,
        };
        if tag != Tag::default() && !tags.contains(&tag) {
            self.lists.push(tags, tag);
        }
    }

    /// Whether there is no room for another tag, so that none need be made.
    fn has_all_tags(&self) -> bool {
        let tags = self.entry.as_ref().map_or(&self.feed.head.tags, |entry| &entry.tags);
        !self.lists.has_capacity(tags)
    }

    fn date(&mut self, text: &str) -> Option<jiff::Timestamp> {
        let time = date::parse(text);
        if time.is_none() && self.feed.warnings.len() < DATE_WARNINGS_MAX {
            self.warn(Warning::BadDate(text.chars().take(64).collect()));
        }
        time
    }

    fn link_attribute(&mut self, element: &Element<'_, '_>, name: &str) -> Option<String> {
        let href = element.attribute(&mut self.declared, name)?;
        resolve::link(element.base.map(AsRef::as_ref), &href, &self.budget)
    }

    fn media(&mut self, element: &Element<'_, '_>) -> Option<Media> {
        let [mut url, mut mime, mut medium, mut width, mut height, mut duration] = [const { None }; 6];
        // One pass: there are often six of them, and three such elements in each entry.
        for (name, raw) in element.attributes.iter() {
            let slot = match name {
                _ if name.eq_ignore_ascii_case("url") => &mut url,
                _ if name.eq_ignore_ascii_case("type") => &mut mime,
                _ if name.eq_ignore_ascii_case("medium") => &mut medium,
                _ if name.eq_ignore_ascii_case("width") => &mut width,
                _ if name.eq_ignore_ascii_case("height") => &mut height,
                _ if name.eq_ignore_ascii_case("duration") => &mut duration,
                _ => continue,
            };
            // The first of two counts.
            slot.get_or_insert(raw);
        }
        let url =
            resolve::link(element.base.map(AsRef::as_ref), &attribute_value(url?, &mut self.declared)?, &self.budget)?;
        let mut of = |raw: Option<&str>| raw.and_then(|raw| attribute_value(raw, &mut self.declared));
        let (mime, medium, width, height) = (of(mime), of(medium), of(width), of(height));
        let duration_secs = of(duration).as_deref().and_then(duration_secs);
        Some(Media { url, mime, medium, width, height, duration_secs })
    }
}
