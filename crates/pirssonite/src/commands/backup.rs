//! `pirssonite backup`: a copy of the embedded database, also while a server uses it.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{anyhow, bail};
use domain::ports::StoreError;
use serde_json::json;
use store::SqliteStore;

use super::{say, say_json};
use crate::{settings::Settings, wiring};

/// Where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file to write; it must not be there yet.
    file: PathBuf,
    /// Print the file's name as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    if settings.database_url.is_some() {
        bail!("a PostgreSQL database is backed up with pg_dump");
    }
    let database = wiring::database_file(settings);
    if !database.is_file() {
        bail!("there is no database in {}: nothing to back up", settings.data_dir.display());
    }
    let file = arguments.file.display().to_string();
    SqliteStore::copy(&database, &arguments.file).map_err(|error| match error {
        // It is the new file that cannot be, and not the store.
        StoreError::Failed(why) if why.starts_with(&file) => anyhow!(why),
        error => error.into(),
    })?;
    if arguments.json {
        say_json(&json!({ "file": file }))?;
    } else {
        say(&format!("{file} written"))?;
    }
    Ok(ExitCode::SUCCESS)
}
