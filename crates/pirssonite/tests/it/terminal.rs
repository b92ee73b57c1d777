//! What a person at a terminal sees: columns that fit, lines that end between words, nothing that feeds smuggle in
//! (requirement U5).

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt, process::ExitStatusExt},
    process::{Command, ExitStatus, Stdio},
};

use rustix::{
    fs::OFlags,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use testkit::{Page, Publisher};

use crate::{
    program::{made, ok, on, stderr},
    server::Data,
};

/// A terminal of so many columns, and the end of it at which programs sit.
fn terminal(columns: u16) -> (File, File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it is ours");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).expect("it takes a size");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name");
    let no_control = i32::try_from(OFlags::NOCTTY.bits()).expect("a flag is a small number");
    let path = std::ffi::OsStr::from_bytes(name.to_bytes());
    let screen = OpenOptions::new().read(true).write(true).custom_flags(no_control).open(path).expect("it opens");
    (File::from(terminal), screen)
}

/// What a command prints on a terminal of so many columns.
fn on_terminal(columns: u16, data: Data<'_>, arguments: &[&str]) -> String {
    let (mut terminal, screen) = terminal(columns);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.args(data.flags()).args(arguments).stdin(Stdio::null()).stdout(screen).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    // The last who has the screen is the program then.
    drop(command);
    let mut seen = Vec::new();
    // Reading ends with an error when the program has ended.
    let _ = terminal.read_to_end(&mut seen);
    child.wait().expect("it ends");
    String::from_utf8(seen).expect("it speaks UTF-8").replace("\r\n", "\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_output_fits_terminal_and_is_whole_in_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    let publisher = Publisher::start().await;
    let text = "日本語の記事をここに書きます。とても長い文章なので、端末の幅で折り返されるはずです。";
    let item =
        format!("<item><guid>1</guid><title>{text}</title><description>&lt;p&gt;{text}&lt;/p&gt;</description></item>");
    publisher.set("/feed", Page::body(format!("<rss><channel><title>A feed of {text}</title>{item}</channel></rss>")));
    ok(data, &["add", &publisher.url("/feed"), "--folder", "Daily news"]);

    // A character of two cells for each of these.
    let cells = |line: &str| line.chars().map(|c| if c.is_ascii() || c == '…' { 1 } else { 2 }).sum::<usize>();
    for arguments in [&["list"][..], &["entries"], &["entries", "show", "1"], &["doctor", "--listen", "127.0.0.1:0"]] {
        for columns in [40, 60, 100] {
            let seen = on_terminal(columns, data, arguments);
            assert!(seen.lines().count() >= 2, "{arguments:?}: {seen}");
            let is_address = |line: &str| line.contains('/') && !line.contains(' ');
            let wide: Vec<&str> =
                seen.lines().filter(|line| cells(line) > usize::from(columns) && !is_address(line.trim())).collect();
            assert_eq!(wide, [""; 0], "{arguments:?} {columns}");
        }
    }
    let seen = on_terminal(60, data, &["list"]);
    assert!(seen.starts_with("ID  UNREAD  TITLE"), "{seen}");
    assert!(seen.contains('…') && seen.contains("Daily news"), "{seen}");
    assert!(ok(data, &["list"]).contains(text) && ok(data, &["entries"]).contains(text));
    assert!(ok(data, &["entries", "show", "1"]).lines().any(|line| line == text));
    let doctor = on_terminal(60, data, &["doctor", "--listen", "127.0.0.1:0"]);
    assert!(doctor.contains("\n                 "), "further lines stand below the first: {doctor}");
}

/// What a command shows on standard error to whoever waits for it at a terminal.
fn shown_meanwhile(data: Data<'_>, arguments: &[&str]) -> String {
    let (mut terminal, screen) = terminal(80);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    // On a terminal that cannot move its cursor there are no bars.
    command.args(data.flags()).args(arguments).env("TERM", "xterm");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(screen).spawn().expect("it starts");
    drop(command);
    let mut seen = Vec::new();
    let _ = terminal.read_to_end(&mut seen);
    let seen = String::from_utf8(seen).expect("it speaks UTF-8");
    assert!(child.wait().expect("it ends").success(), "{arguments:?}: {seen}");
    seen
}

#[test]
fn p4_backup_restore_and_copy_show_how_far_they_are() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let data = made(folder.path());
    let [backup, another, target] = ["backup.db", "another.db", "target"].map(|name| elsewhere.path().join(name));
    let [backup, another, target] = [&backup, &another, &target].map(|path| path.to_str().unwrap());
    for (arguments, message) in [
        (&["backup", backup][..], "copying"),
        (&["backup", backup, "--force"][..], "copying"),
        (&["restore", backup, "--replace"][..], "checking"),
        (&["copy", "--to", target][..], "copying"),
    ] {
        let seen = shown_meanwhile(data, arguments);
        assert!(seen.contains(message) && seen.contains(['█', '░']), "{arguments:?}: {seen:?}");
    }
    ok(data, &["copy", "--undo"]);
    assert_eq!(stderr(&on(data, &["backup", another])), "", "nobody waits at a pipe");
}

/// Types an answer to each question of a command; returns what was shown, how it ended, and whether the terminal shows
/// again what is typed.
fn answered(data: Data<'_>, arguments: &[&str], answers: &[(&str, &str)]) -> (String, ExitStatus, bool) {
    let (mut terminal, screen) = terminal(80);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.args(data.flags()).args(arguments).stdout(Stdio::null());
    let mut child = command.stdin(screen.try_clone().unwrap()).stderr(screen).spawn().unwrap();
    drop(command);
    let mut seen = String::new();
    for (question, answer) in answers {
        let mut shown = [0; 256];
        while !seen.ends_with(question) {
            let count = terminal.read(&mut shown).expect("it asks");
            seen.push_str(std::str::from_utf8(&shown[..count]).unwrap());
        }
        terminal.write_all(answer.as_bytes()).unwrap();
    }
    let ended = child.wait().unwrap();
    let modes = tcgetattr(&terminal).unwrap().local_modes;
    (seen, ended, modes.contains(LocalModes::ECHO | LocalModes::ISIG))
}

#[test]
fn a1_password_is_asked_for_without_showing_it_and_ctrl_c_ends_that() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    let [first, again] = ["New password: ", "Once more: "];

    let typed = [(first, "correct horse\n"), (again, "correct horse\n")];
    let (seen, ended, is_shown) = answered(data, &["account", "add", "anna"], &typed);
    assert!(ended.success() && is_shown, "{seen}");
    assert!(!seen.contains("correct"), "{seen}");
    assert!(ok(data, &["account", "list"]).contains("anna"));

    for typed in [&[(first, "half a pass\u{3}")][..], &[(first, "correct horse\n"), (again, "\u{3}")]] {
        let (seen, ended, is_shown) = answered(data, &["account", "add", "ben"], typed);
        assert_eq!(ended.signal(), Some(2), "{seen}");
        assert!(is_shown, "what is typed next is shown");
    }
    assert!(!ok(data, &["account", "list"]).contains("ben"));
}
