//! That the tests leave no process behind, however they end.

use std::{
    io::{BufRead, BufReader, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use crate::{
    program::Running,
    server::{Data, Server},
};

/// Tells the test that is killed from the same test run by somebody who runs all that are ignored.
const HOLD: &str = "PIRSSONITE_TEST_HOLD";

/// How long a process may take to be killed.
const END_MAX: Duration = Duration::from_mins(3);

#[test]
fn harness_ends_server_when_test_panics() {
    let folder = tempfile::tempdir().unwrap();
    let mut pid = None;
    let test = AssertUnwindSafe(|| {
        let server = Server::start(Data::Folder(folder.path()), &[]);
        pid = Some(server.pid());
        panic!("as a failing assertion does, with the server {} running", server.url);
    });
    assert!(catch_unwind(test).is_err());
    let pid = pid.expect("it was started").to_string();
    let known = Command::new("kill").args(["-0", &pid]).stderr(Stdio::null()).status().unwrap();
    assert!(!known.success(), "process {pid} is still there");
}

#[test]
#[ignore = "the other half of the test below, which kills it"]
fn harness_holds_server_until_killed() {
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Data::Folder(folder.path()), &[]);
    println!("\nholding {}", server.url);
    loop {
        std::thread::park();
    }
}

#[test]
fn harness_ends_server_when_tests_are_killed() {
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--exact", "harness::harness_holds_server_until_killed", "--ignored", "--nocapture"]).env(HOLD, "1");
    let mut tests = Running::start(tests.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut output = BufReader::new(tests.process.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("holding") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "it did not get as far as the server");
    }
    tests.process.kill().unwrap();
    // The server has the same standard output: it ends when the last who has it does.
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(output.read_to_end(&mut Vec::new()).is_ok()));
    assert_eq!(end.recv_timeout(END_MAX), Ok(true), "the server outlives the tests");
}
