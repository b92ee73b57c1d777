//! An SQLite database, copied from or filled. One that is filled is a new file, which takes its name when it is whole.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use domain::ports::Clock;
use rusqlite::{Connection, OptionalExtension, types::ValueRef};
use tokio::sync::mpsc::{Receiver, Sender};

use super::{
    Result, TransferError,
    database::{Database, Sequence},
    row::{Batch, Row, Value},
    tables::{TABLES, Table, WORDS},
};
use crate::OpenError;
use crate::sqlite::{
    PagesCopied, SqliteOptions, SqliteStore,
    search::search_index,
    shared::{connection, files, maintenance, migrate},
};

/// What is appended to the name of a file until it is whole, and to that of one whose place it took.
const NEW: &str = ".new";
const OLD: &str = ".old";
/// So many that were replaced are kept.
const OLD_MAX: u32 = 3;
/// Files beside a database that belong to it.
const BESIDE: [&str; 3] = ["", "-wal", "-shm"];

/// Nobody reads a file that is being filled, and it is thrown away if that fails: so nothing waits for the disk. Indexes of
/// millions of rows are sorted in files, not in memory.
const FILLING: &str = "
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA foreign_keys = OFF;
PRAGMA temp_store = FILE;
PRAGMA cache_size = -65536;
";

pub(crate) struct SqliteDatabase {
    /// Away while a thread works with it.
    connection: Option<Connection>,
    /// `CREATE INDEX` of what was dropped for as long as it is filled.
    indexes: Vec<String>,
    /// Where it goes when it is whole.
    file: Option<PathBuf>,
    clock: Option<Arc<dyn Clock>>,
    /// Keeps others out of its folder, if it is one of a folder.
    lock: Option<File>,
}

impl SqliteDatabase {
    /// The database of a data folder that nobody else uses.
    pub(crate) fn open(file: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let lock = files::lock_folder_of(file)?;
        let mut connection = connection::writer(file, &SqliteOptions::default())?;
        migrate::migrate(&mut connection, &*clock)?;
        Ok(Self::of(connection, None, Some(lock), Some(clock)))
    }

    /// A file that only we know.
    pub(crate) fn open_unlocked(file: &Path, clock: &dyn Clock) -> Result<Self> {
        let whole = connection::any(file).map_err(|error| error.to_string()).and_then(|any| check_whole(&any));
        whole.map_err(|problem| TransferError::Refused(format!("the backup is damaged: {problem}")))?;
        let mut connection = connection::writer(file, &SqliteOptions::default())?;
        migrate::migrate(&mut connection, clock)?;
        Ok(Self::of(connection, None, None, None))
    }

    /// A new file, to be filled. It takes the place of another only if that may be replaced.
    pub(crate) fn create(file: &Path, replace: bool, is_of_folder: bool, clock: &dyn Clock) -> Result<Self> {
        let lock = is_of_folder.then(|| files::lock_folder_of(file)).transpose()?;
        if file.exists() && !replace {
            return Err(TransferError::Refused(format!("{} already exists", file.display())));
        }
        let new = with_ending(file, NEW);
        remove_with_log(&new);
        files::open_private(&new, true).map_err(|error| io_error(&new, &error))?;
        let mut connection = connection::writer(&new, &SqliteOptions::default())?;
        migrate::migrate(&mut connection, clock)?;
        Ok(Self::of(connection, Some(file.to_owned()), lock, None))
    }

    fn of(connection: Connection, file: Option<PathBuf>, lock: Option<File>, clock: Option<Arc<dyn Clock>>) -> Self {
        Self { connection: Some(connection), indexes: Vec::new(), file, clock, lock }
    }

    /// Works with the connection on a thread that may block.
    async fn work<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut connection = self.connection.take().ok_or_else(|| failed("it is closed"))?;
        let worked = tokio::task::spawn_blocking(move || {
            let worked = work(&mut connection);
            (connection, worked)
        });
        let (connection, worked) = worked.await.map_err(|error| failed(&error.to_string()))?;
        self.connection = Some(connection);
        worked
    }
}

