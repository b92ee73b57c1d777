//! Folders: names that feeds are sorted under, in an order of the user's.

use serde::Serialize;

use crate::ids::FolderId;

/// Characters of a folder's name.
pub const FOLDER_NAME_CHARS_MAX: usize = 200;

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
