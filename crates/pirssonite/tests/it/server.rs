//! The real program, serving, until it is told to stop or killed.

use std::{
    io::{BufRead, BufReader, Lines, Read},
    net::SocketAddr,
    path::Path,
    process::{ChildStderr, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use serde_json::Value;
use tokio::net::TcpSocket;

use crate::program::Running;

/// Any port that is free.
const ANY: &str = "127.0.0.1:0";

/// Where its data is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Data<'a> {
    Folder(&'a Path),
    /// A database, and a folder for what a node keeps besides.
    Database(&'a str, &'a Path),
}

impl Data<'_> {
    /// The flags that say so.
    pub(crate) fn flags(&self) -> Vec<String> {
        let (folder, url) = match self {
            Self::Folder(folder) => (folder, None),
            Self::Database(url, folder) => (folder, Some(*url)),
        };
        let database = url.map(|url| ["--database-url".to_owned(), url.to_owned()]);
        let folder = ["--data-dir".to_owned(), folder.display().to_string()];
        folder.into_iter().chain(database.into_iter().flatten()).collect()
    }
}

/// An address on loopback that nobody else is given: servers may listen there, one after the other, and nobody answers
/// in between.
pub(crate) struct Place {
    /// Bound, but not listening.
    _socket: TcpSocket,
    address: SocketAddr,
}

impl Place {
    pub(crate) fn reserve() -> Self {
        let socket = TcpSocket::new_v4().expect("there are sockets");
        socket.set_reuseaddr(true).expect("an address can be used again");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port on loopback is free");
        let address = socket.local_addr().expect("a bound socket has an address");
        Self { _socket: socket, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A server that runs. Killed when it goes out of scope.
pub(crate) struct Server {
    running: Running,
    pub(crate) url: String,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// Starts it and waits until it serves.
    pub(crate) fn start(data: Data<'_>, more: &[&str]) -> Self {
        Self::start_on(ANY, data, more)
    }

    /// The same at this place, which it also tells hubs.
    pub(crate) fn start_at(place: &Place, data: Data<'_>, more: &[&str]) -> Self {
        let base_url = place.url();
        let more: Vec<&str> = ["--base-url", &base_url].into_iter().chain(more.iter().copied()).collect();
        Self::start_on(&place.address.to_string(), data, &more)
    }

    /// The same at this place, which no hub learns of.
    pub(crate) fn start_without_base_url_at(place: &Place, data: Data<'_>) -> Self {
        Self::start_on(&place.address.to_string(), data, &[])
    }

    /// The same by a shell that runs this first, such as `ulimit`.
    pub(crate) fn start_after(first: &str, data: Data<'_>) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{first}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_pirssonite")]);
        Self::start_command(shell, ANY, data, &[], Stdio::inherit()).0
    }

    /// The same on this address.
    pub(crate) fn start_on(listen: &str, data: Data<'_>, more: &[&str]) -> Self {
        let (server, lines) = Self::start_with_log(listen, data, more, Stdio::inherit());
        let rest = server.log.clone();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| note(&rest, &line)));
        server
    }

    /// Starts it and, once it serves, closes the pipe that its log goes into.
    pub(crate) fn start_unread(data: Data<'_>) -> Self {
        Self::start_with_log(ANY, data, &[], Stdio::piped()).0
    }

    fn start_with_log(
        listen: &str,
        data: Data<'_>,
        more: &[&str],
        stdout: Stdio,
    ) -> (Self, Lines<BufReader<ChildStderr>>) {
        Self::start_command(Command::new(env!("CARGO_BIN_EXE_pirssonite")), listen, data, more, stdout)
    }

    fn start_command(
        mut command: Command,
        listen: &str,
        data: Data<'_>,
        more: &[&str],
        stdout: Stdio,
    ) -> (Self, Lines<BufReader<ChildStderr>>) {
        command.args(["serve", "--listen", listen, "--allow-networks", "127.0.0.0/8"]);
        let mut running = Running::start(command.args(data.flags()).args(more).stdout(stdout).stderr(Stdio::piped()));
        let mut lines = BufReader::new(running.process.stderr.take().expect("its log is a pipe")).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            note(&log, &line);
            // `listen=` in text, `"listen":"` in JSON.
            let rest = line.split("listen=").nth(1).or_else(|| line.split("\"listen\":\"").nth(1))?;
            rest.split([' ', '"']).next().map(str::to_owned)
        });
        let Some(address) = address else { panic!("it did not serve: {}", log.lock().unwrap()) };
        (Self { running, url: format!("http://{address}"), log }, lines)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.url.trim_start_matches("http://").parse().expect("its URL is its address")
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.running.process.id()
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Asks its API; returns status and body.
    pub(crate) async fn call(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> (u16, Value) {
        ask(&self.url, method, path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call(reqwest::Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// As a loss of power to it: SIGKILL.
    pub(crate) fn kill(mut self) {
        self.running.process.kill().expect("it can be killed");
        self.running.process.wait().expect("it ends");
    }

    /// SIGTERM, and how it ended, for one whose standard output is ours: that ends when it does.
    pub(crate) fn terminate_within(mut self, most: Duration) -> ExitStatus {
        let mut stdout = self.running.process.stdout.take().expect("its standard output is a pipe");
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || ended.send(stdout.read_to_end(&mut Vec::new()).is_ok()));
        self.running.signal("-TERM");
        assert_eq!(end.recv_timeout(most), Ok(true), "it does not stop");
        self.running.process.wait().expect("it ends")
    }

    /// Sends it a signal, and does not wait for anything: `-STOP` freezes it, `-CONT` lets it go on.
    pub(crate) fn signal(&self, signal: &str) {
        self.running.signal(signal);
    }

    /// SIGTERM, and how it ended.
    pub(crate) fn terminate(self) -> (ExitStatus, String) {
        self.signal("-TERM");
        self.end()
    }

    /// How it ended, once it has.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let status = self.running.process.wait().expect("it ends");
        (status, self.log())
    }
}

/// Asks the API of the server at this URL; returns status and body.
pub(crate) async fn ask(url: &str, method: reqwest::Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let request = client().request(method, format!("{url}{path}"));
    let request = match body {
        Some(body) => request.header("content-type", "application/json").body(body.to_string()),
        None => request,
    };
    let response = request.send().await.expect("it answers");
    let status = response.status().as_u16();
    let text = response.text().await.expect("it answers to the end");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// A client for tests.
pub(crate) fn client() -> reqwest::Client {
    // Another test may have done so before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client can be made")
}

fn note(log: &Mutex<String>, line: &str) {
    let mut log = log.lock().unwrap();
    log.push_str(line);
    log.push('\n');
}
