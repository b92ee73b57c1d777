//! Formulas in MathML as text on a line: `x^2`, `(a+b)/c`, `√(x)`. Without signs x² would read x2.

/// Elements whose text needs no brackets.
const TOKENS: [&str; 6] = ["mi", "mn", "mo", "ms", "mtext", "mspace"];

/// Formulas that are one inside the other; those deeper have no signs.
const DEPTH_MAX: usize = 64;

/// The elements of a formula that are open.
#[derive(Debug, Default)]
pub(super) struct Formula {
    open: Vec<Element>,
}

#[derive(Debug)]
struct Element {
    name: String,
    children: usize,
    is_bracketed: bool,
}

impl Formula {
    /// What stands before the text of an element that begins.
    pub(super) fn start(&mut self, name: &str) -> String {
        if self.open.is_empty() && name != "math" || self.open.len() >= DEPTH_MAX {
            return String::new();
        }
        let mut before = String::new();
        let mut is_bracketed = name == "msqrt";
        if let Some(parent) = self.open.last_mut() {
            before.push_str(sign(&parent.name, parent.children));
            parent.children += 1;
            is_bracketed |= takes_parts(&parent.name) && !TOKENS.contains(&name);
        }
        if name == "msqrt" {
            before.push('√');
        }
        if is_bracketed {
            before.push('(');
        }
        self.open.push(Element { name: name.to_owned(), children: 0, is_bracketed });
        before
    }

    /// What stands after the text of an element that ends.
    pub(super) fn end(&mut self, name: &str) -> &'static str {
        let Some(place) = self.open.iter().rposition(|open| open.name == name) else { return "" };
        let is_bracketed = self.open[place].is_bracketed;
        self.open.truncate(place);
        if is_bracketed { ")" } else { "" }
    }
}

/// Elements whose children mean something by their place.
fn takes_parts(name: &str) -> bool {
    matches!(name, "msup" | "msub" | "msubsup" | "mfrac" | "mroot" | "mover" | "munder" | "munderover")
}

/// What stands before a child of an element, by its place.
fn sign(parent: &str, place: usize) -> &'static str {
    match (parent, place) {
        ("msup" | "mover", 1) | ("msubsup" | "munderover", 2) => "^",
        ("msub" | "munder" | "msubsup" | "munderover", 1) => "_",
        ("mfrac", 1) => "/",
        ("mroot", 1) => "^1/",
        _ => "",
    }
}
