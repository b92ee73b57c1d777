//! Where the database lies, and that only one process has it.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::OpenError;

/// The database in a data folder.
const DATABASE: &str = "pirssonite.db";
/// The file whose lock says that a process has the folder.
const LOCK: &str = "lock";
/// A path that ends so is a file, though it may not exist yet.
const FILE_ENDINGS: [&str; 3] = ["db", "sqlite", "sqlite3"];

/// A database's file, and the lock on its folder for as long as this lives.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) database: PathBuf,
    _lock: File,
}

/// Makes folder and file if they are not there, readable by their owner only: passwords are inside.
pub(crate) fn take(folder_or_file: &Path) -> Result<Files, OpenError> {
    let (folder, database) = places(folder_or_file);
    let lock = lock_folder(&folder)?;
    open_private(&database, false).map_err(|error| unavailable(&database, &error))?;
    Ok(Files { database, _lock: lock })
}

/// The lock of the folder that a database's file is in, or will be.
pub(crate) fn lock_folder_of(file: &Path) -> Result<File, OpenError> {
    lock_folder(file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

fn lock_folder(folder: &Path) -> Result<File, OpenError> {
    make_folder(folder).map_err(|error| unavailable(folder, &error))?;
    let lock = open_private(&folder.join(LOCK), false).map_err(|error| unavailable(&folder.join(LOCK), &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(folder.display().to_string())),
        Err(TryLockError::Error(error)) => Err(unavailable(&folder.join(LOCK), &error)),
    }
}

/// The database's file, whoever has it.
pub(crate) fn database(folder_or_file: &Path) -> PathBuf {
    places(folder_or_file).1
}

/// Opens a file to write, made readable by its owner only; `is_new` if it must not exist.
pub(crate) fn open_private(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).create_new(is_new).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn places(path: &Path) -> (PathBuf, PathBuf) {
    let ending = path.extension().and_then(OsStr::to_str);
    let is_file = path.is_file() || (!path.is_dir() && ending.is_some_and(|ending| FILE_ENDINGS.contains(&ending)));
    if !is_file {
        return (path.to_owned(), path.join(DATABASE));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    (folder.to_owned(), path.to_owned())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn unavailable(path: &Path, error: &io::Error) -> OpenError {
    OpenError::Unavailable(format!("{}: {error}", path.display()))
}
