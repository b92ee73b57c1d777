//! The real program, serving, until it is told to stop or killed.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
};

use serde_json::Value;

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

/// A server that runs. Killed when it goes out of scope.
pub(crate) struct Server {
    process: Child,
    pub(crate) url: String,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// Starts it and waits until it serves.
    pub(crate) fn start(data: Data<'_>, more: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_pirssonite"))
            .args(["serve", "--listen", "127.0.0.1:0", "--allow-networks", "127.0.0.0/8"])
            .args(data.flags())
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(process.stderr.take().expect("its log is a pipe")).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            note(&log, &line);
            // `listen=` in text, `"listen":"` in JSON.
            let rest = line.split("listen=").nth(1).or_else(|| line.split("\"listen\":\"").nth(1))?;
            rest.split([' ', '"']).next().map(str::to_owned)
        });
        let Some(address) = address else { panic!("it did not serve: {}", log.lock().unwrap()) };
        let rest = log.clone();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| note(&rest, &line)));
        Self { process, url: format!("http://{address}"), log }
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Asks its API; returns status and body.
    pub(crate) async fn call(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = client().request(method, format!("{}{path}", self.url));
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        let response = request.send().await.expect("it answers");
        let status = response.status().as_u16();
        let text = response.text().await.expect("it answers to the end");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call(reqwest::Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// As a loss of power to it: SIGKILL.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it ends");
    }

    /// SIGTERM, and how it ended.
    pub(crate) fn terminate(mut self) -> (ExitStatus, String) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill is there").success());
        let status = self.process.wait().expect("it ends");
        (status, self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
