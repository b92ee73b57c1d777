//! Turns the bytes of a web feed into a feed.
//!
//! RSS, RDF, Atom, CDF, JSON Feed and h-feed, in any encoding and however malformed: [`parse`] returns what could be
//! read and a list of warnings, and fails only where there is no feed at all. It does no I/O, reads no clock and keeps
//! no state, so the same bytes always give the same feed with the same identities.
//!
//! ```
//! let feed = feed::parse(b"<rss><channel><title>News</title><item><title>Hi</title></item></channel></rss>", &feed::Hints::default())?;
//! assert_eq!(feed.entries.len(), 1);
//! # Ok::<(), feed::Error>(())
//! ```

pub mod date;
mod discover;
mod encoding;
mod entity;
mod hfeed;
pub mod identity;
mod json;
pub mod limits;
mod lists;
mod model;
mod namespace;
mod page;
mod parse;
mod relative;
mod resolve;
mod sanitise;
mod scan;
mod tracking;
mod xml;

pub use discover::{Discovered, discover, icons, is_feed_type};
pub use model::*;
pub use parse::{Error, Hints, parse};
pub use sanitise::{Scope, plain_text, sanitise, sanitise_in};