impl Drop for SqliteDatabase {
    fn drop(&mut self) {
        drop(self.connection.take());
        // One that is not whole is of no use to anyone.
        if let Some(file) = &self.file {
            remove_with_log(&with_ending(file, NEW));
        }
    }
}

#[async_trait]
impl Database for SqliteDatabase {
    async fn columns(&mut self, table: &'static Table) -> Result<Vec<String>> {
        if let Some(columns) = table.common_columns() {
            return Ok(columns);
        }
        self.work(|connection| {
            let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?)").map_err(sql_error)?;
            let columns = columns.query_map([table.name], |row| row.get(0)).map_err(sql_error)?;
            columns.collect::<rusqlite::Result<_>>().map_err(sql_error)
        })
        .await
    }

    async fn count(&mut self, table: &'static Table) -> Result<u64> {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        let count = move |connection: &mut Connection| connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
        self.work(move |connection| count(connection).map_err(sql_error)).await.map(i64::unsigned_abs)
    }

    async fn read(&mut self, table: &'static Table, columns: &[String], to: Sender<Vec<Row>>) -> Result<()> {
        let sql = select(table, columns);
        self.work(move |connection| read_all(connection, &sql, &to)).await
    }

    async fn sequences(&mut self) -> Result<Vec<Sequence>> {
        self.work(|connection| {
            let mut names = connection.prepare("SELECT name, seq FROM sqlite_sequence").map_err(sql_error)?;
            let names = names.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sql_error)?;
            names.collect::<rusqlite::Result<_>>().map_err(sql_error)
        })
        .await
    }

    async fn last_change(&mut self) -> Result<i64> {
        let sql = "SELECT max(coalesce((SELECT max(number) FROM changes), 0), number) FROM change_floor";
        self.work(move |connection| connection.query_row(sql, [], |row| row.get(0)).map_err(sql_error)).await
    }

    async fn moved_to(&mut self) -> Result<Option<String>> {
        let sql = "SELECT coalesce(detail, '') FROM maintenance WHERE name = ?";
        self.work(|connection| {
            connection.query_row(sql, [maintenance::MOVED], |row| row.get(0)).optional().map_err(sql_error)
        })
        .await
    }

    async fn note_moved(&mut self, to: &str) -> Result<()> {
        let now = self.clock.as_ref().map_or(0, |clock| clock.now().as_millisecond());
        let to = to.to_owned();
        self.work(move |connection| maintenance::note(connection, maintenance::MOVED, now, &to).map_err(sql_error))
            .await
    }

    async fn forget_moved(&mut self) -> Result<()> {
        self.work(|connection| maintenance::forget(connection, maintenance::MOVED).map(drop).map_err(sql_error)).await
    }

    async fn begin_filling(&mut self) -> Result<()> {
        self.indexes = self.work(|connection| prepare_to_fill(connection).map_err(sql_error)).await?;
        Ok(())
    }

    async fn write(&mut self, table: &'static Table, columns: &[String], from: Receiver<Vec<Row>>) -> Result<()> {
        let columns = columns.to_vec();
        self.work(move |connection| write_all(connection, table, &columns, from)).await
    }

    async fn end_filling(&mut self, sequences: &[Sequence], last_change: i64) -> Result<()> {
        let (indexes, sequences) = (std::mem::take(&mut self.indexes), sequences.to_vec());
        self.work(move |connection| complete(connection, &indexes, &sequences, last_change).map_err(sql_error)).await
    }

    async fn commit(&mut self) -> Result<()> {
        let Some(file) = self.file.clone() else { return Ok(()) };
        let connection = self.connection.take().ok_or_else(|| failed("it is closed"))?;
        connection.close().map_err(|(_, error)| sql_error(error))?;
        let new = with_ending(&file, NEW);
        File::open(&new).and_then(|new| new.sync_all()).map_err(|error| io_error(&new, &error))?;
        if self.lock.is_some() {
            take_place(&new, &file)?;
        } else {
            fs::rename(&new, &file).map_err(|error| io_error(&new, &error))?;
        }
        self.file = None;
        Ok(())
    }
}

