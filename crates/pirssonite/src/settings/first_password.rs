//! The password that the reader is given with the first start: from a variable or a file, never from an argument, which
//! everybody on the machine could see.

use std::{collections::BTreeMap, path::Path};

use domain::account::{PASSWORD_BYTES_MAX, check_password};

use super::{Secret, SettingsError};

/// The variable that holds it.
pub(super) const PASSWORD_VARIABLE: &str = "PIRSSONITE_PASSWORD";
/// The variable that names a file that holds it.
const FILE_VARIABLE: &str = "PIRSSONITE_PASSWORD_FILE";

pub(super) fn read(variables: &BTreeMap<String, String>) -> Result<Option<Secret>, SettingsError> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let (password, origin) = match (set(PASSWORD_VARIABLE), set(FILE_VARIABLE)) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(SettingsError::Together(format!("{PASSWORD_VARIABLE} and {FILE_VARIABLE} are both set")));
        }
        (Some(password), None) => (password.clone(), PASSWORD_VARIABLE),
        (None, Some(file)) => {
            let wrong = |why: String| SettingsError::File { file: file.clone(), why };
            (password_in(Path::new(file)).map_err(wrong)?, FILE_VARIABLE)
        }
    };
    check_password(&password).map_err(|why| SettingsError::Together(format!("{origin}: {why}")))?;
    Ok(Some(Secret(password)))
}

/// The password in a file: all of it but the end of its last line.
pub(crate) fn password_in(file: &Path) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    if bytes.len() > PASSWORD_BYTES_MAX + 2 {
        return Err(format!("a password has at most {PASSWORD_BYTES_MAX} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "a password is text in UTF-8".to_owned())?;
    Ok(without_line_end(text))
}

/// A line without its end.
pub(crate) fn without_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}
