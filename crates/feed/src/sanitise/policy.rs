//! What sanitised HTML may contain. Whatever is not named here does not come through.

use self::Vocabulary::{Html, MathMl};
use super::ends::implied_end_sets;

/// A name of up to 16 bytes in lower case as a number that sorts as the name does.
pub(super) const fn word(name: &str) -> Option<u128> {
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

pub(super) const fn words<const N: usize>(names: [&str; N]) -> [u128; N] {
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

/// The names of [`ELEMENTS`].
pub(super) const KEPT: [&str; ELEMENTS.len()] = {
    let mut names = [""; ELEMENTS.len()];
    let mut at = 0;
    while at < ELEMENTS.len() {
        names[at] = ELEMENTS[at].0;
        at += 1;
    }
    names
};

const KEPT_WORDS: [u128; KEPT.len()] = words(KEPT);
const DROPPED_WORDS: [u128; DROPPED.len()] = words(DROPPED);
const FRAME_WORDS: [u128; FRAMES.len()] = words(FRAMES);

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

    pub(super) const fn of(name: &str) -> Self {
        let mut index = 0;
        while KEPT_WORDS[index as usize] != words([name])[0] {
            index += 1;
        }
        Self(index)
    }

    pub(super) const A: Self = Self::of("a");
    pub(super) const CODE: Self = Self::of("code");
    pub(super) const COL: Self = Self::of("col");
    pub(super) const COLGROUP: Self = Self::of("colgroup");
    pub(super) const MATH: Self = Self::of("math");
    pub(super) const MO: Self = Self::of("mo");
    pub(super) const MROW: Self = Self::of("mrow");
    pub(super) const MTEXT: Self = Self::of("mtext");
    pub(super) const P: Self = Self::of("p");
    pub(super) const RUBY: Self = Self::of("ruby");
    pub(super) const TABLE: Self = Self::of("table");
    pub(super) const TD: Self = Self::of("td");
    pub(super) const TH: Self = Self::of("th");
    pub(super) const TR: Self = Self::of("tr");

    /// Whether a name is MathML's, and of its presentation elements.
    pub(super) fn is_mathml(name: &str) -> bool {
        treatment_of_math(name).is_some()
    }

    pub(super) fn is_in(self, set: u128) -> bool {
        self.set() & set != 0
    }

    /// A set of which it is the one member.
    pub(super) fn set(self) -> u128 {
        1 << self.0
    }
}

/// The set of some kept elements.
pub(super) const fn set(names: &[&str]) -> u128 {
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

/// A set of kept elements.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kinds(u128);

impl Kinds {
    /// The one of this name; none if it is not kept.
    pub(crate) fn of(name: &str) -> Self {
        match treatment(name) {
            Treatment::Keep(kept) => Self(kept.set()),
            _ => Self::default(),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// What the one in it closes by beginning, and what those are looked for up to.
    pub(crate) fn implied_ends(self) -> (Self, Self) {
        let index = u8::try_from(self.0.trailing_zeros()).unwrap_or_default();
        if self.0 == 0 {
            return Default::default();
        }
        let (ended, bounds) = implied_end_sets(Kept(index));
        (Self(ended), Self(bounds))
    }
}

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Kept with its allowed attributes.
    Keep(Kept),
    /// Its tags go, what is in it stays.
    Unwrap,
    /// It goes with all that is in it.
    Drop,
    /// A frame or a player: a link to what it would have shown stands in for it.
    Frame,
}

/// Whose element it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vocabulary {
    Html,
    /// MathML Core, of which only its presentation elements are kept.
    MathMl,
}

/// Elements that are kept, in the order of their names. None of them changes how a browser cuts the text after it into tags (as `<style>`,
/// `<textarea>` or `<svg>` do): nothing in a text or an attribute can ever become a tag. `<math>` changes where a tag may
/// stand, and so do tables; [`nesting`](super::nesting) keeps to what browsers leave as it is.
const ELEMENTS: [(&str, Vocabulary); 110] = [
    ("a", Html),
    ("abbr", Html),
    ("acronym", Html),
    ("address", Html),
    ("article", Html),
    ("aside", Html),
    ("audio", Html),
    ("b", Html),
    ("bdi", Html),
    ("bdo", Html),
    ("big", Html),
    ("blockquote", Html),
    ("br", Html),
    ("caption", Html),
    ("center", Html),
    ("cite", Html),
    ("code", Html),
    ("col", Html),
    ("colgroup", Html),
    ("dd", Html),
    ("del", Html),
    ("details", Html),
    ("dfn", Html),
    ("div", Html),
    ("dl", Html),
    ("dt", Html),
    ("em", Html),
    ("figcaption", Html),
    ("figure", Html),
    ("font", Html),
    ("footer", Html),
    ("h1", Html),
    ("h2", Html),
    ("h3", Html),
    ("h4", Html),
    ("h5", Html),
    ("h6", Html),
    ("header", Html),
    ("hr", Html),
    ("i", Html),
    ("img", Html),
    ("ins", Html),
    ("kbd", Html),
    ("li", Html),
    ("maction", MathMl),
    ("main", Html),
    ("mark", Html),
    ("math", MathMl),
    ("merror", MathMl),
    ("mfrac", MathMl),
    ("mi", MathMl),
    ("mmultiscripts", MathMl),
    ("mn", MathMl),
    ("mo", MathMl),
    ("mover", MathMl),
    ("mpadded", MathMl),
    ("mphantom", MathMl),
    ("mprescripts", MathMl),
    ("mroot", MathMl),
    ("mrow", MathMl),
    ("ms", MathMl),
    ("mspace", MathMl),
    ("msqrt", MathMl),
    ("mstyle", MathMl),
    ("msub", MathMl),
    ("msubsup", MathMl),
    ("msup", MathMl),
    ("mtable", MathMl),
    ("mtd", MathMl),
    ("mtext", MathMl),
    ("mtr", MathMl),
    ("munder", MathMl),
    ("munderover", MathMl),
    ("nav", Html),
    ("none", MathMl),
    ("ol", Html),
    ("p", Html),
    ("picture", Html),
    ("pre", Html),
    ("q", Html),
    ("rp", Html),
    ("rt", Html),
    ("ruby", Html),
    ("s", Html),
    ("samp", Html),
    ("section", Html),
    ("semantics", MathMl),
    ("small", Html),
    ("source", Html),
    ("span", Html),
    ("strike", Html),
    ("strong", Html),
    ("sub", Html),
    ("summary", Html),
    ("sup", Html),
    ("table", Html),
    ("tbody", Html),
    ("td", Html),
    ("tfoot", Html),
    ("th", Html),
    ("thead", Html),
    ("time", Html),
    ("tr", Html),
    ("track", Html),
    ("tt", Html),
    ("u", Html),
    ("ul", Html),
    ("var", Html),
    ("video", Html),
    ("wbr", Html),
];

/// Elements that go with all that is in them.
const DROPPED: [&str; 19] = [
    "annotation",
    "annotation-xml",
    "applet",
    "base",
    "button",
    "datalist",
    "frame",
    "frameset",
    "link",
    "meta",
    "mjx-math",
    "noembed",
    "noframes",
    "script",
    "select",
    "style",
    "svg",
    "template",
    "textarea",
];

/// Elements that show another page or play something from it.
const FRAMES: [&str; 13] = [
    "amp-dailymotion",
    "amp-iframe",
    "amp-soundcloud",
    "amp-vimeo",
    "amp-youtube",
    "embed",
    "iframe",
    "lite-vimeo",
    "lite-youtube",
    "object",
    "param",
    "youtube-embed",
    "youtube-video",
];

pub(super) fn treatment(name: &str) -> Treatment {
    const TITLE: Option<u128> = word("title");
    let lower = word(name);
    let Some(packed) = lower else { return Treatment::Unwrap };
    if let Ok(index) = KEPT_WORDS.binary_search(&packed) {
        return Treatment::Keep(Kept(u8::try_from(index).unwrap_or_default()));
    }
    match lower {
        TITLE => Treatment::Drop,
        _ if FRAME_WORDS.binary_search(&packed).is_ok() => Treatment::Frame,
        _ if DROPPED_WORDS.binary_search(&packed).is_ok() => Treatment::Drop,
        _ => aliased(name),
    }
}

/// MathML under a prefix, as XHTML writes it, and the elements of MathML 3 that are groups today.
fn aliased(name: &str) -> Treatment {
    let local = name.strip_prefix("mml:").or_else(|| name.strip_prefix("m:"));
    match treatment_of_math(local.unwrap_or(name)) {
        Some(kept) if local.is_some() || kept == Kept::MROW => Treatment::Keep(kept),
        _ => Treatment::Unwrap,
    }
}

fn treatment_of_math(local: &str) -> Option<Kept> {
    if local.eq_ignore_ascii_case("mfenced") || local.eq_ignore_ascii_case("menclose") {
        return Some(Kept::MROW);
    }
    let index = KEPT_WORDS.binary_search(&word(local)?).ok()?;
    Some(Kept(u8::try_from(index).unwrap_or_default())).filter(|kept| kept.is_in(MATHML))
}

/// MathML Core's presentation elements.
pub(super) const MATHML: u128 = {
    let mut set = 0;
    let mut at = 0;
    while at < ELEMENTS.len() {
        if matches!(ELEMENTS[at].1, MathMl) {
            set |= 1 << at;
        }
        at += 1;
    }
    set
};

/// Of these, those that hold text and nothing else.
pub(super) const MATH_TOKENS: u128 = set(&["mi", "mn", "mo", "ms", "mtext"]);

/// Of these, those that hold nothing.
pub(super) const MATH_EMPTY: u128 = set(&["mprescripts", "mspace", "none"]);

/// Elements that stand in a table and nowhere else.
pub(super) const TABLE_PARTS: u128 = set(&["caption", "col", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"]);

/// Elements in which browsers let nothing stand but parts of a table.
pub(super) const TABLE_FRAMES: u128 = set(&["colgroup", "table", "tbody", "tfoot", "thead", "tr"]);

pub(super) const TABLE_SECTIONS: u128 = set(&["tbody", "tfoot", "thead"]);
pub(super) const HEADINGS: u128 = set(&["h1", "h2", "h3", "h4", "h5", "h6"]);

/// Elements of lists and of `<ruby>` that the next one ends.
pub(super) const LIST_ITEMS: u128 = set(&["dd", "dt", "li"]);
pub(super) const RUBY_PARTS: u128 = set(&["rp", "rt"]);
pub(super) const PARAGRAPH: u128 = set(&["p"]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_policy_tables_are_sorted() {
        assert!(KEPT.is_sorted());
        assert!(DROPPED.is_sorted());
        assert!(FRAMES.is_sorted());
    }
}
