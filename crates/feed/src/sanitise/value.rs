//! Values of attributes: each as it may stand, or not at all.

use std::borrow::Cow;

use super::{
    Sanitiser,
    attributes::{Value, may_embed, may_follow},
};
use crate::{limits::URL_BYTES_MAX, resolve, tracking::without_tracking};

/// Bytes of a word, a length or the name of a language.
const WORD_BYTES_MAX: usize = 64;

/// The largest length in a formula, in whatever unit: larger ones only cover something.
const LENGTH_MAX: f64 = 500.0;

/// The furthest that something in a formula is moved back over what stands before it.
const LENGTH_BACK_MAX: f64 = 2.0;

impl Sanitiser<'_> {
    /// A value that may stand, as it may stand.
    pub(super) fn checked(&mut self, check: Value, value: &str) -> Option<String> {
        match check {
            Value::Text => Some(value.to_owned()),
            Value::Flag => Some(String::new()),
            Value::Number => number(value),
            Value::Length => length(value),
            Value::Word => word(value),
            Value::Class => languages(value),
            Value::Id => self.anchors.id(value),
            Value::Link => self.url(value, may_follow).map(|url| without_tracking(&url).into_owned()),
            Value::Resource => self.resource(value),
            Value::ResourceSet => self.source_set(value),
        }
    }

    /// A file that the page loads: from the web, or a picture in the text itself.
    pub(super) fn resource(&self, value: &str) -> Option<String> {
        let stripped = resolve::strip(value);
        if may_embed(&stripped) { Some(stripped.into_owned()) } else { self.url(value, is_web) }
    }

    pub(super) fn url(&self, value: &str, allowed: fn(&str) -> bool) -> Option<String> {
        let value = resolve::strip(value);
        if value.is_empty() || value.len() > URL_BYTES_MAX {
            return None;
        }
        match resolve::scheme(&value) {
            Some(scheme) => allowed(scheme).then(|| value.into_owned()),
            None => match self.base {
                Some(base) => self.budget.join(base, &value).filter(|url| allowed(url.scheme())).map(String::from),
                None => Some(value.into_owned()),
            },
        }
    }

    /// `small.jpg 1x, large.jpg 2x`, each checked for itself.
    pub(super) fn source_set(&self, value: &str) -> Option<String> {
        let mut set = String::new();
        for (url, descriptors) in candidates(value) {
            let Some(url) = self.resource(url) else { continue };
            // A space or a comma at an end would make two candidates of it.
            if url.contains(|c: char| c.is_ascii_whitespace()) || url.starts_with(',') || url.ends_with(',') {
                continue;
            }
            set.push_str(if set.is_empty() { "" } else { ", " });
            set.push_str(&url);
            for descriptor in descriptors.split_ascii_whitespace().filter(|word| is_descriptor(word)) {
                set.push(' ');
                set.push_str(descriptor);
            }
        }
        (!set.is_empty()).then_some(set)
    }
}

pub(super) fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// The candidates of a `srcset`, as HTML splits it: a URL ends at a space, and commas may be part of it.
pub(super) fn candidates(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = value;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        let bare = url.trim_end_matches(',');
        if bare.len() < url.len() {
            rest = after;
            return Some((bare, ""));
        }
        let (descriptors, next) = after.split_once(',').unwrap_or((after, ""));
        rest = next;
        Some((url, descriptors))
    })
}

/// `2x`, `640w`, `480h`.
fn is_descriptor(word: &str) -> bool {
    let digits = word.trim_end_matches(['x', 'w', 'h']);
    digits.len() + 1 == word.len() && digits.len() < 10 && is_decimal(digits)
}

fn is_decimal(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn number(value: &str) -> Option<String> {
    let value = value.trim();
    let digits = value.trim_end_matches("px").trim_end_matches('%');
    (digits.len() < 10 && is_decimal(digits)).then(|| value.to_owned())
}

fn length(value: &str) -> Option<String> {
    let value = value.trim();
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
    let amount: f64 = value[..value.len() - unit.len()].parse().ok()?;
    let is_unit = matches!(unit, "" | "em" | "ex" | "px" | "pt" | "pc" | "cm" | "mm" | "in" | "%" | "rem");
    (is_unit && value.len() <= WORD_BYTES_MAX && (-LENGTH_BACK_MAX..=LENGTH_MAX).contains(&amount))
        .then(|| value.to_owned())
}

fn word(value: &str) -> Option<String> {
    let value = value.trim();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '#' | '-' | '+' | '.');
    (!value.is_empty() && value.len() <= WORD_BYTES_MAX && value.chars().all(fits)).then(|| value.to_owned())
}

/// Of the classes of an element those that say which language a program is written in: a page colours it by that. All
/// others could be the page's own.
fn languages(value: &str) -> Option<String> {
    let names: Vec<&str> = value.split_ascii_whitespace().filter(|name| is_language(name)).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

fn is_language(class: &str) -> bool {
    class.len() <= WORD_BYTES_MAX
        && class.strip_prefix("language-").is_some_and(|name| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '.' | '_' | '-'))
        })
}

/// What a reader of HTML sees of a raw value.
pub(super) fn unescaped(raw: &str) -> Cow<'_, str> {
    htmlize::unescape_attribute(raw)
}
