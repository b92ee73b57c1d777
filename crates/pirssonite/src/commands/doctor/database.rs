//! The database: whether it can be read, whether it can be written to, and what to do if not.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;
use store::OpenError;

use super::Finding;
use crate::{backend::Backend, settings::Settings, wiring};

const WHAT: &str = "database";

/// Bytes that must be free. Many times as much is wanted in a day.
const PROBE_BYTES: usize = 64 * 1024;

/// The file that is written to see whether the disk is full. One name, so that there is never more than one.
const PROBE_FILE: &str = "doctor.tmp";

/// What SQLite says of a file that is no database, or no longer.
const DAMAGED: [&str; 2] = ["file is not a database", "database disk image is malformed"];

/// How the database is. Whoever can read the feeds may still not be able to keep new ones.
pub(super) async fn judge(
    settings: &Settings,
    backend: Option<&dyn Backend>,
    feeds: &anyhow::Result<Vec<Value>>,
) -> Finding {
    let server = backend.filter(|backend| backend.is_server()).map(Backend::name);
    if let Err(error) = feeds {
        return Finding::wrong(WHAT, with_advice(error, settings, server.as_deref()));
    }
    if let Some(says) = disk_full(settings) {
        return Finding::wrong(WHAT, says);
    }
    let ready = match backend {
        Some(backend) => backend.ready().await,
        None => Ok(()),
    };
    match (ready, server) {
        (Ok(()), _) => Finding::fine(WHAT, place(settings)),
        (Err(error), Some(server)) => {
            Finding::wrong(WHAT, format!("{server} is not ready: {error:#}; why, its log says"))
        }
        (Err(error), None) => Finding::wrong(WHAT, with_advice(&error, settings, None)),
    }
}

/// Where everything is kept.
fn place(settings: &Settings) -> String {
    if settings.database_url.is_some() {
        return "the PostgreSQL of database_url can be used".to_owned();
    }
    format!("{} can be used", real(&wiring::database_file(settings)).display())
}

/// A path in full.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What is wrong, and what to do about it.
fn with_advice(error: &anyhow::Error, settings: &Settings, server: Option<&str>) -> String {
    if error.chain().any(|cause| cause.downcast_ref().is_some_and(says_what_to_do)) {
        return format!("{error:#}");
    }
    format!("{error:#}; {}", advice(error, settings, server))
}

/// Whether it is all right where it is, and must not be used as it is: what helps, the error says.
fn says_what_to_do(error: &OpenError) -> bool {
    use OpenError::{ChangedMigration, Incomplete, Moved, TooNew};
    matches!(error, Moved { .. } | Incomplete | TooNew { .. } | ChangedMigration { .. })
}

/// What to do about a database that cannot be used.
fn advice(error: &anyhow::Error, settings: &Settings, server: Option<&str>) -> String {
    if settings.database_url.is_some() {
        return "check that PostgreSQL runs there, and that database_url names it rightly".to_owned();
    }
    let said = format!("{error:#}");
    if DAMAGED.iter().any(|damaged| said.contains(damaged)) {
        // With all that is in it: what SQLite keeps beside a database fits no other.
        return format!(
            "the file is damaged, or never was a database: move the folder {} away, and put a copy that `pirssonite \
             backup` made into a new one, as pirssonite.db; without a copy, all begins anew",
            real(&settings.data_dir).display()
        );
    }
    if let Some(says) = disk_full(settings) {
        return says;
    }
    match server {
        Some(server) => format!("the log of {server} says more"),
        None => "check that data_dir is a folder that you may write to".to_owned(),
    }
}

/// That the disk of the embedded database takes nothing more, if it is so. A server only knows once it has failed to
/// write, so it is tried here too.
fn disk_full(settings: &Settings) -> Option<String> {
    use io::ErrorKind::{FileTooLarge, NotFound, PermissionDenied, QuotaExceeded, StorageFull};
    if settings.database_url.is_some() {
        return None;
    }
    let folder = settings.data_dir.as_path();
    let error = try_write(folder).err()?;
    let advice = match error.kind() {
        // There is no folder, or it is another's, whose server writes to it.
        NotFound | PermissionDenied => return None,
        StorageFull | QuotaExceeded | FileTooLarge => "make room there",
        _ => "check that disk",
    };
    Some(format!("nothing more can be written to {} ({error}): {advice}", real(folder).display()))
}

/// Writes a file, and takes it away again.
fn try_write(folder: &Path) -> io::Result<()> {
    let file = folder.join(PROBE_FILE);
    let written = write_out(&file);
    let _ = fs::remove_file(&file);
    written
}

fn write_out(file: &Path) -> io::Result<()> {
    fs::write(file, vec![0; PROBE_BYTES])?;
    // Some file systems say only now that the disk is full.
    fs::File::open(file)?.sync_all()
}
