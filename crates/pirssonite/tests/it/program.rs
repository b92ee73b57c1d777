//! Runs the program and looks at what it says.

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Output, Stdio},
    thread::JoinHandle,
};

/// Runs the program with these arguments and this standard input, to its end.
pub(crate) fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pirssonite"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It may end before it has read all: then the pipe breaks, which is its right.
    let _ = child.stdin.take().expect("it has a standard input").write_all(input);
    child.wait_with_output().expect("the program ends")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("it speaks UTF-8")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("it speaks UTF-8")
}

/// Answers requests on loopback, one after the other, with these answers, and returns the requests.
pub(crate) fn answer(answers: Vec<Vec<u8>>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it has an address"));
    let server = std::thread::spawn(move || {
        answers
            .into_iter()
            .map(|answer| {
                let (mut connection, _) = listener.accept().expect("a client comes");
                let mut request = [0; 4096];
                let length = connection.read(&mut request).expect("it asks");
                // It may hang up as soon as it has enough.
                let _ = connection.write_all(&answer);
                String::from_utf8_lossy(&request[..length]).into_owned()
            })
            .collect()
    });
    (url, server)
}
