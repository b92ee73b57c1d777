//! Pages against the reader of h-entry, which keeps the text of all that is open.

use super::{Case, filled, join};

pub(super) const CASES: [Case; 16] = [
    Case { name: "page-entries-nested.html", make: entries_nested },
    Case { name: "page-entries.html", make: || filled("<html>", "<p class=h-entry>x</p>", "") },
    Case { name: "page-names-nested.html", make: || filled(ENTRY, "<b class=p-name>x", "</div>") },
    Case { name: "page-names.html", make: || filled(ENTRY, "<b class=p-name>x</b>", "</div>") },
    Case {
        name: "page-feed-authors.html",
        make: || filled("<html><div class=h-feed>", "<b class=p-author>x</b>", "</div>"),
    },
    Case { name: "page-entries-lists.html", make: entries_lists },
    Case { name: "page-properties-author.html", make: || properties("p-author") },
    Case { name: "page-properties-unknown.html", make: || properties("p-x") },
    Case { name: "page-properties-category.html", make: || properties("p-category") },
    Case { name: "page-properties-content.html", make: || properties("e-content") },
    Case { name: "page-text-nested.html", make: || text_nested("<b>") },
    Case { name: "page-p-below-128.html", make: || filled(&format!("{ENTRY}{}", "<b>".repeat(128)), "<p>", "</div>") },
    Case { name: "page-end-tags-alike.html", make: end_tags_alike },
    Case { name: "page-urls-long-base.html", make: urls_long_base },
    Case { name: "page-hubs-100k.html", make: hubs },
    Case { name: "page-links-1M.html", make: || filled("<html>", "<link rel=alternate>", "") },
];

const ENTRY: &str = "<html><div class=h-entry>";

/// The longest text that is gathered, words and spaces.
fn text() -> String {
    "x ".repeat((4 << 20) / 2 - 64)
}

/// One post in the other, each closed in the end.
fn entries_nested() -> Vec<u8> {
    let depth = 600_000;
    join(&["<html>", &"<div class=h-entry>".repeat(depth), "x", &"</div>".repeat(depth)])
}

/// Posts with as many short properties as they may have.
fn entries_lists() -> Vec<u8> {
    let properties = ["<b class=p-category>x</b>", "<b class=p-author>x</b>", "<img class=u-photo src=x>"];
    let properties = properties.map(|property| property.repeat(64)).concat();
    filled("<html>", &format!("<p class=h-entry>{properties}</p>"), "")
}

/// A long text inside elements that each are one property many times over.
fn properties(class: &str) -> Vec<u8> {
    let element = format!("<b class=\"{}\">", format!("{class} ").repeat(256));
    join(&[ENTRY, &element.repeat(100), &text(), "</div>"])
}

fn text_nested(element: &str) -> Vec<u8> {
    join(&[ENTRY, &element.repeat(126), &text(), "</div>"])
}

fn end_tags_alike() -> Vec<u8> {
    let alike = "a".repeat(1000);
    filled(&format!("{ENTRY}{}", format!("<{alike}b>").repeat(126)), &format!("</{alike}c>"), "</div>")
}

fn urls_long_base() -> Vec<u8> {
    let base = format!("<html><base href=\"http://e/{}\">", "a/".repeat(4000));
    let urls = "<a class=u-url href=b></a>".repeat(256);
    join(&[&base, &format!("<div class=h-entry>{urls}</div>").repeat(500)])
}

fn hubs() -> Vec<u8> {
    let hubs: String = (0..100_000).map(|n| format!("<link rel=hub href=http://h/{n}>")).collect();
    join(&["<html><head>", &hubs, "</head><body class=h-entry>x"])
}
