//! `pirssonite backup`: a copy of the embedded database, also while a server uses it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, anyhow, bail};
use domain::ports::StoreError;
use serde_json::json;
use store::SqliteStore;

use super::{format_size, print_json, print_line};
use crate::{backend, settings::Settings, wiring};

/// Where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file to write.
    file: PathBuf,
    /// Replace the file if it is there already. It stays as it was until the copy is whole.
    #[arg(long)]
    force: bool,
    /// Print the file's name and its size as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    if settings.database_url.is_some() {
        bail!("a PostgreSQL database is backed up with pg_dump");
    }
    backend::check_there(settings)?;
    let (database, to) = (wiring::database_file(settings), arguments.file.as_path());
    if arguments.force && to.exists() {
        replace(&database, to)?;
    } else {
        let hint = if to.is_file() { ": --force replaces it" } else { "" };
        copy(&database, to).map_err(|error| anyhow!("{error:#}{hint}"))?;
    }
    let file = to.display().to_string();
    let bytes = fs::metadata(to).with_context(|| file.clone())?.len();
    if arguments.json {
        print_json(&json!({ "file": file, "bytes": bytes }))?;
    } else {
        print_line(&format!("{file} written: {}", format_size(bytes)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn copy(database: &Path, to: &Path) -> anyhow::Result<()> {
    let file = to.display().to_string();
    SqliteStore::copy(database, to).map_err(|error| match error {
        // It is the new file that cannot be, and not the store.
        StoreError::Failed(why) if why.starts_with(&file) => anyhow!(why),
        error => error.into(),
    })
}

/// Puts a whole copy in the place of a file, in one step.
fn replace(database: &Path, to: &Path) -> anyhow::Result<()> {
    let name = to.display();
    if !to.is_file() {
        bail!("{name} is not a file");
    }
    if let (Ok(to), Ok(database)) = (to.canonicalize(), database.canonicalize())
        && to == database
    {
        bail!("{name} is the database itself: choose another file");
    }
    let mut beside = to.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    copy(database, &beside)?;
    fs::rename(&beside, to).inspect_err(|_| drop(fs::remove_file(&beside))).with_context(|| name.to_string())
}
