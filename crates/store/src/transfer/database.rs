//! A database as a copy sees it: tables with rows, and the few things beside them.

use async_trait::async_trait;
use tokio::sync::mpsc::{Receiver, Sender};

use super::{Result, row::Row, tables::Table};

/// The last id that was given in a table, by its name. Ids of rows that are gone are not given again.
pub(crate) type Sequence = (String, i64);

#[async_trait]
pub(crate) trait Database: Send {
    /// The columns of a table that are copied.
    async fn columns(&mut self, table: &'static Table) -> Result<Vec<String>>;

    async fn count(&mut self, table: &'static Table) -> Result<u64>;

    /// Hands over all rows of a table, until nobody listens.
    async fn read(&mut self, table: &'static Table, columns: &[String], to: Sender<Vec<Row>>) -> Result<()>;

    async fn sequences(&mut self) -> Result<Vec<Sequence>>;

    /// The number of the last change.
    async fn last_change(&mut self) -> Result<i64>;

    /// Where it was moved to, if it was.
    async fn moved_to(&mut self) -> Result<Option<String>>;

    /// Notes that it was moved, for whoever opens it later.
    async fn note_moved(&mut self, to: &str) -> Result<()>;

    /// Takes that back.
    async fn forget_moved(&mut self) -> Result<()>;

    /// Empties all tables, without indexes until they are filled.
    async fn begin_filling(&mut self) -> Result<()>;

    async fn write(&mut self, table: &'static Table, columns: &[String], from: Receiver<Vec<Row>>) -> Result<()>;

    /// Makes indexes and what else follows from the rows, and goes on with these numbers.
    async fn end_filling(&mut self, sequences: &[Sequence], last_change: i64) -> Result<()>;

    /// Lets others use what was filled.
    async fn commit(&mut self) -> Result<()>;
}
