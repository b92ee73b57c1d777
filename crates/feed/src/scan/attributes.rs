//! What stands in a tag behind its name.

use memchr::{memchr, memchr_iter};

use crate::limits::ATTRIBUTES_MAX;

/// The attributes of a tag as (name, raw value), read only when asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Attributes<'a> {
    rest: &'a str,
    left: usize,
}

impl<'a> Attributes<'a> {
    /// Those that stand in a tag behind its name.
    pub(super) fn new(rest: &'a str) -> Self {
        Self { rest, left: ATTRIBUTES_MAX }
    }

    pub(crate) fn iter(self) -> AttributeIter<'a> {
        AttributeIter(self)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    /// Whether these characters stand anywhere in them.
    pub(crate) fn mention(self, characters: &str) -> bool {
        // A searcher would take longer to make than these few bytes to look through.
        let (rest, characters) = (self.rest.as_bytes(), characters.as_bytes());
        characters.first().is_none_or(|first| memchr_iter(*first, rest).any(|at| rest[at..].starts_with(characters)))
    }

    /// The raw value of an attribute by its name without regard to case.
    pub(crate) fn get(self, wanted: &str) -> Option<&'a str> {
        self.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    }
}

/// Goes through the attributes of a tag.
#[derive(Debug)]
pub(crate) struct AttributeIter<'a>(Attributes<'a>);

impl<'a> Iterator for AttributeIter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let Self(attributes) = self;
        // Only ASCII is looked for, so every place found is between two characters.
        let name_from = attributes.rest.bytes().position(|byte| !byte.is_ascii_whitespace() && byte != b'/')?;
        if attributes.left == 0 {
            return None;
        }
        attributes.left -= 1;
        let rest = &attributes.rest[name_from..];
        // A stray `=` at the start belongs to the name, as in HTML: every round takes at least one character.
        let ends_name = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'=' | b'/');
        let name_to = rest.as_bytes()[1..].iter().position(ends_name).map_or(rest.len(), |offset| 1 + offset);
        let (name, after_name) = rest.split_at(name_to);
        let Some(value) = after_name.trim_ascii_start().strip_prefix('=') else {
            attributes.rest = after_name;
            return Some((name, ""));
        };
        let value = value.trim_ascii_start();
        let quoted = [b'"', b'\''].into_iter().find_map(|quote| {
            let inside = value.as_bytes().first().is_some_and(|&byte| byte == quote).then(|| &value[1..])?;
            memchr(quote, inside.as_bytes()).map(|end| (&inside[..end], &inside[end + 1..]))
        });
        let (value, rest) = quoted.unwrap_or_else(|| {
            let value = value.trim_start_matches(['"', '\'']);
            value.split_at(value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len()))
        });
        attributes.rest = rest;
        Some((name, value))
    }
}
