//! What programs come in with.

use domain::{
    Account, AccountId, TokenId,
    account::{NewToken, SecretHash, Token, TokenScope},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    accounts::account_rows::{self, account_of, hash},
    shared::{errors::unreadable, writer::WriteTx},
};
use crate::values::{scope_of, text, time};

macro_rules! columns {
    () => {
        "tokens.id, tokens.name, scope, tokens.created_at, last_used_at, expires_at"
    };
}

const INSERT: &str = include_str!("sql/tokens_insert.sql");

/// The token that a program sends, or the key that Fever's clients send in its place.
macro_rules! by {
    ($hash:literal) => {
        concat!(
            "SELECT ",
            account_rows::columns!(),
            ", ",
            columns!(),
            "
FROM tokens
CROSS JOIN accounts ON accounts.id = account_id
WHERE ",
            $hash,
            " = ?1
  AND (expires_at IS NULL OR expires_at > ?2)
  AND deleted_at IS NULL"
        )
    };
}

pub(crate) const BY_SECRET: &str = by!("secret_hash");

/// Differs from the other store, where one statement looks for both.
pub(crate) const BY_FEVER_KEY: &str = by!("fever_hash");

pub(crate) const OF_ACCOUNT: &str = concat!(
    "SELECT ",
    columns!(),
    "
FROM tokens INDEXED BY tokens_of_account
CROSS JOIN accounts ON accounts.id = account_id
WHERE account_id = ?
  AND deleted_at IS NULL
ORDER BY tokens.id"
);

pub(crate) const NOTE_USE: &str = "UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), ?2) WHERE id = ?1";

const DELETE: &str = "DELETE FROM tokens WHERE id = ? AND account_id = ?";

pub(crate) fn create(changes: &mut WriteTx<'_>, account: AccountId, new: &NewToken) -> Result<Token> {
    let (connection, now) = (changes.connection, changes.now());
    let (name, expires_at) = (text(&new.name), new.expires_at.map(Timestamp::as_millisecond));
    let (secret, fever_key) = (hash(&new.secret), hash(&new.fever_key));
    let row = (account.0, &name, new.scope.name(), secret, fever_key, now, expires_at);
    connection.prepare_cached(INSERT)?.execute(row)?;
    Ok(Token {
        id: TokenId(connection.last_insert_rowid()),
        name: name.into_owned(),
        scope: new.scope,
        created_at: time(now),
        last_used_at: None,
        expires_at: expires_at.map(time),
    })
}

pub(crate) fn by_secret(connection: &Connection, secret: SecretHash, now: i64) -> Result<Option<(Account, Token)>> {
    for by in [BY_SECRET, BY_FEVER_KEY] {
        let found = connection
            .prepare_cached(by)?
            .query_row((hash(&secret), now), |row| Ok((account_of(row)?, token_at(row, account_rows::COLUMNS)?)));
        if let Some(found) = found.optional()? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// False if the account has none such.
pub(crate) fn delete(changes: &mut WriteTx<'_>, account: AccountId, id: TokenId) -> Result<bool> {
    Ok(changes.connection.prepare_cached(DELETE)?.execute((id.0, account.0))? > 0)
}

pub(crate) fn of_account(connection: &Connection, account: AccountId) -> Result<Vec<Token>> {
    connection.prepare_cached(OF_ACCOUNT)?.query_map([account.0], |row| token_at(row, 0))?.collect()
}

/// From the columns that begin at this place.
fn token_at(row: &Row<'_>, at: usize) -> Result<Token> {
    let scope: TokenScope = scope_of(row.get_ref(at + 2)?.as_str()?).map_err(|error| unreadable(at + 2, error))?;
    Ok(Token {
        id: TokenId(row.get(at)?),
        name: row.get(at + 1)?,
        scope,
        created_at: time(row.get(at + 3)?),
        last_used_at: row.get::<_, Option<i64>>(at + 4)?.map(time),
        expires_at: row.get::<_, Option<i64>>(at + 5)?.map(time),
    })
}
