//! Logins of browsers, and of apps by the password.

use domain::{
    Account, AccountId, SessionId,
    account::{Credentials, NewSession, SecretHash, Session},
};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::sqlite::{
    accounts::account_rows::{self, account_of, hash},
    shared::writer::WriteTx,
};
use crate::values::{optional, time};

macro_rules! columns {
    () => {
        "sessions.id, sessions.created_at, last_used_at, address, user_agent"
    };
}

const INSERT: &str = include_str!("sql/sessions_insert.sql");

pub(crate) const BY_SECRET: &str = concat!(
    "SELECT ",
    account_rows::columns!(),
    ", ",
    columns!(),
    "
FROM sessions
CROSS JOIN accounts ON accounts.id = account_id
WHERE secret_hash = ?1
  AND last_used_at > ?2
  AND deleted_at IS NULL"
);

pub(crate) const OF_ACCOUNT: &str = concat!(
    "SELECT ",
    columns!(),
    "
FROM sessions INDEXED BY sessions_of_account
CROSS JOIN accounts ON accounts.id = account_id
WHERE account_id = ?1
  AND last_used_at > ?2
  AND deleted_at IS NULL"
);

pub(crate) const NOTE_USE: &str = "UPDATE sessions SET last_used_at = max(last_used_at, ?2) WHERE id = ?1";

const NOTE_END: &str = include_str!("sql/sessions_note_end.sql");

const DELETE: &str = "DELETE FROM sessions WHERE id = ? AND account_id = ?";

const END_OTHERS: &str = "DELETE FROM sessions WHERE account_id = ?1 AND id IS NOT ?2";

/// `None` if the account is gone, or what the login was checked against is no longer its own.
pub(crate) fn create(changes: &mut WriteTx<'_>, checked: &Credentials, new: &NewSession) -> Result<Option<Session>> {
    let (connection, now) = (changes.connection, changes.now());
    let (address, user_agent) = (optional(new.address.as_ref()), optional(new.user_agent.as_ref()));
    let (account, password) = (checked.account.id.0, &checked.password_hash);
    let row =
        (account, hash(&new.secret), new.is_app, now, &address, &user_agent, password, checked.app_sessions_ended);
    let id: Option<i64> = connection.prepare_cached(INSERT)?.query_row(row, |row| row.get(0)).optional()?;
    Ok(id.map(|id| Session {
        id: SessionId(id),
        created_at: time(now),
        last_used_at: time(now),
        address: address.map(Into::into),
        user_agent: user_agent.map(Into::into),
    }))
}

pub(crate) fn by_secret(
    connection: &Connection,
    secret: SecretHash,
    unused_since: i64,
) -> Result<Option<(Account, Session)>> {
    let found = connection.prepare_cached(BY_SECRET)?.query_row((hash(&secret), unused_since), |row| {
        Ok((account_of(row)?, session_at(row, account_rows::COLUMNS)?))
    });
    found.optional()
}

/// The last used first.
pub(crate) fn of_account(connection: &Connection, account: AccountId, unused_since: i64) -> Result<Vec<Session>> {
    let mut statement = connection.prepare_cached(OF_ACCOUNT)?;
    let sessions = statement.query_map((account.0, unused_since), |row| session_at(row, 0))?;
    let mut sessions = sessions.collect::<Result<Vec<_>>>()?;
    sessions.sort_by_key(|session| std::cmp::Reverse((session.last_used_at, session.id)));
    Ok(sessions)
}

/// False if the account has none such.
pub(crate) fn delete(changes: &mut WriteTx<'_>, account: AccountId, id: SessionId) -> Result<bool> {
    changes.connection.prepare_cached(NOTE_END)?.execute((id.0, account.0))?;
    Ok(changes.connection.prepare_cached(DELETE)?.execute((id.0, account.0))? > 0)
}

/// Ends all sessions of an account but for one.
pub(crate) fn end_others(connection: &Connection, account: AccountId, kept: Option<SessionId>) -> Result<()> {
    connection.prepare_cached(END_OTHERS)?.execute((account.0, kept.map(|id| id.0))).map(drop)
}

/// From the columns that begin at this place.
fn session_at(row: &Row<'_>, at: usize) -> Result<Session> {
    Ok(Session {
        id: SessionId(row.get(at)?),
        created_at: time(row.get(at + 1)?),
        last_used_at: time(row.get(at + 2)?),
        address: row.get(at + 3)?,
        user_agent: row.get(at + 4)?,
    })
}
