//! Workers of two nodes that claim at the same time.

use std::{collections::HashSet, fmt::Debug, hash::Hash};

use store::PostgresStore;
use testkit::FreshPostgres;

/// Eight workers claim until there is nothing left, a few at a time: each of so many is claimed once.
pub(super) async fn each_is_claimed_once<T, C, F>(database: &FreshPostgres, count: usize, claim: C)
where
    T: Eq + Hash + Debug + Send + 'static,
    C: Fn(PostgresStore, String, u32) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Vec<T>> + Send + 'static,
{
    let mut workers = Vec::new();
    for node in 0..2 {
        let store = database.another_store().await;
        for worker in 0..4 {
            let (store, owner, claim) = (store.clone(), format!("node {node} worker {worker}"), claim.clone());
            workers.push(tokio::spawn(async move {
                let mut claimed = Vec::new();
                loop {
                    let some = claim(store.clone(), owner.clone(), 7).await;
                    if some.is_empty() {
                        return claimed;
                    }
                    claimed.extend(some);
                }
            }));
        }
    }
    let mut claimed = Vec::new();
    for worker in workers {
        claimed.extend(worker.await.unwrap());
    }
    // A worker may end early because the others hold what is left: what remains is claimed now.
    claimed.extend(claim(database.store.clone(), "late".to_owned(), 200).await);
    assert_eq!(claimed.len(), count);
    assert_eq!(claimed.into_iter().collect::<HashSet<_>>().len(), count);
}
