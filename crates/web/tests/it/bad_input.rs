//! What bad input gets: a status, and a sentence that names the field. None of it ever reaches the store.

use std::sync::Arc;

use web::WebSettings;

use crate::{
    server::{Server, answer},
    stubs::{Down, NoNetwork},
};

/// A server whose store would fail: only requests that never reach it are answered with anything but 503.
async fn server() -> Server {
    let settings = WebSettings { opml_bytes_max: 2_000_000, ..WebSettings::default() };
    Server::start(Arc::new(Down::Unavailable), Arc::new(NoNetwork), settings).await
}

#[tokio::test]
async fn f1_f6_bad_bodies_are_400_and_name_the_field() {
    let server = server().await;
    let long = "x".repeat(201);
    let long_title = "x".repeat(501);
    let huge_id = "9".repeat(30);
    for (method, path, body, names) in [
        ("POST", "/api/feeds", "", "not valid JSON"),
        ("POST", "/api/feeds", "{", "line 1 column 1"),
        ("POST", "/api/feeds", "{'url': 1}", "key must be a string at line 1 column 2"),
        ("POST", "/api/feeds", "{}", "`url`"),
        ("POST", "/api/feeds", "[]", "JSON object"),
        ("POST", "/api/feeds", "null", "JSON object"),
        ("POST", "/api/feeds", r#"{"url": 7}"#, "url: "),
        ("POST", "/api/feeds", r#"{"url": null}"#, "url: "),
        ("POST", "/api/feeds", r#"{"url": "http://e.org/", "folderId": "x"}"#, "folderId: "),
        ("POST", "/api/feeds", r#"{"url": "http://e.org/", "folder": 1}"#, "unknown field `folder`"),
        ("POST", "/api/feeds", r#"{"url": "http://a/", "url": "http://b/"}"#, "duplicate field `url`"),
        ("POST", "/api/feeds", &format!(r#"{{"url": "http://e.org/", "title": "{long_title}"}}"#), "`title`"),
        ("PATCH", "/api/feeds/1", r#"{"url": "ftp://e.org/"}"#, "`url`: only http and https"),
        ("PATCH", "/api/feeds/1", r#"{"url": "e.org"}"#, "`url`: not a URL"),
        ("PATCH", "/api/feeds/1", r#"{"title": 1}"#, "title: "),
        ("PATCH", "/api/feeds/1", r#"{"pollInterval": 59}"#, "`pollInterval`: must be from 60 to 2592000"),
        ("PATCH", "/api/feeds/1", r#"{"pollInterval": 2592001}"#, "`pollInterval`: must be from 60 to 2592000"),
        ("PATCH", "/api/feeds/1", r#"{"pollInterval": -60}"#, "`pollInterval`"),
        ("PATCH", "/api/feeds/1", r#"{"pollInterval": 60.5}"#, "pollInterval: "),
        ("PATCH", "/api/feeds/1", r#"{"pollInterval": "1h"}"#, "pollInterval: "),
        ("PATCH", "/api/feeds/1", r#"{"pushEnabled": "yes"}"#, "pushEnabled: "),
        ("PATCH", "/api/feeds/1", r#"{"folderId": [1]}"#, "folderId: "),
        ("PATCH", "/api/feeds/1", r#"{"isGone": true}"#, "unknown field `isGone`"),
        ("PATCH", "/api/feeds/x", "{}", "`id`"),
        ("GET", "/api/feeds/x", "", "`id`"),
        ("GET", "/api/feeds/1.5", "", "`id`"),
        ("GET", &format!("/api/feeds/{huge_id}"), "", "`id`: the id in the path must be a whole number, at most 9223"),
        ("GET", "/api/feeds/1%2F2", "", "`id`"),
        ("GET", "/api/feeds/%00", "", "`id`"),
        ("GET", "/api/feeds/%zz", "", "`id`"),
        ("GET", "/api/feeds/%FF", "", "`id`"),
        ("DELETE", "/api/feeds/x", "", "`id`"),
        ("POST", "/api/feeds/x/refresh", "", "`id`"),
        ("POST", "/api/folders", "{}", "`name`"),
        ("POST", "/api/folders", r#"{"name": " "}"#, "`name`: must have from 1 to 200"),
        ("POST", "/api/folders", &format!(r#"{{"name": "{long}"}}"#), "`name`"),
        ("POST", "/api/folders", r#"{"name": "a", "order": 1}"#, "unknown field `order`"),
        ("PATCH", "/api/folders/1", r#"{"name": ""}"#, "`name`"),
        ("PATCH", "/api/folders/x", r#"{"name": "a"}"#, "`id`"),
        ("DELETE", "/api/folders/x", "", "`id`"),
        ("PATCH", "/api/folders/reorder", "{}", "`folderIds`"),
        ("PATCH", "/api/folders/reorder", r#"{"folderIds": [1, "x"]}"#, "folderIds[1]: "),
        ("PATCH", "/api/folders/reorder", r#"{"folderIds": {}}"#, "folderIds: invalid type: object, expected a list"),
        ("GET", "/api/entries/x", "", "`id`"),
        ("PATCH", "/api/entries/x", "{}", "`id`"),
        ("PATCH", "/api/entries/1", r#"{"isRead": 1}"#, "isRead: "),
        ("PATCH", "/api/entries", r#"{"isRead": true}"#, "missing field `ids`"),
        ("PATCH", "/api/entries", r#"{"ids": 1, "isRead": true}"#, "ids: "),
        ("PATCH", "/api/entries", r#"{"ids": ["1"]}"#, "ids[0]: "),
        ("PATCH", "/api/entries", r#"{"ids": [1], "read": true}"#, "unknown field `read`"),
        ("PATCH", "/api/entries/1", r#"{"isread": true}"#, "unknown field `isread`"),
        ("POST", "/api/entries/mark-read", "", "not valid JSON"),
        ("POST", "/api/entries/mark-read", "[]", "JSON object"),
        ("POST", "/api/entries/mark-read", r#"{"before": 5}"#, "before: invalid type: integer `5`, expected a string"),
        ("POST", "/api/entries/mark-read", r#"{"feedId": 99999999999999999999}"#, "feedId: "),
        ("POST", "/api/entries/mark-read", r#"{"folderId": 1.5}"#, "folderId: "),
        ("POST", "/api/entries/mark-read", r#"{"feedID": 5}"#, "unknown field `feedID`"),
    ] {
        let sentence = server.send(method, path, body).await.error(400);
        assert!(sentence.contains(names), "{method} {path} {body}: {sentence}");
    }
}

#[tokio::test]
async fn f6_bad_time_is_explained() {
    let server = server().await;
    for time in [
        "",
        "yesterday",
        "2024-01-01",
        "2024-01-01T00:00:00",
        "2024-02-30T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:00+99:00",
        "10000-01-01T00:00:00Z",
        "+010000-01-01T00:00:00Z",
        "-009999-01-01T00:00:00Z",
        "9999-12-31T23:59:59",
    ] {
        let sentence = server.send("POST", "/api/entries/mark-read", &format!(r#"{{"before": "{time}"}}"#)).await;
        let expected = "`before`: expected a time with its zone, such as 2024-01-31T12:00:00Z";
        assert_eq!(sentence.error(400), expected, "{time}");
    }
}

#[tokio::test]
async fn u8_error_sentences_are_shortened() {
    let server = server().await;
    let long = "x".repeat(500_000);
    for body in [format!(r#"{{"url": "http://e.org/", "folderId": "{long}"}}"#), format!(r#"{{"{long}": 1}}"#)] {
        let sentence = server.send("POST", "/api/feeds", &body).await.error(400);
        assert!(sentence.chars().count() < 600, "{}", sentence.len());
        assert!(sentence.starts_with("the body is not as wanted: "), "{sentence}");
        assert!(sentence.contains(" … ") && sentence.contains("expected") && sentence.contains("column"), "{sentence}");
    }
}

#[tokio::test]
async fn f6_unexpected_parameters_are_400() {
    let server = server().await;
    for (method, path, body) in [
        ("POST", "/api/entries/mark-read?feedId=1", "{}"),
        ("POST", "/api/refresh?feedId=1", ""),
        ("POST", "/api/feeds?feedId=1", "{}"),
        ("PATCH", "/api/feeds/1?feedId=1", "{}"),
        ("DELETE", "/api/feeds/1?feedId=1", ""),
    ] {
        let sentence = server.send(method, path, body).await.error(400);
        assert_eq!(sentence, "`feedId`: no such parameter; there are none", "{method} {path}");
    }
    // What only reads and narrows nothing may carry what keeps caches away.
    server.get("/healthz?_=123").await.ok(200);
    server.get("/api/feeds?_=123").await.error(503);
    // And what is not there is not there.
    server.call("POST", "/api/counts?x=1").await.error(405);
    server.call("POST", "/api/nothing?x=1").await.error(404);
}

#[tokio::test]
async fn f6_bad_parameters_are_400_and_name_the_parameter() {
    let server = server().await;
    let many_ids = format!("ids={}", vec!["1"; 1001].join(","));
    for (query, names) in [
        ("feedId=x", "`feedId`: expected a whole number"),
        ("feedId=", "`feedId`"),
        ("folderId=1.5", "`folderId`"),
        ("unread=1", "`unread`: expected `true` or `false`"),
        ("starred=TRUE", "`starred`"),
        ("limit=0", "`limit`: expected a number from 1 to 500"),
        ("limit=501", "`limit`"),
        ("limit=-1", "`limit`"),
        ("limit=ten", "`limit`"),
        ("cursor=x", "`cursor`"),
        ("cursor=", "`cursor`"),
        ("cursor=null", "`cursor`"),
        ("cursor=%FF", "`cursor`"),
        ("feedId=99999999999999999999", "`feedId`: expected a whole number, at most 9223372036854775807"),
        ("q=%FF", "`q`: not UTF-8"),
        ("q=a&q=b", "`q`: given more than once"),
        ("limit=+5", "`limit`"),
        ("=1", "no such parameter"),
        ("%FF=1", "no such parameter"),
        ("limit=5&limit=6", "`limit`: given more than once"),
        ("feed_id=1", "`feed_id`: no such parameter"),
        ("unread=true&page=2", "`page`: no such parameter"),
        ("order=up", "`order`: expected `newest` or `oldest`"),
        ("order=", "`order`"),
        ("content=no", "`content`: expected `true` or `false`"),
        ("fields=id", "`fields`: no such parameter"),
        ("receivedSince=yesterday", "`receivedSince`: expected a time with its zone"),
        ("changedSince=2024-01-31", "`changedSince`: expected a time with its zone"),
        ("ids=", "`ids`: expected whole numbers with commas between them"),
        ("ids=1,,2", "`ids`: expected whole numbers"),
        ("ids=1,x", "`ids`: expected whole numbers"),
        (many_ids.as_str(), "`ids`: more than 1000"),
        ("ids=1&feedId=2", "`ids`: cannot be together with `feedId`"),
        ("ids=1&folderId=2", "`folderId`"),
        ("ids=1&unread=true", "`unread`"),
        ("ids=1&starred=true", "`starred`"),
        ("ids=1&q=a", "`q`"),
        ("ids=1&receivedSince=2024-01-31T00:00:00Z", "`receivedSince`"),
        ("ids=1&changedSince=2024-01-31T00:00:00Z", "`changedSince`"),
        (
            "changedSince=2024-01-31T00:00:00Z&receivedSince=2024-01-31T00:00:00Z",
            "`receivedSince`: cannot be together with `changedSince`",
        ),
        ("q=a*", "`q`: `a*` is too short: write at least 2 characters before the `*`"),
        ("q=-%22%22+-a*", "`q`: `a*` is too short"),
        (&format!("q={}", "x".repeat(10_000)), "`q`: longer than 1000 characters"),
        (&format!("q={}", "%22".repeat(1001)), "`q`: longer than 1000 characters"),
        (&format!("q={}", (0..33).map(|word| format!("w{word}+")).collect::<String>()), "`q`: more than 32 words"),
        ("q=a&receivedSince=2024-01-31T00:00:00Z", "`receivedSince`: cannot be together with `q`"),
        ("q=a&changedSince=2024-01-31T00:00:00Z", "`changedSince`: cannot be together with `q`"),
    ] {
        let sentence = server.get(&format!("/api/entries?{query}")).await.error(400);
        assert!(sentence.contains(names), "{query}: {sentence}");
    }
    server.get("/api/entries?feedId=1&folderId=2&unread=true&starred=false&q=a&limit=500").await.error(503);
}

#[tokio::test]
async fn f6_a_search_for_signs_alone_finds_nothing() {
    let server = server().await;
    for query in ["%2B%2B", "%22", "%22%22", "-", "*", "-*", "%00", "-%22", "%2C", "%E2%80%9C"] {
        let page = server.get(&format!("/api/entries?q={query}")).await.ok(200);
        assert_eq!(page, serde_json::json!({"entries": [], "nextCursor": null}), "{query}");
    }
}

#[tokio::test]
async fn f6_content_types_that_are_not_read_are_415() {
    let server = server().await;
    let feed = r#"{"url": "http://e.org/"}"#;
    for kind in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let mut request = server.request("POST", "/api/feeds").body(feed);
        if !kind.is_empty() {
            request = request.header("content-type", kind);
        }
        assert!(answer(request).await.error(415).contains("application/json"), "{kind}");
    }
    let request = server.request("PATCH", "/api/entries/1").header("content-type", "Application/JSON; charset=utf-8");
    answer(request.body("{}")).await.error(503);
    for kind in ["application/json", "image/png", "multipart/mixed; boundary=b"] {
        let request = server.request("POST", "/api/opml/import").header("content-type", kind);
        assert!(answer(request.body("{}")).await.error(415).contains("OPML"), "{kind}");
    }
    for (path, kind) in [("/api/feeds", "application/json"), ("/api/opml/import", "text/x-opml")] {
        let request = server.request("POST", path).header("content-type", kind).header("content-encoding", "gzip");
        assert!(answer(request.body("x")).await.error(415).contains("`Content-Encoding`"), "{path}");
    }
}

#[tokio::test]
async fn u8_large_bodies_are_413_announced_or_not() {
    let server = server().await;
    let large = format!("{{\"url\": \"{}\"}}", "x".repeat(3 * 1024 * 1024));
    assert!(server.send("POST", "/api/feeds", &large).await.error(413).contains("1048576"));
    let request = server.request("POST", "/api/feeds").header("content-type", "application/json");
    answer(request.body(in_chunks(&large))).await.error(413);
    let request = server.request("POST", "/api/opml/import").header("content-type", "text/x-opml");
    assert!(answer(request.body(in_chunks(&large))).await.error(413).contains("2000000"));
}

/// A body whose length is not announced.
fn in_chunks(text: &str) -> reqwest::Body {
    let chunks: Vec<_> = text.as_bytes().chunks(10_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
    reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))
}

#[tokio::test]
async fn f6_forms_without_a_file_are_400() {
    let server = server().await;
    let kind = "multipart/form-data; boundary=b";
    for (kind, body, names) in [
        (kind, "--b\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n--b--\r\n", "`file`"),
        (kind, "--b--\r\n", "`file`: the form has no such field"),
        (
            kind,
            "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n<opml/>\r\n\
             --b\r\nContent-Disposition: form-data; name=\"\"\r\n\r\nx\r\n--b--\r\n",
            "``: the name of a field has letters",
        ),
        (kind, "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx", "it is cut off"),
        (kind, "--b\r\nnonsense\r\n\r\nx\r\n--b--\r\n", "it is cut off, or not as its boundary says"),
        (kind, "", "the form cannot be read: it is cut off"),
        ("multipart/form-data", "x", "the form cannot be read: its `Content-Type` has no boundary"),
    ] {
        let request = server.request("POST", "/api/opml/import").header("content-type", kind).body(body);
        let sentence = answer(request).await.error(400);
        assert!(sentence.contains(names), "{body}: {sentence}");
    }
}

#[tokio::test]
async fn f6_unknown_paths_are_404_wrong_methods_405() {
    let server = server().await;
    for path in ["/api", "/api/", "/api/nothing", "/api/feeds/", "/api/feeds/1/2"] {
        assert_eq!(server.get(path).await.error(404), "there is no such path", "{path}");
    }
    for (method, path, allow) in [
        ("PUT", "/api/feeds", "GET,HEAD,POST"),
        ("POST", "/api/feeds/1", "GET,HEAD,PATCH,DELETE"),
        ("GET", "/api/refresh", "POST"),
        ("OPTIONS", "/api/counts", "GET,HEAD"),
        ("GET", "/api/folders/1", "PATCH,DELETE"),
        ("POST", "/healthz", "GET,HEAD"),
        ("HEAD", "/api/refresh", "POST"),
        ("DELETE", "/api/entries/1", "GET,HEAD,PATCH"),
        ("PUT", "/api/entries/mark-read", "POST"),
        ("TRACE", "/api/folders", "GET,HEAD,POST"),
    ] {
        let answer = server.call(method, path).await;
        if method == "HEAD" {
            assert_eq!((answer.status, answer.text.as_str()), (405, ""));
        } else {
            answer.error(405);
        }
        let mut allowed: Vec<_> = answer.header("allow").split(',').collect();
        let mut expected: Vec<_> = allow.split(',').collect();
        allowed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(allowed, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn w3_f6_undecodable_paths_are_answered_in_json() {
    let server = server().await;
    let long = "a".repeat(60_000);
    for (method, path, status) in [
        ("GET", "/api/websub/callback/%ff", 404),
        ("POST", "/api/websub/callback/%ff", 404),
        ("GET", "/api/websub/callback/%zz?hub.mode=denied&hub.topic=t", 503),
        ("GET", &format!("/api/websub/callback/{long}?hub.mode=denied&hub.topic=t"), 404),
        ("POST", &format!("/api/websub/callback/{long}"), 404),
        ("GET", "/api/%ff", 404),
        ("GET", "/%ff/%ff", 404),
        ("GET", "/api/outbox/deliveries/%ff", 404),
        ("DELETE", "/api/folders/%ff", 400),
        ("DELETE", "/api/webhooks/%ff", 400),
        ("GET", "/api/entries/%ff", 400),
        ("POST", "/api/feeds/%ff/subscribe", 400),
    ] {
        let answer = server.call(method, path).await;
        let shown = path.get(..40).unwrap_or(path);
        assert!(!answer.error(status).is_empty(), "{method} {shown}");
    }
}
