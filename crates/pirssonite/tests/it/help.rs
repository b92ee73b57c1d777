//! What a newcomer is told: the help, and the first lines of the log (requirements U5, U6).

use reqwest::Method;

use crate::{
    program::{run, stdout},
    server::{Data, Server},
};

#[test]
fn u5_only_long_help_lists_settings() {
    let commands = [
        &[][..],
        &["serve"],
        &["add"],
        &["list"],
        &["entries"],
        &["entries", "list"],
        &["entries", "mark"],
        &["rename"],
        &["move"],
        &["remove"],
        &["folder"],
        &["folder", "add"],
        &["parse"],
        &["import"],
        &["export"],
        &["refresh"],
        &["renew"],
        &["webhook"],
        &["webhook", "add"],
        &["outbox"],
        &["account"],
        &["account", "add"],
        &["token"],
        &["demo"],
        &["status"],
        &["doctor"],
        &["backup"],
        &["restore"],
        &["copy"],
        &["healthcheck"],
        &["completions"],
        &["man"],
    ];
    for command in commands {
        let help = |flag: &str| stdout(&run(&[command, &[flag]].concat(), b""));
        let (short, long) = (help("-h"), help("--help"));
        assert!(!short.contains("--poll-min") && !short.contains("--config"), "{command:?}: {short}");
        assert!(long.contains("--poll-min") && long.contains("--config"), "{command:?}: {long}");
        assert!(short.lines().count() < 40, "{command:?}: {short}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u6_start_names_address_and_logs_no_requests() {
    let folder = tempfile::tempdir().unwrap();
    for (level, expect) in [("info", 0), ("debug", 1)] {
        let server = Server::start(Data::Folder(folder.path()), &["--log", level]);
        let url = server.url.clone();
        assert!(server.log().contains(&format!("open {url}/ ")), "{}", server.log());
        let (status, page) = server.call(Method::GET, "/", None).await;
        assert_eq!(status, 200);
        assert!(page.as_str().unwrap().contains("Add the first feed"), "{page}");
        server.get("/api/feeds").await;
        let (_, log) = server.terminate();
        let lines = log.lines().filter(|line| line.contains("answered") && line.contains("/api/feeds"));
        assert_eq!(lines.count(), expect, "{level}: {log}");
    }
}
