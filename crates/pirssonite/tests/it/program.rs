//! Runs the program and looks at what it says.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{ChildStderr, Command, ExitStatus, Output, Stdio},
    thread::JoinHandle,
};

use serde_json::Value;
pub(crate) use testkit::Running;

use crate::server::Data;

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

/// Runs a command on some data, to its end. Feeds may be on loopback.
pub(crate) fn on(data: Data<'_>, arguments: &[&str]) -> Output {
    let all = all_arguments(data, arguments);
    run(&all.iter().map(String::as_str).collect::<Vec<_>>(), b"")
}

/// The same of one that goes well: what it prints.
pub(crate) fn ok(data: Data<'_>, arguments: &[&str]) -> String {
    let output = on(data, arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// The same of one that prints JSON.
pub(crate) fn json_of(data: Data<'_>, arguments: &[&str]) -> Value {
    serde_json::from_str(&ok(data, arguments)).expect("it prints JSON")
}

/// A data folder with a database in it, made as users make it: commands that only look make none.
pub(crate) fn made(folder: &Path) -> Data<'_> {
    let folder_name = folder.to_str().expect("its name is UTF-8");
    let output = run(&["--data-dir", folder_name, "import", "-"], b"<opml version='2.0'><body/></opml>");
    assert!(output.status.success(), "{}", stderr(&output));
    Data::Folder(folder)
}

fn all_arguments(data: Data<'_>, arguments: &[&str]) -> Vec<String> {
    let allowed = ["--allow-networks".to_owned(), "127.0.0.0/8".to_owned()];
    allowed.into_iter().chain(data.flags()).chain(arguments.iter().map(|argument| (*argument).to_owned())).collect()
}

/// A command that runs beside the test.
pub(crate) struct Background {
    running: Running,
    stderr: BufReader<ChildStderr>,
}

impl Background {
    /// Starts a command on some data. Feeds may be on loopback.
    pub(crate) fn start(data: Data<'_>, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
        command.args(all_arguments(data, arguments)).stdin(Stdio::null());
        let mut running = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let stderr = BufReader::new(running.process.stderr.take().expect("its standard error is a pipe"));
        Self { running, stderr }
    }

    /// Waits until it says this on standard error.
    pub(crate) fn says(&mut self, what: &str) {
        let mut said = String::new();
        while !said.contains(what) {
            let length = self.stderr.read_line(&mut said).expect("it speaks UTF-8");
            assert!(length > 0, "it ended without saying {what:?}: {said}");
        }
    }

    /// As Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        self.running.signal("-INT");
    }

    /// Waits for its end: how it ended, what it printed, and what else it said on standard error.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        let pipe = self.running.process.stdout.as_mut().expect("its standard output is a pipe");
        pipe.read_to_string(&mut stdout).expect("it speaks UTF-8");
        self.stderr.read_to_string(&mut stderr).expect("it speaks UTF-8");
        (self.running.process.wait().expect("it ends"), stdout, stderr)
    }
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
                let request = read_request(&mut connection);
                // It may hang up as soon as it has enough.
                let _ = connection.write_all(&answer);
                request
            })
            .collect()
    });
    (url, server)
}

/// Reads a request to its end. A connection that is closed with something unread is reset, and the answer may be lost.
fn read_request(connection: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let length = connection.read(&mut piece).expect("it asks");
        request.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&request);
        if length == 0 || is_whole(&text) {
            return text.into_owned();
        }
    }
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length = |line: &str| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
    body.len() >= head.lines().find_map(length).unwrap_or(0)
}
