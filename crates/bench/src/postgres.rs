//! A PostgreSQL for measurements: the one that `PIRSSONITE_TEST_DATABASE_URL` names, or a private one for this run.

use std::{os::unix::process::CommandExt, process::Command};

use anyhow::Context;

const VARIABLE: &str = "PIRSSONITE_TEST_DATABASE_URL";

/// Where the script is that starts one.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-postgres");

/// Starts this program again beside a private PostgreSQL, unless there is one. It waits for the disk, as a real one does.
pub(crate) fn ensure() -> anyhow::Result<()> {
    if std::env::var_os(VARIABLE).is_some() {
        return Ok(());
    }
    let error = Command::new(SCRIPT)
        .env("PIRSSONITE_TEST_FSYNC", "on")
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .exec();
    Err(error).context(SCRIPT)
}

/// An empty database of this name; its URL.
pub(crate) fn fresh(name: &str) -> anyhow::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let admin = std::env::var(VARIABLE)?;
        let (client, connection) = tokio_postgres::connect(&admin, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")).await?;
        let base = admin.rsplit_once('/').map_or(admin.as_str(), |(base, _)| base);
        Ok(format!("{base}/{name}"))
    })
}

/// A connection of the measurement's own.
pub(crate) async fn connect(url: &str) -> anyhow::Result<tokio_postgres::Client> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// A transaction that keeps what it sees of this database until it is dropped, as a `pg_dump` does: whatever dies meanwhile
/// is not removed.
pub(crate) async fn old_snapshot(url: &str) -> anyhow::Result<tokio_postgres::Client> {
    let client = connect(url).await?;
    client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class").await?;
    Ok(client)
}