/// When the database in a file was last backed up.
pub(crate) fn last_backup(file: &Path) -> Result<Option<i64>> {
    let connection = connection::reader(file).map_err(sql_error)?;
    let sql = "SELECT at FROM maintenance WHERE name = ?";
    connection.query_row(sql, [maintenance::BACKUP], |row| row.get(0)).optional().map_err(sql_error)
}

pub(crate) fn note_backup(file: &Path, now: i64) -> Result<()> {
    let connection = connection::any(file).map_err(sql_error)?;
    maintenance::note(&connection, maintenance::BACKUP, now, "").map_err(sql_error)
}

pub(crate) fn take_back(file: &Path) -> Result<bool> {
    let _lock = files::lock_folder_of(file)?;
    let connection = connection::any(file).map_err(sql_error)?;
    maintenance::forget(&connection, maintenance::MOVED).map_err(sql_error)
}

/// That a file can be read, and is a database of ours: an empty one would be filled with tables and taken for whole.
pub(crate) fn check_backup(backup: &Path) -> Result<()> {
    let refused = |why: &str| TransferError::Refused(format!("{}: {why}", backup.display()));
    File::open(backup).map_err(|error| refused(&error.to_string()))?;
    let is_ours = "SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'";
    let tables =
        connection::reader(backup).and_then(|reader| reader.query_row(is_ours, [], |row| row.get::<_, i64>(0)));
    match tables.map_err(|error| refused(&error.to_string()))? {
        0 => Err(refused("it is no backup")),
        _ => Ok(()),
    }
}

/// A backup in the place of a folder's database: first a copy of it, brought up to date and looked over.
pub(crate) fn restore(
    backup: &Path,
    file: &Path,
    clock: &dyn Clock,
    progress: &dyn Fn(PagesCopied),
) -> Result<Option<PathBuf>> {
    let _lock = files::lock_folder_of(file)?;
    let new = with_ending(file, NEW);
    remove_with_log(&new);
    let restored = restore_to(backup, &new, clock, progress).and_then(|()| take_place(&new, file));
    if restored.is_err() {
        remove_with_log(&new);
    }
    restored
}

fn restore_to(backup: &Path, new: &Path, clock: &dyn Clock, progress: &dyn Fn(PagesCopied)) -> Result<()> {
    let unreadable = |error: String| TransferError::Refused(format!("{}: {error}", backup.display()));
    check_backup(backup)?;
    let copied = SqliteStore::copy_with_progress(backup, new, progress);
    copied.map_err(|error| unreadable(error.to_string()))?;
    let mut connection = connection::writer(new, &SqliteOptions::default())?;
    check_whole(&connection).map_err(|problem| unreadable(format!("it is damaged: {problem}")))?;
    migrate::migrate(&mut connection, clock)?;
    // It was backed up before it was moved, or is a copy of one that was.
    maintenance::forget(&connection, maintenance::MOVED).map_err(sql_error)?;
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(sql_error)?;
    connection.close().map_err(|(_, error)| sql_error(error))?;
    File::open(new).and_then(|new| new.sync_all()).map_err(|error| io_error(new, &error))
}

/// Otherwise, what is wrong with it.
fn check_whole(connection: &Connection) -> std::result::Result<(), String> {
    let check = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match check {
        Ok(check) if check == "ok" => Ok(()),
        Ok(problem) => Err(problem),
        Err(error) => Err(error.to_string()),
    }
}

/// Gives a whole file its name. What had it is kept beside it.
fn take_place(new: &Path, file: &Path) -> Result<Option<PathBuf>> {
    let old = file.exists().then(|| free_old(file));
    if let Some(old) = &old {
        keep(file, old)?;
    }
    fs::rename(new, file).map_err(|error| io_error(new, &error))?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        // That the names are on the disk too. Some file systems cannot say.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(old)
}

