//! Tokens: what programs prove themselves with, found by the hash of their secret, or of the key that Fever's clients send.

use deadpool_postgres::Client;
use domain::{
    AccountId, TokenId,
    account::{Account, NewToken, SecretHash, Token, TokenScope},
};
use jiff::Timestamp;
use tokio_postgres::{Error, Row};

use crate::postgres::{
    accounts::{
        USE_NOTED_EVERY_MS,
        account_rows::{self, COLUMNS, account_of},
    },
    execute, query, query_opt,
    shared::values::{Parsed, text, time},
};

/// Of `tokens`, in the order of [`token_at`].
macro_rules! columns {
    () => {
        "tokens.id, tokens.name, tokens.scope, tokens.created_at, tokens.last_used_at, tokens.expires_at"
    };
}

const INSERT: &str = concat!(
    "
INSERT INTO tokens (account_id, name, scope, secret_hash, fever_hash, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, (SELECT pirssonite_now_ms()), $6)
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
CROSS JOIN (
    SELECT * FROM tokens WHERE secret_hash = $1
    UNION
    SELECT * FROM tokens WHERE fever_hash = $1
) AS tokens
JOIN accounts ON accounts.id = tokens.account_id
WHERE accounts.deleted_at IS NULL
  AND (tokens.expires_at IS NULL OR tokens.expires_at > now.ms)
LIMIT 1"
);

const OF_ACCOUNT: &str = concat!("SELECT ", columns!(), "\nFROM tokens\nWHERE account_id = $1\nORDER BY id");

const NOTE_USE: &str = "UPDATE tokens SET last_used_at = greatest(last_used_at, $2) WHERE id = $1";

const DELETE: &str = "DELETE FROM tokens WHERE id = $1 AND account_id = $2";

pub(crate) async fn create(client: &Client, account: AccountId, new: &NewToken) -> Result<Token, Error> {
    let statement = client.prepare_cached(INSERT).await?;
    let (secret, fever_key) = (new.secret.0.as_slice(), new.fever_key.0.as_slice());
    let expires_at = new.expires_at.map(Timestamp::as_millisecond);
    let row = client
        .query_one(&statement, &[&account.0, &text(&new.name), &new.scope.name(), &secret, &fever_key, &expires_at])
        .await?;
    token_at(&row, 0)
}

pub(crate) async fn by_secret(client: &Client, secret: SecretHash) -> Result<Option<(Account, Token)>, Error> {
    let found = query_opt(client, BY_SECRET, &[&secret.0.as_slice()]).await?;
    let Some(row) = found else { return Ok(None) };
    let (account, mut token) = (account_of(&row), token_at(&row, COLUMNS)?);
    let now: i64 = row.get(COLUMNS + 6);
    if token.last_used_at.is_none_or(|used| used.as_millisecond() <= now - USE_NOTED_EVERY_MS) {
        execute(client, NOTE_USE, &[&token.id.0, &now]).await?;
        token.last_used_at = Some(time(now));
    }
    Ok(Some((account, token)))
}

/// False if the account has none such.
pub(crate) async fn delete(client: &Client, account: AccountId, id: TokenId) -> Result<bool, Error> {
    Ok(execute(client, DELETE, &[&id.0, &account.0]).await? > 0)
}

pub(crate) async fn of_account(client: &Client, account: AccountId) -> Result<Vec<Token>, Error> {
    query(client, OF_ACCOUNT, &[&account.0]).await?.iter().map(|row| token_at(row, 0)).collect()
}

fn token_at(row: &Row, at: usize) -> Result<Token, Error> {
    Ok(Token {
        id: TokenId(row.get(at)),
        name: row.get(at + 1),
        scope: row.try_get::<_, Parsed<TokenScope>>(at + 2)?.0,
        created_at: time(row.get(at + 3)),
        last_used_at: row.get::<_, Option<i64>>(at + 4).map(time),
        expires_at: row.get::<_, Option<i64>>(at + 5).map(time),
    })
}
