//! A server of the real program, which can be killed, frozen, started anew, and deprived of its disk.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use anyhow::Context;

/// How a server is set: all that takes minutes in earnest takes seconds.
const FLAGS: [&str; 22] = [
    "--allow-networks",
    "127.0.0.0/8",
    "--poll-min",
    "2s",
    "--poll-max",
    "4s",
    "--host-concurrency",
    "16",
    "--push-rate",
    "1000000",
    "--retry-first",
    "500ms",
    "--retry-max",
    "5s",
    "--probe-first",
    "500ms",
    "--probe-max",
    "2s",
    // What is owed is looked for at the end, however long that takes to come.
    "--prune-beyond",
    "100000000",
    "--log",
    "warn",
];

pub(crate) struct Server {
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    address: String,
    process: Mutex<Option<Child>>,
}

impl Server {
    /// A server that is not started yet. All share one base URL, which the hub is told.
    pub(crate) fn new(program: &Path, folder: &Path, address: &str, base_url: &str, database: Option<&str>) -> Self {
        let data = folder.join("data");
        let own = ["--listen", address, "--base-url", base_url, "--data-dir"].map(str::to_owned);
        let database = database.map(|url| ["--database-url".to_owned(), url.to_owned()]);
        let arguments = own.into_iter().chain([data.display().to_string()]).chain(database.into_iter().flatten());
        Self {
            program: program.to_owned(),
            arguments: arguments.chain(FLAGS.map(str::to_owned)).collect(),
            log: folder.join("log"),
            address: address.to_owned(),
            process: Mutex::new(None),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn start(&self) -> anyhow::Result<()> {
        let log = File::options().append(true).create(true).open(&self.log)?;
        // A file that becomes too long is an error to it, as a full disk is.
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(&self.program).arg("serve").args(&self.arguments);
        let process = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        *self.process() = Some(process);
        Ok(())
    }

    /// As a loss of power to it.
    pub(crate) fn kill(&self) -> anyhow::Result<()> {
        if let Some(mut process) = self.process().take() {
            process.kill()?;
            process.wait()?;
        }
        Ok(())
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&self) -> anyhow::Result<bool> {
        let mut process = self.process();
        let Some(running) = process.as_mut() else { return Ok(false) };
        Ok(running.try_wait()?.is_some())
    }

    pub(crate) fn signal(&self, signal: &str) -> anyhow::Result<()> {
        let Some(id) = self.id() else { return Ok(()) };
        let sent = Command::new("kill").args([signal, &id.to_string()]).status()?;
        anyhow::ensure!(sent.success(), "the server could not be sent {signal}");
        Ok(())
    }

    /// Lets it write no file longer than this; without a number, any.
    pub(crate) fn limit_files(&self, bytes: Option<u64>) -> anyhow::Result<()> {
        let Some(id) = self.id() else { return Ok(()) };
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let set =
            Command::new("prlimit").args(["--pid", &id.to_string(), &format!("--fsize={limit}:unlimited")]).status();
        anyhow::ensure!(set.context("prlimit")?.success(), "the limit could not be set");
        Ok(())
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.process().as_ref().map(Child::id)
    }

    /// The last lines that it has logged.
    pub(crate) fn log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
