//! What packages need of the program: a word to the service manager, a health check, completions and manual pages
//! (requirement P1).

use std::{
    fs,
    io::Write,
    os::unix::net::UnixDatagram,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    program::{Running, run, stderr, stdout},
    server::{Data, Place, Server},
};

/// How long a word may take on a busy machine.
const WORD_MAX: Duration = Duration::from_mins(3);

/// What the unit says, each once: how the service tells how it is, and all that it may not do. Not every system has the
/// `systemd-analyze` that judges the latter.
const SERVICE: [(&str, &str); 33] = [
    ("Type", "notify"),
    ("NotifyAccess", "main"),
    ("WatchdogSec", "60"),
    ("Restart", "always"),
    ("User", "pirssonite"),
    ("StateDirectoryMode", "0700"),
    ("AmbientCapabilities", ""),
    ("CapabilityBoundingSet", ""),
    ("DevicePolicy", "closed"),
    ("LockPersonality", "yes"),
    ("MemoryDenyWriteExecute", "yes"),
    ("NoNewPrivileges", "yes"),
    ("PrivateDevices", "yes"),
    ("PrivateIPC", "yes"),
    ("PrivateTmp", "yes"),
    ("PrivateUsers", "yes"),
    ("ProcSubset", "pid"),
    ("ProtectClock", "yes"),
    ("ProtectControlGroups", "yes"),
    ("ProtectHome", "yes"),
    ("ProtectHostname", "yes"),
    ("ProtectKernelLogs", "yes"),
    ("ProtectKernelModules", "yes"),
    ("ProtectKernelTunables", "yes"),
    ("ProtectProc", "invisible"),
    ("ProtectSystem", "strict"),
    ("RemoveIPC", "yes"),
    ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX AF_NETLINK"),
    ("RestrictNamespaces", "yes"),
    ("RestrictRealtime", "yes"),
    ("RestrictSUIDSGID", "yes"),
    ("SystemCallArchitectures", "native"),
    ("UMask", "0077"),
];

#[test]
fn p1_service_manager_hears_of_readiness_life_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(WORD_MAX)).unwrap();
    let word = || {
        let mut heard = [0; 256];
        let length = manager.recv(&mut heard).expect("it says something");
        String::from_utf8(heard[..length].to_vec()).unwrap()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path().join("data"));
    command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "60000").stderr(Stdio::null());
    let mut server = Running::start(&mut command);
    assert!(word().starts_with("READY=1"));
    for _ in 0..3 {
        assert_eq!(word(), "WATCHDOG=1");
    }
    server.signal("-TERM");
    while !word().starts_with("STOPPING=1") {}
    assert!(server.process.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_healthcheck_asks_the_server_that_listens() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Place::reserve());
    let listen = place.url().trim_start_matches("http://").to_owned();
    let check = |more: &[&str]| run(&[&["healthcheck", "--listen", &listen], more].concat(), b"");
    let none = check(&[]);
    assert_eq!(none.status.code(), Some(1));
    assert!(stderr(&none).contains("no server answers"), "{}", stderr(&none));
    let server = Server::start_on(&listen, Data::Folder(folder.path()), &[]);
    for more in [&[][..], &["--ready"]] {
        let output = check(more);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stdout(&output).starts_with(&server.url));
    }
}

#[test]
fn p1_completions_and_manual_come_from_the_command_line() {
    for (shell, expect) in [("bash", "complete -F"), ("zsh", "#compdef pirssonite"), ("fish", "complete -c pirssonite")]
    {
        let output = run(&["completions", shell], b"");
        assert!(output.status.success(), "{}", stderr(&output));
        let script = stdout(&output);
        assert!(script.contains(expect) && script.contains("webhook") && script.contains("poll-min"), "{shell}");
    }
    let page = stdout(&run(&["man"], b""));
    assert!(
        page.contains(".TH pirssonite 1") && page.contains("\\-\\-poll\\-min") && page.contains("backup"),
        "{page}"
    );

    let folder = tempfile::tempdir().unwrap();
    let output = run(&["man", "--to", folder.path().to_str().unwrap()], b"");
    assert!(output.status.success(), "{}", stderr(&output));
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(page("pirssonite.1").contains("poll\\-min"));
    let backup = page("pirssonite-backup.1");
    assert!(backup.contains("force") && !backup.contains("poll\\-min"), "{backup}");
    assert!(page("pirssonite-webhook-add.1").contains("url") || page("pirssonite-webhook-add.1").contains("URL"));
}

#[test]
fn p1_unit_is_hardened() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/pirssonite.service");
    let unit = fs::read_to_string(&file).unwrap();
    let (_, service) = unit.split_once("\n[Service]\n").unwrap();
    let service = service.split("\n[").next().unwrap();
    for (name, value) in SERVICE {
        let given: Vec<_> =
            service.lines().filter_map(|line| line.split_once('=')).filter(|(key, _)| *key == name).collect();
        assert_eq!(given, [(name, value)]);
    }
    assert!(service.contains("\nSystemCallFilter=@system-service\nSystemCallFilter=~@privileged @resources\n"));
    let mut analyze = Command::new("systemd-analyze");
    // In tenths.
    match analyze.args(["security", "--offline=true", "--threshold=20"]).arg(&file).output() {
        Ok(analyzed) => assert!(analyzed.status.success(), "{}{}", stdout(&analyzed), stderr(&analyzed)),
        Err(error) => {
            // Past the runner, which shows nothing of tests that pass.
            let told = "p1_unit_is_hardened: NOT judged by systemd-analyze; install systemd to have it so";
            let _ = writeln!(std::io::stderr(), "{told}: {error}");
        }
    }
}
