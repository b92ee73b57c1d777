//! Whatever the bytes: no panic, the same feed twice, and sanitised HTML that stays as it is.

#![no_main]

use feed::{Entry, Feed, Hints, Scope, Text, TextKind, discover, parse, plain_text, sanitise, sanitise_in};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let hints = Hints::default();
    discover(bytes, &hints);
    let found = parse(bytes, &hints);
    assert_eq!(found, parse(bytes, &hints), "parsing is deterministic");
    if let Ok(mut feed) = found {
        feed.head.sanitise();
        feed.entries.iter_mut().for_each(Entry::sanitise);
        texts(&feed).for_each(|(text, scope)| check(text, scope));
    }
    // Most inputs are no feed, but all of them are HTML to someone.
    if let Ok(html) = std::str::from_utf8(bytes) {
        let once = sanitise(html, None);
        assert_eq!(sanitise(&once, None), once, "sanitised again it is unchanged");
        plain_text(html);
    }
});

fn texts(feed: &Feed) -> impl Iterator<Item = (&Text, Scope)> {
    let head = [&feed.head.title, &feed.head.subtitle, &feed.head.rights].into_iter().flatten();
    let entries = feed.entries.iter().flat_map(|entry| {
        let single = [entry.title.as_ref(), entry.summary.as_ref(), entry.subtitle.as_deref(), entry.rights.as_deref()];
        single.into_iter().flatten().chain(&entry.content).map(|text| (text, entry.scope()))
    });
    head.map(|text| (text, Scope::default())).chain(entries)
}

fn check(text: &Text, scope: Scope) {
    if text.kind != TextKind::Plain {
        assert_eq!(sanitise_in(&text.value, None, scope), text.value, "sanitised again it is unchanged");
    }
    text.to_plain();
}
