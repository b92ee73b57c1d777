//! What this process has used, and others like it that do one job and answer.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};
use serde::{Serialize, de::DeserializeOwned};

/// CPU seconds that this process has used, all threads together.
pub(crate) fn cpu_secs() -> f64 {
    secs(ClockId::ProcessCPUTime)
}

/// Seconds of a clock that only ever goes forward.
pub(crate) fn wall_secs() -> f64 {
    secs(ClockId::Monotonic)
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a day fit into 52 bits")]
fn secs(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory that this process has had until now.
pub(crate) fn peak_bytes() -> anyhow::Result<usize> {
    memory("self", "VmHWM:")
}

/// The memory that this process has now.
pub(crate) fn resident_bytes() -> anyhow::Result<usize> {
    memory("self", "VmRSS:")
}

/// The same of another process.
pub(crate) fn peak_bytes_of(process: u32) -> anyhow::Result<usize> {
    memory(&process.to_string(), "VmHWM:")
}

pub(crate) fn resident_bytes_of(process: u32) -> anyhow::Result<usize> {
    memory(&process.to_string(), "VmRSS:")
}

fn memory(process: &str, name: &str) -> anyhow::Result<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .with_context(|| format!("the system does not say {name}"))?;
    let kib: usize = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}

/// An address that nobody has now.
pub(crate) fn free_address() -> anyhow::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Has a job done by this same program in a process of its own.
pub(crate) fn run_job<J: Serialize, A: DeserializeOwned>(subcommand: &str, job: &J) -> anyhow::Result<A> {
    let output = this_program()?.args([subcommand, &serde_json::to_string(job)?]).stderr(Stdio::inherit()).output()?;
    anyhow::ensure!(output.status.success(), "a job ended with {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The other side: prints the answer.
pub(crate) fn print_result<A: Serialize>(answer: &A) -> anyhow::Result<()> {
    Ok(serde_json::to_writer(std::io::stdout(), answer)?)
}

/// This same program again, with as many arenas of the allocator as the server has (see `allocator.rs` there).
fn this_program() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        command.env("MALLOC_ARENA_MAX", "2");
    }
    Ok(command)
}

/// This same program, serving in a process of its own, so that what it costs is not counted. It ends with this.
pub(crate) struct ServerProcess {
    process: Child,
    /// The line that it said when it was ready: where it is reached.
    pub(crate) ready_line: String,
}

impl ServerProcess {
    pub(crate) fn start(arguments: &[&str]) -> anyhow::Result<Self> {
        let process = this_program()?.args(arguments).stdout(Stdio::piped()).spawn()?;
        let mut server = Self { process, ready_line: String::new() };
        let output = server.process.stdout.take().context("its output is a pipe")?;
        BufReader::new(output).read_line(&mut server.ready_line)?;
        anyhow::ensure!(server.ready_line.ends_with('\n'), "a server ended before it was ready");
        server.ready_line.truncate(server.ready_line.trim_end().len());
        Ok(server)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
