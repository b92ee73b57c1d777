//! Reading OPML, as forgivingly as the parser of feeds: an outline that makes no sense is reported, and the rest read.

use std::collections::HashSet;

use domain::folder::{FOLDER_NAME_CHARS_MAX, one_line};
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{
    DEPTH_MAX, ERRORS_MAX, FILE_BYTES_MAX, FOLDERS_MAX, NAMESPACE, OUTLINES_MAX, OpmlError, SEPARATOR, decode::decode,
};
use crate::api::ImportError;

/// What a file holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Opml {
    /// Its feeds, in their order.
    pub(super) feeds: Vec<Outline>,
    /// All folders that hold a feed, and those that hold nothing at all, in their order.
    pub(super) folders: Vec<String>,
    /// What could not be read.
    pub(super) errors: Vec<ImportError>,
}

/// A feed in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) url: String,
    pub(super) title: Option<String>,
    pub(super) custom_title: Option<String>,
    pub(super) site_url: Option<String>,
    pub(super) folder: Option<String>,
    /// As written.
    pub(super) poll_interval: Option<String>,
    pub(super) push_enabled: bool,
}

pub(super) fn read(bytes: &[u8]) -> Result<Opml, OpmlError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(OpmlError::NotOpml(format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let text = decode(bytes);
    let mut walk = Walk::default();
    let mut reader = Reader::from_str(text.trim_start());
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => walk.start(&tag, false),
            Ok(Event::Empty(tag)) => walk.start(&tag, true),
            Ok(Event::End(tag)) => walk.end(tag.local_name().as_ref()),
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => {
                walk.fail("", format!("the file breaks off at byte {}: {error}", reader.error_position()));
                break;
            }
        }
    }
    walk.close_all();
    if walk.is_opml { Ok(walk.opml) } else { Err(OpmlError::NotOpml("there is no outline in it".to_owned())) }
}

#[derive(Default)]
struct Walk {
    opml: Opml,
    is_opml: bool,
    /// It is an export of ours, which tells the user's names from the feeds' own.
    is_ours: bool,
    outlines: usize,
    known_folders: HashSet<String>,
    has_too_many_folders: bool,
    /// The outlines that are open.
    open: Vec<Open>,
}

struct Open {
    /// What it is called, if it is a folder.
    folder: Option<String>,
    is_empty: bool,
}

impl Walk {
    fn start(&mut self, tag: &BytesStart<'_>, is_closed: bool) {
        let name = tag.local_name();
        self.is_opml |= is(name.as_ref(), "opml") || is(name.as_ref(), "outline");
        if is(name.as_ref(), "opml") {
            self.is_ours |= Attributes::of(tag).0.iter().any(|(_, value)| value == NAMESPACE);
        }
        if !is(name.as_ref(), "outline") {
            return;
        }
        self.outlines += 1;
        if let Some(outer) = self.open.last_mut() {
            outer.is_empty = false;
        }
        let attributes = Attributes::of(tag);
        let folder = if self.outlines > OUTLINES_MAX {
            self.too_many(&attributes);
            None
        } else if attributes.is_feed() {
            self.feed(&attributes);
            None
        } else {
            attributes.name()
        };
        self.open.push(Open { folder, is_empty: !attributes.is_feed() });
        if is_closed {
            self.close();
        }
    }

    fn end(&mut self, name: &str) {
        if is(name, "outline") {
            self.close();
        }
    }

    /// A folder that holds nothing at all is still one that somebody made.
    fn close(&mut self) {
        if self.open.last().is_some_and(|open| open.is_empty && open.folder.is_some()) {
            self.note_folder();
        }
        self.open.pop();
    }

    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }

    /// The name of the folder that we are in, noted as one.
    fn note_folder(&mut self) -> Option<String> {
        let names: Vec<&str> = self.open.iter().filter_map(|open| open.folder.as_deref()).take(DEPTH_MAX).collect();
        let whole = names.join(SEPARATOR);
        let name = whole.chars().take(FOLDER_NAME_CHARS_MAX).collect::<String>().trim().to_owned();
        if name.is_empty() {
            return None;
        }
        if self.known_folders.contains(&name) {
            return Some(name);
        }
        if self.known_folders.len() == FOLDERS_MAX {
            if !std::mem::replace(&mut self.has_too_many_folders, true) {
                self.fail(
                    "",
                    format!("there are more than {FOLDERS_MAX} folders: the feeds of the others are in none"),
                );
            }
            return None;
        }
        if name.len() < whole.trim().len() {
            self.fail("", format!("the name of the folder {name:?} was cut to {FOLDER_NAME_CHARS_MAX} characters"));
        }
        self.known_folders.insert(name.clone());
        self.opml.folders.push(name.clone());
        Some(name)
    }

    fn feed(&mut self, attributes: &Attributes) {
        let Some(url) = attributes.get("xmlurl") else {
            let name = attributes.name().unwrap_or_default();
            let url = attributes.get("htmlurl").or_else(|| attributes.get("url")).unwrap_or_default();
            return self.fail(&url, format!("the outline {name:?} is of a feed, but has no `xmlUrl`"));
        };
        let folder = self.note_folder();
        // Of another reader's names nobody can tell which the user chose: all of them survive the move. `text` is the
        // one that was shown there.
        let shown =
            || attributes.get("text").or_else(|| attributes.name()).filter(|name| *name != url && !self.is_ours);
        self.opml.feeds.push(Outline {
            title: attributes.name().filter(|name| *name != url),
            custom_title: attributes.get("customtitle").or_else(shown),
            site_url: attributes.get("htmlurl"),
            poll_interval: attributes.get("pollinterval"),
            push_enabled: attributes.get("pushenabled").as_deref() != Some("false"),
            folder,
            url,
        });
    }

    fn too_many(&mut self, attributes: &Attributes) {
        if let Some(url) = attributes.get("xmlurl") {
            self.fail(&url, format!("there are more than {OUTLINES_MAX} outlines"));
        }
    }

    fn fail(&mut self, url: &str, error: String) {
        if self.opml.errors.len() < ERRORS_MAX {
            self.opml.errors.push(ImportError { url: url.to_owned(), error });
        }
    }
}

