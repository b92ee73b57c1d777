//! A pooler between the store and the database (requirement P3).

use std::time::Duration;

use domain::{
    account::READER,
    ports::{ChangeStore, EntryStore, FeedStore, FolderStore, MarkRead, PollStore, Store},
};
use store::{OpenError, PostgresStore};
use testkit::{FreshPostgres, PoolMode, Pooler, fresh_postgres};

use super::{LEASE, counts_agree, fetched, import, with_connections};

/// Only ends a test that hangs.
const HANGS_AFTER: Duration = Duration::from_mins(2);

async fn behind(mode: PoolMode) -> (FreshPostgres, Pooler) {
    let database = fresh_postgres().await;
    let pooler = Pooler::to(database.url(), mode).await;
    (database, pooler)
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_a_pooler_that_loses_statements_is_refused_with_what_to_do() {
    let (_database, pooler) = behind(PoolMode::Transaction).await;
    let error = PostgresStore::connect(pooler.url(), with_connections(2)).await.unwrap_err();
    assert!(matches!(error, OpenError::Unsuitable(_)), "{error}");
    assert!(error.to_string().contains("max_prepared_statements"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_nodes_work_behind_a_pooler_in_transaction_mode() {
    const FEEDS: usize = 20;
    let (database, pooler) = behind(PoolMode::TransactionWithStatements).await;
    import(&database.store, FEEDS).await;
    let store = PostgresStore::connect(pooler.url(), with_connections(4)).await.unwrap();
    let workers: Vec<_> = (0..4)
        .map(|worker| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0..5 {
                    let jobs = store.claim_due_polls(&format!("worker {worker}"), 5, LEASE).await.unwrap();
                    let leases: Vec<_> = jobs.iter().map(|job| (job.feed_id, job.lease.clone())).collect();
                    assert_eq!(store.renew_polls(&leases, LEASE).await, Ok(vec![]));
                    let results = jobs.iter().map(|job| fetched(job, round)).collect();
                    for stored in store.finish_polls(results).await.unwrap() {
                        assert!(stored.unwrap().applied);
                    }
                    store.mark_read(READER, MarkRead::default()).await.unwrap();
                    assert_eq!(store.ping().await, Ok(()));
                    let folder = store.create_folder(READER, &format!("{worker}/{round}")).await.unwrap();
                    assert!(folder.is_ok());
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!(store.feeds(READER).await.unwrap().len(), FEEDS);
    assert_eq!(database.store.folders(READER).await.unwrap().len(), 20, "others see it too");
    counts_agree(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_nodes_hear_of_each_other_behind_a_pooler_in_session_mode() {
    let (database, pooler) = behind(PoolMode::Session).await;
    let store = PostgresStore::connect(pooler.url(), with_connections(2)).await.unwrap();
    let seen = store.changed_since(u64::MAX).await;
    let heard = tokio::time::timeout(HANGS_AFTER, store.changed_since(seen));
    let (heard, made) = tokio::join!(heard, database.store.create_folder(READER, "elsewhere"));
    assert!(made.unwrap().is_ok());
    heard.expect("it is told");
}
