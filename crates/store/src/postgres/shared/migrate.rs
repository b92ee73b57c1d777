//! Brings the schema up to date, at start. All nodes may start at once: one does the work, the others wait for it and
//! find it done. All that is missing is applied in one transaction, so a schema is never half of one version.

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::Error;

use crate::OpenError;
use crate::migrations::{Applied, Migration, checksum_of, missing};
use crate::postgres::shared::errors;

/// In order: number and name are the same as on SQLite.
const MIGRATIONS: [Migration; 14] = [
    (1, "0001_accounts", include_str!("../../../migrations/postgres/0001_accounts.sql")),
    (2, "0002_feeds_and_entries", include_str!("../../../migrations/postgres/0002_feeds_and_entries.sql")),
    (3, "0003_subscriptions", include_str!("../../../migrations/postgres/0003_subscriptions.sql")),
    (4, "0004_outbox", include_str!("../../../migrations/postgres/0004_outbox.sql")),
    (5, "0005_changes", include_str!("../../../migrations/postgres/0005_changes.sql")),
    (6, "0006_stats", include_str!("../../../migrations/postgres/0006_stats.sql")),
    (7, "0007_icons_and_page_settings", include_str!("../../../migrations/postgres/0007_icons_and_page_settings.sql")),
    (8, "0008_received_order", include_str!("../../../migrations/postgres/0008_received_order.sql")),
    (9, "0009_entries_by_id", include_str!("../../../migrations/postgres/0009_entries_by_id.sql")),
    (10, "0010_event_nonces", include_str!("../../../migrations/postgres/0010_event_nonces.sql")),
    (11, "0011_maintenance", include_str!("../../../migrations/postgres/0011_maintenance.sql")),
    (12, "0012_marks_by_id", include_str!("../../../migrations/postgres/0012_marks_by_id.sql")),
    (13, "0013_app_sessions", include_str!("../../../migrations/postgres/0013_app_sessions.sql")),
    (14, "0014_kept_entries", include_str!("../../../migrations/postgres/0014_kept_entries.sql")),
];

/// The lock of whoever migrates: `piRSSoni` as a number, so that it is no one else's.
const LOCK: i64 = 0x7069_5253_536f_6e69;

/// The first server with all that the statements need.
const SERVER_VERSION_MIN: i32 = 13_00_00;

/// The account of a new server is made when it is first started.
const FIRST_START: &str = "UPDATE accounts SET created_at = pirssonite_now_ms() WHERE created_at = 0";

const TABLE: &str = include_str!("sql/migrate_table.sql");

pub(crate) async fn migrate(client: &mut Client) -> Result<(), OpenError> {
    check_server(client).await?;
    let transaction = client.transaction().await.map_err(unavailable)?;
    let applied = lock(&transaction).await.map_err(unavailable)?;
    for migration @ (_, name, _) in missing(&MIGRATIONS, &applied)? {
        apply(&transaction, migration)
            .await
            .map_err(|error| OpenError::Migration { name: (*name).to_owned(), reason: errors::reason(&error) })?;
        tracing::info!(migration = name, "schema migrated");
    }
    if applied.is_empty() {
        transaction.execute(FIRST_START, &[]).await.map_err(unavailable)?;
    }
    transaction.commit().await.map_err(unavailable)
}

/// The key of this installation, and the one that is shown nowhere.
pub(crate) async fn installation(client: &Client) -> Result<(String, String), OpenError> {
    let row = client.query_one("SELECT key, picture_key FROM installation", &[]).await.map_err(unavailable)?;
    Ok((row.get(0), row.get(1)))
}

async fn check_server(client: &Client) -> Result<(), OpenError> {
    let sql = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')";
    let row = client.query_one(sql, &[]).await.map_err(unavailable)?;
    let (version, encoding): (i32, String) = (row.get(0), row.get(1));
    if version < SERVER_VERSION_MIN {
        return Err(OpenError::Unsuitable("PostgreSQL 13 or later is needed".to_owned()));
    }
    if encoding != "UTF8" {
        return Err(OpenError::Unsuitable(format!("its encoding is {encoding}: create it with ENCODING 'UTF8'")));
    }
    Ok(())
}

/// Waits until nobody else migrates; returns what was applied.
async fn lock(transaction: &Transaction<'_>) -> Result<Vec<Applied>, Error> {
    transaction.batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0").await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    // Asked first, because a table that is there already would be noted in the log at every start.
    if !transaction.query_one("SELECT to_regclass('schema_migrations') IS NOT NULL", &[]).await?.get::<_, bool>(0) {
        transaction.batch_execute(TABLE).await?;
    }
    let rows = transaction.query("SELECT version, checksum FROM schema_migrations", &[]).await?;
    Ok(rows.iter().map(|row| Applied { version: row.get(0), checksum: row.get(1) }).collect())
}

async fn apply(transaction: &Transaction<'_>, (version, name, sql): &Migration) -> Result<(), Error> {
    transaction.batch_execute(sql).await?;
    let note = "INSERT INTO schema_migrations (version, name, applied_at, checksum) \
                VALUES ($1, $2, pirssonite_now_ms(), $3)";
    transaction.execute(note, &[version, name, &checksum_of(sql)]).await.map(drop)
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
fn unavailable(error: Error) -> OpenError {
    OpenError::Unavailable(errors::reason(&error))
}
