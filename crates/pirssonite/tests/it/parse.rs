//! `pirssonite parse` (requirements U5, F2): a file, a URL, standard input or a list, to JSON.

use std::fs;

use serde_json::Value;

use crate::program::{answer, run, stderr, stdout};

const FEED: &str = "<rss version='2.0'><channel><title>News</title><link>http://e.org/</link>\
    <item><title>One</title><link>/1</link><description>&lt;p onclick=x&gt;Hi&lt;script&gt;</description></item></channel></rss>";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it prints JSON")
}

#[test]
fn u5_parse_reads_standard_input() {
    let output = run(&["parse", "-"], FEED.as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
    let model = json(&stdout(&output));
    assert_eq!(model["feed"]["title"]["value"], "News");
    assert_eq!(model["entries"][0]["link"], "http://e.org/1");
    assert_eq!(model["entries"][0]["summary"]["value"], "<p>Hi</p>");
}

#[test]
fn u5_parse_reads_file_with_base_url() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("feed.xml");
    fs::write(&file, FEED.replace("<link>http://e.org/</link>", "")).unwrap();
    let output = run(&["parse", file.to_str().unwrap(), "--url", "https://f.org/feed"], b"");
    assert_eq!(json(&stdout(&output))["entries"][0]["link"], "https://f.org/1");
}

#[test]
fn u5_parse_fetches_url_with_headers() {
    let body = b"<rss><channel><title>\xe9</title></channel></rss>";
    let mut reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/xml; charset=iso-8859-1\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    reply.extend_from_slice(body);
    let (url, server) = answer(vec![reply.clone(), reply]);
    // A scheme has no case.
    for url in [url.clone(), url.replace("http://", "HTTP://")] {
        let output = run(&["parse", &format!("{url}/feed")], b"");
        assert_eq!(json(&stdout(&output))["feed"]["title"]["value"], "é", "{}", stderr(&output));
    }
    for request in server.join().unwrap() {
        assert!(request.starts_with("GET /feed ") && request.contains("pirssonite/"), "{request}");
    }
}

#[test]
fn u5_parse_failure_has_exit_code() {
    let (url, server) = answer(vec![b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec()]);
    let missing = url.replace("http://", "http://user:secret@");
    for (arguments, input, expect) in [
        (vec!["parse", "-"], "", "the document is empty"),
        (vec!["parse", "-"], "<html><p>x", "web page"),
        (vec!["parse", "-"], "{\"a\": 1}", "no list of items"),
        (vec!["parse", "-"], "hello", "no feed"),
        (vec!["parse", "-", "--max-bytes", "10"], FEED, "more than the 10 allowed"),
        (vec!["parse", "/no/such/file"], "", "/no/such/file"),
        (vec!["parse", &missing], "", "answered 404"),
    ] {
        let output = run(&arguments, input.as_bytes());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let complaint = stderr(&output);
        assert!(complaint.contains(expect) && !complaint.contains("secret"), "{arguments:?}: {complaint}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    server.join().unwrap();
    assert_eq!(run(&["parse"], b"").status.code(), Some(2), "nothing to parse");
    assert_eq!(run(&["no-such-command"], b"").status.code(), Some(2));
}

#[test]
fn u5_list_gives_a_line_for_each_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("feeds/a")).unwrap();
    fs::write(folder.path().join("feeds/a/good.xml"), FEED.replace("<link>http://e.org/</link>", "")).unwrap();
    fs::write(folder.path().join("feeds/bad.xml"), "hello").unwrap();
    let list = folder.path().join("files.jsonl");
    fs::write(
        &list,
        "{\"file\": \"a/good.xml\", \"url\": \"http://f.org/x\", \"headers\": {\"Content-Location\": \"http://g.org/y\"}}\n\
         {\"file\": \"bad.xml\"}\n\n{\"file\": \"missing.xml\"}\n",
    )
    .unwrap();
    let output = run(&["parse", "--jsonl", list.to_str().unwrap()], b"");
    assert!(output.status.success());
    let lines: Vec<Value> = stdout(&output).lines().map(json).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["file"], &lines[0]["ok"]), (&"a/good.xml".into(), &true.into()));
    assert_eq!(lines[0]["model"]["entries"][0]["link"], "http://g.org/1");
    assert_eq!((&lines[1]["ok"], &lines[1]["error"]), (&false.into(), &"the document is no feed".into()));
    assert_eq!(lines[2]["ok"], false);

    fs::write(&list, "not json\n").unwrap();
    let output = run(&["parse", "--jsonl", list.to_str().unwrap()], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("line 1"), "{}", stderr(&output));
}

#[test]
fn u5_closed_pipe_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("feed.xml");
    fs::write(&file, FEED.replace("Hi", &"long text ".repeat(100_000))).unwrap();
    let program = env!("CARGO_BIN_EXE_pirssonite");
    let pipeline = format!("{{ {program} parse {}; echo $? >&2; }} | head -c 10", file.display());
    let output = std::process::Command::new("sh").args(["-c", &pipeline]).output().unwrap();
    assert_eq!(stderr(&output), "0\n");
}