/// The attributes of an outline: local names in lower case, as some writers have them in none other.
struct Attributes(Vec<(String, String)>);

impl Attributes {
    fn of(tag: &BytesStart<'_>) -> Self {
        let mut attributes = Vec::new();
        for attribute in tag.html_attributes().with_checks(false).flatten() {
            let name = attribute.key.local_name().as_ref().to_ascii_lowercase();
            let value = one_line(&htmlize::unescape_attribute(attribute.value.as_ref()));
            if !value.is_empty() {
                attributes.push((name, value));
            }
        }
        Self(attributes)
    }

    fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// What the outline is called: `title` is what a feed calls itself, `text` what the reader's list says.
    fn name(&self) -> Option<String> {
        self.get("title").or_else(|| self.get("text"))
    }

    fn is_feed(&self) -> bool {
        let says_so = self.get("type").is_some_and(|kind| ["rss", "atom", "feed"].iter().any(|known| is(&kind, known)));
        says_so || self.get("xmlurl").is_some()
    }
}

fn is(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feeds(text: &str) -> Vec<(String, Option<String>)> {
        read(text.as_bytes()).unwrap().feeds.into_iter().map(|feed| (feed.url, feed.folder)).collect()
    }

    #[test]
    fn f6_folders_are_read_with_their_names_joined() {
        let text = r#"<?xml version="1.0"?><opml version="2.0"><head><title>x</title></head><body>
            <outline text="Outer"><outline text="Inner"><outline type="rss" text="A" xmlUrl="http://a/"/></outline>
            <outline text="B" xmlUrl="http://b/"></outline></outline><outline text="Empty"/>
            <outline text="C" title="Its own" xmlUrl="http://c/" htmlUrl="http://c/site"/></body></opml>"#;
        let opml = read(text.as_bytes()).unwrap();
        assert_eq!(opml.folders, ["Outer / Inner", "Outer", "Empty"]);
        let folders: Vec<_> = opml.feeds.iter().map(|feed| (feed.url.as_str(), feed.folder.as_deref())).collect();
        assert_eq!(folders, [("http://a/", Some("Outer / Inner")), ("http://b/", Some("Outer")), ("http://c/", None)]);
        assert_eq!(opml.feeds[2].title.as_deref(), Some("Its own"));
        assert_eq!(opml.feeds[2].site_url.as_deref(), Some("http://c/site"));
        assert!(opml.errors.is_empty());
    }

    #[test]
    fn f6_broken_outline_is_reported() {
        let text = "<opml><body><outline type=rss text='No address'/>\
            <outline text=\"Bare & &eacute; &lt;\" XMLURL='http://a/?x=1&y=2&amp;z' unquoted=yes dup=1 dup=2>\
            </outlin></outline></outline><outline xmlUrl=http://b/ /><outline text='Q \"> & <' xmlUrl='http://c/'/>";
        let opml = read(text.as_bytes()).unwrap();
        let urls: Vec<_> = opml.feeds.iter().map(|feed| feed.url.as_str()).collect();
        assert_eq!(urls, ["http://a/?x=1&y=2&z", "http://b/", "http://c/"]);
        assert_eq!(opml.feeds[0].title.as_deref(), Some("Bare & é <"));
        assert_eq!(opml.errors.len(), 1);
        assert!(opml.errors[0].error.contains("No address"));
    }

    #[test]
    fn f6_cut_off_file_is_read_so_far() {
        let opml =
            read(b"<opml><body><outline text='F'><outline xmlUrl='http://a/'/><outline xmlUrl='http://b").unwrap();
        assert_eq!(opml.feeds.len(), 1);
        assert_eq!(opml.folders, ["F"]);
        assert_eq!(opml.errors.len(), 1);
    }

    #[test]
    fn f6_depth_and_number_are_bounded() {
        let deep = format!("<opml>{}<outline xmlUrl='http://a/'/>", "<outline text='x'>".repeat(100_000));
        assert_eq!(feeds(&deep).len(), 0, "beyond the outlines that are read");
        let deep = format!("<opml>{}<outline xmlUrl='http://a/'/>", "<outline text='x'>".repeat(1000));
        assert_eq!(feeds(&deep)[0].1.as_deref(), Some(["x"; DEPTH_MAX].join(SEPARATOR).as_str()));
        let many =
            read(format!("<opml>{}", "<outline xmlUrl='http://a/'/>".repeat(OUTLINES_MAX + 5)).as_bytes()).unwrap();
        assert_eq!((many.feeds.len(), many.errors.len()), (OUTLINES_MAX, 5));
        let folder = |n| format!("<outline text='{n}'><outline xmlUrl='http://a/{n}'/></outline>");
        let folders: String = (0..FOLDERS_MAX + 2).map(folder).collect();
        let folders = read(format!("<opml>{folders}").as_bytes()).unwrap();
        assert_eq!(
            (folders.feeds.len(), folders.folders.len(), folders.errors.len()),
            (FOLDERS_MAX + 2, FOLDERS_MAX, 1)
        );
    }

    #[test]
    fn f6_non_opml_is_refused() {
        for bad in [&b""[..], b"hello", b"<rss><channel/></rss>", b"{}", b"\0\0\0\0", b"<html><body>x</body></html>"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        assert_eq!(read(b"<opml><body/></opml>").unwrap(), Opml::default());
    }
}
