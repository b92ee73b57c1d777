//! `pirssonite backup`: a copy of the embedded database, also while a server uses it.

use std::{path::PathBuf, process::ExitCode};

use anyhow::bail;
use store::SqliteStore;

use super::say;
use crate::{settings::Settings, wiring};

/// Where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file to write; it must not be there yet.
    file: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    if settings.database_url.is_some() {
        bail!("a PostgreSQL database is backed up with pg_dump");
    }
    let database = wiring::database_file(settings);
    if !database.is_file() {
        bail!("there is no database in {}: nothing to back up", settings.data_dir.display());
    }
    SqliteStore::copy(&database, &arguments.file)?;
    say(&format!("{} written", arguments.file.display()))?;
    Ok(ExitCode::SUCCESS)
}
