//! The log is moved into the database while much is written, and begins anew.

use super::fresh;
use crate::sqlite::shared::{queue::Priority, writer::WriteTx};

#[tokio::test]
async fn log_does_not_grow_for_ever() {
    const WRITES_MIN: u64 = 60;
    const WRITES_MAX: u64 = 400;
    const WRITE_BYTES: u64 = 1_000_000;
    let (store, folder) = fresh();
    let log = folder.path().join("pirssonite.db-wal");
    for number in 1.. {
        let write = move |changes: &mut WriteTx<'_>| {
            let insert = "INSERT INTO folders (account_id, name, position) VALUES (1, ?1 || hex(zeroblob(?2)), 0)";
            changes.connection.execute(insert, (number.to_string(), i64::try_from(WRITE_BYTES / 2).unwrap()))
        };
        store.writer.write(Priority::Usual, write).await.unwrap();
        let log_bytes = std::fs::metadata(&log).unwrap().len();
        // A busy machine may let the thread that moves it stand still for a while.
        if number >= WRITES_MIN && log_bytes < number * WRITE_BYTES * 2 / 3 {
            break;
        }
        assert!(number < WRITES_MAX, "{log_bytes}");
    }
    drop(store);
    assert!(!log.exists(), "it goes with the last connection");
}
