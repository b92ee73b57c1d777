//! Many jobs in one savepoint. A savepoint for each would copy the same hot pages aside again and again: with 64 pushes
//! in a transaction that is most of their cost. Only if one of them fails is each done by itself, so that no other is
//! lost with it; so a job must not use itself up.

use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::ports::StoreResult;
use rusqlite::{Connection, Result};

use crate::sqlite::{
    SqliteStore,
    shared::{
        errors::{broken_off, store_error},
        queue::Priority,
        writer::WriteTx,
    },
};

/// What becomes of one job. It may be called a second time, after all that it did was undone.
pub(crate) type Work<J, A> = fn(&mut WriteTx<'_>, &J) -> Result<A>;

/// Does jobs in the next transaction of the writer, in their order. One that fails loses no other.
pub(crate) async fn write<J: Send + 'static, A: Send + 'static>(
    store: &SqliteStore,
    jobs: Vec<J>,
    work: Work<J, A>,
) -> StoreResult<Vec<StoreResult<A>>> {
    store.writer.write(Priority::Usual, move |tx| run(tx, &jobs, work)).await
}

fn run<J, A>(tx: &mut WriteTx<'_>, jobs: &[J], work: Work<J, A>) -> Result<Vec<StoreResult<A>>> {
    let all = attempt(tx, |tx| jobs.iter().map(|job| work(tx, job)).collect::<Result<Vec<A>>>())?;
    if let Ok(answers) = all {
        return Ok(answers.into_iter().map(Ok).collect());
    }
    jobs.iter().map(|job| attempt(tx, |tx| work(tx, job))).collect()
}

/// Runs `work` in a savepoint, and undoes it if it fails. The inner error is its own; the outer one is that of the
/// transaction, which is lost with all that is in it.
fn attempt<T>(tx: &mut WriteTx<'_>, work: impl FnOnce(&mut WriteTx<'_>) -> Result<T>) -> Result<StoreResult<T>> {
    let (connection, mark, noted) = (tx.connection, tx.words.mark(), tx.log.mark());
    execute(connection, "SAVEPOINT batch")?;
    let result = match catch_unwind(AssertUnwindSafe(|| work(tx))) {
        Ok(Err(error)) if connection.is_autocommit() => return Err(error),
        Ok(result) => result.map_err(|error| store_error(&error)),
        Err(_) => Err(broken_off()),
    };
    if result.is_err() {
        tx.words.undo_to(mark);
        tx.log.undo_to(noted);
        tx.outbox.forget_listeners();
        execute(connection, "ROLLBACK TO batch")?;
    }
    execute(connection, "RELEASE batch")?;
    Ok(result)
}

fn execute(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
