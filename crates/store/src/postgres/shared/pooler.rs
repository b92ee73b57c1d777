//! A pooler between here and the database, in transaction mode: each transaction of a connection may run in another session
//! of the server. Looked for at the start, because what it breaks would otherwise fail now and then, and later.
//!
//! It is recognised by two connections that have the same session one after the other.

use std::time::Duration;

use deadpool_postgres::{Client, Pool};
use tokio_postgres::{Error, SimpleQueryMessage, error::SqlState};

use crate::OpenError;
use crate::postgres::shared::{
    connect::SESSION,
    errors,
    lending::{CALL_TIMEOUT, lend},
};

/// How often it is looked: other nodes may have taken the session meanwhile.
const LOOKS: usize = 3;

/// How long a statement may take: a pooler that has no session left lets it wait.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(2);

const LOSES_STATEMENTS: &str = "a pooler in transaction mode is in front of it that loses prepared statements: use \
     pgbouncer 1.21 or later with max_prepared_statements, or pool_mode = session, or the database's own address";

/// What the log says beside these events.
const SLOW_CHANGES: &str = "other nodes are heard of once a second";
const RUN_THIS: &str = "run this in the database, then restart the pooler";

/// Whether there is one that will do. One that will not is an error, with what to do about it.
pub(crate) async fn find(pool: &Pool) -> Result<bool, OpenError> {
    let one = lend(pool, CALL_TIMEOUT).await.map_err(|error| errors::open_error(&error))?;
    let two = lend(pool, CALL_TIMEOUT).await.map_err(|error| errors::open_error(&error))?;
    let found = look(&one, &two).await;
    // Nobody else is to meet what was left in their sessions.
    drop((Client::take(one), Client::take(two)));
    found
}

async fn look(one: &Client, two: &Client) -> Result<bool, OpenError> {
    for _ in 0..LOOKS {
        match share_session(one, two).await {
            Ok(Some(keeps_statements)) => {
                drop(two.simple_query("ROLLBACK").await);
                if !keeps_statements {
                    return Err(OpenError::Unsuitable(LOSES_STATEMENTS.to_owned()));
                }
                match missing_settings(one).await? {
                    None => tracing::info!(hint = SLOW_CHANGES, "pooler in transaction mode"),
                    Some(run) => tracing::warn!(run, hint = RUN_THIS, "pooler drops settings"),
                }
                return Ok(true);
            }
            Ok(None) => drop(two.simple_query("ROLLBACK").await),
            Err(error) if is_lost_statement(&error) => return Err(OpenError::Unsuitable(LOSES_STATEMENTS.to_owned())),
            Err(error) => return Err(OpenError::Unavailable(errors::reason(&error))),
        }
    }
    Ok(false)
}

/// Whether the second connection got the session that the first had before, and then whether a statement of the first is
/// there in its next one.
async fn share_session(one: &Client, two: &Client) -> Result<Option<bool>, Error> {
    let statement = one.prepare("SELECT 1").await?;
    let before = first_value(&one.simple_query("SELECT pg_backend_pid()").await?);
    two.simple_query("BEGIN").await?;
    if first_value(&two.simple_query("SELECT pg_backend_pid()").await?) != before {
        return Ok(None);
    }
    match tokio::time::timeout(STATEMENT_TIMEOUT, one.query(&statement, &[])).await {
        Ok(Err(error)) if is_lost_statement(&error) => Ok(Some(false)),
        Ok(Err(error)) => Err(error),
        // Where there is but one session, nobody can lose it.
        Ok(Ok(_)) | Err(_) => Ok(Some(true)),
    }
}

fn is_lost_statement(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::INVALID_SQL_STATEMENT_NAME | &SqlState::DUPLICATE_PSTATEMENT))
}

fn first_value(messages: &[SimpleQueryMessage]) -> Option<String> {
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}

/// The statements that set what connections begin with, if the pooler did not pass that on.
async fn missing_settings(client: &Client) -> Result<Option<String>, OpenError> {
    let shown = SESSION.map(|(name, _)| format!("current_setting('{name}')"));
    let sql = format!("SELECT concat_ws('|', {}), current_user, current_database()", shown.join(", "));
    let rows = client.simple_query(&sql).await.map_err(|error| OpenError::Unavailable(errors::reason(&error)))?;
    let Some(SimpleQueryMessage::Row(row)) = rows.iter().find(|row| matches!(row, SimpleQueryMessage::Row(_))) else {
        return Ok(None);
    };
    let wanted = SESSION.map(|(_, value)| value).join("|");
    if row.get(0) == Some(wanted.as_str()) {
        return Ok(None);
    }
    let (user, database) = (row.get(1).unwrap_or_default(), row.get(2).unwrap_or_default());
    let commands =
        SESSION.map(|(name, value)| format!("ALTER ROLE \"{user}\" IN DATABASE \"{database}\" SET {name} = '{value}'"));
    Ok(Some(commands.join("; ")))
}

#[cfg(test)]
mod tests {
    use testkit::{PoolMode, Pooler, fresh_postgres};

    use super::*;
    use crate::postgres::shared::connect::Address;

    #[tokio::test(flavor = "multi_thread")]
    async fn p3_what_the_start_says_to_run_behind_a_pooler_is_all_that_is_missing() {
        let database = fresh_postgres().await;
        let pooler = Pooler::to(database.url(), PoolMode::TransactionWithStatements).await;
        let pool = Address::of(pooler.url(), Duration::from_mins(1)).unwrap().pool(1).unwrap();
        let client = pool.get().await.unwrap();
        let run = missing_settings(&client).await.unwrap().expect("a pooler passes nothing on");
        database.client().await.batch_execute(&run).await.unwrap();
        pooler.end_idle_sessions();
        assert_eq!(missing_settings(&client).await, Ok(None));
    }
}
