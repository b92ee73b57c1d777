//! What sanitised HTML may contain. Whatever is not named here does not come through.

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Kept with its allowed attributes.
    Keep(&'static str),
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
const KEPT: [&str; 79] = [
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
];

/// Kept too; a list of its own so that the table above stays in order.
const KEPT_MEDIA: [&str; 2] = ["video", "wbr"];

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
    let mut buffer = [0; 16];
    let Some(lower) = buffer.get_mut(..name.len()) else { return Fate::Unwrap };
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    let Ok(lower) = std::str::from_utf8(lower) else { return Fate::Unwrap };
    if let Ok(index) = KEPT.binary_search(&lower) {
        return Fate::Keep(KEPT[index]);
    }
    if let Some(kept) = KEPT_MEDIA.iter().find(|kept| **kept == lower) {
        return Fate::Keep(kept);
    }
    match lower {
        "iframe" => Fate::Frame,
        "title" => Fate::Drop,
        _ if DROPPED.binary_search(&lower).is_ok() => Fate::Drop,
        _ => Fate::Unwrap,
    }
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
pub(crate) fn implied_ends(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    const CELLS: &[&str] = &["table", "td", "th", "caption"];
    match name {
        "address" | "article" | "aside" | "blockquote" | "center" | "details" | "div" | "dl" | "figcaption"
        | "figure" | "footer" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "header" | "hr" | "main" | "nav" | "ol"
        | "p" | "pre" | "section" | "table" | "ul" => (&["p"], CELLS),
        "li" => (&["li"], &["ul", "ol", "table", "td", "th"]),
        "dt" | "dd" => (&["dt", "dd"], &["dl", "table", "td", "th"]),
        "td" | "th" => (&["td", "th"], &["tr", "table"]),
        "tr" => (&["tr"], &["table"]),
        "tbody" | "thead" | "tfoot" => (&["tbody", "thead", "tfoot", "colgroup", "caption"], &["table"]),
        "a" => (&["a"], CELLS),
        _ => (&[], &[]),
    }
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