/// A name for what is replaced. What was replaced before keeps its own: whoever restores the wrong backup restores another
/// after it. Whoever does so every night is to have room left, so the last of a few gives way.
fn free_old(file: &Path) -> PathBuf {
    let name = |number| match number {
        1 => with_ending(file, OLD),
        _ => with_ending(file, &format!("{OLD}.{number}")),
    };
    let is_free = |name: &PathBuf| BESIDE.iter().all(|ending| !with_ending(name, ending).exists());
    (1..=OLD_MAX).map(name).find(is_free).unwrap_or_else(|| {
        let last = name(OLD_MAX);
        remove_with_log(&last);
        last
    })
}

/// Keeps a database under another name. It is a second one, so that a database is always there, whenever this is broken
/// off: a server that found none would make one. Where files have one name only it is renamed.
fn keep(file: &Path, old: &Path) -> Result<()> {
    if let Ok(connection) = connection::any(file) {
        // With its log in it, which must not lie beside what comes after it.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
    let has_log = BESIDE.iter().skip(1).any(|ending| with_ending(file, ending).exists());
    if !has_log && fs::hard_link(file, old).is_ok() {
        return Ok(());
    }
    // The log first: without it the database is older, but whole.
    for ending in BESIDE.iter().rev().filter(|ending| with_ending(file, ending).exists()) {
        let (from, to) = (with_ending(file, ending), with_ending(old, ending));
        fs::rename(&from, to).map_err(|error| io_error(&from, &error))?;
    }
    Ok(())
}

fn select(table: &Table, columns: &[String]) -> String {
    if table.name == WORDS {
        return format!(
            "SELECT {} FROM (SELECT entry_words.entry_id, entries.sort_at, entry_words.words FROM entry_words JOIN entries \
             ON entries.id = entry_words.entry_id ORDER BY entry_words.entry_id)",
            columns.join(", ")
        );
    }
    format!("SELECT {} FROM {} ORDER BY {}", columns.join(", "), table.name, table.key)
}

fn read_all(connection: &Connection, sql: &str, to: &Sender<Vec<Row>>) -> Result<()> {
    let mut statement = connection.prepare(sql).map_err(sql_error)?;
    let columns = statement.column_count();
    let mut rows = statement.query([]).map_err(sql_error)?;
    let mut batch = Batch::default();
    while let Some(row) = rows.next().map_err(sql_error)? {
        let values = (0..columns).map(|column| value(row.get_ref(column).map_err(sql_error)?));
        if let Some(rows) = batch.add(values.collect::<Result<_>>()?)
            && to.blocking_send(rows).is_err()
        {
            return Ok(());
        }
    }
    // Whoever does not listen any more says why.
    let _ = to.blocking_send(batch.take());
    Ok(())
}

fn value(value: ValueRef<'_>) -> Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => {
            Value::Text(std::str::from_utf8(text).map_err(|_| failed("a text is not UTF-8"))?.to_owned())
        }
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    })
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Empties all tables and drops their indexes: those that can be made again by what is returned.
fn prepare_to_fill(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection.execute_batch(FILLING)?;
    let mut indexes =
        connection.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")?;
    let indexes = indexes.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let indexes = indexes.collect::<rusqlite::Result<Vec<_>>>()?;
    for (name, _) in &indexes {
        connection.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    for table in &TABLES {
        connection.execute_batch(&format!("DELETE FROM {}", table.name))?;
    }
    Ok(indexes.into_iter().map(|(_, sql)| sql).collect())
}

fn write_all(
    connection: &mut Connection,
    table: &Table,
    columns: &[String],
    mut from: Receiver<Vec<Row>>,
) -> Result<()> {
    let kept: Vec<usize> = (0..columns.len()).filter(|at| is_stored(table, &columns[*at])).collect();
    let names: Vec<&str> = kept.iter().map(|at| columns[*at].as_str()).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, names.join(", "));
    let transaction = connection.transaction().map_err(sql_error)?;
    {
        let mut insert = transaction.prepare(&sql).map_err(sql_error)?;
        while let Some(rows) = from.blocking_recv() {
            for row in rows {
                insert.execute(rusqlite::params_from_iter(kept.iter().map(|at| &row[*at]))).map_err(sql_error)?;
            }
        }
    }
    transaction.commit().map_err(sql_error)
}

