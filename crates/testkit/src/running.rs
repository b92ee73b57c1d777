//! Programs that run beside a test, and never longer than it.

use std::process::{Child, Command, Stdio};

/// A process that runs, and is killed when this goes out of scope, also when the test panics. Should the tests
/// themselves be killed, a watcher kills it.
#[derive(Debug)]
pub struct Running {
    pub process: Child,
    watcher: Option<Child>,
}

impl Running {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// If there is no such program, or no shell.
    pub fn start(command: &mut Command) -> Self {
        let process = command.spawn().expect("the program starts");
        let mut running = Self { process, watcher: None };
        // Its standard input ends when we do, however that is.
        let watch = format!("cat >/dev/null; kill -9 {}", running.process.id());
        let mut watcher = Command::new("sh");
        watcher.args(["-c", &watch]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        running.watcher = Some(watcher.spawn().expect("there is a shell"));
        running
    }

    /// Sends it a signal, such as `-TERM`.
    ///
    /// # Panics
    ///
    /// If it has ended.
    pub fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill is there").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The watcher first: once the process is gone, its number may be another's.
        if let Some(watcher) = &mut self.watcher {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
