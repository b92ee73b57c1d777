//! A PostgreSQL database, copied from or filled. It is read in one snapshot, and filled in one transaction.

use std::{pin::pin, time::Duration};

use async_trait::async_trait;
use futures_util::TryStreamExt;
use tokio::{
    sync::mpsc::{Receiver, Sender},
    task::JoinHandle,
};
use tokio_postgres::{
    Client,
    binary_copy::BinaryCopyInWriter,
    error::{DbError, Severity},
    types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked},
};

use super::{
    Result, TransferError,
    database::{Database, Sequence},
    row::{Batch, Row, Value},
    tables::{FIGURES, TABLES, Table, WORDS},
};
use crate::postgres::{
    PostgresOptions, PostgresStore,
    search::words::different_grams,
    shared::{
        connect::Address,
        errors,
        lending::{CALL_TIMEOUT, UNLIMITED},
        maintenance,
    },
};

const INDEXES: &str = include_str!("sql/postgres_indexes.sql");
const OTHERS: &str = include_str!("sql/postgres_others.sql");
const SEQUENCES: &str = include_str!("sql/postgres_sequences.sql");

/// How a copy begins. It takes as long as it takes, but waits for nobody who holds what it needs.
const BEGIN: &str = "
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL lock_timeout = '5s';
SET LOCAL maintenance_work_mem = '128MB';
";

/// Whoever starts meanwhile is told (`shared/maintenance.rs`), and so is another copy.
const LOCK: &str = "LOCK TABLE maintenance IN ACCESS EXCLUSIVE MODE";

const NOTE: &str = "INSERT INTO maintenance (name, at, detail) VALUES ($1, pirssonite_now_ms(), $2) \
                    ON CONFLICT (name) DO UPDATE SET at = excluded.at, detail = excluded.detail";

const FORGET: &str = "DELETE FROM maintenance WHERE name = $1";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long connections of others may take to end: those of a command that has just ended do.
const OTHERS_TRIES: u32 = 50;
const OTHERS_WAIT: Duration = Duration::from_millis(100);

pub(crate) struct PostgresDatabase {
    client: Client,
    _connection: JoinHandle<()>,
    /// `CREATE INDEX` of what was dropped for as long as it is filled.
    indexes: Vec<String>,
}

impl PostgresDatabase {
    /// One that is copied: as it is now, or alone, if it is to be moved.
    pub(crate) async fn source(url: &str, is_alone: bool) -> Result<Self> {
        let database = Self::open(url).await?;
        database.run(BEGIN).await?;
        if is_alone {
            database.run(LOCK).await?;
            database.check_alone().await?;
        }
        Ok(database)
    }

    /// One that is filled: it must be empty, or be replaced, or be half full from a copy that was broken off. What is there
    /// may be `kept_until_replaced`: if the copy fails, it is served from as before.
    pub(crate) async fn target(url: &str, replace: bool, kept_until_replaced: bool) -> Result<Self> {
        let database = Self::open(url).await?;
        database.run(BEGIN).await?;
        database.run(LOCK).await?;
        database.check_alone().await?;
        let is_fillable = database.is_fillable().await?;
        if !replace && !is_fillable {
            return Err(TransferError::Refused("the target already holds feeds, webhooks or accounts".to_owned()));
        }
        if kept_until_replaced && !is_fillable {
            return Ok(database);
        }
        // Committed before all else: until it is whole, nobody serves from it.
        database.client.execute(NOTE, &[&maintenance::INCOMPLETE, &""]).await.map_err(sql_error)?;
        database.run("COMMIT").await?;
        database.run(BEGIN).await?;
        database.run(LOCK).await?;
        Ok(database)
    }

    /// Connects. The schema is brought up to date first, as a server does.
    async fn open(url: &str) -> Result<Self> {
        let options = PostgresOptions { pool_size: 1, ..PostgresOptions::default() };
        PostgresStore::migrate(url, options).await?;
        let (client, connection) = connect(url, UNLIMITED).await?;
        Ok(Self { client, _connection: connection, indexes: Vec::new() })
    }

    async fn run(&self, sql: &str) -> Result<()> {
        self.client.batch_execute(sql).await.map_err(sql_error)
    }

