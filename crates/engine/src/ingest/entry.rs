//! One entry, made fit to be stored, shown and searched.

use domain::{
    File,
    ingest::{EntryKey, IncomingEntry, SEARCH_TEXT_BYTES_MAX},
};
use feed::{Entry, Person, Tag, Text, TextKind};
use jiff::Timestamp;

use super::text::{clean, cut, file_url, html, link_url};

/// Characters of an entry's guid, as it is shown; it is known by the hash of the whole.
const GUID_CHARS_MAX: usize = 2000;
/// Characters of an entry's title.
const TITLE_CHARS_MAX: usize = 1000;
/// Characters of an entry's authors, all together.
const AUTHOR_CHARS_MAX: usize = 500;
/// Characters of one category, and how many there are.
const CATEGORY_CHARS_MAX: usize = 200;
const CATEGORIES_MAX: usize = 64;
/// Files of one entry.
const ENCLOSURES_MAX: usize = 64;
/// Characters of a media type.
const MIME_CHARS_MAX: usize = 200;

/// Makes what the store takes of an entry; `authors` are those of its feed, where they speak for it.
pub(super) fn incoming(entry: &Entry, key: EntryKey, authors: &[Person]) -> IncomingEntry {
    let title = entry.title.as_ref().and_then(|title| clean(&title.to_plain(), TITLE_CHARS_MAX));
    let author = author(if entry.authors.is_empty() { authors } else { &entry.authors });
    let summary = entry.summary.as_ref().and_then(|text| html(entry, text));
    let content = best(&entry.content).and_then(|text| html(entry, text));
    let search_text = search_text(title.as_deref(), author.as_deref(), content.as_deref().or(summary.as_deref()));
    IncomingEntry {
        guid: guid(entry),
        has_own_guid: entry.variant.is_some(),
        identity: key.identity,
        traits: key.traits,
        fingerprint: key.fingerprint,
        is_shared: key.is_shared,
        is_cut: key.is_cut,
        url: entry.link.as_deref().and_then(link_url),
        title,
        author,
        categories: categories(&entry.tags),
        enclosures: enclosures(entry),
        summary,
        content,
        published_at: entry.published.or(entry.created).and_then(storable),
        updated_at: entry.updated.and_then(storable),
        search_text,
        is_thin: false,
    }
}

/// What it is known by, with a name of its own behind it if others in its document are known by that.
fn guid(entry: &Entry) -> String {
    let identity = clean(&entry.identity, GUID_CHARS_MAX).unwrap_or_default();
    match &entry.variant {
        Some(variant) => format!("{identity}#{variant}"),
        None => identity,
    }
}

/// The form to show: markup before plain text, then the first.
fn best(contents: &[Text]) -> Option<&Text> {
    let full = || contents.iter().filter(|content| !content.value.trim().is_empty());
    full().find(|content| content.kind != TextKind::Plain).or_else(|| full().next())
}

fn author(people: &[Person]) -> Option<String> {
    let names: Vec<&str> =
        people.iter().filter_map(|person| person.name.as_deref().or(person.email.as_deref())).collect();
    clean(&names.join(", "), AUTHOR_CHARS_MAX)
}

fn categories(tags: &[Tag]) -> Vec<String> {
    let mut categories: Vec<String> = Vec::new();
    for tag in tags.iter().take(CATEGORIES_MAX) {
        let word = tag.label.as_deref().or(tag.term.as_deref()).and_then(|word| clean(word, CATEGORY_CHARS_MAX));
        categories.extend(word.filter(|word| !categories.contains(word)));
    }
    categories
}

fn enclosures(entry: &Entry) -> Vec<File> {
    let stated = entry
        .enclosures
        .iter()
        .map(|file| (file.href.as_str(), file.mime.as_deref(), file.length.as_deref(), file.duration_secs));
    let media =
        entry.media_content.iter().map(|media| (media.url.as_str(), media.mime.as_deref(), None, media.duration_secs));
    let mut files: Vec<File> = Vec::new();
    for (url, mime, length, duration_secs) in stated.chain(media).take(ENCLOSURES_MAX) {
        let Some(url) = file_url(url) else { continue };
        if let Some(known) = files.iter_mut().find(|file| file.url == url) {
            known.duration_secs = known.duration_secs.or(duration_secs);
            continue;
        }
        let mime = mime.and_then(|mime| clean(mime, MIME_CHARS_MAX));
        // What is larger than any file is no size, and no database's number either.
        let length =
            length.and_then(|length| length.trim().parse::<i64>().ok()).and_then(|length| u64::try_from(length).ok());
        files.push(File { url, mime, length, duration_secs });
    }
    // A podcast states the length of the episode: that is of the file which plays it.
    if let Some(file) = files.iter_mut().find(|file| plays(file)) {
        file.duration_secs = file.duration_secs.or(entry.duration_secs);
    }
    files
}

/// Whether a file is sound or film, by its type; one without a type may be.
fn plays(file: &File) -> bool {
    file.mime.as_deref().is_none_or(|mime| mime.starts_with("audio/") || mime.starts_with("video/"))
}

