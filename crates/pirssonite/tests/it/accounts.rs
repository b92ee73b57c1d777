//! Passwords, accounts and tokens, as a user sets them (requirements A1, A3, A4 and A5).

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt, fs::PermissionsExt},
    process::{Command, Output, Stdio},
    time::Duration,
};

use reqwest::Method;
use rustix::{
    fs::OFlags,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use serde_json::Value;
use testkit::fresh_postgres;

use crate::{
    program::{made, ok, on, stderr, stdout},
    server::{Data, Server, client},
};

const PASSWORD: &str = "correct horse";

/// Runs a command that reads a password from standard input.
fn with_password(data: Data<'_>, arguments: &[&str], password: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.args(arguments).args(data.flags()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("it is a pipe").write_all(format!("{password}\n").as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

fn json(output: &str) -> Value {
    serde_json::from_str(output).expect("it is JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn a3_a5_a_password_turns_the_login_on_and_commands_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let server = Server::start(data, &[]);
    assert_eq!(server.get("/api/account").await["name"], "reader");
    let short = with_password(data, &["account", "password"], "short");
    assert!(!short.status.success() && stderr(&short).contains("at least 8 characters"), "{}", stderr(&short));
    let set = with_password(data, &["account", "password"], PASSWORD);
    assert!(stdout(&set).contains("the password of reader is set; from now on"), "{}{}", stdout(&set), stderr(&set));
    assert_eq!(server.call(Method::GET, "/api/folders", None).await.0, 401);
    ok(data, &["folder", "add", "Daily"]);

    let token = folder.path().join("server-token");
    assert_eq!(fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!server.log().contains(fs::read_to_string(&token).unwrap().trim()), "it is logged nowhere");
    // Whoever may not read it is told to log in.
    fs::remove_file(&token).unwrap();
    let refused = on(data, &["folder"]);
    assert!(!refused.status.success() && stderr(&refused).contains("not logged in"), "{}", stderr(&refused));
    assert!(server.terminate().0.success());
    // Who has the database needs no login.
    assert!(ok(data, &["folder"]).contains("Daily"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a3_first_password_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    let data = folder.path().join("data");
    let export = |file: &str| format!("export PIRSSONITE_PASSWORD_FILE='{file}'");
    let server = Server::start_after(&export(&file.display().to_string()), Data::Folder(&data));
    assert_eq!(server.call(Method::GET, "/api/folders", None).await.0, 401);
    let login = |password: &str| serde_json::json!({ "name": "reader", "password": password });
    assert_eq!(server.call(Method::POST, "/api/session", Some(login(PASSWORD))).await.0, 200);
    drop(server);
    // With the next start it says nothing any more.
    fs::write(&file, "another horse\n").unwrap();
    let server = Server::start_after(&export(&file.display().to_string()), Data::Folder(&data));
    assert_eq!(server.call(Method::POST, "/api/session", Some(login("another horse"))).await.0, 401);
    assert_eq!(server.call(Method::POST, "/api/session", Some(login(PASSWORD))).await.0, 200);
}

/// Asks a node as whoever has this.
async fn status(node: &Server, method: Method, path: &str, header: &str, value: &str) -> u16 {
    let request = client().request(method, format!("{}{path}", node.url)).header(header, value);
    request.header("origin", &node.url).send().await.unwrap().status().as_u16()
}

/// Waits until a node refuses whoever has this: all that is asked more than a second from now has to be refused.
async fn ends_within_a_second(node: &Server, header: &str, value: &str) {
    let ended = tokio::time::Instant::now();
    loop {
        let asked = ended.elapsed();
        match status(node, Method::GET, "/api/folders", header, value).await {
            401 => return,
            other => assert!(asked < Duration::from_secs(1), "{other} after {asked:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a4_a5_two_nodes_share_sessions_and_tokens() {
    let (database, folders) = (fresh_postgres().await, [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()]);
    let data = |node: usize| Data::Database(database.url(), folders[node].path());
    let nodes = [Server::start(data(0), &[]), Server::start(data(1), &[])];
    for node in &nodes {
        assert_eq!(status(node, Method::GET, "/api/folders", "accept", "*/*").await, 200);
    }
    assert!(with_password(data(0), &["account", "password"], PASSWORD).status.success());
    for node in &nodes {
        ends_within_a_second(node, "accept", "*/*").await;
    }
    for (node, other) in [(&nodes[0], &nodes[1]), (&nodes[1], &nodes[0])] {
        let login = client().post(format!("{}/api/session", node.url)).header("content-type", "application/json");
        let login = login.body(serde_json::json!({ "name": "reader", "password": PASSWORD }).to_string());
        let login = login.send().await.unwrap();
        let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        for node in [node, other] {
            assert_eq!(status(node, Method::GET, "/api/folders", "cookie", &cookie).await, 200);
        }
        assert_eq!(status(node, Method::DELETE, "/api/session", "cookie", &cookie).await, 204);
        for node in [node, other] {
            ends_within_a_second(node, "cookie", &cookie).await;
        }
    }
    let token = format!("Bearer {}", ok(data(0), &["token", "add", "a program"]).trim());
    for node in &nodes {
        assert_eq!(status(node, Method::GET, "/api/folders", "authorization", &token).await, 200);
    }
    ok(data(1), &["token", "revoke", "a program"]);
    for node in &nodes {
        ends_within_a_second(node, "authorization", &token).await;
    }
}

#[test]
fn a1_accounts_are_managed_by_commands() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    let add = with_password(data, &["account", "add", "Ann"], PASSWORD);
    assert!(stdout(&add).starts_with("added account 2: Ann; from now on"), "{}{}", stdout(&add), stderr(&add));
    // Whoever was let in without a password needs one now.
    assert!(stdout(&add).contains("`reader` cannot log in without a password"), "{}", stdout(&add));
    let another = with_password(data, &["account", "add", "Eve"], PASSWORD);
    assert_eq!(stdout(&another).trim(), "added account 3: Eve");
    ok(data, &["account", "remove", "eve"]);
    ok(data, &["account", "rename", "ann", "Ben"]);
    ok(data, &["account", "admin", "ben"]);
    let list = json(&ok(data, &["account", "--json"]));
    assert_eq!(
        (&list[1]["name"], &list[1]["isAdmin"], &list[1]["hasPassword"]),
        (&"Ben".into(), &true.into(), &true.into())
    );
    assert!(ok(data, &["account"]).contains("reader"));
    // Whoever is at the machine manages it, also if the first account no longer does.
    ok(data, &["account", "admin", "reader", "--remove"]);
    ok(data, &["account", "admin", "reader"]);
    ok(data, &["account", "admin", "BEN", "--remove"]);
    for (arguments, expect) in [
        (&["account", "remove", "reader"][..], "no administrator left"),
        (&["account", "remove", "eve"], "there is no account eve"),
        (&["account", "rename", "ben", "Reader"], "this name"),
    ] {
        let refused = on(data, arguments);
        assert!(!refused.status.success() && stderr(&refused).contains(expect), "{}", stderr(&refused));
    }
    ok(data, &["account", "remove", "ben"]);
    assert_eq!(json(&ok(data, &["account", "--json"])).as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a5_tokens_are_managed_by_commands() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let _server = Server::start(data, &[]);
    assert!(with_password(data, &["account", "password"], PASSWORD).status.success());
    let token = ok(data, &["token", "add", "a program", "--scope", "read", "--expires", "90d"]);
    let token = token.trim();
    assert!(token.starts_with("pir_") && token.len() == 47, "{token}");
    ok(data, &["folder", "--token", token]);
    let refused = on(data, &["folder", "add", "Daily", "--token", token]);
    assert!(stderr(&refused).contains("only for reading"), "{}", stderr(&refused));
    let list = ok(data, &["token"]);
    assert!(list.contains("a program") && list.contains("read") && !list.contains("pir_"), "{list}");
    ok(data, &["token", "revoke", "a program"]);
    let refused = on(data, &["folder", "--token", token]);
    assert!(stderr(&refused).contains("not logged in"), "{}", stderr(&refused));
}

#[test]
fn a3_a_typed_password_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it is ours");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name");
    let no_control = i32::try_from(OFlags::NOCTTY.bits()).expect("a flag is a small number");
    let path = std::ffi::OsStr::from_bytes(name.to_bytes());
    let screen = OpenOptions::new().read(true).write(true).custom_flags(no_control).open(path).expect("it opens");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.args(["account", "password"]).args(data.flags());
    command.stdin(screen).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    drop(command);
    let (mut terminal, mut asked) = (File::from(terminal), child.stderr.take().expect("it is a pipe"));
    for question in ["New password: ", "Once more: "] {
        let mut said = String::new();
        while !said.ends_with(question) {
            let mut byte = [0];
            asked.read_exact(&mut byte).expect("it asks");
            said.push(char::from(byte[0]));
        }
        terminal.write_all(format!("{PASSWORD}\n").as_bytes()).expect("it can be typed at");
    }
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && stdout(&output).contains("is set"), "{output:?}");
    let mut shown = Vec::new();
    // Reading ends with an error when the program has ended.
    let _ = terminal.read_to_end(&mut shown);
    assert!(!String::from_utf8_lossy(&shown).contains("horse"), "{}", String::from_utf8_lossy(&shown));
}
