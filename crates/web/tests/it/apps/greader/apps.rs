//! Sessions of apps, played call by call as their sources and notes say (`docs/apps.md`): what each asks when it is set up,
//! at a sync, and when somebody reads, stars, follows and leaves.

use serde_json::{Value, json};

use super::{App, READ, READING_LIST, STARRED, titles};
use crate::{
    accounts::PASSWORD,
    apps::{Reader, with_form},
    server::{Answer, answer},
    world::rss,
};

/// What an app keeps between its calls.
struct Played<'a> {
    reader: &'a Reader,
    base: &'static str,
    auth: String,
}

impl<'a> Played<'a> {
    fn at(reader: &'a Reader, base: &'static str) -> Self {
        Self { reader, base, auth: String::new() }
    }

    /// A call, with the header once it has logged in, and a body as it is written.
    async fn call(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        let mut request = self.reader.server.request(method, &format!("{}{path}", self.base));
        if !self.auth.is_empty() {
            request = request.header("authorization", format!("GoogleLogin auth={}", self.auth));
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/x-www-form-urlencoded").body(body.to_owned());
        }
        answer(request).await
    }

    async fn json(&self, path: &str) -> Value {
        self.call("GET", path, None).await.ok(200)
    }

    /// A change, whose answer is compared with `OK`.
    async fn change(&self, path: &str, body: &str) {
        let answer = self.call("POST", path, Some(body)).await;
        assert_eq!((answer.status, &*answer.text), (200, "OK"), "{path} {body}: {answer:?}");
    }

    fn took(&mut self, login: &Answer) {
        assert_eq!(login.status, 200, "{login:?}");
        login.text.lines().find_map(|line| line.strip_prefix("Auth=")).unwrap().clone_into(&mut self.auth);
    }

    async fn state(&self, title: &str) -> (bool, bool) {
        let entry = self.reader.entry(title).await;
        (entry["isRead"].as_bool().unwrap(), entry["isStarred"].as_bool().unwrap())
    }

    async fn long_id(&self, title: &str) -> String {
        format!("tag:google.com,2005:reader/item/{:016x}", self.reader.entry(title).await["id"].as_i64().unwrap())
    }
}

