//! OPML: lists of feeds as other readers write and read them. What is exported and imported into an empty store gives
//! the same feeds, in the same folders, in the same order.
//!
//! Our folders have no folders in them: one inside another is called `Outer / Inner`, and written as nested again.

mod decode;
mod import;
mod read;
mod write;

use domain::ports::StoreError;

pub(crate) use self::{
    import::import,
    write::{Listed, write},
};

/// Bytes of a file that is read.
const FILE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Outlines that are read; those after them are reported.
const OUTLINES_MAX: usize = 50_000;

/// Folders that are made; feeds of those after them are in none.
const FOLDERS_MAX: usize = 1000;

/// Folders inside folders; deeper ones count as the last.
const DEPTH_MAX: usize = 8;

/// Failures that are reported one by one.
const ERRORS_MAX: usize = 1000;

/// What stands between the names of an outer and an inner folder.
const SEPARATOR: &str = " / ";

/// The namespace of attributes that only we write and read.
const NAMESPACE: &str = "urn:pirssonite:opml";

/// Why nothing was imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpmlError {
    /// Not OPML at all.
    #[error("not an OPML file: {0}")]
    NotOpml(String),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}
