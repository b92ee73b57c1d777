//! The contract of the store's port: every case runs on SQLite and on PostgreSQL.
//!
//! A case is a function over a [`Harness`]. `contract!` makes two tests of each, `sqlite::case` and `postgres::case`;
//! without a PostgreSQL the second fails.

#![expect(clippy::unwrap_used, reason = "a test fails where something is not as it should be")]

mod as_account;
mod given;
mod given_outbox;
mod given_push;
mod harness;

/// Makes a test on each store of every case.
macro_rules! contract {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(&crate::contract::Harness::sqlite().await).await;
                }
            )+
        }
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(&crate::contract::Harness::postgres().await).await;
                }
            )+
        }
    };
}

mod folders;

mod feeds;
mod icons;
mod import;

mod accounts;
mod fan_out;
mod follows;
mod many_accounts;

mod entries;
mod find;
mod paging;
mod read_marks;
mod received;
mod search;
mod search_language;
mod walks;

mod leases;
mod overview;
mod schedule;

mod finish;
mod ingest;
mod texts;

mod desired_push;
mod discovery;

mod renewals;
mod subscription_claims;
mod subscriptions;

mod misses;
mod poll_soon;
mod push;
mod push_batches;
mod thin;

mod entry_events;
mod feed_events;
mod listeners;
mod push_events;
mod webhooks;

mod claim_limits;
mod delivery_claims;
mod delivery_leases;

mod attempts;
mod breaker;
mod delivery_marks;

mod outbox;
mod outbox_prune;
mod replay;

mod prune;

mod clock;

mod changes;

mod figures;

mod rolling;
mod upgrades;

use harness::Harness;
