//! How many files and connections a server may have open (requirements U8, U5).

use std::process::Command;

use crate::{
    program::stdout,
    server::{Data, Server},
};

/// The soft and the hard limit of open files of a process.
#[cfg(target_os = "linux")]
fn limits(pid: u32) -> (u64, u64) {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap_or(u64::MAX));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn u8_open_file_limit_is_raised() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_after("ulimit -Sn 256; ulimit -Hn 300", Data::Folder(folder.path()));
    assert_eq!(limits(server.pid()), (300, 300));
}

#[test]
fn u5_u8_doctor_notes_low_file_limit() {
    let folder = tempfile::tempdir().unwrap();
    let doctor = |limit: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_pirssonite")]);
        let data = Data::Folder(folder.path()).flags();
        let output = command.args(["doctor", "--listen", "127.0.0.1:0"]).args(data).output().unwrap();
        assert!(output.status.success(), "{}", stdout(&output));
        stdout(&output)
    };
    let low = doctor("ulimit -n 300");
    assert!(low.contains("note   files     a server may open 300 files"), "{low}");
}
