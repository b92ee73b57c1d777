//! Puts the values of a feed where they belong, and decides which counts where several say the same.

use super::{
    super::{
        capture::Capture,
        roles::{Field, Scope},
        values::{
            category, day, duration_secs, enclosure, image_attribute, language_tag, media_of, period_secs,
            person_from_text, plain,
        },
    },
    Build, ITUNES_SCHEME,
};
use crate::{
    identity,
    limits::LIST_MAX,
    model::{Enclosure, Link, Person, Tag, Warning},
    namespace::Namespace,
    resolve,
};

impl Build<'_> {
    /// Puts the value that just ended where it belongs.
    pub(in crate::xml) fn close_field(&mut self, scope: Scope) {
        let Some(mut capture) = self.capture.take() else { return };
        if capture.cut {
            self.warn(Warning::TextCut);
        }
        match scope {
            Scope::Author | Scope::Contributor | Scope::Owner => self.close_person_field(&capture),
            Scope::Image => self.close_image_field(&capture),
            Scope::Source => self.close_source_field(&mut capture),
            _ => self.close_feed_or_entry_field(&mut capture),
        }
        self.buffers.reclaim(capture);
    }

    fn close_person_field(&mut self, capture: &Capture<'_>) {
        let value = capture.word().map(str::to_owned);
        match capture.field {
            Field::PersonName => self.person.name = value.as_deref().map(plain),
            Field::PersonEmail => self.person.email = value,
            Field::PersonUrl => {
                self.person.url = value.and_then(|href| capture.link(&href, &self.budget));
            }
            _ => {}
        }
    }

    fn close_image_field(&mut self, capture: &Capture<'_>) {
        let value = capture.word().map(str::to_owned);
        let link = || value.as_deref().and_then(|href| capture.link(href, &self.budget));
        match capture.field {
            Field::ImageUrl => self.image.href = link(),
            Field::Link => self.image.link = link(),
            Field::Title => self.image.title = value,
            Field::ImageWidth => self.image.width = value,
            Field::ImageHeight => self.image.height = value,
            _ => {}
        }
    }

    fn close_source_field(&mut self, capture: &mut Capture<'_>) {
        match capture.field {
            Field::Title => self.source.title = capture.take_text(),
            Field::Link if matches!(capture.attribute("rel"), None | Some("alternate")) => {
                let href = capture.attribute("href").or(capture.word());
                self.source.link = href.and_then(|href| capture.link(href, &self.budget));
            }
            _ => {}
        }
    }

    fn close_feed_or_entry_field(&mut self, capture: &mut Capture<'_>) {
        match capture.field {
            Field::Link => self.close_link(capture),
            Field::Category | Field::MediaCategory => {
                let tag = category(capture);
                self.add_tag(tag);
            }
            Field::Keywords => {
                let scheme = (capture.namespace == Namespace::Itunes).then(|| ITUNES_SCHEME.to_owned());
                for word in
                    plain(&capture.value).split(',').map(str::trim).filter(|word| !word.is_empty()).take(LIST_MAX)
                {
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

    fn close_entry_field(&mut self, capture: &mut Capture<'_>) {
        let Some(entry) = &mut self.entry else { return };
        let weak = &mut self.entry_weak;
        match capture.field {
            Field::Title => set(&mut entry.title, capture.take_text(), &mut weak.title, false),
            Field::OtherTitle => set(&mut entry.title, capture.take_text(), &mut weak.title, true),
            Field::Summary if entry.summary.is_some() && !weak.body => {
                if let Some(text) = capture.take_text() {
                    self.lists.push(&mut entry.content, text);
                }
            }
            Field::Summary => set(&mut entry.summary, capture.take_text(), &mut weak.body, false),
            Field::OtherSummary => set(&mut entry.summary, capture.take_text(), &mut weak.body, true),
            Field::Content => {
                if let Some(href) = capture.attribute("src") {
                    let link = capture.link(href, &self.budget);
                    entry.link = entry.link.take().or(link);
                }
                if let Some(text) = capture.take_text() {
                    self.lists.push(&mut entry.content, text);
                }
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
                let says_so = capture.attribute("ispermalink").is_some_and(|value| value.eq_ignore_ascii_case("true"));
                // Atom's ids are addresses, and a relative one of several parts is rather that than a number.
                let is_atom = capture.namespace == Namespace::Atom && capture.base.is_some();
                let is_page = |guid: &&str| resolve::is_page(guid, says_so || is_atom && guid.contains('/'));
                let guid = entry.guid.as_deref().filter(is_page);
                // Who says that it is no link may be right, where it leads to the front page.
                let guid = guid.filter(|guid| is_link || !identity::is_root(guid));
                self.entry_guid_link = guid.and_then(|guid| capture.link(guid, &self.budget));
            }
            Field::Subtitle => entry.subtitle = entry.subtitle.take().or_else(|| capture.take_text().map(Box::new)),
            Field::Language => entry.language = capture.word().map(language_tag),
            Field::Rights => entry.rights = capture.take_text().map(Box::new),
            Field::Comments => {
                entry.comments = capture.word().and_then(|href| capture.link(href, &self.budget));
            }
            Field::Duration => entry.duration_secs = capture.word().and_then(duration_secs),
            Field::Enclosure => {
                if let Some(enclosure) = enclosure(capture, &self.budget) {
                    let link = Link {
                        rel: "enclosure".to_owned(),
                        href: enclosure.href.clone(),
                        mime: enclosure.mime.clone(),
                        length: enclosure.length.clone(),
                        ..Link::default()
                    };
                    self.lists.push(&mut entry.links, link);
                    self.lists.push(&mut entry.enclosures, enclosure);
                }
            }
            Field::ItunesImage => {
                entry.image = image_attribute(capture, &self.budget).map(Box::new).or(entry.image.take());
            }
            Field::MediaThumbnail => {
                if let Some(media) = media_of(capture, &self.budget) {
                    self.lists.push(&mut entry.media_thumbnail, media);
                }
            }
            Field::MediaPlayer => entry.media_player = media_of(capture, &self.budget).map(Box::new),
            _ => {}
        }
    }

    fn close_head_field(&mut self, capture: &mut Capture<'_>) {
        let head = &mut self.feed.head;
        let weak = &mut self.head_weak;
        let word = || capture.word().map(str::to_owned);
        // CDF has the address of its logo in an attribute.
        let href = || capture.word().or_else(|| capture.attribute("href"));
        let link = || href().and_then(|href| capture.link(href, &self.budget));
        match capture.field {
            Field::Title => set(&mut head.title, capture.take_text(), &mut weak.title, false),
            Field::OtherTitle => set(&mut head.title, capture.take_text(), &mut weak.title, true),
            Field::Subtitle => set(&mut head.subtitle, capture.take_text(), &mut weak.body, false),
            Field::OtherSubtitle => set(&mut head.subtitle, capture.take_text(), &mut weak.body, true),
            Field::Id => head.id = word(),
            Field::Language => head.language = capture.word().map(language_tag),
            Field::Icon => head.icon = link(),
            Field::Logo => head.logo = link(),
            Field::Ttl => head.ttl = capture.word().and_then(|value| value.parse().ok()),
            Field::Rights => head.rights = capture.take_text(),
            Field::Generator => head.generator = word(),
            Field::ItunesImage => head.image = image_attribute(capture, &self.budget).or(head.image.take()),
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
        let Some(href) = capture.link(href, &self.budget) else { return };
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
            let enclosure =
                Enclosure { href: href.clone(), mime: mime.clone(), length: of("length"), duration_secs: None };
            self.lists.push(&mut entry.enclosures, enclosure);
        } else if self.entry.is_none() {
            let head = &mut self.feed.head;
            if is("hub") && head.hubs.len() < LIST_MAX && !head.hubs.contains(&href) {
                self.lists.push(&mut head.hubs, href.clone());
            }
            if is("self") && head.self_url.is_none() {
                head.self_url = Some(href.clone());
            }
        }
        let links = match &mut self.entry {
            Some(entry) => &mut entry.links,
            None => &mut self.feed.head.links,
        };
        let link = Link { rel, href, mime, title: of("title"), hreflang: of("hreflang"), length: of("length") };
        self.lists.push(links, link);
    }
}

/// Sets a value unless there is one that counts as much.
fn set<T>(slot: &mut Option<T>, value: Option<T>, is_weak: &mut bool, weak: bool) {
    if value.is_some() && (slot.is_none() || *is_weak && !weak) {
        *slot = value;
        *is_weak = weak;
    }
}
