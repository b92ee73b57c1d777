//! That the first commands of the README work as typed (requirements U5, U6).

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use testkit::{Page, Publisher};

use crate::{
    program::{stderr, stdout},
    server::{Data, Server},
};

const README: &str = include_str!("../../../../README.md");

const FEED: &str = "<rss version='2.0'><channel><title>Example Weblog</title><item><guid>1</guid>\
    <title>Fresh bread</title><description>Warm</description></item></channel></rss>";

/// The lines of the code block behind this sentence.
fn block_after(sentence: &str) -> impl Iterator<Item = &'static str> {
    let (_, rest) = README.split_once(sentence).expect("the README has the sentence");
    let block = rest.split("```").nth(1).expect("a code block follows");
    block.lines().filter(|line| !line.is_empty())
}

/// Runs a line in a folder as a shell does.
fn typed(line: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_pirssonite")).parent().expect("it is in a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).env("PATH", path).env("PIRSSONITE_ALLOW_NETWORKS", "127.0.0.0/8");
    shell.output().expect("there is a shell")
}

#[tokio::test(flavor = "multi_thread")]
async fn u5_u6_first_commands_of_the_readme_work_as_typed() {
    let (folder, publisher) = (tempfile::tempdir().unwrap(), Publisher::start().await);
    for path in ["/", "/other"] {
        publisher.set(path, Page::body(FEED));
    }
    let other = format!("<opml><outline xmlUrl='{}'/></opml>", publisher.url("/other"));
    fs::write(folder.path().join("subscriptions.opml"), other).unwrap();
    let _server = Server::start(Data::Folder(&folder.path().join("data")), &[]);
    let host = publisher.address().to_string();
    let mut count = 0;
    for line in block_after("In another terminal, in the same folder:") {
        let line = line.replace("https://me.example/", &publisher.url("/hook")).replace("example.org", &host);
        let output = typed(&line, folder.path());
        let said = format!("{line}: {}{}", stdout(&output), stderr(&output));
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("no entry holds that") && !said.contains("no such entries"), "{said}");
        count += 1;
    }
    assert!(count > 15, "{count} commands");
}
