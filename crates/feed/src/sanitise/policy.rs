//! What sanitised HTML may contain. Whatever is not named here does not come through.

/// A name of up to 16 bytes in lower case as a number that sorts as the name does.
const fn word(name: &str) -> Option<u128> {
    let bytes = name.as_bytes();
    if bytes.len() > 16 {
        return None;
    }
    let mut packed = 0;
    let mut at = 0;
    while at < 16 {
        packed <<= 8;
        if at < bytes.len() {
            packed |= bytes[at].to_ascii_lowercase() as u128;
        }
        at += 1;
    }
    Some(packed)
}

const fn words<const N: usize>(names: [&str; N]) -> [u128; N] {
    let mut words = [0; N];
    let mut at = 0;
    while at < N {
        words[at] = match word(names[at]) {
            Some(word) => word,
            None => panic!("a name of more than 16 bytes"),
        };
        at += 1;
    }
    words
}

const KEPT_WORDS: [u128; KEPT.len()] = words(KEPT);
const DROPPED_WORDS: [u128; DROPPED.len()] = words(DROPPED);

/// An element that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept(u8);

impl Kept {
    pub(super) fn name(self) -> &'static str {
        KEPT[usize::from(self.0)]
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// A set of which it is the one member.
    pub(super) fn set(self) -> u128 {
        1 << self.0
    }
}

/// The set of some kept elements.
const fn set(names: &[&str]) -> u128 {
    let mut set = 0;
    let mut at = 0;
    while at < names.len() {
        let mut index = 0;
        while KEPT_WORDS[index] != words([names[at]])[0] {
            index += 1;
        }
        set |= 1 << index;
        at += 1;
    }
    set
}

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Kept with its allowed attributes.
    Keep(Kept),
    /// Its tags go, what is in it stays.
    Unwrap,
    /// It goes with all that is in it.
    Drop,
    /// A frame: a link to what it would have shown stands in for it.
    Frame,
}

/// Elements that are kept. None of them changes how a browser reads the text after it (as `<style>`, `<textarea>`,
/// `<svg>` or `<select>` do): so what comes out is read by every browser as the same tags, and nothing in a text or an
/// attribute can ever become one.
const KEPT: [&str; 81] = [
    "a",
    "abbr",
    "acronym",
    "address",
    "article",
    "aside",
    "audio",
    "b",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "br",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "details",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "font",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "main",
    "mark",
    "nav",
    "ol",
    "p",
    "picture",
    "pre",
    "q",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "section",
    "small",
    "source",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "track",
    "tt",
    "u",
    "ul",
    "var",
    "video",
    "wbr",
];

/// Elements that go with all that is in them.
const DROPPED: [&str; 21] = [
    "annotation",
    "annotation-xml",
    "applet",
    "base",
    "button",
    "datalist",
    "embed",
    "frame",
    "frameset",
    "head",
    "link",
    "meta",
    "noembed",
    "noframes",
    "param",
    "script",
    "select",
    "style",
    "svg",
    "template",
    "textarea",
];

pub(super) fn fate(name: &str) -> Fate {
    const IFRAME: Option<u128> = word("iframe");
    const TITLE: Option<u128> = word("title");
    let lower = word(name);
    let Some(packed) = lower else { return Fate::Unwrap };
    if let Ok(index) = KEPT_WORDS.binary_search(&packed) {
        return Fate::Keep(Kept(u8::try_from(index).unwrap_or_default()));
    }
    match lower {
        IFRAME => Fate::Frame,
        TITLE => Fate::Drop,
        _ if DROPPED_WORDS.binary_search(&packed).is_ok() => Fate::Drop,
        _ => Fate::Unwrap,
    }
}

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

/// How an attribute's value is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// Any text.
    Text,
    /// A link that a person follows.
    Link,
    /// A file that the page loads.
    Resource,
    /// A list of files with their sizes.
    ResourceSet,
    /// Present or absent.
    Flag,
    /// A number, perhaps in per cent.
    Number,
}

