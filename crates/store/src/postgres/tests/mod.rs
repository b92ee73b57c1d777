//! What can only be tested from inside: how statements are sent, and the plans of those that are put together.

mod plans;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn query_then_keeps_the_order() {
    const FIRST: &str = "INSERT INTO folders (account_id, name, position) VALUES (1, 'a', 0)";
    const SECOND: &str = "SELECT id FROM folders";
    let database = testkit::fresh_postgres().await;
    // As long as a busy machine takes.
    let options = PostgresOptions { pool_size: 1, connect_timeout: Duration::from_mins(1) };
    let store = PostgresStore::connect(database.url(), options).await.unwrap();
    let client = store.client().await.unwrap();
    // The second could be sent at once, the first only when it is prepared.
    client.prepare_cached(SECOND).await.unwrap();
    let (_, folders) = query_then(&client, FIRST, &[], query(&client, SECOND, &[])).await.unwrap();
    assert_eq!(folders.len(), 1);
}

#[test]
fn u4_whoever_waits_is_told_within_five_seconds() {
    let options = PostgresOptions::default();
    assert!(options.connect_timeout < options.answer_timeout());
    assert!(options.answer_timeout() <= Duration::from_millis(4500));
}
