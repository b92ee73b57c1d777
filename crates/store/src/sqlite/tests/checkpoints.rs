//! The log is moved into the database while much is written, and begins anew.

use super::fresh;
use crate::sqlite::shared::{queue::Priority, writer::WriteTx};

#[tokio::test]
async fn log_does_not_grow_for_ever() {
    const WRITES: u32 = 60;
    const WRITE_BYTES: u32 = 1_000_000;
    let (store, folder) = fresh();
    for number in 0..WRITES {
        let write = move |changes: &mut WriteTx<'_>| {
            let insert = "INSERT INTO folders (account_id, name, position) VALUES (1, ?1 || hex(zeroblob(?2)), 0)";
            changes.connection.execute(insert, (number.to_string(), WRITE_BYTES / 2))
        };
        store.writer.write(Priority::Usual, write).await.unwrap();
    }
    let log_bytes = std::fs::metadata(folder.path().join("pirssonite.db-wal")).unwrap().len();
    assert!(log_bytes < u64::from(WRITES * WRITE_BYTES * 2 / 3), "{log_bytes}");
    drop(store);
    assert!(!folder.path().join("pirssonite.db-wal").exists(), "it goes with the last connection");
}
