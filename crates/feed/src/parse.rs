//! The way in: from bytes and what HTTP said of them to a feed.

use std::sync::Arc;

use url::Url;

use crate::{
    encoding, hfeed, identity, json,
    limits::{DOCUMENT_BYTES_MAX, WARNINGS_MAX},
    model::{Feed, Warning},
    scan::{Dialect, Scanner, Token},
    xml,
};

/// What is known of a document besides its bytes.
#[derive(Debug, Clone)]
pub struct Hints<'a> {
    /// The HTTP `Content-Type`. Only its charset is used: what a document is shows in the document.
    pub content_type: Option<&'a str>,
    /// Where the document was fetched from, after redirects.
    pub url: Option<&'a str>,
    /// The HTTP `Content-Location`, which relative links are relative to where there is one.
    pub base: Option<&'a str>,
    /// The size from which a document is refused.
    pub document_bytes_max: usize,
}

impl Default for Hints<'_> {
    fn default() -> Self {
        Self { content_type: None, url: None, base: None, document_bytes_max: DOCUMENT_BYTES_MAX }
    }
}

impl Hints<'_> {
    /// The URL that relative links are relative to unless the document says otherwise.
    pub(crate) fn base_url(&self) -> Option<Arc<Url>> {
        let url = self.url.and_then(|url| Url::parse(url).ok());
        let base = self.base.and_then(|base| match &url {
            Some(url) => url.join(base).ok(),
            None => Url::parse(base).ok(),
        });
        base.or(url).map(Arc::new)
    }
}

/// Why there is no feed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No bytes, or only white space.
    #[error("the document is empty")]
    Empty,
    /// More bytes than the limit.
    #[error("the document has {bytes} bytes, more than the {limit} allowed")]
    TooLarge {
        bytes: usize,
        /// The limit in force.
        limit: usize,
    },
    /// A web page without entries; [`discover`](crate::discover) may find the feeds it offers.
    #[error("the document is a web page and holds no entries")]
    WebPage,
    /// JSON that is no feed.
    #[error("the document is JSON but no feed: {0}")]
    Json(String),
    #[error("the document is no feed")]
    NotAFeed,
}

/// Reads a feed. It fails only where there is none: one that is malformed gives what could be read, and warnings.
pub fn parse(bytes: &[u8], hints: &Hints<'_>) -> Result<Feed, Error> {
    if bytes.len() > hints.document_bytes_max {
        return Err(Error::TooLarge { bytes: bytes.len(), limit: hints.document_bytes_max });
    }
    let decoded = encoding::decode(bytes, hints.content_type.and_then(encoding::charset_of), hints.url);
    let text = decoded.text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0');
    if text.is_empty() {
        return Err(Error::Empty);
    }
    let base = hints.base_url();
    let mut feed = if text.starts_with('{') {
        json::read(text, base.as_ref())?
    } else if is_web_page(text) {
        hfeed::read(text, base.as_ref()).ok_or(Error::WebPage)?
    } else {
        xml::read(text, base.clone()).or_else(|| hfeed::read(text, base.as_ref())).ok_or_else(|| no_feed(text))?
    };
    feed.encoding = decoded.encoding;
    feed.warnings.extend(decoded.rejected_label.map(Warning::EncodingLied));
    identity::assign(&mut feed);
    let feed_url: Option<Arc<str>> = hints.url.map(Arc::from);
    for entry in &mut feed.entries {
        entry.feed_url.clone_from(&feed_url);
    }
    feed.warnings.truncate(WARNINGS_MAX);
    Ok(feed)
}

/// Whether the first element is HTML's. A feed behind an error message in HTML is still a feed.
fn is_web_page(text: &str) -> bool {
    let first = Scanner::new(text, Dialect::Xml).find_map(|token| match token {
        Token::Start { name, .. } => Some(name),
        _ => None,
    });
    first.is_some_and(|name| name.eq_ignore_ascii_case("html"))
}

/// What a document is that holds no feed. HTML may leave out all the tags that would show it, but not its doctype.
fn no_feed(text: &str) -> Error {
    let mut before_elements =
        Scanner::new(text, Dialect::Xml).take_while(|token| !matches!(token, Token::Start { .. }));
    let is_html =
        |doctype: &str| doctype.split_ascii_whitespace().nth(1).is_some_and(|it| it.eq_ignore_ascii_case("html"));
    let says_html = before_elements.any(|token| matches!(token, Token::Doctype(doctype) if is_html(doctype)));
    if says_html { Error::WebPage } else { Error::NotAFeed }
}
