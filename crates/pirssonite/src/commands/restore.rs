//! `pirssonite restore`: a backup becomes the database again, of either kind, whichever it was made of.

use std::{fs, path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Context, bail};
use engine::system::SystemClock;
use store::{
    SqliteStore,
    transfer::{self, Place, Purpose, Transfer},
};

use super::{copy, print_line};
use crate::{settings::Settings, wiring};

/// What of.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file that `pirssonite backup` wrote.
    file: PathBuf,
    /// Replace the database that is there. That of a data folder is kept beside it, as pirssonite.db.old.
    #[arg(long)]
    replace: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    // First: for the sake of what is no backup nothing is made.
    transfer::check_backup(&arguments.file).context("not restored")?;
    match wiring::place(settings) {
        Place::Sqlite(database) => into_folder(arguments, &database),
        Place::Postgres(url) => into_postgres(arguments, settings, url).await,
    }
}

fn into_folder(arguments: &Arguments, database: &std::path::Path) -> anyhow::Result<ExitCode> {
    if database.exists() && !arguments.replace {
        bail!("there is a database already, {}: --replace puts the backup into its place", database.display());
    }
    let old = transfer::restore_file(&arguments.file, database, &SystemClock).context("not restored")?;
    print_line(&format!("{} restored from {}", database.display(), arguments.file.display()))?;
    if let Some(old) = old {
        print_line(&format!("what was there is {} now", old.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn into_postgres(arguments: &Arguments, settings: &Settings, url: String) -> anyhow::Result<ExitCode> {
    // A copy, because it may have to be brought up to date first, and the backup stays as it is.
    let data = &settings.data_dir;
    let is_new = !data.exists();
    fs::create_dir_all(data).with_context(|| data.display().to_string())?;
    let folder = data.join(format!("restore-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
    let restored = fill(arguments, url, &folder.join("backup.db")).await;
    let _ = fs::remove_dir_all(&folder);
    if is_new {
        let _ = fs::remove_dir(data);
    }
    copy::report(&restored.context("not restored")?, false)?;
    print_line(&format!("PostgreSQL restored from {}", arguments.file.display()))?;
    Ok(ExitCode::SUCCESS)
}

async fn fill(
    arguments: &Arguments,
    url: String,
    file: &std::path::Path,
) -> anyhow::Result<Vec<transfer::TableReport>> {
    SqliteStore::copy(&arguments.file, file).with_context(|| arguments.file.display().to_string())?;
    let transfer = Transfer {
        from: Place::Sqlite(file.to_owned()),
        to: Place::Postgres(url),
        purpose: Purpose::Restore,
        replace: arguments.replace,
        clock: Arc::new(SystemClock),
    };
    let hint = "--replace puts the backup into the place of what is there";
    copy::run_with_bar(transfer).await.map_err(|error| match error {
        transfer::TransferError::Refused(why) if why.contains("already holds") => anyhow::anyhow!("{why}: {hint}"),
        error => error.into(),
    })
}
