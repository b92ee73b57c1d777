//! The HTTP `Link` header after RFC 8288: several headers, several links in one, several relations in one link, names in
//! any case, values quoted or not. What is broken is passed over, and what follows it is still read.

/// Links that are read from the headers of one answer.
const LINKS_MAX: usize = 64;

/// A link: its target as written, and its relations in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The target, as written between `<` and `>`.
    pub target: String,
    /// The relations, in lower case.
    pub rels: Vec<String>,
    /// The media type that it says its target has; empty without one.
    pub mime: String,
    /// What it calls its target.
    pub title: Option<String>,
}

impl Link {
    /// Whether the link has this relation.
    pub fn is(&self, rel: &str) -> bool {
        self.rels.iter().any(|known| known == rel)
    }
}

/// Reads the values of all `Link` headers of an answer. Links about something else than the document that was asked for
/// (`anchor`) are left out.
pub fn parse<'v>(values: impl Iterator<Item = &'v str>) -> Vec<Link> {
    let mut links = Vec::new();
    for value in values {
        let mut rest = value;
        while links.len() < LINKS_MAX
            && let Some((link, after)) = next(rest)
        {
            links.extend(link);
            rest = after;
        }
    }
    links
}

/// The next link of a header, if there is one and it counts, and what follows it.
fn next(text: &str) -> Option<(Option<Link>, &str)> {
    let text = &text[text.find('<')? + 1..];
    let (target, mut rest) = text.split_once('>')?;
    let (mut rels, mut has_anchor) = (None, false);
    let (mut mime, mut title) = (String::new(), None);
    loop {
        rest = rest.trim_start();
        let Some(after) = rest.strip_prefix(';') else { break };
        let (name, value, after) = parameter(after);
        match name.to_ascii_lowercase().as_str() {
            // A second `rel` does not count (RFC 8288, 3.3).
            "rel" if rels.is_none() => rels = Some(relations(&value)),
            "anchor" => has_anchor = true,
            "type" if mime.is_empty() => mime = value,
            "title" if title.is_none() => title = Some(value).filter(|title| !title.is_empty()),
            _ => {}
        }
        rest = after;
    }
    // Whatever else stands before the comma is broken.
    let after = rest.find(',').map_or("", |comma| &rest[comma + 1..]);
    let link = Link { target: target.trim().to_owned(), rels: rels.unwrap_or_default(), mime, title };
    Some(((!has_anchor).then_some(link), after))
}

fn relations(value: &str) -> Vec<String> {
    value.split_ascii_whitespace().map(str::to_ascii_lowercase).collect()
}

/// One parameter: its name, its value without quotes, and what follows.
fn parameter(text: &str) -> (&str, String, &str) {
    let end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let (name, rest) = (text[..end].trim(), &text[end..]);
    let Some(rest) = rest.strip_prefix('=') else { return (name, String::new(), rest) };
    let rest = rest.trim_start();
    if let Some(quoted) = rest.strip_prefix('"') {
        let (value, rest) = unquote(quoted);
        return (name, value, rest);
    }
    let end = rest.find([';', ',']).unwrap_or(rest.len());
    // Single quotes are no quotes in HTTP, but are seen.
    (name, rest[..end].trim().trim_matches('\'').to_owned(), &rest[end..])
}

/// The rest of a quoted string whose first quote has been read; without a second quote it is all there is.
fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, char)| char)),
            char => value.push(char),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w1_links_are_read_as_rfc_8288_writes_them() {
        for (headers, expected) in [
            (&["<https://h.org/>; rel=\"hub\""][..], &[("https://h.org/", "hub")][..]),
            (&["<https://h.org/>;rel=hub"], &[("https://h.org/", "hub")]),
            (&["<https://h.org/>; REL=Hub"], &[("https://h.org/", "hub")]),
            (&["<https://h.org/>; rel='hub'"], &[("https://h.org/", "hub")]),
            (&["<a>; rel=hub, <b>; rel=\"self\""], &[("a", "hub"), ("b", "self")]),
            (&["<a>; rel=hub", "<b>; rel=self"], &[("a", "hub"), ("b", "self")]),
            (&["<a>; rel=\"HUB self\""], &[("a", "hub self")]),
            (&["<a>; rel=\"  hub\tself \"; title=x"], &[("a", "hub self")]),
            (&["<a,b;c>; title=\"x, <y>; rel=self\"; rel=hub"], &[("a,b;c", "hub")]),
            (&["<a>; title=\"say \\\"hi\\\", then\"; rel=hub,<b>;rel=self"], &[("a", "hub"), ("b", "self")]),
            (&["<a>; rel=next; rel=hub"], &[("a", "next")]),
            (&["<a>; foo; bar=; rel=hub ,"], &[("a", "hub")]),
            (&["<a>; rel = hub"], &[("a", "hub")]),
            (&["< a >; rel=hub"], &[("a", "hub")]),
            (&["<>; rel=self"], &[("", "self")]),
        ] {
            let links = parse(headers.iter().copied());
            let links: Vec<_> = links.iter().map(|link| (link.target.as_str(), link.rels.join(" "))).collect();
            let expected: Vec<_> = expected.iter().map(|(target, rels)| (*target, (*rels).to_owned())).collect();
            assert_eq!(links, expected, "{headers:?}");
        }
    }

    #[test]
    fn f1_a_link_says_what_its_target_is() {
        let header =
            "<a>; rel=alternate; type=\"application/rss+xml\"; title=\"News, all\", <b>; rel=alternate; title=";
        let links = parse([header].into_iter());
        assert_eq!((links[0].mime.as_str(), links[0].title.as_deref()), ("application/rss+xml", Some("News, all")));
        assert_eq!((links[1].mime.as_str(), links[1].title.as_deref()), ("", None));
    }

    #[test]
    fn w1_what_is_broken_is_passed_over() {
        for broken in ["", "rel=hub", "<a", "a>; rel=hub", ",,,"] {
            assert_eq!(parse([broken].into_iter()), [], "{broken}");
        }
        let links = parse(["nonsense <a>; rel=hub garbage, <b>; rel=\"self"].into_iter());
        assert_eq!(links.len(), 2);
        assert!(links[0].is("hub") && links[1].is("self"));
        assert_eq!(parse(["<a>; rel=hub; anchor=\"/other\""].into_iter()), [], "it is about something else");
        assert_eq!(parse(["<a>; rel=hub,".repeat(1000).as_str()].into_iter()).len(), LINKS_MAX);
    }
}
