//! Sessions: logins of browsers, and of apps by the password, found by the hash of their secret.

use std::time::Duration;

use deadpool_postgres::{Client, Transaction};
use domain::{
    AccountId, SessionId,
    account::{Account, Credentials, NewSession, SecretHash, Session},
};
use tokio_postgres::{Error, Row, types::ToSql};

use crate::postgres::{
    accounts::{
        USE_NOTED_EVERY_MS,
        account_rows::{self, COLUMNS, account_of},
    },
    execute, query, query_opt,
    shared::values::{millis, optional, time},
};

/// Of `sessions`, in the order of [`session_at`].
macro_rules! columns {
    () => {
        "sessions.id, sessions.created_at, sessions.last_used_at, sessions.address, sessions.user_agent"
    };
}

/// The account's row is locked, so that whoever changes its password, or removes it, comes before or after this.
const INSERT: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
INSERT INTO sessions (account_id, secret_hash, is_app, created_at, last_used_at, address, user_agent)
SELECT accounts.id, $2, $3, now.ms, now.ms, $4, $5
FROM now
CROSS JOIN accounts
WHERE accounts.id = $1
  AND accounts.deleted_at IS NULL
  AND accounts.password_hash IS NOT DISTINCT FROM $6
  AND (NOT $3 OR accounts.app_sessions_ended = $7)
FOR SHARE OF accounts
ON CONFLICT (secret_hash) DO UPDATE
SET created_at = excluded.created_at,
    last_used_at = excluded.last_used_at,
    address = excluded.address,
    user_agent = excluded.user_agent
WHERE sessions.account_id = excluded.account_id
RETURNING ",
    columns!()
);

const BY_SECRET: &str = concat!(
    "
WITH now AS MATERIALIZED (SELECT pirssonite_now_ms() AS ms)
SELECT ",
    account_rows::columns!(),
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

const NOTE_USE: &str = "UPDATE sessions SET last_used_at = greatest(last_used_at, $2) WHERE id = $1";

const NOTE_END: &str = include_str!("sql/sessions_note_end.sql");

const DELETE: &str = "DELETE FROM sessions WHERE id = $1 AND account_id = $2";

const END_OTHERS: &str = "DELETE FROM sessions WHERE account_id = $1 AND id IS DISTINCT FROM $2";

/// `None` if the account is gone, or what the login was checked against is no longer its own.
pub(crate) async fn create(client: &Client, checked: &Credentials, new: &NewSession) -> Result<Option<Session>, Error> {
    let (account, password) = (checked.account.id.0, &checked.password_hash);
    let (address, user_agent) = (optional(new.address.as_ref()), optional(new.user_agent.as_ref()));
    let secret = new.secret.0.as_slice();
    let row: [&(dyn ToSql + Sync); 7] =
        [&account, &secret, &new.is_app, &address, &user_agent, password, &checked.app_sessions_ended];
    Ok(query_opt(client, INSERT, &row).await?.map(|row| session_at(&row, 0)))
}

pub(crate) async fn by_secret(
    client: &Client,
    secret: SecretHash,
    lifetime: Duration,
) -> Result<Option<(Account, Session)>, Error> {
    let found = query_opt(client, BY_SECRET, &[&secret.0.as_slice(), &millis(lifetime)]).await?;
    let Some(row) = found else { return Ok(None) };
    let (account, mut session) = (account_of(&row), session_at(&row, COLUMNS));
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

/// False if the account has none such.
pub(crate) async fn delete(client: &mut Client, account: AccountId, id: SessionId) -> Result<bool, Error> {
    let transaction = client.transaction().await?;
    execute(&transaction, NOTE_END, &[&id.0, &account.0]).await?;
    let deleted = execute(&transaction, DELETE, &[&id.0, &account.0]).await?;
    transaction.commit().await?;
    Ok(deleted > 0)
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
