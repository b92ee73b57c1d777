//! Sessions: logins of browsers, found by the hash of their secret.

use std::time::Duration;

use deadpool_postgres::{Client, Transaction};
use domain::{
    AccountId, SessionId,
    account::{Account, NewSession, SecretHash, Session},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    accounts::{self, COLUMNS, USE_NOTED_EVERY_MS, account_at},
    execute, query, query_opt,
    shared::values::{millis, optional, time},
};

/// Of `sessions`, in the order of [`session_at`].
macro_rules! columns {
    () => {
        "sessions.id, sessions.created_at, sessions.last_used_at, sessions.address, sessions.user_agent"
    };
}

const INSERT: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
INSERT INTO sessions (account_id, secret_hash, created_at, last_used_at, address, user_agent)
SELECT $1, $2, now.ms, now.ms, $3, $4
FROM now
RETURNING ",
    columns!()
);

const BY_SECRET: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
SELECT ",
    accounts::columns!(),
    ", ",
    columns!(),
    ", now.ms
FROM now
JOIN sessions ON sessions.secret_hash = $1 AND sessions.last_used_at > now.ms - $2
JOIN accounts ON accounts.id = sessions.account_id
WHERE accounts.deleted_at IS NULL"
);

const OF_ACCOUNT: &str = concat!(
    "
SELECT ",
    columns!(),
    "
FROM sessions
WHERE account_id = $1
  AND last_used_at > (SELECT pirssonite_now_ms()) - $2
ORDER BY last_used_at DESC, id DESC"
);

const NOTE_USE: &str = include_str!("sql/sessions_note_use.sql");

const END_OTHERS: &str = "DELETE FROM sessions WHERE account_id = $1 AND id IS DISTINCT FROM $2";

pub(crate) async fn create(client: &Client, account: AccountId, new: &NewSession) -> Result<Session, Error> {
    let statement = client.prepare_cached(INSERT).await?;
    let (address, user_agent) = (optional(new.address.as_ref()), optional(new.user_agent.as_ref()));
    let secret = new.secret.0.as_slice();
    Ok(session_at(&client.query_one(&statement, &[&account.0, &secret, &address, &user_agent]).await?, 0))
}

pub(crate) async fn by_secret(
    client: &Client,
    secret: SecretHash,
    lifetime: Duration,
) -> Result<Option<(Account, Session)>, Error> {
    let found = query_opt(client, BY_SECRET, &[&secret.0.as_slice(), &millis(lifetime)]).await?;
    let Some(row) = found else { return Ok(None) };
    let (account, mut session) = (account_at(&row, 0), session_at(&row, COLUMNS));
    let now: i64 = row.get(COLUMNS + 5);
    if session.last_used_at.as_millisecond() <= now - USE_NOTED_EVERY_MS {
        execute(client, NOTE_USE, &[&session.id.0, &now]).await?;
        session.last_used_at = time(now);
    }
    Ok(Some((account, session)))
}

pub(crate) async fn of_account(client: &Client, account: AccountId, lifetime: Duration) -> Result<Vec<Session>, Error> {
    let rows = query(client, OF_ACCOUNT, &[&account.0, &millis(lifetime)]).await?;
    Ok(rows.iter().map(|row| session_at(row, 0)).collect())
}

/// Ends all sessions of an account but for one.
pub(crate) async fn end_others(
    transaction: &Transaction<'_>,
    account: AccountId,
    kept: Option<SessionId>,
) -> Result<(), Error> {
    execute(transaction, END_OTHERS, &[&account.0, &kept.map(|kept| kept.0)]).await.map(drop)
}

fn session_at(row: &Row, at: usize) -> Session {
    Session {
        id: SessionId(row.get(at)),
        created_at: time(row.get(at + 1)),
        last_used_at: time(row.get(at + 2)),
        address: row.get(at + 3),
        user_agent: row.get(at + 4),
    }
}
