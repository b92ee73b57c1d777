//! Writing OPML. Folders follow one another in their order; one that lies in a folder is written inside it.

use std::fmt::Write as _;

use domain::{Feed, Folder};

use super::{NAMESPACE, SEPARATOR};

/// All that is listed.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) folders: Vec<Folder>,
    pub(crate) feeds: Vec<Feed>,
}

/// Writes a list of feeds.
pub(crate) fn write(listed: &Listed) -> String {
    let mut writer = Writer { out: String::new(), open: Vec::new() };
    let _ = write!(
        writer.out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\" xmlns:pirssonite=\"{NAMESPACE}\">\n  <head>\n    \
         <title>Feeds</title>\n  </head>\n  <body>\n"
    );
    for folder in &listed.folders {
        let feeds: Vec<&Feed> = listed.feeds.iter().filter(|feed| feed.folder_id == Some(folder.id)).collect();
        writer.folder(&folder.name, &feeds);
    }
    writer.close_to(0);
    for feed in listed.feeds.iter().filter(|feed| feed.folder_id.is_none()) {
        writer.feed(feed);
    }
    writer.out.push_str("  </body>\n</opml>\n");
    writer.out
}

struct Writer {
    out: String,
    /// The names of the folders that are open.
    open: Vec<String>,
}

impl Writer {
    fn folder(&mut self, name: &str, feeds: &[&Feed]) {
        let path = path(name);
        // A folder without feeds is written as one without anything: inside another's outline it would vanish.
        let (outer, empty) = if feeds.is_empty() { (&path[..path.len() - 1], path.last()) } else { (&path[..], None) };
        let shared = self.open.iter().zip(outer).take_while(|(open, name)| open == name).count();
        self.close_to(shared);
        for name in &outer[shared..] {
            self.indent();
            let _ = writeln!(self.out, "<outline text=\"{}\">", escape(name));
            self.open.push((*name).to_owned());
        }
        if let Some(name) = empty {
            self.indent();
            let _ = writeln!(self.out, "<outline text=\"{}\"/>", escape(name));
        }
        for feed in feeds {
            self.feed(feed);
        }
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.open.pop();
            self.indent();
            self.out.push_str("</outline>\n");
        }
    }

    fn feed(&mut self, feed: &Feed) {
        self.indent();
        let text = feed.custom_title.as_ref().or(feed.title.as_ref()).unwrap_or(&feed.url);
        let title = feed.title.as_ref().unwrap_or(&feed.url);
        let _ = write!(self.out, "<outline type=\"rss\" text=\"{}\" title=\"{}\"", escape(text), escape(title));
        self.attribute("xmlUrl", Some(&feed.url));
        self.attribute("htmlUrl", feed.site_url.as_deref());
        self.attribute("pirssonite:customTitle", feed.custom_title.as_deref());
        self.attribute("pirssonite:pollInterval", feed.poll_interval.map(|secs| secs.to_string()).as_deref());
        self.attribute("pirssonite:pushEnabled", (!feed.push_enabled).then_some("false"));
        self.out.push_str("/>\n");
    }

    fn attribute(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            let _ = write!(self.out, " {name}=\"{}\"", escape(value));
        }
    }

    fn indent(&mut self) {
        const BODY_DEPTH: usize = 2;
        for _ in 0..self.open.len() + BODY_DEPTH {
            self.out.push_str("  ");
        }
    }
}

/// The names that a folder's name is made of; one that would not come back the same is left whole.
fn path(name: &str) -> Vec<&str> {
    let parts: Vec<&str> = name.split(SEPARATOR).collect();
    let is_plain = |part: &&str| !part.is_empty() && part.trim() == *part;
    if parts.len() <= super::DEPTH_MAX && parts.iter().all(is_plain) { parts } else { vec![name] }
}

/// A value as it may stand in an attribute. Line breaks are kept as references, other control characters are not XML.
fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use domain::{FeedId, FolderId};
    use jiff::Timestamp;

    use super::{super::read::read, *};

    fn feed(url: &str, title: Option<&str>, folder: Option<i64>) -> Feed {
        Feed {
            id: FeedId(0),
            url: url.into(),
            has_credentials: false,
            site_url: None,
            title: title.map(str::to_owned),
            custom_title: None,
            folder_id: folder.map(FolderId),
            last_fetched_at: None,
            next_check_at: Timestamp::UNIX_EPOCH,
            failure_count: 0,
            last_error: None,
            is_gone: false,
            unread_count: 0,
            icon_id: None,
            poll_interval: None,
            push_enabled: true,
            subscription: None,
        }
    }

    #[test]
    fn f6_write_read_roundtrip() {
        let names = ["A / x", "B", "A", "A / y", "A / y / z", "Empty", "C / d", "C", "&<\"'> ä / ", "A / x / w"];
        let folders =
            names.iter().zip(0..).map(|(name, id)| Folder { id: FolderId(id), name: (*name).into(), order: id });
        let empty = [5, 7];
        let mut feeds: Vec<Feed> = (0..10)
            .filter(|folder| !empty.contains(folder))
            .flat_map(|folder| {
                [0, 1].map(|n| feed(&format!("http://e.org/{folder}?a=1&b={n}"), Some("T <&> \"t\""), Some(folder)))
            })
            .collect();
        feeds.push(feed("http://e.org/none", None, None));
        feeds[0].custom_title = Some("Mine".into());
        feeds[1].poll_interval = Some(60);
        feeds[2].push_enabled = false;
        let listed = Listed { folders: folders.collect(), feeds };
        let text = write(&listed);
        let opml = read(text.as_bytes()).unwrap();
        assert!(opml.errors.is_empty(), "{text}");
        assert_eq!(opml.folders, names.map(str::trim), "{text}");
        for (known, read) in listed.feeds.iter().zip(&opml.feeds) {
            let folder = known.folder_id.and_then(|id| usize::try_from(id.0).ok()).map(|id| names[id].trim());
            assert_eq!((&known.url, &known.title, folder), (&read.url, &read.title, read.folder.as_deref()), "{text}");
            let interval = known.poll_interval.map(|secs| secs.to_string());
            assert_eq!((&known.custom_title, interval), (&read.custom_title, read.poll_interval.clone()));
            assert_eq!(known.push_enabled, read.push_enabled);
        }
        assert_eq!(opml.feeds.len(), listed.feeds.len());
    }
}
