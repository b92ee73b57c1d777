//! Links that are relative to nothing known, in documents that nobody knows the address of.

use std::sync::Arc;

use crate::{
    model::{Entry, Feed, Head, Text},
    resolve::{self, Room},
};

/// Where nothing else says what links are relative to, the feed's own link does.
pub(super) fn resolve_by_feed_link(feed: &mut Feed, room: &Room) {
    let Some(base) = feed.head.link.as_deref().and_then(|link| resolve::base(None, link, room)).map(Arc::new) else {
        return;
    };
    for href in head_links(&mut feed.head).chain(feed.entries.iter_mut().flat_map(entry_links)) {
        if let Some(absolute) = resolve::link(Some(&base), href, room) {
            *href = absolute;
        }
    }
    for text in head_texts(&mut feed.head).chain(feed.entries.iter_mut().flat_map(entry_texts)) {
        text.base.get_or_insert_with(|| base.clone());
    }
}

fn head_links(head: &mut Head) -> impl Iterator<Item = &mut String> {
    let Head { links, icon, logo, image, hubs, self_url, authors, contributors, .. } = head;
    let image = image.iter_mut().flat_map(|image| image.href.iter_mut().chain(&mut image.link));
    let people = authors.iter_mut().chain(contributors).filter_map(|person| person.url.as_mut());
    let own = icon.iter_mut().chain(logo).chain(self_url).chain(hubs);
    links.iter_mut().map(|link| &mut link.href).chain(own).chain(image).chain(people)
}

fn entry_links(entry: &mut Entry) -> impl Iterator<Item = &mut String> {
    let Entry { link, links, enclosures, media_content, media_thumbnail, media_player, image, .. } = entry;
    let media = media_content.iter_mut().chain(media_thumbnail).chain(media_player).map(|media| &mut media.url);
    let image = image.iter_mut().flat_map(|image| image.href.iter_mut().chain(&mut image.link));
    let people = entry.authors.iter_mut().chain(&mut entry.contributors).filter_map(|person| person.url.as_mut());
    let source = entry.source.iter_mut().filter_map(|source| source.link.as_mut());
    link.iter_mut()
        .chain(&mut entry.comments)
        .chain(links.iter_mut().map(|link| &mut link.href))
        .chain(enclosures.iter_mut().map(|enclosure| &mut enclosure.href))
        .chain(media)
        .chain(image)
        .chain(people)
        .chain(source)
}

fn head_texts(head: &mut Head) -> impl Iterator<Item = &mut Text> {
    let Head { title, subtitle, rights, .. } = head;
    title.iter_mut().chain(subtitle).chain(rights)
}

fn entry_texts(entry: &mut Entry) -> impl Iterator<Item = &mut Text> {
    let Entry { title, subtitle, summary, content, rights, .. } = entry;
    title.iter_mut().chain(subtitle).chain(summary).chain(content).chain(rights)
}
