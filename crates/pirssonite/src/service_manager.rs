//! What a service manager such as systemd is told: that the server is ready, that it lives, that it stops. Where there is
//! none, nobody is told anything. The protocol is that of `sd_notify(3)`: one datagram for each, to the socket that
//! `NOTIFY_SOCKET` names.
//!
//! Signs of life come from the runtime that answers requests: if that hangs, they end. A database that is away is no reason
//! to start anew, and stops none.

use std::{env, io, os::unix::net::UnixDatagram, time::Duration};

const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";
/// How long the service manager waits for a sign of life, in microseconds, and of which process.
const WATCHDOG_VARIABLE: &str = "WATCHDOG_USEC";
const WATCHDOG_PID_VARIABLE: &str = "WATCHDOG_PID";

/// Signs of life in the time that one may take.
const BEATS_IN_TIME: u32 = 3;

/// It has been started, and answers. Signs of life follow, if they are wanted, until the process ends.
pub(crate) fn ready() {
    notify("READY=1\nSTATUS=serving");
    if let Some(time) = watchdog_time(variable(WATCHDOG_VARIABLE), variable(WATCHDOG_PID_VARIABLE), std::process::id())
    {
        tokio::spawn(async move {
            let mut beats = tokio::time::interval(time / BEATS_IN_TIME);
            loop {
                beats.tick().await;
                notify("WATCHDOG=1");
            }
        });
    }
}

/// It was told to stop, and ends what it has begun.
pub(crate) fn stopping() {
    notify("STOPPING=1\nSTATUS=stopping");
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// How long a sign of life may take, if this process is asked for any.
fn watchdog_time(micros: Option<String>, of_process: Option<String>, process: u32) -> Option<Duration> {
    let is_other = of_process.is_some_and(|other| other.parse() != Ok(process));
    let micros = micros?.parse().ok().filter(|micros| *micros > 0 && !is_other)?;
    Some(Duration::from_micros(micros))
}

fn notify(state: &str) {
    let Some(socket) = variable(SOCKET_VARIABLE).filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, "service manager not reached");
    }
}

fn send(socket: &str, state: &str) -> io::Result<()> {
    let own = UnixDatagram::unbound()?;
    match socket.strip_prefix('@') {
        Some(name) => send_to_name(&own, name, state),
        None => own.send_to(state.as_bytes(), socket).map(drop),
    }
}

/// A socket without a file is Linux's alone.
#[cfg(target_os = "linux")]
fn send_to_name(own: &UnixDatagram, name: &str, state: &str) -> io::Result<()> {
    use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};

    own.send_to_addr(state.as_bytes(), &SocketAddr::from_abstract_name(name)?).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn send_to_name(_: &UnixDatagram, _: &str, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_watchdog_is_of_this_process_alone() {
        let check = |micros: &str, of_process: Option<&str>, expect: Option<u64>| {
            let time = watchdog_time(Some(micros.to_owned()), of_process.map(str::to_owned), 7);
            assert_eq!(time, expect.map(Duration::from_micros), "{micros} {of_process:?}");
        };
        check("30000000", None, Some(30_000_000));
        check("30000000", Some("7"), Some(30_000_000));
        check("30000000", Some("8"), None);
        check("30000000", Some("x"), None);
        check("0", None, None);
        check("soon", None, None);
        assert_eq!(watchdog_time(None, None, 7), None);
    }

    #[test]
    fn p1_state_goes_to_files_and_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notify");
        let by_file = UnixDatagram::bind(&file).unwrap();
        send(file.to_str().unwrap(), "READY=1").unwrap();
        let mut heard = [0; 64];
        let length = by_file.recv(&mut heard).unwrap();
        assert_eq!(&heard[..length], b"READY=1");
        assert!(send(folder.path().join("none").to_str().unwrap(), "READY=1").is_err());
    }
}