/// Whether a column that was read is one of this table here.
fn is_stored(table: &Table, column: &str) -> bool {
    table.name != WORDS || column != "sort_at"
}

fn complete(
    connection: &mut Connection,
    indexes: &[String],
    sequences: &[Sequence],
    last_change: i64,
) -> rusqlite::Result<()> {
    for index in indexes {
        connection.execute_batch(index)?;
    }
    let transaction = connection.transaction()?;
    search_index::index_tail(&transaction, 0)?;
    for (table, last) in sequences {
        let raised = "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1";
        if transaction.execute(raised, (table, last))? == 0 {
            transaction.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", (table, last))?;
        }
    }
    transaction.execute("UPDATE change_floor SET number = ?", [last_change])?;
    transaction.commit()?;
    connection.execute_batch("ANALYZE")
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn remove_with_log(file: &Path) {
    for ending in BESIDE {
        let _ = fs::remove_file(with_ending(file, ending));
    }
}

fn io_error(path: &Path, error: &std::io::Error) -> TransferError {
    OpenError::Unavailable(format!("{}: {error}", path.display())).into()
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
fn sql_error(error: rusqlite::Error) -> TransferError {
    failed(&error.to_string())
}

fn failed(reason: &str) -> TransferError {
    TransferError::Failed { store: "SQLite", reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A database in a file, with what is in its log if that is wanted, as a crash leaves it.
    fn database(file: &Path, row: &str, has_log: bool) {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made.db");
        let connection = Connection::open(&made).unwrap();
        let sql = format!("PRAGMA journal_mode = WAL; CREATE TABLE rows (row TEXT); INSERT INTO rows VALUES ('{row}')");
        connection.execute_batch(&sql).unwrap();
        if has_log {
            fs::copy(with_ending(&made, "-wal"), with_ending(file, "-wal")).unwrap();
        } else {
            connection.close().unwrap();
        }
        fs::copy(&made, file).unwrap();
    }

    fn row(file: &Path) -> String {
        let connection = Connection::open(file).unwrap();
        connection.query_row("SELECT row FROM rows", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn p4_what_is_replaced_is_kept_with_its_log_and_so_is_what_was_before() {
        let folder = tempfile::tempdir().unwrap();
        let (file, new) = (folder.path().join("a.db"), folder.path().join("a.db.new"));
        database(&new, "first", false);
        assert_eq!(take_place(&new, &file).unwrap(), None);
        database(&file, "crashed", true);
        for (next, kept, name) in [
            ("second", "crashed", ".old"),
            ("third", "second", ".old.2"),
            ("fourth", "third", ".old.3"),
            ("fifth", "fourth", ".old.3"),
        ] {
            database(&new, next, false);
            let old = take_place(&new, &file).unwrap().unwrap();
            assert_eq!(old, with_ending(&file, name));
            assert_eq!((row(&file).as_str(), row(&old).as_str()), (next, kept));
        }
        assert_eq!(row(&with_ending(&file, OLD)), "crashed");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "and there are no more");
    }

    #[test]
    fn p4_a_database_is_there_at_every_moment_while_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, new) = (folder.path().join("a.db"), folder.path().join("a.db.new"));
        fs::write(&file, "x").unwrap();
        let (is_over, was_away) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    was_away.fetch_or(!file.exists(), Ordering::Relaxed);
                }
            });
            for _ in 0..500 {
                fs::write(&new, "x").unwrap();
                let old = take_place(&new, &file).unwrap().unwrap();
                fs::remove_file(old).unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(!was_away.into_inner(), "a server that started then would have made an empty one");
    }
}
