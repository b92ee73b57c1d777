//! The part of a URL after `?`, read strictly: a parameter that is not known, given twice or malformed is a 400 that
//! names it, because a program that misspells a filter must not be given everything.

use std::str::FromStr;

use domain::entry::{PAGE_ENTRIES_MAX, PAGE_ENTRIES_MIN};
use jiff::Timestamp;

use crate::{
    error::{ApiError, ApiResult},
    extract::{WHOLE_NUMBER, without_zero_fraction},
    time::time,
};

/// What a cursor is.
pub(crate) const CURSOR: &str = "the `nextCursor` of another page of this server";

/// The parameters of a request that have not been taken yet.
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Those of a query string.
    pub(crate) fn of(query: Option<&str>) -> Self {
        Self(url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    /// Whether there is such a parameter that has not been taken.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Takes a parameter as it is.
    pub(crate) fn text(&mut self, name: &str) -> ApiResult<Option<String>> {
        let mut values = self.0.extract_if(.., |(known, _)| known == name);
        let value = values.next().map(|(_, value)| value);
        match values.next() {
            Some(_) => Err(ApiError::field(name, "given more than once")),
            // What the decoder puts in the place of what it cannot read.
            None if value.as_ref().is_some_and(|value| value.contains(char::REPLACEMENT_CHARACTER)) => {
                Err(ApiError::field(name, "not UTF-8"))
            }
            None => Ok(value),
        }
    }

    /// Takes a parameter and reads it; `expected` says as what.
    pub(crate) fn parsed<T: FromStr>(&mut self, name: &str, expected: &str) -> ApiResult<Option<T>> {
        self.read(name, expected, |text| text.parse().ok())
    }

    /// Takes the parameter that is an id.
    pub(crate) fn id(&mut self, name: &str) -> ApiResult<Option<i64>> {
        self.read(name, WHOLE_NUMBER, |text| without_zero_fraction(text).parse().ok())
    }

    /// Takes a parameter and reads it in this way; `expected` says as what.
    pub(crate) fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> ApiResult<Option<T>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        read(&text).map(Some).ok_or_else(|| ApiError::field(name, format_args!("expected {expected}")))
    }

    /// Takes the parameter that is a time.
    pub(crate) fn time(&mut self, name: &str) -> ApiResult<Option<Timestamp>> {
        self.text(name)?.map(|text| time(name, &text)).transpose()
    }

    /// Takes the parameter `limit`: how many things a page has.
    pub(crate) fn page_limit(&mut self) -> ApiResult<Option<u32>> {
        let bounds = PAGE_ENTRIES_MIN..=PAGE_ENTRIES_MAX;
        let expected = format!("a number from {PAGE_ENTRIES_MIN} to {PAGE_ENTRIES_MAX}");
        let limit = |text: &str| without_zero_fraction(text).parse().ok().filter(|limit| bounds.contains(limit));
        self.read("limit", &expected, limit)
    }

    /// Refuses what is left; `known` are the parameters that there are.
    pub(crate) fn finish(self, known: &str) -> ApiResult<()> {
        match self.0.first() {
            Some((name, _)) => Err(ApiError::field(name, format_args!("no such parameter; there are {known}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f6_parameters_are_read_once_and_unknown_refused() {
        let mut parameters = Parameters::of(Some("a=1&b=x%20y&c=1&c=2&d=z"));
        assert_eq!(parameters.parsed::<i64>("a", "a number").unwrap(), Some(1));
        assert_eq!(parameters.parsed::<i64>("a", "a number").unwrap(), None);
        assert_eq!(parameters.text("b").unwrap().as_deref(), Some("x y"));
        assert_eq!(parameters.text("c").unwrap_err().to_string(), "`c`: given more than once");
        assert_eq!(parameters.parsed::<i64>("d", "a number").unwrap_err().to_string(), "`d`: expected a number");
        let mut parameters = Parameters::of(Some("e=%FF&f=%F0%9F%A6%80&g=%zz"));
        assert_eq!(parameters.text("e").unwrap_err().to_string(), "`e`: not UTF-8");
        assert_eq!(parameters.text("f").unwrap().as_deref(), Some("🦀"));
        assert_eq!(parameters.text("g").unwrap().as_deref(), Some("%zz"));
        Parameters::of(None).finish("none").unwrap();
        let error = Parameters::of(Some("feedid=1")).finish("`feedId`").unwrap_err();
        assert_eq!(error.to_string(), "`feedid`: no such parameter; there are `feedId`");
    }
}
