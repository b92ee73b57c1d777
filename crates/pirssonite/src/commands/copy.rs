//! `pirssonite copy`: everything, from the embedded database to PostgreSQL or back. The target takes over.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Context, bail};
use engine::system::SystemClock;
use indicatif::ProgressBar;
use serde_json::json;
use store::transfer::{self, Place, Progress, Purpose, TableReport, Transfer};

use super::{print_json, print_line, progress_bar};
use crate::{backend, settings::Settings, wiring};

/// Where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The target: a PostgreSQL database (`postgres://user:password@host/name`), or a data folder for the embedded one.
    #[arg(long, value_name = "TARGET", required_unless_present = "undo")]
    to: Option<String>,
    /// Fill the target also if it holds something, which is replaced.
    #[arg(long)]
    replace: bool,
    /// Let the database that was moved be used again. What it and the other then deliver arrives twice.
    #[arg(long, conflicts_with = "to")]
    undo: bool,
    /// Print the comparison as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    backend::check_there(settings)?;
    let from = wiring::place(settings);
    let Some(to) = &arguments.to else { return undo(&from, arguments.json).await };
    let (to, name) = target(to)?;
    if is_same(&from, &to) {
        bail!("the target is the database itself: choose another");
    }
    let purpose = Purpose::Move { to: name.clone() };
    let transfer = Transfer { from, to, purpose, replace: arguments.replace, clock: Arc::new(SystemClock) };
    let reports = run_with_bar(transfer).await.context("not copied")?;
    report(&reports, arguments.json)?;
    if !arguments.json {
        print_line(&format!(
            "all of it is in {name} now, which delivers from now on. The old database refuses to serve (`pirssonite copy \
             --undo` lets it)."
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Copies with a progress bar, at a terminal.
pub(super) async fn run_with_bar(transfer: Transfer) -> Result<Vec<TableReport>, transfer::TransferError> {
    let bar = progress_bar(0, "copying");
    let reports = transfer.run(&|progress| show(&bar, progress)).await;
    bar.finish_and_clear();
    reports
}

fn show(bar: &ProgressBar, progress: Progress) {
    bar.set_length(progress.all);
    bar.set_position(progress.done);
    bar.set_message(progress.table);
}

async fn undo(place: &Place, as_json: bool) -> anyhow::Result<ExitCode> {
    let was_moved = transfer::take_back(place).await?;
    if as_json {
        print_json(&json!({ "wasMoved": was_moved }))?;
    } else {
        print_line(if was_moved { "the database can be used again" } else { "the database was not moved" })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The target, and what it is called without its password.
fn target(text: &str) -> anyhow::Result<(Place, String)> {
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Ok((Place::Postgres(text.to_owned()), transfer::postgres_name(text)?));
    }
    // A mistyped address would become a folder, with the password in its name. So no more of it is shown either.
    if let Some((scheme, _)) = text.split_once("://") {
        bail!(
            "{scheme}:// is no address of a database: the target is postgres://user:password@host/name, or a data folder"
        );
    }
    let folder = PathBuf::from(text);
    if folder.is_file() || text.is_empty() {
        bail!("{text:?} is neither a data folder nor a postgres:// address");
    }
    let name = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone()).display().to_string();
    Ok((Place::Sqlite(wiring::database_in(&folder)), format!("the folder {name}")))
}

fn is_same(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::Sqlite(one), Place::Sqlite(other)) => {
            let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
            real(one) == real(other)
        }
        (Place::Postgres(one), Place::Postgres(other)) => {
            // One that cannot be read is refused where it is opened.
            transfer::postgres_name(one).is_ok_and(|one| transfer::postgres_name(other).is_ok_and(|other| one == other))
        }
        _ => false,
    }
}

/// What was compared, table by table.
pub(super) fn report(reports: &[TableReport], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let table = |report: &TableReport| {
            let checksum = format!("{:016x}", report.target.checksum);
            json!({ "table": report.table, "rows": report.target.rows, "checksum": checksum })
        };
        return print_json(&reports.iter().map(table).collect::<Vec<_>>());
    }
    print_line(&format!("{:<16}{:>12}  CHECKSUM OF BOTH", "TABLE", "ROWS"))?;
    for TableReport { table, target, .. } in reports {
        print_line(&format!("{table:<16}{:>12}  {:016x}", target.rows, target.checksum))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_targets_are_named_without_their_password() {
        for (url, expected) in [
            ("postgres://u:secret@db.example:5433/reader?sslmode=require", "PostgreSQL at db.example:5433/reader"),
            ("postgres://u:secret@a:5441,b:5442/reader", "PostgreSQL at a:5441,b:5442/reader"),
            ("postgresql:///reader?host=/run/postgresql&user=u", "PostgreSQL at /run/postgresql/reader"),
            ("postgres://u:secret@[::1]:5433", "PostgreSQL at [::1]:5433/u"),
        ] {
            let (place, name) = target(url).unwrap();
            assert!(matches!(place, Place::Postgres(_)));
            assert_eq!(name, expected);
        }
        let refused = target("postgres://u:secret@h:port/d").err().unwrap().to_string();
        assert!(!refused.contains("secret"), "{refused}");
        let (place, name) = target("/var/lib/reader").unwrap();
        assert!(matches!(place, Place::Sqlite(file) if file.ends_with("reader/pirssonite.db")));
        assert_eq!(name, "the folder /var/lib/reader");
        assert!(target("").is_err());
    }

    #[test]
    fn p4_the_database_itself_is_known_however_it_is_written() {
        let same = |one: &str, other: &str| is_same(&target(one).unwrap().0, &target(other).unwrap().0);
        assert!(same("postgres://u:secret@h/d", "postgresql://u:secret@h:5432/d?sslmode=disable"));
        assert!(!same("postgres://u@h/d", "postgres://u@h/other"));
        assert!(!same("postgres://u@a:5441,b:5442/d", "postgres://u@a:5441,b:5443/d"));
    }

    #[test]
    fn p4_no_other_address_is_taken_for_a_folder() {
        for wrong in ["postgress://u:secret@h/d", "POSTGRES://u:secret@h/d", "mysql://u:secret@h/d", "file:///data"] {
            let refused = target(wrong).err().expect(wrong).to_string();
            assert!(refused.contains("postgres://user:password@host/name"), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
