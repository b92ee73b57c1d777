//! `pirssonite backup`: a copy of the database in one file, also while servers use it. The file is an SQLite database
//! whatever store it was made of, so that one program restores it into either.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context, anyhow, bail};
use domain::ports::{StoreError, StoreResult};
use engine::system::SystemClock;
use indicatif::ProgressBar;
use serde_json::json;
use store::{
    PagesCopied, SqliteStore,
    transfer::{self, Place, Purpose, Transfer},
};

use super::{copy, format_size, print_json, print_line, print_notice, progress_bar};
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

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    if arguments.file == Path::new("-") {
        bail!("a backup does not go into a pipe: name the file to write");
    }
    backend::check_there(settings)?;
    let (place, to) = (wiring::place(settings), arguments.file.as_path());
    let hint = if to.is_file() { ": --force replaces it" } else { "" };
    match &place {
        Place::Sqlite(database) if arguments.force && to.exists() => replace(database, to)?,
        Place::Sqlite(database) => copy_file(database, to).map_err(|error| anyhow!("{error:#}{hint}"))?,
        Place::Postgres(_) => dump(place.clone(), arguments).await.map_err(|error| anyhow!("{error:#}{hint}"))?,
    }
    if let Err(error) = transfer::note_backup(&place, &SystemClock).await {
        print_notice(&format!("the backup is made, but the database could not note when: {error}"));
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

/// All of a PostgreSQL database as it is now, by one snapshot.
async fn dump(from: Place, arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.force && arguments.file.exists() && !arguments.file.is_file() {
        bail!("{} is not a file", arguments.file.display());
    }
    let transfer = Transfer {
        from,
        to: Place::Sqlite(arguments.file.clone()),
        purpose: Purpose::Backup,
        replace: arguments.force,
        clock: Arc::new(SystemClock),
    };
    copy::run_with_bar(transfer).await?;
    Ok(())
}

/// Copies a database that is a file, with a progress bar at a terminal.
pub(super) fn copy_with_bar(database: &Path, to: &Path) -> StoreResult<()> {
    let bar = progress_bar(0, "copying");
    let copied = SqliteStore::copy_with_progress(database, to, &|pages| show(&bar, pages));
    bar.finish_and_clear();
    copied
}

pub(super) fn show(bar: &ProgressBar, pages: PagesCopied) {
    bar.set_length(pages.all);
    bar.set_position(pages.done);
}

fn copy_file(database: &Path, to: &Path) -> anyhow::Result<()> {
    let file = to.display().to_string();
    copy_with_bar(database, to).map_err(|error| match error {
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
    copy_file(database, &beside)?;
    fs::rename(&beside, to).inspect_err(|_| drop(fs::remove_file(&beside))).with_context(|| name.to_string())
}