    async fn check_alone(&self) -> Result<()> {
        for _ in 0..OTHERS_TRIES {
            let others = self.client.query_one(OTHERS, &[]).await.map_err(sql_error)?;
            if others.get::<_, i64>(0) == 0 {
                return Ok(());
            }
            // The statistics of a transaction are those of its first look.
            self.run("SELECT pg_stat_clear_snapshot()").await?;
            tokio::time::sleep(OTHERS_WAIT).await;
        }
        Err(TransferError::Refused("servers use the PostgreSQL database: stop all nodes first".to_owned()))
    }

    /// Whether nothing would be lost.
    async fn is_fillable(&self) -> Result<bool> {
        let incomplete = "SELECT FROM maintenance WHERE name = $1";
        if self.client.query_opt(incomplete, &[&maintenance::INCOMPLETE]).await.map_err(sql_error)?.is_some() {
            return Ok(true);
        }
        // A new database has an account without a password, and its installation.
        let used = TABLES.iter().map(|table| match table.name {
            "accounts" => {
                "EXISTS (SELECT FROM accounts WHERE name <> 'reader' OR password_hash IS NOT NULL)".to_owned()
            }
            // Nor does anybody miss figures of nothing.
            "installation" | "figures_by_minute" | "figures_by_hour" => "false".to_owned(),
            name => format!("EXISTS (SELECT FROM {name})"),
        });
        let sql = format!("SELECT {}", used.collect::<Vec<_>>().join(" OR "));
        Ok(!self.client.query_one(&sql, &[]).await.map_err(sql_error)?.get::<_, bool>(0))
    }

    async fn sequence_names(&self) -> Result<Vec<(String, String, String)>> {
        let rows = self.client.query(SEQUENCES, &[]).await.map_err(sql_error)?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
    }

    /// Goes on after the last id that was given, or that is there.
    async fn set_sequences(&self, given: &[Sequence], last_change: i64) -> Result<()> {
        for (table, column, sequence) in self.sequence_names().await? {
            let of_table = given.iter().find(|(name, _)| *name == table).map_or(0, |(_, last)| *last);
            let last = if table == "changes" { last_change } else { of_table };
            let sql = format!(
                "SELECT setval('{sequence}', greatest($1, 1, (SELECT max({column}) FROM {table})), $1 > 0 OR EXISTS \
                 (SELECT FROM {table}))"
            );
            self.client.execute(&sql, &[&last]).await.map_err(sql_error)?;
        }
        self.client.execute("UPDATE change_floor SET number = $1", &[&last_change]).await.map_err(sql_error)?;
        Ok(())
    }
}

