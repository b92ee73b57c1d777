//! Which elements have no end tag, and which end others by beginning.

use super::policy::{KEPT, Kept, set, word, words};

/// What a kept element closes by beginning, and what those are looked for up to, as sets.
pub(super) fn implied_end_sets(kept: Kept) -> (u128, u128) {
    const SETS: [(u128, u128); KEPT.len()] = {
        let mut sets = [(0, 0); KEPT.len()];
        let mut at = 0;
        while at < KEPT.len() {
            let (ended, bounds) = implied_ends(KEPT[at]);
            sets[at] = (set(ended), set(bounds));
            at += 1;
        }
        sets
    };
    SETS[kept.index()]
}

pub(super) fn is_void_kept(kept: Kept) -> bool {
    const VOID: u128 = set(&["br", "col", "hr", "img", "source", "track", "wbr"]);
    VOID & kept.set() != 0
}

/// Elements without an end tag.
pub(crate) fn is_void(name: &str) -> bool {
    const VOID: [&str; 15] = [
        "area", "base", "basefont", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
        "track", "wbr",
    ];
    VOID.iter().any(|void| void.eq_ignore_ascii_case(name))
}

/// What an element closes by beginning: open elements of these names, looked for up to one of those.
pub(crate) const fn implied_ends(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    const CELLS: &[&str] = &["table", "td", "th", "caption"];
    const BLOCKS: [&str; 28] = [
        "address",
        "article",
        "aside",
        "blockquote",
        "center",
        "details",
        "div",
        "dl",
        "figcaption",
        "figure",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "ul",
    ];
    const BLOCK_WORDS: [u128; 28] = words(BLOCKS);
    const W: [u128; 10] = words(["li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "a"]);
    let Some(word) = word(name) else { return (&[], &[]) };
    let mut at = 0;
    while at < BLOCK_WORDS.len() {
        if BLOCK_WORDS[at] == word {
            return (&["p"], CELLS);
        }
        at += 1;
    }
    if word == W[0] {
        return (&["li"], &["ul", "ol", "table", "td", "th"]);
    }
    if word == W[1] || word == W[2] {
        return (&["dt", "dd"], &["dl", "table", "td", "th"]);
    }
    if word == W[3] || word == W[4] {
        return (&["td", "th"], &["tr", "table"]);
    }
    if word == W[5] {
        return (&["tr"], &["table"]);
    }
    if word == W[6] || word == W[7] || word == W[8] {
        return (&["tbody", "thead", "tfoot", "colgroup", "caption"], &["table"]);
    }
    if word == W[9] {
        return (&["a"], CELLS);
    }
    (&[], &[])
}
