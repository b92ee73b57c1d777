//! Formulas that need more than to be kept, and those that stand twice. KaTeX and MathJax write each as MathML, for those
//! who cannot see, and once more as it is to be drawn, which without their style sheets is a row of letters. The MathML is
//! kept. What is shown until a script has drawn the formula goes where MathML follows; where only its source does, it stays.

use super::{
    Last, Sanitiser, escape_into,
    policy::{Kept, MATHML},
    value::unescaped,
};
use crate::scan::{Attributes, Dialect, Scanner};

impl Sanitiser<'_> {
    /// Whether an element is the drawing of a formula that stands beside it as MathML.
    pub(super) fn is_formula_again(&mut self, name: &str, attributes: Attributes<'_>) -> bool {
        if attributes.is_empty() {
            return false;
        }
        let is_drawing = ["span", "nobr", "div"].iter().any(|known| known.eq_ignore_ascii_case(name));
        if self.last == Last::Math {
            let is_beside = (is_drawing || name.eq_ignore_ascii_case("img")) && self.out.ends_with("</math>");
            if has_class(attributes, &["katex-html", "mwe-math-fallback"])
                || is_silent(attributes) && (is_beside || has_class(attributes, &["katex", "mjx", "MathJax", "mwe"]))
            {
                return true;
            }
        }
        if !is_drawing {
            return false;
        }
        // MathJax 2 draws first, and says so where the MathML follows.
        let is_drawn =
            is_silent(attributes) && (name.eq_ignore_ascii_case("nobr") || has_class(attributes, &["mjx-math"]));
        is_drawn || self.formula_of(attributes)
    }

    /// Writes the MathML that MathJax 2 notes at its drawing; whether there is any.
    fn formula_of(&mut self, attributes: Attributes<'_>) -> bool {
        if self.in_attribute || !attributes.mention("data-mathml") {
            return false;
        }
        let Some(source) = attributes.get("data-mathml").map(unescaped) else { return false };
        if !source.trim_start().starts_with("<math") {
            return false;
        }
        let depth = self.open.len();
        self.in_attribute = true;
        Scanner::new(&source, Dialect::Html).for_each(|token| self.token(token));
        self.in_attribute = false;
        self.dropping = None;
        self.pending_frame = None;
        if self.open.len() > depth {
            self.close_to(depth);
        }
        debug_assert!(!self.is_open(MATHML) || self.open.contains(&Kept::MATH));
        self.last == Last::Math
    }

    /// Removes the preview of the formula that comes now.
    pub(super) fn drop_preview(&mut self) {
        let Some((from, to)) = self.take_preview() else { return };
        // Places that links lead to stay, and links know where they stand.
        if self.out[from..to].contains(" id=\"") || self.anchors.has_link_from(from) {
            return;
        }
        self.out.replace_range(from..to, "");
        self.last = Last::Text;
    }

    /// Where the preview stands that was written last, if it shows something and nothing is shown after it.
    fn take_preview(&mut self) -> Option<(usize, usize)> {
        let preview = self.preview.take()?;
        let end = preview.end?;
        (preview.shown < end.shown && end.shown == self.shown).then_some((preview.from, end.at))
    }

    /// Notes that an element has ended, if it is the preview.
    pub(super) fn note_preview_end(&mut self) {
        let (at, shown, depth) = (self.out.len(), self.shown, self.open.len());
        if let Some(preview) = self.preview.as_mut().filter(|it| it.end.is_none() && it.depth == depth) {
            preview.end = Some(PreviewEnd { at, shown });
        }
    }

    /// Writes a formula in TeX, which nobody draws without a script, as it is, unless its preview stands there.
    pub(super) fn tex(&mut self, raw: &str) {
        let source = raw.trim().trim_start_matches("% <![CDATA[").trim_end_matches("%]]>").trim();
        if source.is_empty() || self.is_open(Kept::MATH.set()) || self.take_preview().is_some() {
            return;
        }
        if !self.make_way(Kept::CODE) {
            return;
        }
        let is_full = self.is_full(Kept::CODE);
        if !is_full {
            self.open(Kept::CODE);
        }
        self.write_text(source);
        if !is_full {
            self.close_to(self.open.len() - 1);
        }
    }

    /// Opens an `<mfenced>`, which browsers no longer know, as the group that it stands for.
    pub(super) fn fenced(&mut self, attributes: Attributes<'_>, closed: bool) {
        self.keep(Kept::MROW, attributes, false);
        // It may stand outside of a formula, or there may be no room for it.
        if self.open.last() != Some(&Kept::MROW) || self.overflow > 0 {
            return;
        }
        let fence = Fence::new(self.open.len(), attributes);
        self.operator(&fence.open);
        self.fences.push(fence);
        if closed {
            self.close_to(self.open.len() - 1);
        }
    }

    /// Writes what stands before the next part of an `<mfenced>`, if that is what comes now.
    pub(super) fn separate(&mut self) {
        let depth = self.open.len();
        let Some(fence) = self.fences.last_mut().filter(|fence| fence.depth == depth) else { return };
        let separator = fence.parts.checked_sub(1).and_then(|at| {
            let separators = &fence.separators;
            separators.get(at).or(separators.last()).map(char::to_string)
        });
        fence.parts += 1;
        if let Some(separator) = separator {
            self.operator(&separator);
        }
    }

    /// Writes the end of the `<mfenced>` that is innermost, if it is one.
    pub(super) fn close_fence(&mut self) {
        let depth = self.open.len();
        if let Some(fence) = self.fences.pop_if(|fence| fence.depth == depth) {
            self.operator(&fence.close);
        }
    }

    fn operator(&mut self, text: &str) {
        if !text.is_empty() && !self.is_full(Kept::MO) {
            self.out.push_str("<mo>");
            escape_into(text, &mut self.out);
            self.out.push_str("</mo>");
        }
    }
}