/// A time that every store keeps: those before our era or beyond its four digits are mistakes.
fn storable(time: Timestamp) -> Option<Timestamp> {
    const FIRST_SECOND: i64 = -62_135_596_800;
    const LAST_SECOND: i64 = 253_402_300_799;
    (FIRST_SECOND..=LAST_SECOND).contains(&time.as_second()).then_some(time)
}

fn search_text(title: Option<&str>, author: Option<&str>, body: Option<&str>) -> String {
    let mut text = String::new();
    for part in [title, author].into_iter().flatten() {
        text.push_str(part);
        text.push('\n');
    }
    if let Some(body) = body {
        text.push_str(&feed::plain_text(body));
    }
    text.truncate(cut(&text, SEARCH_TEXT_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str, kind: TextKind) -> Text {
        Text { value: value.into(), kind, base: None }
    }

    fn made(entry: &Entry) -> IncomingEntry {
        incoming(entry, EntryKey::default(), &[Person { name: Some("Feed".into()), ..Person::default() }])
    }

    #[test]
    fn f3_texts_are_html_and_titles_are_plain() {
        let entry = made(&Entry {
            title: Some(text("<b>A</b> &amp; B", TextKind::Html)),
            summary: Some(text("a < b\nc\r\n\r\nd", TextKind::Plain)),
            content: vec![text("plain", TextKind::Plain), text("<p onclick=x>rich", TextKind::Html)],
            ..Entry::default()
        });
        assert_eq!(entry.title.as_deref(), Some("A & B"));
        assert_eq!(entry.summary.as_deref(), Some("<p>a &lt; b<br>c</p><p>d</p>"));
        assert_eq!(entry.content.as_deref(), Some("<p>rich</p>"));
        assert_eq!(entry.author.as_deref(), Some("Feed"));
        assert_eq!(entry.search_text, "A & B\nFeed\nrich");
    }

    #[test]
    fn f3_lists_are_bounded_and_hold_each_once() {
        let tag = |term: &str| Tag { term: Some(term.into()), ..Tag::default() };
        let enclosure = |href: &str, length: &str| feed::Enclosure {
            href: href.into(),
            length: Some(length.into()),
            ..Default::default()
        };
        let media = |url: &str| feed::Media { url: url.into(), ..Default::default() };
        let entry = made(&Entry {
            authors: vec![
                Person { name: Some("A\0".into()), ..Person::default() },
                Person { email: Some("b@e.org".into()), ..Person::default() },
            ],
            tags: vec![tag("x"), tag(" x "), tag(""), tag("y")],
            enclosures: vec![
                enclosure("http://e.org/a.mp3", "12"),
                enclosure("javascript:x", "1"),
                enclosure("http://e.org/b", "99999999999999999999"),
            ],
            media_content: vec![media("http://e.org/a.mp3"), media("http://e.org/c.jpg")],
            ..Entry::default()
        });
        assert_eq!(entry.author.as_deref(), Some("A, b@e.org"));
        assert_eq!(entry.categories, ["x", "y"]);
        let files: Vec<_> = entry.enclosures.iter().map(|file| (file.url.as_str(), file.length)).collect();
        assert_eq!(files, [("http://e.org/a.mp3", Some(12)), ("http://e.org/b", None), ("http://e.org/c.jpg", None)]);
    }

    #[test]
    fn f2_episode_length_is_that_of_its_file() {
        let file = |href: &str, mime: &str, duration_secs| feed::Enclosure {
            href: href.into(),
            mime: Some(mime.into()),
            duration_secs,
            ..Default::default()
        };
        for (own, expect) in [(None, [None, Some(62), None]), (Some(7), [None, Some(7), None])] {
            let entry = made(&Entry {
                duration_secs: Some(62),
                enclosures: vec![
                    file("http://e.org/a.jpg", "image/jpeg", None),
                    file("http://e.org/a.mp3", "audio/mpeg", own),
                    file("http://e.org/a.mp4", "video/mp4", None),
                ],
                ..Entry::default()
            });
            assert_eq!(entry.enclosures.iter().map(|file| file.duration_secs).collect::<Vec<_>>(), expect);
        }
    }

    #[test]
    fn f3_what_no_store_takes_is_left_out() {
        let entry = made(&Entry {
            identity: "a\0b".into(),
            link: Some("javascript:alert(1)".into()),
            title: Some(text(" \0\u{1} ", TextKind::Plain)),
            published: Some(Timestamp::MIN),
            updated: Some(Timestamp::MAX),
            content: vec![text(&"word ".repeat(SEARCH_TEXT_BYTES_MAX), TextKind::Html)],
            ..Entry::default()
        });
        assert_eq!((entry.guid.as_str(), entry.url, entry.title), ("ab", None, None));
        assert_eq!(entry.published_at, None);
        assert!(entry.search_text.len() <= SEARCH_TEXT_BYTES_MAX);
    }
}
