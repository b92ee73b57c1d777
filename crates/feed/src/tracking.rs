//! Parameters that only say where a reader came from, taken off the links that a person follows. Identities keep them:
//! they are compared, not followed.

use std::borrow::Cow;

use crate::model::Feed;

/// Parameters that begin so.
const PREFIXES: [&str; 4] = ["utm_", "mtm_", "matomo_", "__hs"];

/// Parameters of this name: those of the large networks, of mail senders and of shops that pay for visitors.
const NAMES: [&str; 37] = [
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "_openstat",
    "at_campaign",
    "at_medium",
    "dclid",
    "fb_action_ids",
    "fb_action_types",
    "fb_ref",
    "fb_source",
    "fbclid",
    "ga_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "hsctatracking",
    "igsh",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "pk_campaign",
    "pk_keyword",
    "pk_kwd",
    "pk_source",
    "s_cid",
    "srsltid",
    "twclid",
    "vero_id",
    "wbraid",
    "yclid",
];

/// Takes known tracking parameters off the links of a feed and its entries.
pub(crate) fn strip(feed: &mut Feed) {
    for link in feed.entries.iter_mut().map(|entry| &mut entry.link).chain([&mut feed.head.link]).flatten() {
        if let Cow::Owned(stripped) = without_tracking(link) {
            *link = stripped;
        }
    }
}

/// A link without known tracking parameters, and otherwise to the letter as it was.
pub(crate) fn without_tracking(link: &str) -> Cow<'_, str> {
    let (before, fragment) = match link.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (link, None),
    };
    let (page, query) = before.split_once('?').map_or((before, ""), |(page, query)| (page, query));
    // Some have them behind the `#`, where the publisher's server does not see them.
    let only_tracks = |part: &str| !part.is_empty() && part.split('&').all(is_tracking);
    let tracks_behind = fragment.is_some_and(only_tracks);
    if !tracks_behind && !query.split('&').any(is_tracking) {
        return Cow::Borrowed(link);
    }
    let mut stripped = page.to_owned();
    let mut mark = '?';
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty() && !is_tracking(parameter)) {
        stripped.push(mark);
        stripped.push_str(parameter);
        mark = '&';
    }
    if let Some(fragment) = fragment.filter(|_| !tracks_behind) {
        stripped.push('#');
        stripped.push_str(fragment);
    }
    Cow::Owned(stripped)
}

fn is_tracking(parameter: &str) -> bool {
    let Some((name, _)) = parameter.split_once('=') else { return false };
    // Feeds that escape once too often have `?a=1&amp;utm_source=feed`.
    let name = name.strip_prefix("amp;").unwrap_or(name);
    let starts = |prefix: &&str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    PREFIXES.iter().any(starts) || NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_only_known_tracking_parameters_removed() {
        for (link, expect) in [
            ("https://e.org/a?utm_source=rss&utm_medium=feed", "https://e.org/a"),
            ("https://e.org/a?id=1&utm_source=rss&b=%20#c", "https://e.org/a?id=1&b=%20#c"),
            ("https://e.org/a?utm_source=rss&id=1", "https://e.org/a?id=1"),
            ("https://e.org/a?fbclid=x", "https://e.org/a"),
            ("https://e.org/a?FBCLID=x&GCLID=y", "https://e.org/a"),
            ("https://e.org/a?id=1&amp;utm_source=rss", "https://e.org/a?id=1"),
            ("https://e.org/a#utm_source=rss&utm_medium=feed", "https://e.org/a"),
            ("/a?mc_cid=1&mc_eid=2", "/a"),
            // Not ours to judge.
            ("https://e.org/a?utm_source", "https://e.org/a?utm_source"),
            ("https://e.org/utm_source=rss", "https://e.org/utm_source=rss"),
            ("https://e.org/a?q=utm_source", "https://e.org/a?q=utm_source"),
            ("https://e.org/a?&&b=1", "https://e.org/a?&&b=1"),
            ("https://e.org/a#b", "https://e.org/a#b"),
            ("https://e.org/a?next=https://f.org/?utm_x=1", "https://e.org/a?next=https://f.org/?utm_x=1"),
            ("", ""),
        ] {
            assert_eq!(without_tracking(link), expect, "{link}");
        }
    }

    #[test]
    fn f3_links_in_texts_lose_tracking() {
        let html = "<a href='https://e.org/a?utm_source=rss&amp;b=1'>a</a><img src='https://e.org/a.png?utm_x=1'>";
        let expect = "<a href=\"https://e.org/a?b=1\">a</a><img src=\"https://e.org/a.png?utm_x=1\">";
        assert_eq!(crate::sanitise(html, None), expect);
    }
}
