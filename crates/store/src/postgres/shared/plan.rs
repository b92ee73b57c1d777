//! Plans that are kept.

use deadpool_postgres::Client;
use tokio_postgres::{Error, Row};

use crate::postgres::{Params, query, query_then};

/// The statements after it in its transaction are planned once by each connection.
pub(crate) const ONCE: &str = include_str!("sql/plan_once.sql");

/// A statement in a transaction of its own, by a plan that is kept: of one that takes longer to plan than to run.
pub(crate) async fn query_planned_once(client: &mut Client, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Error> {
    let transaction = client.transaction().await?;
    let (_, rows) = query_then(&transaction, ONCE, &[], query(&transaction, sql, params)).await?;
    transaction.commit().await?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::{delivery::ClaimLimits, ports::DeliveryStore};

    use crate::{
        PostgresStore,
        postgres::{PostgresOptions, query},
    };

    /// More than the database plans anew before it thinks of keeping a plan.
    const CLAIMS: i64 = 8;

    #[tokio::test(flavor = "multi_thread")]
    async fn d4_claims_of_deliveries_are_planned_once() {
        const PLANS: &str = "SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE statement LIKE $1";
        let database = testkit::fresh_postgres().await;
        let store = PostgresStore::connect(database.url(), PostgresOptions::default()).await.unwrap();
        let limits = ClaimLimits { limit: 9, of_others: 9, ..ClaimLimits::default() };
        for _ in 0..CLAIMS {
            store.claim_deliveries("here", Duration::from_secs(10), &limits).await.unwrap();
        }
        let client = store.client().await.unwrap();
        let rows = query(&client, PLANS, &[&"%claimed AS (%"]).await.unwrap();
        assert_eq!((rows[0].get(0), rows[0].get(1)), (0_i64, CLAIMS));
    }
}
