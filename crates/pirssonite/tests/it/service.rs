//! What packages need of the program: a word to the service manager, a health check, completions and manual pages
//! (requirement P1).

use std::{
    os::unix::net::UnixDatagram,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    program::{Running, run, stderr, stdout},
    server::{Data, Place, Server},
};

/// How long a word may take on a busy machine.
const WORD_MAX: Duration = Duration::from_mins(3);

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
    let unit = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/pirssonite.service");
    let mut analyze = Command::new("systemd-analyze");
    // In tenths.
    let Ok(analyzed) = analyze.args(["security", "--offline=true", "--threshold=20"]).arg(unit).output() else {
        // Not every system has systemd.
        return;
    };
    assert!(analyzed.status.success(), "{}{}", stdout(&analyzed), String::from_utf8_lossy(&analyzed.stderr));
}
