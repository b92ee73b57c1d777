//! How many arenas the allocator of the GNU C library has. It reads that from the environment, before `main`, so the server
//! sets it and starts itself anew in the same process.
//!
//! Unbounded, it makes up to eight for each core, and memory that one arena has freed is neither given back nor used by
//! another: after a peak the server held twice what it needs.

/// Returns when that is set, by whomever, or cannot be. Nothing may be open or running before this is called.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn bound_arenas() {
    use std::{env, os::unix::process::CommandExt, process::Command};

    const VARIABLE: &str = "MALLOC_ARENA_MAX";
    const ARENAS_MAX: &str = "2";

    if env::var_os(VARIABLE).is_some() || env::var_os("GLIBC_TUNABLES").is_some() {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut arguments = env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // It comes back only if the system does not allow it: then the server is a larger one.
    let _ = command.args(arguments).env(VARIABLE, ARENAS_MAX).exec();
}

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn bound_arenas() {}
