//! Folders: names that feeds are sorted under, in an order of the user's.

use serde::Serialize;

use crate::ids::FolderId;

/// Characters of a folder's name.
pub const FOLDER_NAME_CHARS_MAX: usize = 200;

/// A name as it is kept: in one line, one space between two words, so that it survives every file that it is written to.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Folder {
    /// Its id.
    pub id: FolderId,
    /// Its name, which no other folder has.
    pub name: String,
    /// Its place among the others, from 0.
    pub order: i64,
}
