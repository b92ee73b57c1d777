//! Links that are relative, once the whole document has been read: an entry's are relative to the entry's own page, else
//! to the site, else to the feed. Those under an `xml:base` are absolute by then. Texts are left as they are: what links in
//! one are relative to is [`Entry::base_of`], when it is shown.

use std::sync::Arc;

use url::Url;

use crate::{
    model::{Entry, Feed, Head, Image, Text},
    resolve::{self, LinkBudget},
};

/// Makes the links of a feed absolute. `document` is where the feed is from.
pub(crate) fn resolve(feed: &mut Feed, document: Option<&Arc<Url>>, budget: &LinkBudget) {
    let Feed { head, entries, .. } = feed;
    absolute(head.link.iter_mut(), document, budget);
    let site = head.link.as_deref().and_then(resolve::page).or_else(|| document.cloned());
    // Where the feed is and who pushes it is said of the document.
    absolute(links_of_document(head), document.or(site.as_ref()), budget);
    absolute(links_of_site(head), site.as_ref(), budget);
    for text in head_texts(head) {
        text.base = text.base.take().or_else(|| site.clone());
    }
    for entry in entries {
        resolve_entry(entry, site.as_ref(), budget);
    }
}

fn resolve_entry(entry: &mut Entry, site: Option<&Arc<Url>>, budget: &LinkBudget) {
    absolute(entry.link.iter_mut(), site, budget);
    entry.site = site.cloned();
    // Most have none, and an address costs as much to parse as the entry.
    if entry_links(entry).any(|href| is_relative(href)) {
        let base = entry.link.as_deref().and_then(resolve::page).or_else(|| site.cloned());
        absolute(entry_links(entry), base.as_ref(), budget);
    }
}

fn is_relative(href: &str) -> bool {
    resolve::scheme(href).is_none()
}

fn absolute<'a>(links: impl Iterator<Item = &'a mut String>, base: Option<&Arc<Url>>, budget: &LinkBudget) {
    let Some(base) = base else { return };
    for href in links.filter(|href| is_relative(href)) {
        if let Some(absolute) = resolve::link(Some(base), href, budget) {
            *href = absolute;
        }
    }
}

fn links_of_document(head: &mut Head) -> impl Iterator<Item = &mut String> {
    let Head { links, hubs, self_url, .. } = head;
    links.iter_mut().map(|link| &mut link.href).chain(self_url).chain(hubs)
}

fn links_of_site(head: &mut Head) -> impl Iterator<Item = &mut String> {
    let Head { icon, logo, image, authors, contributors, .. } = head;
    let image = image.iter_mut().flat_map(|image| image.href.iter_mut().chain(&mut image.link));
    let people = authors.iter_mut().chain(contributors).filter_map(|person| person.url.as_mut());
    icon.iter_mut().chain(logo).chain(image).chain(people)
}

/// All but the link to its own page.
fn entry_links(entry: &mut Entry) -> impl Iterator<Item = &mut String> {
    let Entry { links, enclosures, media_content, media_thumbnail, media_player, image, .. } = entry;
    let player = media_player.iter_mut().map(|media| &mut media.url);
    let media = media_content.iter_mut().chain(media_thumbnail).map(|media| &mut media.url).chain(player);
    let image = image.iter_mut().flat_map(|image| {
        let Image { href, link, .. } = &mut **image;
        href.iter_mut().chain(link)
    });
    let people = entry.authors.iter_mut().chain(&mut entry.contributors).filter_map(|person| person.url.as_mut());
    let source = entry.source.iter_mut().filter_map(|source| source.link.as_mut());
    links
        .iter_mut()
        .map(|link| &mut link.href)
        .chain(&mut entry.comments)
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
