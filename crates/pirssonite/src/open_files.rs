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

/// So many it may have at most; `None` for any number.
pub(crate) fn most() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}
