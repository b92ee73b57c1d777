//! Names of accounts.

use crate::folder::one_line;

/// Characters of an account's name.
pub const ACCOUNT_NAME_CHARS_MAX: usize = 64;

/// A name that an account can have: one line, 1 to 64 characters, none of them a control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountName(String);

/// Why a text is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("a name needs at least one character")]
    Empty,
    #[error("a name has at most {ACCOUNT_NAME_CHARS_MAX} characters")]
    TooLong,
    #[error("a name has no control characters")]
    Control,
}

impl AccountName {
    pub fn parse(text: &str) -> Result<Self, BadName> {
        if text.chars().any(char::is_control) {
            return Err(BadName::Control);
        }
        let name = one_line(text);
        match name.chars().count() {
            0 => Err(BadName::Empty),
            1..=ACCOUNT_NAME_CHARS_MAX => Ok(Self(name)),
            _ => Err(BadName::TooLong),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What no other account may have: the name without regard to case.
    pub fn key(&self) -> String {
        Self::key_of(&self.0)
    }

    /// The key of a text that somebody typed as a name.
    pub fn key_of(text: &str) -> String {
        one_line(text).to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a1_names_have_limits_and_keys_without_case() {
        for (text, expect) in [
            ("Ann", Ok(("Ann", "ann"))),
            (" Ann  Lee ", Ok(("Ann Lee", "ann lee"))),
            ("ÄRGER", Ok(("ÄRGER", "ärger"))),
            ("", Err(BadName::Empty)),
            ("  ", Err(BadName::Empty)),
            ("a\nb", Err(BadName::Control)),
            ("a\u{7f}", Err(BadName::Control)),
            (&"é".repeat(64), Ok((&*"é".repeat(64), &*"é".repeat(64)))),
            (&"é".repeat(65), Err(BadName::TooLong)),
        ] {
            let name = AccountName::parse(text);
            let got = name.as_ref().map(|name| (name.as_str().to_owned(), name.key())).map_err(|error| *error);
            assert_eq!(got, expect.map(|(name, key): (&str, &str)| (name.to_owned(), key.to_owned())), "{text:?}");
        }
    }
}
