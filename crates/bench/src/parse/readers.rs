//! Those who read: ours, and the peers.

use std::{hint::black_box, panic, sync::Arc};

use ammonia::UrlRelative;
use anyhow::ensure;
use feed::{Entry, Feed, Hints, Text, TextKind};
use quick_xml::events::Event;
use url::Url;

use crate::feeds::{FEED_URL, Generated};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Transcodes and goes through all XML events, leniently, and keeps nothing.
    Bare,
    Ours,
    FeedRs,
    OursSanitised,
    /// Our sanitiser over the HTML bodies of the feed.
    Sanitise,
    /// ammonia over the same.
    Ammonia,
}

pub(super) const READERS: [Reader; 6] =
    [Reader::Bare, Reader::Ours, Reader::FeedRs, Reader::OursSanitised, Reader::Sanitise, Reader::Ammonia];

/// A feed, and the HTML that is in it.
pub(super) struct Subject {
    pub(super) feed: Generated,
    bodies: Vec<Body>,
    ammonia: ammonia::Builder<'static>,
    feed_rs: feed_rs::parser::Parser,
    feed_rs_can_read: bool,
}

struct Body {
    html: String,
    base: Option<Arc<Url>>,
}

impl Subject {
    pub(super) fn new(feed: Generated) -> anyhow::Result<Self> {
        let read = feed::parse(&feed.bytes, &hints())?;
        let found = read.entries.len();
        ensure!(found == feed.entries, "{}: {found} entries read of {}", feed.kind, feed.entries);
        let mut ammonia = ammonia::Builder::default();
        ammonia.url_relative(UrlRelative::RewriteWithBase(Url::parse(FEED_URL)?));
        let feed_rs = feed_rs::parser::Builder::new().base_uri(Some(FEED_URL)).sanitize_content(false).build();
        let mut subject = Self { bodies: bodies(&read), feed, ammonia, feed_rs, feed_rs_can_read: false };
        subject.feed_rs_can_read = subject.try_feed_rs();
        Ok(subject)
    }

    /// feed-rs may fail, or panic.
    fn try_feed_rs(&self) -> bool {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let read = panic::catch_unwind(panic::AssertUnwindSafe(|| self.feed_rs.parse(self.feed.bytes.as_slice())));
        panic::set_hook(hook);
        matches!(read, Ok(Ok(read)) if read.entries.len() == self.feed.entries)
    }
}

fn hints() -> Hints<'static> {
    Hints { url: Some(FEED_URL), ..Hints::default() }
}

fn bodies(feed: &Feed) -> Vec<Body> {
    let of = |entry: &Entry| {
        let texts = entry.title.iter().chain(&entry.summary).chain(&entry.content);
        let is_html = |text: &&Text| text.kind != TextKind::Plain;
        let body = |text: &Text| Body { html: text.value.clone(), base: entry.base_of(text) };
        texts.filter(is_html).map(body).collect::<Vec<_>>()
    };
    feed.entries.iter().flat_map(of).collect()
}

impl Reader {
    pub(super) fn can_read(self, subject: &Subject) -> bool {
        self != Self::FeedRs || subject.feed_rs_can_read
    }

    /// Bytes that it goes through.
    pub(super) fn bytes(self, subject: &Subject) -> usize {
        match self {
            Self::Sanitise | Self::Ammonia => subject.bodies.iter().map(|body| body.html.len()).sum(),
            _ => subject.feed.bytes.len(),
        }
    }

    /// Reads the feed and returns what came of it, to be dropped by whoever measures.
    pub(super) fn read(self, subject: &Subject) -> Box<dyn Send> {
        let bytes = subject.feed.bytes.as_slice();
        match self {
            Self::Bare => Box::new(walk(&subject.feed)),
            Self::Ours => Box::new(feed::parse(bytes, &hints())),
            Self::FeedRs => Box::new(subject.feed_rs.parse(bytes).ok()),
            Self::OursSanitised => Box::new(feed::parse(bytes, &hints()).map(|mut feed| {
                feed.head.sanitise();
                feed.entries.iter_mut().for_each(feed::Entry::sanitise);
                feed
            })),
            Self::Sanitise => {
                for body in &subject.bodies {
                    black_box(feed::sanitise(&body.html, body.base.as_deref()));
                }
                Box::new(())
            }
            Self::Ammonia => {
                for body in &subject.bodies {
                    black_box(subject.ammonia.clean(&body.html).to_string());
                }
                Box::new(())
            }
        }
    }
}

/// The least that any parser on quick-xml must do. Returns the number of events.
fn walk(feed: &Generated) -> usize {
    let (text, _, _) = feed.encoding.decode(&feed.bytes);
    let mut reader = quick_xml::Reader::from_str(&text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut events = 0;
    while let Ok(event) = reader.read_event() {
        if matches!(event, Event::Eof) {
            break;
        }
        black_box(&event);
        events += 1;
    }
    events
}
