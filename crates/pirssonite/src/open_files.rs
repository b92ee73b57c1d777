//! How many files and connections the process may have open. Shells and service managers give a process few, for the
//! sake of old programs, and let it have more if it asks.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes all that the system lets this process have. If it cannot be, it goes on with what it has.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    match raised {
        Ok(()) => tracing::debug!(before = ?current, now = ?maximum, "open file limit raised"),
        Err(error) => tracing::debug!(now = ?current, %error, "open file limit not raised"),
    }
}

/// Files that are left for all else when event streams are open: connections, the database, polls and deliveries.
const FILES_BESIDE_STREAMS: u64 = 1_500;
/// Event streams that there may be in any case.
const STREAMS_MIN: usize = 100;

/// Event streams that the limit leaves files for.
pub(crate) fn streams_max() -> usize {
    let left = most().map_or(u64::MAX, |most| most.saturating_sub(FILES_BESIDE_STREAMS));
    usize::try_from(left).unwrap_or(usize::MAX).max(STREAMS_MIN)
}

/// So many it may have at most; `None` for any number.
pub(crate) fn most() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}
