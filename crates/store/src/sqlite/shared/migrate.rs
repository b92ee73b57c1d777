//! Brings the schema up to date, at start, in one transaction: a schema is never half of one version. Nobody else has
//! the file open then.

use domain::ports::Clock;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::OpenError;
use crate::migrations::{Applied, Migration, checksum_of, missing};

/// In order: number and name are the same as on PostgreSQL.
const MIGRATIONS: [Migration; 14] = [
    (1, "0001_accounts", include_str!("../../../migrations/sqlite/0001_accounts.sql")),
    (2, "0002_feeds_and_entries", include_str!("../../../migrations/sqlite/0002_feeds_and_entries.sql")),
    (3, "0003_subscriptions", include_str!("../../../migrations/sqlite/0003_subscriptions.sql")),
    (4, "0004_outbox", include_str!("../../../migrations/sqlite/0004_outbox.sql")),
    (5, "0005_changes", include_str!("../../../migrations/sqlite/0005_changes.sql")),
    (6, "0006_stats", include_str!("../../../migrations/sqlite/0006_stats.sql")),
    (7, "0007_icons_and_page_settings", include_str!("../../../migrations/sqlite/0007_icons_and_page_settings.sql")),
    (8, "0008_received_order", include_str!("../../../migrations/sqlite/0008_received_order.sql")),
    (9, "0009_entries_by_id", include_str!("../../../migrations/sqlite/0009_entries_by_id.sql")),
    (10, "0010_event_nonces", include_str!("../../../migrations/sqlite/0010_event_nonces.sql")),
    (11, "0011_maintenance", include_str!("../../../migrations/sqlite/0011_maintenance.sql")),
    (12, "0012_marks_by_id", include_str!("../../../migrations/sqlite/0012_marks_by_id.sql")),
    (13, "0013_app_sessions", include_str!("../../../migrations/sqlite/0013_app_sessions.sql")),
    (14, "0014_kept_entries", include_str!("../../../migrations/sqlite/0014_kept_entries.sql")),
];

const TABLE: &str = include_str!("sql/migrate_table.sql");

pub(crate) fn migrate(connection: &mut Connection, clock: &dyn Clock) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unavailable)?;
    let applied = applied(&transaction).map_err(unavailable)?;
    for migration @ (_, name, _) in missing(&MIGRATIONS, &applied)? {
        apply(&transaction, migration, clock.now().as_millisecond())
            .map_err(|error| OpenError::Migration { name: (*name).to_owned(), reason: error.to_string() })?;
        tracing::info!(migration = name, "schema migrated");
    }
    let now = clock.now().as_millisecond();
    transaction.execute("UPDATE accounts SET created_at = ? WHERE created_at = 0", [now]).map_err(unavailable)?;
    // Only one process has the database: whoever held a lease before this one is gone.
    for table in ["feeds", "subscriptions", "deliveries"] {
        let clear = format!("UPDATE {table} SET lease_owner = NULL, lease_until = 0 WHERE lease_owner IS NOT NULL");
        transaction.execute(&clear, []).map_err(unavailable)?;
    }
    transaction.commit().map_err(unavailable)
}

fn applied(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<Applied>> {
    transaction.execute_batch(TABLE)?;
    let mut rows = transaction.prepare("SELECT version, checksum FROM schema_migrations")?;
    let rows = rows.query_map([], |row| Ok(Applied { version: row.get(0)?, checksum: row.get(1)? }))?;
    rows.collect()
}

fn apply(transaction: &Transaction<'_>, (version, name, sql): &Migration, now: i64) -> rusqlite::Result<()> {
    transaction.execute_batch(sql)?;
    let note = "INSERT INTO schema_migrations (version, name, applied_at, checksum) VALUES (?, ?, ?, ?)";
    transaction.execute(note, (version, name, now, checksum_of(sql))).map(drop)
}

#[expect(clippy::needless_pass_by_value, reason = "so it fits `map_err`")]
pub(crate) fn unavailable(error: rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
            OpenError::Unsuitable(error.to_string())
        }
        _ => OpenError::Unavailable(error.to_string()),
    }
}
