//! Which of many logins still hold, in one round trip.

use std::time::Duration;

use deadpool_postgres::Client;
use domain::{
    AccountId,
    account::{Account, Login, SecretHash},
};
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params,
    accounts::account_rows::{self, COLUMNS, account_of},
    query,
    shared::values::millis,
};

/// Differs from the other store, which looks for one after the other.
const SESSIONS: &str = concat!(
    "
SELECT ",
    account_rows::columns!(),
    ", sessions.secret_hash
FROM sessions
JOIN accounts ON accounts.id = sessions.account_id
WHERE sessions.secret_hash = ANY ($1)
  AND sessions.last_used_at > (SELECT pirssonite_now_ms()) - $2
  AND accounts.deleted_at IS NULL"
);

/// Differs from the other store, as above.
const TOKENS: &str = concat!(
    "
SELECT ",
    account_rows::columns!(),
    ", tokens.secret_hash
FROM tokens
JOIN accounts ON accounts.id = tokens.account_id
WHERE tokens.secret_hash = ANY ($1)
  AND (tokens.expires_at IS NULL OR tokens.expires_at > (SELECT pirssonite_now_ms()))
  AND accounts.deleted_at IS NULL"
);

/// Differs from the other store, as above.
const ACCOUNTS: &str =
    concat!("SELECT ", account_rows::columns!(), "\nFROM accounts\nWHERE id = ANY ($1)\n  AND deleted_at IS NULL");

pub(crate) async fn read(
    client: &Client,
    logins: &[Login],
    session_lifetime: Duration,
) -> Result<Vec<(Login, Account)>, Error> {
    let (mut sessions, mut tokens, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
    for login in logins {
        match login {
            Login::Session(secret) => sessions.push(secret.0.as_slice()),
            Login::Token(secret) => tokens.push(secret.0.as_slice()),
            Login::Account(id) => accounts.push(id.0),
        }
    }
    let used_within = millis(session_lifetime);
    let of_sessions: Params<'_> = &[&sessions, &used_within];
    let (of_tokens, of_accounts): (Params<'_>, Params<'_>) = (&[&tokens], &[&accounts]);
    let (sessions, tokens, accounts) = tokio::try_join!(
        query(client, SESSIONS, of_sessions),
        query(client, TOKENS, of_tokens),
        query(client, ACCOUNTS, of_accounts),
    )?;
    let sessions = sessions.iter().filter_map(|row| Some((Login::Session(secret_of(row)?), account_of(row))));
    let tokens = tokens.iter().filter_map(|row| Some((Login::Token(secret_of(row)?), account_of(row))));
    let accounts = accounts.iter().map(|row| (Login::Account(AccountId(row.get(0))), account_of(row)));
    Ok(sessions.chain(tokens).chain(accounts).collect())
}

fn secret_of(row: &Row) -> Option<SecretHash> {
    row.get::<_, &[u8]>(COLUMNS).try_into().ok().map(SecretHash)
}
