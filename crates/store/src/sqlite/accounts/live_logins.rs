//! Which of many logins still hold.

use domain::{Account, account::Login};
use rusqlite::{Connection, Result};

use crate::sqlite::accounts::{account_rows, sessions, tokens};

/// One look by its key for each.
pub(crate) fn read(
    connection: &Connection,
    logins: &[Login],
    now: i64,
    unused_since: i64,
) -> Result<Vec<(Login, Account)>> {
    let mut live = Vec::new();
    for login in logins {
        let account = match *login {
            Login::Session(secret) => {
                sessions::by_secret(connection, secret, unused_since)?.map(|(account, _)| account)
            }
            Login::Token(secret) => tokens::by_secret(connection, secret, now)?.map(|(account, _)| account),
            Login::Account(id) => account_rows::one(connection, id)?,
        };
        live.extend(account.map(|account| (*login, account)));
    }
    Ok(live)
}
