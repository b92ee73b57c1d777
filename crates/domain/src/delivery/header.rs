//! Headers that a user wants to be sent along with a webhook's requests. Their values are secrets, such as a token.

/// What is shown instead of a value.
pub const MASK: &str = "***";

/// The value of a header: shown and logged as `***`. Only the store and the sender read the value itself.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderValue(String);

/// Headers of a webhook, names and values, in the user's order.
pub type WebhookHeaders = Vec<(String, HeaderValue)>;

impl HeaderValue {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, to be stored and sent.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is the mask that stands for a stored value: a client that sends back what it was shown means that value.
    pub fn is_masked(&self) -> bool {
        self.0 == MASK
    }
}

impl std::fmt::Debug for HeaderValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(MASK)
    }
}

/// The headers that a webhook has after a change: a masked value is the stored one of the same name, in any case of
/// letters. Headers whose value is masked but not stored are left out: the mask itself is never stored.
pub(super) fn unmask_headers(wanted: &[(String, HeaderValue)], stored: &[(String, HeaderValue)]) -> WebhookHeaders {
    let kept = |(name, value): &(String, HeaderValue)| {
        let value = if value.is_masked() { stored_value(name, stored)?.clone() } else { value.clone() };
        Some((name.clone(), value))
    };
    wanted.iter().filter_map(kept).collect()
}

/// The first header whose value is masked but not stored.
pub fn unknown_masked_header<'h>(
    wanted: &'h [(String, HeaderValue)],
    stored: &[(String, HeaderValue)],
) -> Option<&'h str> {
    let is_unknown = |(name, value): &&(String, HeaderValue)| value.is_masked() && stored_value(name, stored).is_none();
    wanted.iter().find(is_unknown).map(|(name, _)| name.as_str())
}

fn stored_value<'h>(name: &str, stored: &'h [(String, HeaderValue)]) -> Option<&'h HeaderValue> {
    stored.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> WebhookHeaders {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), HeaderValue::new(*value))).collect()
    }

    #[test]
    fn d1_header_values_are_masked() {
        let value = HeaderValue::new("hunter2");
        assert_eq!(format!("{value:?}"), "***");
        assert_eq!(value.expose(), "hunter2");
    }

    #[test]
    fn d1_a_masked_value_keeps_the_stored_one() {
        let stored = headers(&[("Authorization", "Bearer a"), ("X-B", "b")]);
        for (wanted, expect, unknown) in [
            (&[("authorization", "***")][..], &[("authorization", "Bearer a")][..], None),
            (&[("X-B", "c"), ("Authorization", "***")], &[("X-B", "c"), ("Authorization", "Bearer a")], None),
            (&[("X-C", "***"), ("X-B", "***")], &[("X-B", "b")], Some("X-C")),
            (&[("X-C", "****")], &[("X-C", "****")], None),
            (&[], &[], None),
        ] {
            let wanted = headers(wanted);
            assert_eq!(unmask_headers(&wanted, &stored), headers(expect));
            assert_eq!(unknown_masked_header(&wanted, &stored), unknown);
        }
    }
}
