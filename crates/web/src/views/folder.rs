//! Folders.

use domain::{Folder, FolderId};
use serde::Serialize;
use utoipa::ToSchema;

use super::ids;

/// A folder.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Folder)]
pub(crate) struct FolderView {
    /// Its id.
    #[schema(value_type = ids::FolderId)]
    id: FolderId,
    /// Its name, which no other folder has.
    name: String,
    /// Its place among the others, from 0.
    order: i64,
}

impl From<Folder> for FolderView {
    fn from(folder: Folder) -> Self {
        let Folder { id, name, order } = folder;
        Self { id, name, order }
    }
}
