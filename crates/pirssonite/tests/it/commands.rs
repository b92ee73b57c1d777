//! The command line, against a running server and without one (requirements U4, U5, U6, U7).

use std::{fs, os::unix::fs::MetadataExt, path::Path, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Page, Publisher, fresh_postgres};

use crate::{
    program::{json_of, made, ok, on, stderr, stdout},
    server::{Data, Server, client},
};

const FEED: &str = "<rss version='2.0'><channel><title>News</title><item><guid>1</guid><title>One</title></item>\
    <item><guid>2</guid><title>Two</title></item></channel></rss>";

/// All that a newcomer does in the first five minutes.
async fn first_five_minutes(data: Data<'_>) {
    let publisher = Publisher::start().await;
    publisher.set("/feed", Page::body(FEED).etag("\"1\""));
    publisher.set("/page", Page::body("<html><head><link rel=alternate type=application/rss+xml href=/other></head>"));
    publisher.set("/other", Page::body(FEED.replace("News", "Other")));
    let (feed, page) = (publisher.url("/feed"), publisher.url("/page"));

    assert!(ok(data, &["list"]).contains("no feeds yet"));
    assert!(ok(data, &["entries"]).contains("no such entries"));
    let added = json_of(data, &["add", &feed, "--folder", "Daily", "--title", "My News", "--json"]);
    assert_eq!((&added["customTitle"], &added["unreadCount"]), (&json!("My News"), &json!(2)));
    assert!(ok(data, &["add", &page]).contains("Other (2 entries)"));
    let twice = on(data, &["add", &feed]);
    let said = format!("pirssonite: this feed is already there: feed {}\n", added["id"]);
    assert_eq!((twice.status.code(), stderr(&twice)), (Some(1), said));
    assert!(stderr(&on(data, &["add", "ftp://e.org/"])).contains("http"));
    assert!(stderr(&on(data, &["add", &publisher.url("/none")])).contains("404"));

    // Nothing is kept of what failed, nor the folder that was made for it.
    assert_eq!(on(data, &["add", &publisher.url("/none"), "--folder", "Ghost"]).status.code(), Some(1));
    assert_eq!(on(data, &["add", &page, "--folder", " "]).status.code(), Some(1));
    assert_eq!(json_of(data, &["status", "--json"])["folders"], 1);

    let listed = json_of(data, &["list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert!(ok(data, &["list"]).contains("My News"));
    let refreshed = json_of(data, &["refresh", "--all", "--json"]);
    assert_eq!(
        (&refreshed["polled"], &refreshed["unchanged"], &refreshed["newEntries"]),
        (&json!(2), &json!(2), &json!(0))
    );
    assert!(ok(data, &["refresh"]).starts_with("0 feeds polled"));
    assert_eq!(on(data, &["refresh", "999"]).status.code(), Some(1));
    let status = json_of(data, &["status", "--json"]);
    assert_eq!((&status["feeds"], &status["unread"], &status["failing"]), (&json!(2), &json!(4), &json!(0)));
    assert!(ok(data, &["status"]).contains("4 unread"));

    // What is exported and imported elsewhere gives the same.
    let exported = ok(data, &["export"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("feeds.opml");
    let written = ok(data, &["export", file.to_str().unwrap()]);
    assert_eq!(written, format!("{} written: 2 feeds, 1 folder\n", file.display()));
    let other = elsewhere.path().join("data");
    let other = Data::Folder(&other);
    assert_eq!(
        json_of(other, &["import", file.to_str().unwrap(), "--json"]),
        json!({ "imported": 2, "skipped": 0, "errors": [], "fetched": 2, "failed": 0, "waiting": 0, "newEntries": 4 })
    );
    assert!(ok(other, &["import", file.to_str().unwrap()]).contains("2 already there"));
    assert_eq!(ok(other, &["export"]), exported);
    assert!(ok(other, &["status"]).contains("4 unread"));
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_commands_open_the_embedded_store_where_no_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    first_five_minutes(made(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_commands_speak_to_the_server_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    let server = Server::start(data, &[]);
    first_five_minutes(data).await;
    assert!(json_of(data, &["status", "--json"])["backend"].as_str().unwrap().contains(&server.url));
    // It wrote nothing behind the server's back: the server knows it all.
    assert_eq!(server.get("/api/counts").await["total"], 4);
    let copy = folder.path().join("copy.db");
    let name = copy.to_str().unwrap();
    let written = ok(data, &["backup", name]);
    assert!(written.starts_with(&format!("{name} written: ")) && written.ends_with(" kB\n"), "{written}");
    let kept = fs::metadata(name).unwrap();
    let refused = format!("pirssonite: {name} already exists: --force replaces it\n");
    assert_eq!(stderr(&on(data, &["backup", name])), refused);
    assert_eq!(fs::metadata(name).unwrap().ino(), kept.ino(), "it is left alone");
    ok(data, &["backup", name, "--force"]);
    assert_ne!(fs::metadata(name).unwrap().ino(), kept.ino(), "it is another file now");
    let itself = folder.path().join("pirssonite.db");
    let refused = on(data, &["backup", itself.to_str().unwrap(), "--force"]);
    assert!(stderr(&refused).contains("is the database itself"), "{}", stderr(&refused));
    assert!(stderr(&on(data, &["backup", folder.path().to_str().unwrap(), "--force"])).contains("is not a file"));
    let another = folder.path().join("another.db");
    let another = another.to_str().unwrap();
    let bytes = json_of(data, &["backup", another, "--json"]);
    assert_eq!(bytes, json!({ "file": another, "bytes": fs::metadata(another).unwrap().len() }));
    let nowhere = folder.path().join("no/copy.db");
    let refused = stderr(&on(data, &["backup", nowhere.to_str().unwrap()]));
    assert!(refused.starts_with(&format!("pirssonite: {}: ", nowhere.display())), "{refused}");
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
    // In a data folder it is the database again.
    let restored = folder.path().join("restored");
    fs::create_dir(&restored).unwrap();
    fs::rename(copy, restored.join("pirssonite.db")).unwrap();
    assert_eq!(json_of(Data::Folder(&restored), &["list", "--json"]).as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_commands_speak_to_the_server_that_runs_on_postgres() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let data = Data::Database(database.url(), folder.path());
    let server = Server::start(data, &[]);
    let backend = || json_of(data, &["status", "--json"])["backend"].as_str().unwrap().to_owned();
    assert!(backend().contains(&server.url), "{}", backend());
    // An address that a killed server left is not followed.
    server.kill();
    assert!(backend().contains("PostgreSQL"), "{}", backend());
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_commands_work_on_postgres() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let data = Data::Database(database.url(), folder.path());
    first_five_minutes(data).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u4_nodes_share_a_database_each_in_its_role() {
    let (database, folder) = (fresh_postgres().await, tempfile::tempdir().unwrap());
    let data = Data::Database(database.url(), folder.path());
    let publisher = Publisher::start().await;
    publisher.set("/feed", Page::body(FEED));
    let web = Server::start(data, &["--role", "web"]);
    let worker = Server::start(data, &["--role", "worker"]);
    let (status, _) = worker.call(Method::GET, "/api/feeds", None).await;
    assert_eq!(status, 404, "a worker serves no API");
    assert_eq!(worker.call(Method::GET, "/readyz", None).await.0, 200);
    // The web node keeps it; the worker fetches it.
    let opml = format!("<opml><body><outline xmlUrl='{}'/></body></opml>", publisher.url("/feed"));
    let imported =
        client().post(format!("{}/api/opml/import", web.url)).header("content-type", "text/x-opml").body(opml);
    assert_eq!(imported.send().await.unwrap().status(), 200);
    publisher.asked("/feed", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u6_server_describes_itself() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Data::Folder(folder.path()), &["--log-format", "json"]);
    for path in ["/healthz", "/readyz", "/api/openapi.json"] {
        server.get(path).await;
    }
    let metrics = server.get("/metrics").await;
    assert!(metrics.as_str().unwrap().contains("http_requests_total"), "{metrics}");
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
    assert!(log.lines().skip(1).all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u6_server_survives_closed_log() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_unread(Data::Folder(folder.path()));
    for path in ["/healthz", "/api/feeds"] {
        server.get(path).await;
    }
    let status = server.terminate_within(Duration::from_mins(3));
    assert!(status.success(), "{status}");
}

#[test]
fn u4_wrong_setting_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::Folder(folder.path());
    for (arguments, expect) in [
        (vec!["serve", "--poll-min", "soon"], "--poll-min"),
        (vec!["serve", "--listen", "0.0.0.0:0"], "--no-auth"),
        (vec!["serve", "--role", "king"], "role"),
        (vec!["serve", "--role", "web"], "database_url"),
        (vec!["list", "--host-concurrency", "0"], "host_concurrency"),
        (vec!["serve", "--base-url", "reader.example.org"], "--base-url"),
        (vec!["serve", "--base-url", "https://u:hunter2@reader.example.org/"], "--base-url"),
        (vec!["serve", "--renew-before", "0s"], "--renew-before"),
        (vec!["serve", "--push-algorithms", "md5"], "--push-algorithms"),
        (vec!["serve", "--delivery-lease", "100ms"], "a lease of 100 ms is too short"),
        (vec!["serve", "--retry-first", "7h"], "retry_max"),
        (vec!["list", "--database-url", "mysql://u:hunter2@h/x"], "database_url"),
        (vec!["list", "--database-url", "postgres://u:hunter2@h:port/x"], "database_url"),
        (vec!["serve", "--database-url", "postgres://u:hunter2@h/x?no_such_option=1"], "database_url"),
    ] {
        let output = on(data, &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expect), "{arguments:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("hunter2"), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn u4_a_server_that_cannot_listen_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let output = on(Data::Folder(&data), &["serve", "--listen", &listen]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("cannot listen on {listen}")), "{}", stderr(&output));
    assert!(!data.exists());
}

#[test]
fn u4_file_as_data_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for name in ["empty", "feeds.db"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let before = names(folder.path());
    for name in ["empty", "feeds.db"] {
        let file = folder.path().join(name);
        for arguments in [&["list"][..], &["serve", "--listen", "127.0.0.1:0"], &["backup", "/tmp/never"]] {
            let output = on(Data::Folder(&file), arguments);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
            assert!(said.contains("data_dir") && said.contains("a folder is wanted"), "{arguments:?}: {said}");
        }
        assert_eq!((names(folder.path()), fs::metadata(&file).unwrap().len()), (before.clone(), 0));
    }
    // Whatever it is called, a data folder is a folder.
    let odd = folder.path().join("odd.db");
    ok(made(&odd), &["list"]);
    assert!(odd.join("pirssonite.db").is_file());
}

#[test]
fn u5_only_filling_commands_make_data_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (none, empty) = (folder.path().join("none"), folder.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    let opml = folder.path().join("feeds.opml");
    let opml = opml.to_str().unwrap();
    for arguments in [
        &["list"][..],
        &["entries"],
        &["entries", "search", "bread"],
        &["entries", "show", "1"],
        &["entries", "mark", "read", "--all"],
        &["rename", "1", "x"],
        &["move", "1", "--no-folder"],
        &["remove", "1"],
        &["folder"],
        &["folder", "add", "x"],
        &["export", opml],
        &["refresh"],
        &["renew"],
        &["webhook", "add", "https://e.org/"],
        &["webhook", "list"],
        &["outbox"],
        &["status"],
        &["backup", opml],
        &["copy", "--to", opml],
        &["copy", "--undo"],
        &["account"],
        &["account", "rename", "reader", "Ann"],
        &["account", "remove", "ann"],
        &["account", "admin", "ann"],
        &["token"],
        &["token", "add", "a program"],
        &["token", "revoke", "a program"],
    ] {
        for (place, what, looked_for) in [
            (&none, "there is no data folder here", none.clone()),
            (&empty, "there is no database here", empty.join("pirssonite.db")),
        ] {
            let output = on(Data::Folder(place), arguments);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
            let expect = format!("pirssonite: {what}: looked for {}. `pirssonite`", looked_for.display());
            assert!(stderr(&output).starts_with(&expect), "{arguments:?}: {}", stderr(&output));
        }
        assert!(!none.exists() && fs::read_dir(&empty).unwrap().next().is_none(), "{arguments:?}");
    }
    let doctor = on(Data::Folder(&none), &["doctor", "--listen", "127.0.0.1:0"]);
    assert!(doctor.status.success() && stdout(&doctor).contains("note   database  there is no data folder here"));
    assert!(!none.exists() && !Path::new(opml).exists());
    // Nor is one made for a backup that is none.
    let [text, nothing] = ["text.db", "nothing.db"].map(|name| folder.path().join(name));
    fs::write(&text, "no database ".repeat(1000)).unwrap();
    fs::write(&nothing, "").unwrap();
    for (backup, expect) in [
        (opml, "No such file"),
        (empty.to_str().unwrap(), "not restored"),
        (text.to_str().unwrap(), "not a database"),
        (nothing.to_str().unwrap(), "it is no backup"),
    ] {
        for data in [Data::Folder(&none), Data::Database("postgres://nobody@127.0.0.1:1/none", &none)] {
            let output = on(data, &["restore", backup]);
            assert!(!output.status.success() && stderr(&output).contains(expect), "{backup}: {}", stderr(&output));
            assert!(!none.exists(), "{backup}");
        }
    }
    // Whoever adds is told where, or who sets a password before the server's first start.
    let password = folder.path().join("password");
    fs::write(&password, "correct-horse").unwrap();
    let first = folder.path().join("first");
    let set = on(Data::Folder(&first), &["account", "password", "--password-file", password.to_str().unwrap()]);
    assert!(set.status.success() && stderr(&set).contains("making a new data folder"), "{}", stderr(&set));
    assert!(first.join("pirssonite.db").is_file());
    let added = on(Data::Folder(&none), &["add", "http://127.0.0.1:1/"]);
    let told = format!("pirssonite: making a new data folder: {}\n", none.display());
    assert!(stderr(&added).starts_with(&told), "{}", stderr(&added));
    assert!(none.join("pirssonite.db").is_file());
    assert!(!stderr(&on(Data::Folder(&none), &["add", "http://127.0.0.1:1/"])).contains("new data folder"));
}

#[test]
fn u5_doctor_finds_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let healthy = on(made(folder.path()), &["doctor", "--listen", "127.0.0.1:0"]);
    assert!(healthy.status.success(), "{}", stdout(&healthy));
    for expect in ["all is well", "pirssonite.db can be used", "`pirssonite` starts one", "`pirssonite add URL`"] {
        assert!(stdout(&healthy).contains(expect), "{expect}: {}", stdout(&healthy));
    }
    let wrong =
        on(Data::Database("postgres://nobody@127.0.0.1:1/none", folder.path()), &["doctor", "--listen", "127.0.0.1:0"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stdout(&wrong).contains("WRONG  database"), "{}", stdout(&wrong));
    assert!(stdout(&wrong).contains("check that PostgreSQL runs there"), "{}", stdout(&wrong));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let busy = on(Data::Folder(folder.path()), &["doctor", "--listen", &listen, "--json"]);
    assert!(stdout(&busy).contains("--listen") && !busy.status.success(), "{}", stdout(&busy));
}
