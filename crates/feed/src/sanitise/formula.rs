//! Formulas that stand twice. KaTeX and MathJax write each as MathML, for those who cannot see, and once more as it is
//! to be drawn, which without their style sheets is a row of letters. The MathML is kept.

use super::{
    Last, Sanitiser,
    policy::{Kept, MATHML},
    value::unescaped,
};
use crate::scan::{Attributes, Dialect, Scanner};

impl Sanitiser<'_> {
    /// Whether an element is the drawing of a formula that stands beside it as MathML.
    pub(super) fn is_formula_again(&mut self, name: &str, attributes: Attributes<'_>) -> bool {
        if self.last == Last::Math
            && (is_silent(attributes) || has_class(attributes, &["katex-html", "mwe-math-fallback"]))
        {
            return true;
        }
        let is_drawing = |name: &str| ["span", "nobr", "div"].iter().any(|known| known.eq_ignore_ascii_case(name));
        if attributes.is_empty() || !is_drawing(name) {
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
}

/// Whether those who cannot see are not told of an element.
fn is_silent(attributes: Attributes<'_>) -> bool {
    attributes.mention("aria-hidden") && attributes.get("aria-hidden").is_some_and(|value| value.trim() == "true")
}

fn has_class(attributes: Attributes<'_>, prefixes: &[&str]) -> bool {
    let classes = attributes.get("class").unwrap_or_default();
    classes.split_ascii_whitespace().any(|class| prefixes.iter().any(|prefix| class.starts_with(prefix)))
}