/// The class of what MathJax 2 shows until it has drawn a formula: its source, or a picture.
pub(super) const PREVIEW: &str = "MathJax_Preview";

#[derive(Debug)]
pub(super) struct Preview {
    /// Where its tag begins.
    from: usize,
    /// How many elements are open around it.
    depth: usize,
    /// How much was shown before it.
    shown: usize,
    end: Option<PreviewEnd>,
}

#[derive(Debug, Clone, Copy)]
struct PreviewEnd {
    at: usize,
    /// How much was shown up to there.
    shown: usize,
}

impl Preview {
    pub(super) fn new(from: usize, depth: usize, shown: usize) -> Self {
        Self { from, depth, shown, end: None }
    }
}

/// Different separators of an `<mfenced>`, and characters of a fence.
const FENCE_CHARS_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct Fence {
    /// How many elements are open right inside it.
    depth: usize,
    open: String,
    close: String,
    separators: Vec<char>,
    /// How many parts it has so far.
    parts: usize,
}

impl Fence {
    fn new(depth: usize, attributes: Attributes<'_>) -> Self {
        let stated = |name, default: &str| {
            let value = attributes.get(name).map_or_else(|| default.to_owned(), |raw| unescaped(raw).into_owned());
            let shown = value.chars().filter(|c| !c.is_whitespace() && !c.is_control());
            shown.take(FENCE_CHARS_MAX).collect::<String>()
        };
        let separators = stated("separators", ",").chars().collect();
        Self { depth, open: stated("open", "("), close: stated("close", ")"), separators, parts: 0 }
    }
}

pub(super) fn is_fenced(name: &str) -> bool {
    name.rsplit(':').next().is_some_and(|local| local.eq_ignore_ascii_case("mfenced"))
}

/// Whether an element is a script that holds a formula in TeX.
pub(super) fn is_tex(name: &str, attributes: Attributes<'_>) -> bool {
    let is_type = |kind: &str| kind.trim_start().get(..8).is_some_and(|kind| kind.eq_ignore_ascii_case("math/tex"));
    name.eq_ignore_ascii_case("script") && attributes.get("type").is_some_and(is_type)
}

/// Whether those who cannot see are not told of an element.
fn is_silent(attributes: Attributes<'_>) -> bool {
    attributes.mention("aria-hidden") && attributes.get("aria-hidden").is_some_and(|value| value.trim() == "true")
}

fn has_class(attributes: Attributes<'_>, prefixes: &[&str]) -> bool {
    let classes = attributes.get("class").unwrap_or_default();
    classes.split_ascii_whitespace().any(|class| prefixes.iter().any(|prefix| class.starts_with(prefix)))
}