fn decimal_ids(refs: &Value) -> Vec<i64> {
    let refs = refs["itemRefs"].as_array().unwrap();
    refs.iter().map(|one| one["id"].as_str().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn s1_liferea() {
    for reader in Reader::each().await {
        reader.filled().await;
        let mut app = Played::at(&reader, "/api/greader.php");
        let login = format!("service=reader&Email=reader&Passwd={}&source=liferea&continue=http://x/", reader.token);
        app.took(&app.call("POST", "/accounts/ClientLogin", Some(&login)).await);
        let list = app.json("/reader/api/0/subscription/list?output=json").await;
        let alpha = list["subscriptions"][0]["id"].as_str().unwrap().to_owned();
        app.json("/reader/api/0/unread-count?output=json&all=true&client=liferea").await;
        let ids = app.json(&format!("/reader/api/0/stream/items/ids?s={alpha}&n=100&output=json")).await;
        let named: Vec<_> = decimal_ids(&ids).iter().map(|id| format!("i={id}")).collect();
        // No header here: what it logged in with stands in `T`, unescaped.
        let auth = std::mem::take(&mut app.auth);
        let body = format!("output=json&T={auth}&{}", named.join("&"));
        let contents = app.call("POST", "/reader/api/0/stream/items/contents", Some(&body)).await.ok(200);
        assert_eq!(titles(&contents).len(), 3);
        assert!(contents["items"][0]["canonical"][0]["href"].is_string());
        assert!(contents["items"][0]["updated"].as_i64() > Some(1_700_000_000), "it dates items by nothing else");
        app.auth = auth;
        let token = app.call("GET", "/reader/api/0/token", None).await.text;
        let item = app.long_id("Alpha 1").await.replace(':', "%3A").replace('/', "%2F");
        let edit = "/reader/api/0/edit-tag?client=liferea";
        let tail = format!("s=feed%2Fhttp%3A%2F%2Fx&ac=edit-tags&T={token}&async=true");
        app.change(edit, &format!("i={item}&{tail}&a={READ}")).await;
        assert_eq!(app.state("Alpha 1").await, (true, false));
        app.change(edit, &format!("i={item}&{tail}&a=user/-/state/com.google/kept-unread&r={READ}")).await;
        app.change(edit, &format!("i={item}&{tail}&a=user/-/state/com.google/tracking-kept-unread")).await;
        app.change(edit, &format!("i={item}&{tail}&a={STARRED}")).await;
        assert_eq!(app.state("Alpha 1").await, (false, true));
        let subscribe = "/reader/api/0/subscription/edit?client=liferea";
        let url = reader.publish("/gamma.xml", &rss("Gamma", 1)).replace(':', "%3A").replace('/', "%2F");
        app.change(subscribe, &format!("s=feed%2F{url}&i=null&ac=subscribe&T={token}")).await;
        app.change(subscribe, &format!("s=feed%2F{url}&a=user%2F-%2Flabel%2FNews&ac=edit&T={token}&async=true")).await;
        app.change(subscribe, &format!("s=feed%2F{url}&i=null&ac=unsubscribe&T={token}")).await;
        assert_eq!(reader.get("/api/feeds").await.as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn s1_rss_guard() {
    for reader in Reader::each().await {
        let (alpha, _) = reader.filled().await;
        let mut app = Played::at(&reader, "/api/greader.php");
        app.took(&app.call("POST", "/accounts/ClientLogin", Some("Email=reader&Passwd=correct%20horse")).await);
        app.call("GET", "/reader/api/0/token", None).await;
        app.json("/reader/api/0/user-info?output=json").await;
        let tags = app.json("/reader/api/0/tag/list?output=json").await;
        assert!(tags["tags"].as_array().unwrap().iter().any(|tag| tag["type"] == "folder"));
        app.json("/reader/api/0/subscription/list?output=json").await;
        let ids = "/reader/api/0/stream/items/ids?output=json&n=200000&s=";
        let list = READING_LIST.replace('/', "%2F");
        let starred = app.json(&format!("{ids}{}&ot=1600000000", STARRED.replace('/', "%2F"))).await;
        let all = app.json(&format!("{ids}{list}&ot=1600000000")).await;
        let unread = app.json(&format!("{ids}{list}&xt={READ}&ot=1600000000")).await;
        assert_eq!((decimal_ids(&starred).len(), decimal_ids(&all).len(), decimal_ids(&unread).len()), (1, 6, 5));
        // It computes the long ids, and compares them with those in the items.
        let long: Vec<_> =
            decimal_ids(&all).iter().map(|id| format!("tag:google.com,2005:reader/item/{id:016x}")).collect();
        let body: Vec<_> = long.iter().map(|id| format!("i={}", id.replace(':', "%3A").replace('/', "%2F"))).collect();
        let path = "/reader/api/0/stream/items/contents?output=json&n=200000";
        let contents = app.call("POST", path, Some(&body.join("&"))).await.ok(200);
        let mut found: Vec<_> = contents["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
        found.sort_by_key(|id| id.as_str());
        let mut long_sorted = long.clone();
        long_sorted.sort();
        assert_eq!(found, long_sorted.iter().map(|id| json!(id)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
        assert!(contents.get("continuation").is_none());
        let contents = app.json(&format!("/reader/api/0/stream/contents/feed%2F{alpha}?output=json&n=2000000")).await;
        assert_eq!(titles(&contents).len(), 3);
        // No `T`.
        app.change("/reader/api/0/edit-tag", &format!("a={READ}&i={}&i={}", long[0], long[1])).await;
        app.change("/reader/api/0/edit-tag", &format!("r={STARRED}&i={}", app.long_id("Beta 2").await)).await;
        assert!(!app.state("Beta 2").await.1);
        // And all of it in the query.
        let edit = format!("/reader/api/0/subscription/edit?ac=edit&s=feed/{alpha}&t=Renamed&a=user/-/label/Other");
        app.change(&edit, "").await;
        assert_eq!(reader.get(&format!("/api/feeds/{alpha}")).await["customTitle"], "Renamed");
    }
}

#[tokio::test]
async fn s1_newsflash() {
    for reader in Reader::each().await {
        reader.filled().await;
        let mut app = Played::at(&reader, "/api/greader.php/");
        let login = |secret: &str| format!("Email=reader&Passwd={secret}");
        app.took(&app.call("POST", "/accounts/ClientLogin", Some(&login(&reader.token))).await);
        let first = app.auth.clone();
        app.took(&app.call("POST", "/accounts/ClientLogin", Some(&login(&reader.token))).await);
        assert_eq!(app.auth, first);
        let token = app.call("GET", "/reader/api/0/token", None).await.text;
        app.json("/reader/api/0/user-info?output=json").await;
        app.json("/reader/api/0/unread-count?output=json").await;
        let feeds = app.json("/reader/api/0/subscription/list?output=json").await;
        for feed in feeds["subscriptions"].as_array().unwrap() {
            for name in ["id", "title", "url", "htmlUrl", "iconUrl"] {
                assert!(feed[name].is_string(), "{name}");
            }
        }
        app.json("/reader/api/0/tag/list?output=json").await;
        let unread = format!("/reader/api/0/stream/items/ids?output=json&n=10000&s={READING_LIST}&xt={READ}");
        let ids = decimal_ids(&app.json(&unread).await);
        assert_eq!(ids.len(), 5);
        let named: Vec<_> = ids.iter().map(|id| format!("i=tag:google.com,2005:reader/item/{id:016x}")).collect();
        let contents = format!("output=json&T={token}&{}", named.join("&"));
        let contents = app.call("POST", "/reader/api/0/stream/items/contents", Some(&contents)).await.ok(200);
        assert_eq!(titles(&contents).len(), 5);
        let since = "/reader/api/0/stream/contents?output=json&n=1000&ot=1600000000";
        assert_eq!(titles(&app.json(&format!("{since}&s={READING_LIST}")).await).len(), 6);
        let url = reader.publish("/gamma.xml", &rss("Gamma", 1));
        let added =
            app.call("POST", "/reader/api/0/subscription/quickadd", Some(&format!("quickadd={url}&T={token}"))).await;
        let stream = added.ok(200)["streamId"].as_str().unwrap().to_owned();
        let edit = "/reader/api/0/subscription/edit";
        app.change(edit, &format!("ac=edit&s={stream}&t=Mine&a=user/-/label/New&T={token}")).await;
        app.change("/reader/api/0/rename-tag", &format!("s=user/-/label/New&dest=user/-/label/Old&T={token}")).await;
        app.change("/reader/api/0/disable-tag", &format!("s=user/-/label/Old&T={token}")).await;
        app.change(edit, &format!("ac=unsubscribe&s={stream}&T={token}")).await;
        app.change("/reader/api/0/edit-tag", &format!("{}&a={READ}&T={token}", named.join("&"))).await;
        assert_eq!(reader.get("/api/counts").await["total"], 0);
        app.change("/reader/api/0/mark-all-as-read", &format!("s={READING_LIST}&T={token}")).await;
        let opml = app.call("GET", "/reader/api/0/subscription/export", None).await;
        assert!(opml.text.contains("<opml"));
    }
}

#[tokio::test]
async fn s1_netnewswire() {
    for reader in Reader::each().await {
        let (alpha, _) = reader.filled().await;
        let mut app = Played::at(&reader, "");
        app.took(&app.call("POST", "/accounts/ClientLogin", Some("Email=reader&Passwd=correct%20horse")).await);
        let token = app.call("GET", "/reader/api/0/token", None).await.text;
        for path in ["tag/list", "subscription/list"] {
            let path = format!("/reader/api/0/{path}?output=json");
            let first = app.call("GET", &path, None).await;
            let request = reader.server.request("GET", &path).header("if-none-match", first.header("etag"));
            let again = answer(request.header("authorization", format!("GoogleLogin auth={}", app.auth))).await;
            assert_eq!(again.status, 304);
        }
        // A time with a fraction, and of ids only the digits.
        let ids = "/reader/api/0/stream/items/ids?n=10000&output=json";
        let new = app.call("GET", &format!("{ids}&ot=1600000000.123&xt={READ}&s={READING_LIST}"), None).await;
        assert!(!new.header("date").is_empty(), "it takes its next `ot` from there");
        let unread = decimal_ids(&new.ok(200));
        assert_eq!(unread.len(), 5);
        assert_eq!(decimal_ids(&app.json(&format!("{ids}&s={STARRED}")).await).len(), 1);
        let of_feed =
            app.json(&format!("/reader/api/0/stream/items/ids?s=feed/{alpha}&ot=1600000000.5&output=json")).await;
        assert_eq!(decimal_ids(&of_feed).len(), 3);
        let named: Vec<_> = unread.iter().map(|id| format!("i=tag:google.com,2005:reader/item/{id:x}")).collect();
        let body = format!("T={token}&output=json&{}", named.join("&"));
        let contents = app.call("POST", "/reader/api/0/stream/items/contents", Some(&body)).await.ok(200);
        assert_eq!(titles(&contents).len(), 5);
        let marked: Vec<_> = unread.iter().take(2).map(|id| format!("i={id:016x}")).collect();
        app.change("/reader/api/0/edit-tag", &format!("T={token}&{}&a={READ}", marked.join("&"))).await;
        assert_eq!(reader.get("/api/counts").await["total"], 3);
        let url = reader.publish("/gamma.xml", &rss("Gamma", 1));
        let edit = "/reader/api/0/subscription/edit";
        app.change(edit, &format!("T={token}&ac=subscribe&s=feed/{url}&a=user/-/label/My Folder&t=")).await;
        let list = app.json("/reader/api/0/subscription/list?output=json").await;
        let list = list["subscriptions"].as_array().unwrap();
        let gamma = list.iter().find(|one| one["url"] == url.as_str()).unwrap();
        assert_eq!((&gamma["title"], &gamma["categories"][0]["label"]), (&json!("Gamma"), &json!("My Folder")));
        let id = gamma["id"].as_str().unwrap();
        app.change(edit, &format!("T={token}&s={id}&ac=edit&r=user/-/label/My Folder")).await;
        app.change(edit, &format!("T={token}&s={id}&ac=edit&t=Mine")).await;
        app.change(edit, &format!("T={token}&s={id}&ac=unsubscribe")).await;
    }
}

#[tokio::test]
async fn s1_read_you() {
    for reader in Reader::each().await {
        reader.filled().await;
        let mut app = Played::at(&reader, "/api/greader.php");
        let login =
            "output=json&Email=reader&Passwd=correct+horse&client=ReadYou&accountType=HOSTED_OR_GOOGLE&service=reader";
        let login = app.call("POST", "/accounts/ClientLogin", Some(login)).await.ok(200);
        app.auth = login["Auth"].as_str().unwrap().to_owned();
        let token = app.call("GET", "/reader/api/0/token", None).await.text;
        app.json("/reader/api/0/user-info?output=json").await;
        app.json("/reader/api/0/subscription/list?output=json").await;
        let ids = "/reader/api/0/stream/items/ids?output=json";
        let read = app.json(&format!("{ids}&s={READING_LIST}&it={READ}&ot=1600000000&n=10000")).await;
        let read_by_stream = app.json(&format!("{ids}&s={READ}&ot=1600000000&n=10000")).await;
        assert_eq!((decimal_ids(&read), decimal_ids(&read).len()), (decimal_ids(&read_by_stream), 1));
        let unread = decimal_ids(&app.json(&format!("{ids}&s={READING_LIST}&xt={READ}&n=10000")).await);
        assert_eq!(decimal_ids(&app.json(&format!("{ids}&s=user/-/label/News&xt={READ}&n=10000")).await).len(), 2);
        assert_eq!(decimal_ids(&app.json(&format!("{ids}&s={STARRED}&n=10000")).await).len(), 1);
        let named: Vec<_> = unread.iter().map(|id| format!("i={id}")).collect();
        let path = "/reader/api/0/stream/items/contents?output=json";
        let contents = app.call("POST", path, Some(&format!("{}&T={token}", named.join("&")))).await.ok(200);
        assert_eq!(titles(&contents).len(), 5);
        let url = reader.publish("/gamma.xml", &rss("Gamma", 1));
        let path = format!("/reader/api/0/subscription/quickadd?output=json&quickadd={url}");
        let added = app.call("POST", &path, Some(&format!("quickadd={url}&T={token}"))).await.ok(200);
        let list = app.json("/reader/api/0/subscription/list?output=json").await;
        let list = list["subscriptions"].as_array().unwrap();
        assert!(list.iter().any(|one| one["id"] == added["streamId"]));
        app.change("/reader/api/0/edit-tag?output=json", &format!("{}&a={READ}&T={token}", named.join("&"))).await;
        app.change("/reader/api/0/disable-tag?output=json", &format!("s=user/-/label/News&T={token}")).await;
    }
}

#[tokio::test]
async fn s1_fluent_reader() {
    for reader in Reader::each().await {
        reader.filled().await;
        let app = App::log_in(&reader, "/api/greader.php", &reader.token).await;
        app.json("user-info", &[]).await;
        app.json("subscription/list", &[("output", "json")]).await;
        let unread =
            app.json("stream/items/ids", &[("output", "json"), ("s", READING_LIST), ("xt", READ), ("n", "1000")]);
        assert_eq!(decimal_ids(&unread.await).len(), 5);
        // It goes on while pages are full, and stops at the first that it knows.
        let mut known: Vec<String> = Vec::new();
        let (mut last, mut seen) = (None::<String>, Vec::new());
        for round in 0..2 {
            let page = app.json("stream/contents", &[("output", "json"), ("n", "125")]).await;
            for item in page["items"].as_array().unwrap() {
                let id = item["id"].as_str().unwrap().to_owned();
                if Some(&id) == last.as_ref() {
                    break;
                }
                seen.push(item["title"].as_str().unwrap().to_owned());
                known.push(id);
            }
            last = page["items"][0]["id"].as_str().map(str::to_owned);
            if round == 0 {
                assert_eq!(seen.len(), 6);
                reader.add("/late.xml", &rss("Late", 2), None).await;
            }
        }
        assert_eq!(seen.len(), 8, "what comes later is before what is known, whatever its date: {seen:?}");
        // An app in a browser's clothes: its origin is no page of ours, and it has no cookie.
        let request = reader.server.request("POST", "/api/greader.php/reader/api/0/edit-tag").header("origin", "null");
        let request = request.header("authorization", format!("GoogleLogin auth={}", app.auth));
        let first: i64 = i64::from_str_radix(&known[0][known[0].len() - 16..], 16).unwrap();
        let marked = answer(with_form(request, &[("i", &first.to_string()), ("a", READ)])).await;
        assert_eq!(marked.text, "OK");
        app.change("mark-all-as-read", &[("s", "feed/1")]).await;
    }
}

#[tokio::test]
async fn s1_readrops() {
    for reader in Reader::each().await {
        reader.filled().await;
        let mut app = Played::at(&reader, "/api/greader.php");
        // A form in parts.
        let part = |name: &str, value: &str| {
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let body = format!("{}{}--b--\r\n", part("Email", "reader"), part("Passwd", PASSWORD));
        let request = reader.server.request("POST", "/api/greader.php/accounts/ClientLogin");
        app.took(&answer(request.header("content-type", "multipart/form-data; boundary=b").body(body)).await);
        let token = app.call("GET", "/reader/api/0/token", None).await.text;
        app.json("/reader/api/0/user-info").await;
        app.json("/reader/api/0/subscription/list?output=json").await;
        app.json("/reader/api/0/tag/list?output=json").await;
        let list = "/reader/api/0/stream/contents/user/-/state/com.google/";
        assert_eq!(titles(&app.json(&format!("{list}reading-list?xt={READ}&xt={STARRED}&n=2500")).await).len(), 4);
        assert_eq!(titles(&app.json(&format!("{list}reading-list?n=2500&ot=1600000000")).await).len(), 6);
        assert_eq!(titles(&app.json(&format!("{list}starred?n=1000")).await), ["Beta 2"]);
        let ids = app.json(&format!("/reader/api/0/stream/items/ids?xt={READ}&s={READING_LIST}&n=5000")).await;
        assert_eq!(decimal_ids(&ids).len(), 5, "in JSON, though nothing asks for it");
        let item = app.long_id("Alpha 1").await;
        app.change("/reader/api/0/edit-tag", &format!("T={token}&a={READ}&i={item}")).await;
        app.change("/reader/api/0/edit-tag", &format!("T={token}&a=user/-/label/Made")).await;
        let url = reader.publish("/gamma.xml", &rss("Gamma", 1));
        let edit = "/reader/api/0/subscription/edit";
        app.change(edit, &format!("T={token}&s=feed/{url}&ac=subscribe&a=user/-/label/Made")).await;
        app.change(edit, &format!("T={token}&s=feed/{url}&t=Mine&a=user/-/label/News&ac=edit")).await;
        app.change("/reader/api/0/rename-tag", &format!("T={token}&s=user/-/label/Made&dest=user/-/label/Other")).await;
        app.change("/reader/api/0/disable-tag", &format!("T={token}&s=user/-/label/Other")).await;
        app.change(edit, &format!("T={token}&s=feed/{url}&ac=unsubscribe")).await;
    }
}

#[tokio::test]
async fn s1_capy() {
    for reader in Reader::each().await {
        reader.filled().await;
        let mut app = Played::at(&reader, "/api/greader.php");
        // Name and password in the query of a POST without a body.
        let path = format!("/accounts/ClientLogin?Email=reader&Passwd={}", reader.token);
        app.took(&app.call("POST", &path, None).await);
        let token = app.call("GET", "/reader/api/0/token", None).await.text;
        app.json("/reader/api/0/subscription/list?output=json").await;
        let ids = "/reader/api/0/stream/items/ids?n=10000&output=json";
        let unread = decimal_ids(&app.json(&format!("{ids}&s={READING_LIST}&xt={READ}")).await);
        assert_eq!(decimal_ids(&app.json(&format!("{ids}&s={STARRED}")).await).len(), 1);
        let named: Vec<_> = unread.iter().map(|id| format!("i={id:016x}")).collect();
        let path = "/reader/api/0/stream/items/contents?output=json";
        let contents = app.call("POST", path, Some(&format!("{}&T={token}", named.join("&")))).await.ok(200);
        assert_eq!(titles(&contents).len(), 5);
        app.change("/reader/api/0/edit-tag?output=json", &format!("{}&T={token}&a={STARRED}", named.join("&"))).await;
        assert_eq!(reader.get("/api/counts").await["starred"], 5);
        // What has gone bad is told by a header, and the next token is good again.
        let good = std::mem::replace(&mut app.auth, "x".repeat(43));
        let bad = app.call("POST", "/reader/api/0/edit-tag", Some("i=1")).await;
        assert_eq!((bad.status, bad.header("x-reader-google-bad-token")), (401, "true"));
        app.auth = good;
        app.json("/reader/api/0/subscription/list").await;
    }
}

/// Reeder, FeedMe and ReadKit have no sources to read. What is known of them: notes of those who watched them.
#[tokio::test]
async fn s1_reeder_and_feedme() {
    for reader in Reader::each().await {
        let (alpha, _) = reader.filled().await;
        for (base, t) in [("", ""), ("/api/greader.php", "x"), ("/greader", "")] {
            let mut app = Played::at(&reader, base);
            let login =
                format!("accountType=HOSTED_OR_GOOGLE&service=reader&Email=reader&Passwd={}&client=x", reader.token);
            app.took(&app.call("POST", "/accounts/ClientLogin", Some(&login)).await);
            app.json("/reader/api/0/user-info?output=json&ck=1700000000&client=x").await;
            app.json("/reader/api/0/preference/stream/list?output=json").await;
            app.json("/reader/api/0/tag/list?output=json").await;
            app.json("/reader/api/0/subscription/list?output=json").await;
            app.json("/reader/api/0/unread-count?output=json").await;
            let ids = "/reader/api/0/stream/items/ids?output=json&merge=true&ac=1&n=1000";
            assert_eq!(decimal_ids(&app.json(&format!("{ids}&s={READING_LIST}&xt={READ}")).await).len(), 5);
            let path =
                format!("/reader/api/0/stream/contents/feed/{alpha}?n=50&r=n&mediaRss=true&likes=false&comments=false");
            assert_eq!(titles(&app.json(&path).await).len(), 3);
            let item = app.long_id("Alpha 1").await;
            for (change, expect) in [("a", true), ("r", false)] {
                app.change("/reader/api/0/edit-tag", &format!("i={item}&{change}={READ}&T={t}")).await;
                assert_eq!(app.state("Alpha 1").await.0, expect);
            }
            let body = format!("s=feed/{alpha}&ts=1600000000000000&T={t}");
            app.change("/reader/api/0/mark-all-as-read", &body).await;
        }
        assert_eq!(reader.get("/api/counts").await["total"], 5);
    }
}
