//! Memory is given back after a peak (requirement U8).

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::server::{Data, Server};

/// How many arenas the allocator of a process may have, as its environment says.
fn arenas_max(pid: u32) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let mut variables = environment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    variables.find_map(|variable| Some(variable.strip_prefix("MALLOC_ARENA_MAX=")?.to_owned()))
}

#[test]
fn u8_bounds_the_arenas_of_the_allocator() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_after("unset MALLOC_ARENA_MAX", Data::Folder(folder.path()));
    assert_eq!(arenas_max(server.pid()).as_deref(), Some("2"));
}

#[test]
fn u8_keeps_the_operators_number_of_arenas() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_after("export MALLOC_ARENA_MAX=5", Data::Folder(folder.path()));
    assert_eq!(arenas_max(server.pid()).as_deref(), Some("5"));
}
