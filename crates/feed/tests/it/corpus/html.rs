//! What two pieces of HTML have in common, and whether one is active.

use std::fmt::Write;

use html5ever::Attribute;

use super::tree::{Handle, Kind, Node, fragment};

/// HTML in one form: the tree written out, attributes sorted, white space folded, a `<div>` around it all taken off.
pub(super) fn normalised(html: &str) -> String {
    let mut out = String::new();
    write_children(&fragment(html), &mut out);
    let out = folded(&out);
    match out.strip_prefix("<div>").and_then(|rest| rest.strip_suffix("</div>")) {
        Some(inner) if !inner.contains("<div") => inner.trim_matches(is_space).to_owned(),
        _ => out,
    }
}

/// Every run of white space as one space, and none at the ends.
pub(super) fn folded(text: &str) -> String {
    text.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A plain text as the HTML that shows it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Whether nothing in this HTML runs, loads or restyles anything beyond itself (requirement F3).
pub(super) fn is_safe(html: &str) -> bool {
    is_safe_node(&fragment(html))
}

/// What Unicode calls white space, and the four separators that Python takes for it as well.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn write_children(node: &Node, out: &mut String) {
    node.children.borrow().iter().for_each(|child| write_node(child, out));
}

fn write_node(node: &Handle, out: &mut String) {
    match &node.kind {
        Kind::Root => write_children(node, out),
        Kind::Text(text) => out.push_str(&escaped(&text.borrow())),
        Kind::Comment(text) => write!(out, "<!--{text}-->").expect("a string takes any text"),
        Kind::Element { name, attributes } => {
            let attributes = written(attributes);
            write!(out, "<{}{attributes}>", name.local).expect("a string takes any text");
            write_children(node, out);
            write!(out, "</{}>", name.local).expect("a string takes any text");
        }
    }
}

fn written(attributes: &[Attribute]) -> String {
    let mut sorted: Vec<_> = attributes.iter().collect();
    sorted.sort_by(|one, other| (&*one.name.ns, &*one.name.local).cmp(&(&*other.name.ns, &*other.name.local)));
    let quoted = |value: &str| value.replace('&', "&amp;").replace('"', "&quot;");
    sorted.into_iter().map(|attribute| format!(" {}=\"{}\"", attribute.name.local, quoted(&attribute.value))).collect()
}

const ACTIVE_ELEMENTS: [&str; 11] =
    ["script", "object", "embed", "applet", "iframe", "frame", "frameset", "meta", "base", "style", "link"];

const URL_ATTRIBUTES: [&str; 9] =
    ["href", "src", "action", "background", "data", "cite", "longdesc", "dynsrc", "lowsrc"];

const ACTIVE_URLS: [&str; 5] = ["javascript", "vbscript", "livescript", "mocha", "data:text/html"];

const ACTIVE_STYLES: [&str; 7] =
    ["expression(", "behavior", "behaviour", "-moz-binding", "javascript:", "@import", "url("];

/// Elements and attributes count by their local names: a script is one in SVG as well.
fn is_safe_node(node: &Handle) -> bool {
    let own = match &node.kind {
        Kind::Element { name, attributes } => {
            !ACTIVE_ELEMENTS.contains(&&*name.local) && attributes.iter().all(is_safe_attribute)
        }
        _ => true,
    };
    own && node.children.borrow().iter().all(is_safe_node)
}

fn is_safe_attribute(attribute: &Attribute) -> bool {
    let name = attribute.name.local.to_lowercase();
    let value = attribute.value.chars().filter(|&c| !is_space(c) && c > ' ').collect::<String>().to_lowercase();
    let active = name.starts_with("on")
        || URL_ATTRIBUTES.contains(&&*name) && ACTIVE_URLS.iter().any(|url| value.starts_with(url))
        || name == "style" && ACTIVE_STYLES.iter().any(|style| value.contains(style));
    !active
}
