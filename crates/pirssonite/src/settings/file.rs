//! The file with the settings.

use std::{collections::BTreeMap, io, path::Path};

use super::{
    Raw, SettingsError,
    table::{Setting, TABLE},
};

/// The file that is read where none is named.
const FILE: &str = "pirssonite.toml";

/// How a setting is written in it.
const WAYS: &str = "write a setting on a line of its own, as name = \"text\", name = 3, name = true or \
                    name = [\"text\", \"text\"]";

/// The settings in the file; none if there is no file and none was named.
pub(super) fn read(named: Option<&Path>) -> Result<BTreeMap<&'static str, Raw>, SettingsError> {
    let file = named.unwrap_or(Path::new(FILE));
    let wrong = |why: String| SettingsError::File { file: file.display().to_string(), why };
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => return Ok(BTreeMap::new()),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let table: toml::Table = text.parse().map_err(|error| wrong(unreadable(&text, &error)))?;
    let origin = file.display().to_string();
    table
        .into_iter()
        .map(|(name, value)| {
            let setting = by_name(&name);
            let setting = setting.ok_or_else(|| SettingsError::Unknown { name, origin: origin.clone() })?;
            let value = plain(&value)
                .ok_or_else(|| wrong(format!("{} is neither a text, a number nor a list of texts", setting.name)))?;
            Ok((setting.name, Raw { value, origin: origin.clone() }))
        })
        .collect()
}

fn by_name(name: &str) -> Option<&'static Setting> {
    TABLE.iter().find(|setting| setting.name == name)
}

/// Where a text stops being TOML. Of the line only the setting's name is shown: it may hold a password.
fn unreadable(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().map_or(0, |span| span.start);
    let before = text.get(..place).unwrap_or(text);
    // An error at the end of a text that ends with its last line is one of that line.
    let before = if place == text.len() { before.trim_end() } else { before };
    let number = before.matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default();
    let setting = line.split_once('=').and_then(|(name, _)| by_name(name.trim()));
    let number = number + 1;
    match setting.map(|setting| setting.name) {
        Some(name) if error.message().contains("duplicate key") => format!("line {number} sets {name} once more"),
        Some(name) => format!("line {number}, which sets {name}, cannot be read: {WAYS}"),
        None => format!("line {number} cannot be read: {WAYS}"),
    }
}

/// A value of the file as a flag would have it.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(switch) => Some(switch.to_string()),
        toml::Value::Array(list) => list
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .map(|list| list.join(",")),
        _ => None,
    }
}