/// How the value of an element's attribute is checked; `None` if it does not come through.
pub(super) fn attribute(element: &str, name: &str) -> Option<(&'static str, Value)> {
    const GLOBAL: [(&str, Value); 4] =
        [("title", Value::Text), ("lang", Value::Text), ("dir", Value::Text), ("class", Value::Text)];
    let own: &[(&'static str, Value)] = match element {
        "a" => &[("href", Value::Link), ("hreflang", Value::Text)],
        "audio" => {
            &[("src", Value::Resource), ("controls", Value::Flag), ("loop", Value::Flag), ("preload", Value::Text)]
        }
        "blockquote" | "q" => &[("cite", Value::Link)],
        "col" | "colgroup" => &[("span", Value::Number), ("width", Value::Number)],
        "del" | "ins" => &[("cite", Value::Link), ("datetime", Value::Text)],
        "details" => &[("open", Value::Flag)],
        "font" => &[("color", Value::Text), ("size", Value::Text), ("face", Value::Text)],
        "img" => &[
            ("src", Value::Resource),
            ("srcset", Value::ResourceSet),
            ("sizes", Value::Text),
            ("alt", Value::Text),
            ("width", Value::Number),
            ("height", Value::Number),
        ],
        "li" => &[("value", Value::Number)],
        "ol" => &[("start", Value::Number), ("reversed", Value::Flag), ("type", Value::Text)],
        "source" => &[
            ("src", Value::Resource),
            ("srcset", Value::ResourceSet),
            ("sizes", Value::Text),
            ("media", Value::Text),
            ("type", Value::Text),
        ],
        "table" => &[("border", Value::Number), ("summary", Value::Text)],
        "td" | "th" => &[
            ("colspan", Value::Number),
            ("rowspan", Value::Number),
            ("align", Value::Text),
            ("valign", Value::Text),
            ("abbr", Value::Text),
            ("scope", Value::Text),
        ],
        "time" => &[("datetime", Value::Text)],
        "track" => &[("src", Value::Resource), ("kind", Value::Text), ("srclang", Value::Text), ("label", Value::Text)],
        "video" => &[
            ("src", Value::Resource),
            ("poster", Value::Resource),
            ("controls", Value::Flag),
            ("loop", Value::Flag),
            ("muted", Value::Flag),
            ("preload", Value::Text),
            ("width", Value::Number),
            ("height", Value::Number),
        ],
        _ => &[],
    };
    own.iter().chain(&GLOBAL).find(|(known, _)| known.eq_ignore_ascii_case(name)).copied()
}

/// Schemes of links that a person may follow.
pub(super) fn may_follow(scheme: &str) -> bool {
    const FOLLOWED: [&str; 14] = [
        "http", "https", "mailto", "tel", "sms", "ftp", "ftps", "gemini", "geo", "irc", "ircs", "magnet", "xmpp",
        "matrix",
    ];
    FOLLOWED.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// Pictures inside the text itself. SVG is left out: it can run scripts when it is opened on its own.
pub(super) fn may_embed(data_url: &str) -> bool {
    const KINDS: [&str; 6] = ["png", "jpeg", "jpg", "gif", "webp", "avif"];
    let Some(rest) =
        data_url.get(..11).filter(|head| head.eq_ignore_ascii_case("data:image/")).map(|_| &data_url[11..])
    else {
        return false;
    };
    let kind = rest.split([';', ',']).next().unwrap_or_default();
    KINDS.iter().any(|known| known.eq_ignore_ascii_case(kind))
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
    const BLOCKS: [&str; 27] = [
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
        "table",
        "ul",
    ];
    const BLOCK_WORDS: [u128; 27] = words(BLOCKS);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order() {
        assert!(KEPT.is_sorted());
        assert!(DROPPED.is_sorted());
    }
}
