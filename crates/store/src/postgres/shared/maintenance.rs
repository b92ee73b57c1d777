//! What was done with the database as a whole, and whether it may be used.

use deadpool_postgres::Client;
use tokio_postgres::Error;

use crate::{OpenError, open_error::day, postgres::shared::errors};

pub(crate) const BACKUP: &str = "backup";
pub(crate) const INCOMPLETE: &str = "incomplete";
pub(crate) const MOVED: &str = "moved";

/// How long to wait for a copy that is being made, which holds the whole table: it takes longer, so whoever starts is told.
const LOCK_WAIT: &str = "SET LOCAL lock_timeout = '2s'";

const SELECT: &str = "SELECT at, detail FROM maintenance WHERE name = $1";

/// That it is whole, was not moved, and is not being copied or filled just now.
pub(crate) async fn check(client: &mut Client) -> Result<(), OpenError> {
    check_notes(client).await.map_err(|error| {
        let copied = "it is being copied: wait for the end of that";
        OpenError::Unavailable(if errors::is_locked(&error) { copied.to_owned() } else { errors::reason(&error) })
    })?
}

async fn check_notes(client: &mut Client) -> Result<Result<(), OpenError>, Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(LOCK_WAIT).await?;
    if transaction.query_opt(SELECT, &[&INCOMPLETE]).await?.is_some() {
        return Ok(Err(OpenError::Incomplete));
    }
    let moved = transaction.query_opt(SELECT, &[&MOVED]).await?;
    transaction.commit().await?;
    Ok(match moved {
        None => Ok(()),
        Some(row) => {
            Err(OpenError::Moved { on: day(row.get(0)), to: row.get::<_, Option<String>>(1).unwrap_or_default() })
        }
    })
}
