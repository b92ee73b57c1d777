//! Which vocabulary an element belongs to. The URI decides; where it is missing or wrong, the customary prefix does,
//! because that is what the author meant.

use std::collections::HashMap;

use crate::limits::NAMESPACES_MAX;

/// A vocabulary that feeds use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// No namespace, or one of RSS's own: the element's local name says what it is.
    Plain,
    Atom,
    Content,
    DublinCore,
    DublinCoreTerms,
    Itunes,
    Media,
    Rdf,
    Syndication,
    Xhtml,
    Xml,
    /// Known to be of no use here.
    Other,
}

/// The vocabulary of a namespace URI.
fn by_uri(uri: &str) -> Option<Namespace> {
    let uri = uri.trim().trim_end_matches(['/', '#']).to_ascii_lowercase();
    let uri = uri.split_once("://").map_or(uri.as_str(), |(_, rest)| rest);
    let uri = uri.strip_prefix("www.").unwrap_or(uri);
    Some(match uri {
        "w3.org/2005/atom" | "purl.org/atom/ns" | "purl.org/syndication/atom" | "example.com/newformat" => {
            Namespace::Atom
        }
        "purl.org/rss/1.0"
        | "my.netscape.com/rdf/simple/0.9"
        | "channel.netscape.com/rdf/simple/0.9"
        | "backend.userland.com/rss2"
        | "backend.userland.com/rss"
        | "blogs.law.harvard.edu/tech/rss"
        | "" => Namespace::Plain,
        "purl.org/rss/1.0/modules/content" => Namespace::Content,
        "purl.org/dc/elements/1.1" | "purl.org/dc/elements/1.0" | "purl.org/dc/elements" => Namespace::DublinCore,
        "purl.org/dc/terms" => Namespace::DublinCoreTerms,
        "itunes.com/dtds/podcast-1.0.dtd" | "itunes.com/dtds/podcast-1.0" | "example.com/dtds/podcast-1.0.dtd" => {
            Namespace::Itunes
        }
        "search.yahoo.com/mrss"
        | "search.yahoo.com/searchmonkey/media"
        | "tools.search.yahoo.com/mrss"
        | "video.search.yahoo.com/mrss" => Namespace::Media,
        "w3.org/1999/02/22-rdf-syntax-ns" => Namespace::Rdf,
        "purl.org/rss/1.0/modules/syndication" => Namespace::Syndication,
        "w3.org/1999/xhtml" => Namespace::Xhtml,
        "w3.org/xml/1998/namespace" => Namespace::Xml,
        _ if uri.starts_with("my.netscape.com/publish/formats/rss") || uri.starts_with("purl.org/net/rss") => {
            Namespace::Plain
        }
        _ => return None,
    })
}

/// The vocabulary that a prefix customarily stands for.
fn by_prefix(prefix: &str) -> Namespace {
    if prefix.is_empty() {
        return Namespace::Plain;
    }
    match prefix.to_ascii_lowercase().as_str() {
        "rss" | "rss09" | "rss10" | "rss20" => Namespace::Plain,
        "atom" | "atom10" | "atom03" | "a10" => Namespace::Atom,
        "content" => Namespace::Content,
        "dc" => Namespace::DublinCore,
        "dcterms" => Namespace::DublinCoreTerms,
        "itunes" => Namespace::Itunes,
        "media" => Namespace::Media,
        "rdf" => Namespace::Rdf,
        "sy" => Namespace::Syndication,
        "xhtml" => Namespace::Xhtml,
        "xml" => Namespace::Xml,
        _ => Namespace::Other,
    }
}

/// So many prefixes are looked through one after the other; among more, one is looked up.
const LOOKED_THROUGH_MAX: usize = 16;

/// The prefixes in force, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Bindings<'a> {
    bound: Vec<(&'a str, Namespace)>,
    /// Where each prefix is bound, innermost last.
    places: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Bindings<'a> {
    pub(crate) fn len(&self) -> usize {
        self.bound.len()
    }

    /// Forgets what was declared since there were `length` bindings.
    pub(crate) fn truncate(&mut self, length: usize) {
        while self.bound.len() > length {
            if let Some(places) = self.bound.pop().and_then(|(prefix, _)| self.places.get_mut(prefix)) {
                places.pop();
            }
        }
    }

    /// Takes note of an attribute if it declares a namespace.
    pub(crate) fn declare(&mut self, attribute: &'a str, uri: &str) {
        let Some(after) = attribute.strip_prefix("xmlns") else { return };
        let prefix = match after.strip_prefix(':') {
            Some(prefix) => prefix,
            None if after.is_empty() => "",
            None => return,
        };
        if self.bound.len() < NAMESPACES_MAX {
            self.places.entry(prefix).or_default().push(self.bound.len());
            self.bound.push((prefix, by_uri(uri).unwrap_or_else(|| by_prefix(prefix))));
        }
    }

    /// Splits a name as written into its vocabulary and its local name.
    pub(crate) fn resolve(&self, name: &'a str) -> (Namespace, &'a str) {
        // Names are short: a search for a character would take longer to set up.
        let colon = name.bytes().position(|byte| byte == b':');
        let (prefix, local) = colon.map_or(("", name), |colon| (&name[..colon], &name[colon + 1..]));
        let place = if self.bound.len() <= LOOKED_THROUGH_MAX {
            let is_prefix = |known: &str| known.len() == prefix.len() && (prefix.is_empty() || known == prefix);
            self.bound.iter().rposition(|(known, _)| is_prefix(known))
        } else {
            self.places.get(prefix).and_then(|places| places.last()).copied()
        };
        (place.map_or_else(|| by_prefix(prefix), |place| self.bound[place].1), local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f2_namespace_uri_wins_over_prefix() {
        let mut bindings = Bindings::default();
        bindings.declare("xmlns", "http://www.w3.org/2005/Atom");
        bindings.declare("xmlns:foo", "HTTP://purl.org/dc/elements/1.1/");
        bindings.declare("xmlns:media", "http://example.org/wrong");
        for (name, expect) in [
            ("entry", (Namespace::Atom, "entry")),
            ("foo:date", (Namespace::DublinCore, "date")),
            ("media:content", (Namespace::Media, "content")),
            ("content:encoded", (Namespace::Content, "encoded")),
            ("bar:x", (Namespace::Other, "x")),
            (":x", (Namespace::Atom, "x")),
        ] {
            assert_eq!(bindings.resolve(name), expect, "{name}");
        }
        bindings.truncate(0);
        assert_eq!(bindings.resolve("entry"), (Namespace::Plain, "entry"));
    }

    #[test]
    fn f2_innermost_prefix_binding_wins() {
        let names: Vec<String> = (0..40).map(|number| format!("xmlns:p{number}")).collect();
        let mut bindings = Bindings::default();
        for name in &names {
            bindings.declare(name, "http://purl.org/dc/terms/");
        }
        bindings.declare("xmlns:p3", "http://www.w3.org/2005/Atom");
        assert_eq!(bindings.resolve("p3:x").0, Namespace::Atom);
        bindings.truncate(40);
        assert_eq!(bindings.resolve("p3:x").0, Namespace::DublinCoreTerms);
        bindings.truncate(2);
        assert_eq!(
            (bindings.resolve("p3:x").0, bindings.resolve("p1:x").0),
            (Namespace::Other, Namespace::DublinCoreTerms)
        );
    }
}
