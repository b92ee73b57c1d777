//! Many jobs in one savepoint. A savepoint for each would copy the same hot pages aside again and again: with 64 pushes
//! in a transaction that is most of their cost. Only if one of them fails is each done by itself, so that no other is
//! lost with it; so a job must not use itself up.

use domain::ports::StoreResult;
use rusqlite::Result;

use crate::sqlite::{
    SqliteStore,
    shared::{queue::Priority, writer::WriteTx},
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
    let all = tx.attempt(|tx| jobs.iter().map(|job| work(tx, job)).collect::<Result<Vec<A>>>())?;
    if let Ok(answers) = all {
        return Ok(answers.into_iter().map(Ok).collect());
    }
    jobs.iter().map(|job| tx.attempt(|tx| work(tx, job))).collect()
}
