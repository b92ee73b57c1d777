//! Passwords: what one may be. How they are kept is not decided here.

/// Characters of a password, at least.
pub const PASSWORD_CHARS_MIN: usize = 8;
/// Bytes of a password, at most: whoever is to hash one is not given a book.
pub const PASSWORD_BYTES_MAX: usize = 1024;

/// Why a text is no password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPassword {
    #[error("a password has at least {PASSWORD_CHARS_MIN} characters")]
    TooShort,
    #[error("a password has at most {PASSWORD_BYTES_MAX} bytes")]
    TooLong,
}

/// Refuses what is too short or too long. Any characters will do, and none are left out.
pub fn check_password(text: &str) -> Result<(), BadPassword> {
    if text.len() > PASSWORD_BYTES_MAX {
        return Err(BadPassword::TooLong);
    }
    if text.chars().count() < PASSWORD_CHARS_MIN {
        return Err(BadPassword::TooShort);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a1_passwords_have_a_shortest_and_a_longest() {
        for (text, expect) in [
            ("", Err(BadPassword::TooShort)),
            ("1234567", Err(BadPassword::TooShort)),
            ("12345678", Ok(())),
            ("ééééééé", Err(BadPassword::TooShort)),
            ("éééééééé", Ok(())),
            ("        ", Ok(())),
            ("a\u{0}\n\t\u{1f600}bcd", Ok(())),
            (&"x".repeat(1024), Ok(())),
            (&"x".repeat(1025), Err(BadPassword::TooLong)),
            (&"é".repeat(513), Err(BadPassword::TooLong)),
        ] {
            assert_eq!(check_password(text), expect, "{text:?}");
        }
    }
}