#[async_trait]
impl Database for PostgresDatabase {
    async fn columns(&mut self, table: &'static Table) -> Result<Vec<String>> {
        if let Some(columns) = table.common_columns() {
            return Ok(columns);
        }
        let sql = "SELECT column_name::text FROM information_schema.columns \
                   WHERE table_schema = current_schema() AND table_name = $1";
        let rows = self.client.query(sql, &[&table.name]).await.map_err(sql_error)?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn count(&mut self, table: &'static Table) -> Result<u64> {
        let row =
            self.client.query_one(&format!("SELECT count(*) FROM {}", table.name), &[]).await.map_err(sql_error)?;
        Ok(row.get::<_, i64>(0).unsigned_abs())
    }

    async fn read(&mut self, table: &'static Table, columns: &[String], to: Sender<Vec<Row>>) -> Result<()> {
        let sql = select(table, columns);
        // Rows come as they are taken: what is not is held back at the database.
        let rows = self.client.query_raw(&sql, std::iter::empty::<&(dyn ToSql + Sync)>()).await.map_err(sql_error)?;
        let (mut rows, mut batch) = (pin!(rows), Batch::default());
        while let Some(row) = rows.try_next().await.map_err(sql_error)? {
            let values = (0..columns.len()).map(|column| value(&row, column)).collect::<Result<_>>()?;
            if let Some(full) = batch.add(values)
                && to.send(full).await.is_err()
            {
                return Ok(());
            }
        }
        // Whoever does not listen any more says why.
        let _ = to.send(batch.take()).await;
        Ok(())
    }

    async fn sequences(&mut self) -> Result<Vec<Sequence>> {
        let mut sequences = Vec::new();
        for (table, _, sequence) in self.sequence_names().await? {
            let sql = format!("SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM {sequence}");
            sequences.push((table, self.client.query_one(&sql, &[]).await.map_err(sql_error)?.get(0)));
        }
        sequences.retain(|(table, _)| TABLES.iter().any(|copied| copied.name == table));
        Ok(sequences)
    }

    async fn last_change(&mut self) -> Result<i64> {
        let sql = "SELECT greatest((SELECT last_value FROM changes_number_seq), number) FROM change_floor";
        Ok(self.client.query_one(sql, &[]).await.map_err(sql_error)?.get(0))
    }

    async fn moved_to(&mut self) -> Result<Option<String>> {
        let sql = "SELECT coalesce(detail, '') FROM maintenance WHERE name = $1";
        let row = self.client.query_opt(sql, &[&maintenance::MOVED]).await.map_err(sql_error)?;
        Ok(row.map(|row| row.get(0)))
    }

    async fn note_moved(&mut self, to: &str) -> Result<()> {
        self.client.execute(NOTE, &[&maintenance::MOVED, &to]).await.map_err(sql_error)?;
        self.run("COMMIT").await
    }

    async fn forget_moved(&mut self) -> Result<()> {
        self.client.execute(FORGET, &[&maintenance::MOVED]).await.map(drop).map_err(sql_error)
    }

    async fn begin_filling(&mut self) -> Result<()> {
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        self.run(&format!("TRUNCATE changes, {}", names.join(", "))).await?;
        let indexes = self.client.query(INDEXES, &[&names]).await.map_err(sql_error)?;
        for index in &indexes {
            self.run(&format!("DROP INDEX {}", index.get::<_, String>(0))).await?;
            self.indexes.push(index.get(1));
        }
        Ok(())
    }

    async fn write(&mut self, table: &'static Table, columns: &[String], mut from: Receiver<Vec<Row>>) -> Result<()> {
        let mut names = columns.to_vec();
        let own = own_column(table, columns);
        names.extend(own.as_ref().map(|own| own.name.to_owned()));
        let names = names.join(", ");
        let types =
            self.client.prepare(&format!("SELECT {names} FROM {} LIMIT 0", table.name)).await.map_err(sql_error)?;
        let types: Vec<Type> = types.columns().iter().map(|column| column.type_().clone()).collect();
        let sql = format!("COPY {} ({names}) FROM STDIN (FORMAT binary, FREEZE)", table.name);
        let sink = self.client.copy_in(&sql).await.map_err(sql_error)?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        while let Some(rows) = from.recv().await {
            for mut row in rows {
                let more = own.as_ref().map(|own| (own.value)(&row));
                row.extend(more);
                writer.as_mut().write_raw(&row).await.map_err(sql_error)?;
            }
        }
        writer.finish().await.map(drop).map_err(sql_error)
    }

    async fn end_filling(&mut self, sequences: &[Sequence], last_change: i64) -> Result<()> {
        for index in std::mem::take(&mut self.indexes) {
            self.run(&index).await?;
        }
        self.set_sequences(sequences, last_change).await?;
        self.run("ANALYZE").await
    }

    async fn commit(&mut self) -> Result<()> {
        for note in [maintenance::INCOMPLETE, maintenance::MOVED] {
            self.client.execute(FORGET, &[&note]).await.map_err(sql_error)?;
        }
        self.client.batch_execute("COMMIT").await.map_err(commit_error)
    }
}

/// A column that only this store has, and its value in a row that is copied.
struct OwnColumn {
    name: &'static str,
    value: Box<dyn Fn(&Row) -> Value + Send + Sync>,
}

fn own_column(table: &Table, columns: &[String]) -> Option<OwnColumn> {
    match table.name {
        // Grams are those of the words: see `ToSql`.
        WORDS => {
            let words = columns.iter().position(|name| name == "words")?;
            Some(OwnColumn { name: "grams", value: Box::new(move |row| row[words].clone()) })
        }
        FIGURES => Some(OwnColumn { name: "backend", value: Box::new(|_| Value::Integer(0)) }),
        _ => None,
    }
}

fn select(table: &Table, columns: &[String]) -> String {
    let (columns, name, key) = (columns.join(", "), table.name, table.key);
    if name == FIGURES {
        // Each connection counts in a row of its own.
        return format!(
            "SELECT {columns} FROM (SELECT account_id, series, minute, sum(count)::bigint AS count FROM {name} \
             GROUP BY account_id, series, minute) AS figures ORDER BY {key}"
        );
    }
    format!("SELECT {columns} FROM {name} ORDER BY {key}")
}

/// A connection that ends after so long, or when the database is silent.
async fn connect(url: &str, limit: Duration) -> Result<(Client, JoinHandle<()>)> {
    Address::of(url, CONNECT_TIMEOUT)?.connect_for(limit).await.map_err(sql_error)
}

pub(crate) async fn last_backup(url: &str) -> Result<Option<i64>> {
    let (client, _connection) = connect(url, CALL_TIMEOUT).await?;
    let sql = "SELECT at FROM maintenance WHERE name = $1";
    let row = client.query_opt(sql, &[&maintenance::BACKUP]).await.map_err(sql_error)?;
    Ok(row.map(|row| row.get(0)))
}

pub(crate) async fn note_backup(url: &str) -> Result<()> {
    let (client, _connection) = connect(url, CALL_TIMEOUT).await?;
    client.execute(NOTE, &[&maintenance::BACKUP, &""]).await.map(drop).map_err(sql_error)
}

pub(crate) async fn take_back(url: &str) -> Result<bool> {
    let (client, _connection) = connect(url, CALL_TIMEOUT).await?;
    client.execute(FORGET, &[&maintenance::MOVED]).await.map(|rows| rows > 0).map_err(sql_error)
}

fn value(row: &tokio_postgres::Row, column: usize) -> Result<Value> {
    let get = |error| sql_error(error);
    let value = match *row.columns()[column].type_() {
        Type::INT8 => row.try_get::<_, Option<i64>>(column).map_err(get)?.map(Value::Integer),
        Type::INT4 => row.try_get::<_, Option<i32>>(column).map_err(get)?.map(|number| Value::Integer(number.into())),
        Type::BOOL => row.try_get::<_, Option<bool>>(column).map_err(get)?.map(|is| Value::Integer(is.into())),
        Type::FLOAT8 => row.try_get::<_, Option<f64>>(column).map_err(get)?.map(Value::Real),
        Type::TEXT => row.try_get::<_, Option<String>>(column).map_err(get)?.map(Value::Text),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(column).map_err(get)?.map(Value::Bytes),
        _ => return Err(failed(&format!("{} is of an unknown type", row.columns()[column].name()))),
    };
    Ok(value.unwrap_or(Value::Null))
}

impl ToSql for Value {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match (self, ty.clone()) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Integer(number), Type::BOOL) => (*number != 0).to_sql(ty, out),
            (Self::Integer(number), Type::INT4) => i32::try_from(*number)?.to_sql(ty, out),
            (Self::Integer(number), Type::INT8) => number.to_sql(ty, out),
            (Self::Real(number), Type::FLOAT8) => number.to_sql(ty, out),
            (Self::Text(text), Type::TEXT) => text.to_sql(ty, out),
            (Self::Bytes(bytes), Type::BYTEA) => bytes.to_sql(ty, out),
            (Self::Text(words), Type::TS_VECTOR) => {
                write_grams(&different_grams(words), out)?;
                Ok(IsNull::No)
            }
            _ => Err(format!("a value does not fit {ty}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Grams as PostgreSQL reads a `tsvector`: how many, then each with a zero at its end and the number of its places, none.
fn write_grams(grams: &str, out: &mut BytesMut) -> std::result::Result<(), std::num::TryFromIntError> {
    let grams: Vec<&str> = grams.split(' ').filter(|gram| !gram.is_empty()).collect();
    out.extend_from_slice(&u32::try_from(grams.len())?.to_be_bytes());
    for gram in grams {
        out.extend_from_slice(gram.as_bytes());
        out.extend_from_slice(&[0, 0, 0]);
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
fn sql_error(error: tokio_postgres::Error) -> TransferError {
    if errors::is_locked(&error) {
        return TransferError::Refused("another copy of the PostgreSQL database is being made".to_owned());
    }
    failed(&errors::reason(&error))
}

/// Only a database that goes on talking to us has surely not committed.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
fn commit_error(error: tokio_postgres::Error) -> TransferError {
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    if severity == Some(Severity::Error) {
        return failed(&errors::reason(&error));
    }
    TransferError::Unclear(errors::reason(&error))
}

fn failed(reason: &str) -> TransferError {
    TransferError::Failed { store: "PostgreSQL", reason: reason.to_owned() }
}
