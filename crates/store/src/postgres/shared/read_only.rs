//! Connections that ended up at a database which takes no writes, such as a standby: whoever meets one says so, and none that
//! was made before is used again. One for the whole process, because errors are told apart where no pool is known; a
//! connection that is made anew for nothing costs little.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

static MET_AT: Mutex<Option<Instant>> = Mutex::new(None);

/// A statement was refused because the database is read-only.
pub(crate) fn met() {
    *MET_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(tokio::time::Instant::now().into_std());
}

/// Whether that has happened since a connection was made.
pub(crate) fn was_met_since(created: Instant) -> bool {
    MET_AT.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|met_at| met_at >= created)
}
