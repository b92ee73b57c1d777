//! `pirssonite restore`: a backup becomes the database again, of either kind, whichever it was made of.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context, bail};
use engine::system::SystemClock;
use serde_json::json;
use store::transfer::{self, Place, Purpose, Transfer};

use super::{backup, copy, print_json, print_line, progress_bar};
use crate::{settings::Settings, wiring};

/// The folder in the data folder in which a backup is brought up to date on its way to PostgreSQL, what it is called there,
/// and the file that is locked meanwhile.
const UNDER_WAY: &str = "restore";
const COPY: &str = "backup.db";
const LOCK: &str = "lock";

/// What of.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file that `pirssonite backup` wrote.
    file: PathBuf,
    /// Replace the database that is there. That of a data folder is kept beside it, as pirssonite.db.old (a second one as
    /// pirssonite.db.old.2).
    #[arg(long)]
    replace: bool,
    /// Print what was restored, and where the database is kept that was there, as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    // First: for the sake of what is no backup nothing is made.
    transfer::check_backup(&arguments.file).context("not restored")?;
    match wiring::place(settings) {
        Place::Sqlite(database) => into_folder(arguments, &database),
        Place::Postgres(url) => into_postgres(arguments, settings, url).await,
    }
}

fn into_folder(arguments: &Arguments, database: &Path) -> anyhow::Result<ExitCode> {
    if database.exists() && !arguments.replace {
        bail!("there is a database already, {}: --replace puts the backup into its place", database.display());
    }
    let bar = progress_bar(0, "copying");
    let restored = transfer::restore_file(&arguments.file, database, &SystemClock, &|pages| {
        backup::show(&bar, pages);
        if pages.done == pages.all {
            bar.set_message("checking");
        }
    });
    bar.finish_and_clear();
    report(arguments, &database.display().to_string(), restored.context("not restored")?.as_deref())
}

async fn into_postgres(arguments: &Arguments, settings: &Settings, url: String) -> anyhow::Result<ExitCode> {
    // A copy, because it may have to be brought up to date first, and the backup stays as it is.
    let data = &settings.data_dir;
    let is_new = !data.exists();
    fs::create_dir_all(data).with_context(|| data.display().to_string())?;
    let folder = data.join(UNDER_WAY);
    let lock = take(&folder)?;
    let restored = fill(arguments, url, &folder.join(COPY)).await;
    let _ = fs::remove_dir_all(&folder);
    drop(lock);
    if is_new {
        let _ = fs::remove_dir(data);
    }
    let compared = restored.context("not restored")?;
    if !arguments.json {
        copy::report(&compared, false)?;
    }
    report(arguments, "PostgreSQL", None)
}

/// Says what was restored, and where the database is kept that was there.
fn report(arguments: &Arguments, database: &str, old: Option<&Path>) -> anyhow::Result<ExitCode> {
    let (file, old) = (arguments.file.display().to_string(), old.map(|old| old.display().to_string()));
    if arguments.json {
        print_json(&json!({ "database": database, "file": file, "old": old }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(&format!("{database} restored from {file}"))?;
    if let Some(old) = old {
        print_line(&format!("what was there is {old} now"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the folder for the copy, without what a restore that was killed has left there: a whole database, secrets and all.
/// It is another's for as long as this lives.
fn take(folder: &Path) -> anyhow::Result<File> {
    let made = fs::create_dir_all(folder).and_then(|()| File::create(folder.join(LOCK)));
    let lock = made.with_context(|| folder.display().to_string())?;
    if lock.try_lock().is_err() {
        bail!("another restore is under way: {} is locked", folder.display());
    }
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(folder.join(format!("{COPY}{ending}")));
    }
    Ok(lock)
}

async fn fill(arguments: &Arguments, url: String, file: &Path) -> anyhow::Result<Vec<transfer::TableReport>> {
    backup::copy_with_bar(&arguments.file, file).with_context(|| arguments.file.display().to_string())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_what_a_killed_restore_has_left_goes_with_the_next() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join(UNDER_WAY);
        fs::create_dir(&folder).unwrap();
        for left in [LOCK, "backup.db", "backup.db-wal"] {
            fs::write(folder.join(left), "x").unwrap();
        }
        let lock = take(&folder).unwrap();
        assert!(!folder.join("backup.db").exists() && !folder.join("backup.db-wal").exists());
        assert!(take(&folder).unwrap_err().to_string().contains("another restore"));
        drop(lock);
        take(&folder).unwrap();
    }
}
