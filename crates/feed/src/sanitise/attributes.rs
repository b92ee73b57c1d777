//! Which attributes come through, and how their values are checked.

/// How an attribute's value is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
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
    /// A length in a formula.
    Length,
    /// Letters, digits and what colours and lists of them need.
    Word,
    /// A place that links within the entry lead to.
    Id,
    /// Names of classes, of which those that name a programming language stay.
    Class,
}

use super::policy::Kept;

/// How the value of an element's attribute is checked; `None` if it does not come through.
pub(super) fn attribute(element: &str, name: &str) -> Option<(&'static str, Value)> {
    const GLOBAL: [(&str, Value); 6] = [
        ("class", Value::Class),
        ("id", Value::Id),
        ("title", Value::Text),
        ("lang", Value::Text),
        ("dir", Value::Text),
        ("hidden", Value::Flag),
    ];
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
        _ if Kept::is_mathml(element) => &MATHML_ATTRIBUTES,
        _ => &[],
    };
    own.iter().chain(&GLOBAL).find(|(known, _)| known.eq_ignore_ascii_case(name)).copied()
}

/// Attributes of MathML Core that change how a formula looks. None of them leads anywhere, and none moves it out of its
/// place, as `voffset` does.
const MATHML_ATTRIBUTES: [(&str, Value); 29] = [
    ("accent", Value::Word),
    ("accentunder", Value::Word),
    ("alttext", Value::Text),
    ("columnalign", Value::Word),
    ("columnlines", Value::Word),
    ("columnspan", Value::Number),
    ("depth", Value::Length),
    ("display", Value::Word),
    ("displaystyle", Value::Word),
    ("fence", Value::Word),
    ("form", Value::Word),
    ("frame", Value::Word),
    ("height", Value::Length),
    ("largeop", Value::Word),
    ("linethickness", Value::Length),
    ("lspace", Value::Length),
    ("mathcolor", Value::Word),
    ("mathvariant", Value::Word),
    ("maxsize", Value::Length),
    ("minsize", Value::Length),
    ("movablelimits", Value::Word),
    ("rowlines", Value::Word),
    ("rowspan", Value::Number),
    ("rspace", Value::Length),
    ("scriptlevel", Value::Word),
    ("separator", Value::Word),
    ("stretchy", Value::Word),
    ("symmetric", Value::Word),
    ("width", Value::Length),
];

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
