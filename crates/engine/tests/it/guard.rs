//! U8: the guarded client against a publisher that it may or may not ask.

use std::{net::Ipv4Addr, time::Duration};

use domain::ports::{Arrived, Headers, Http, HttpError, HttpRequest, HttpResponse, Method};
use engine::http::{ClientSettings, GuardedClient, OwnServer, user_agent};
use testkit::{Gate, Page, Publisher};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket},
    task::JoinSet,
};
use url::Url;

/// What the child process of [`u8_a_proxy_of_the_environment_is_not_used`] fetches.
const CHILD_URL: &str = "PIRSSONITE_TEST_CHILD_URL";

fn client(allow: &[&str]) -> GuardedClient {
    with(ClientSettings {
        allow_networks: allow.iter().map(|net| net.parse().unwrap()).collect(),
        ..ClientSettings::default()
    })
}

fn with(settings: ClientSettings) -> GuardedClient {
    GuardedClient::new(settings).unwrap()
}

fn get(url: &str) -> HttpRequest {
    HttpRequest {
        method: Method::Get,
        url: url.to_owned(),
        credentials: None,
        headers: Headers::default(),
        body: bytes::Bytes::new(),
        body_bytes_max: 1_000_000,
        redirects_max: 5,
        timeout: Duration::from_secs(10),
        arrived: Arrived::default(),
    }
}

async fn fetch(client: &GuardedClient, url: &str) -> Result<HttpResponse, HttpError> {
    client.send(get(url)).await
}

#[tokio::test]
async fn u8_private_addresses_are_refused_in_every_spelling() {
    let publisher = Publisher::start().await;
    publisher.set("/", Page::body("secret"));
    let port = publisher.address().port();
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "localhost",
        "LOCALHOST.",
        "１２７.0.0.1",
    ] {
        let answer = fetch(&client(&[]), &format!("http://{host}:{port}/")).await;
        assert!(matches!(answer, Err(HttpError::Forbidden(_) | HttpError::NotFound(_))), "{host}: {answer:?}");
    }
    assert_eq!(publisher.request_count(), 0);
    assert_eq!(fetch(&client(&["127.0.0.0/8"]), &publisher.url("/")).await.unwrap().body, b"secret");
}

#[tokio::test]
async fn u8_a_redirect_is_judged_like_a_request() {
    let public = Publisher::start().await;
    let (private, _nobody) = alone_on_its_port().await;
    private.set("/", Page::body("secret"));
    public.set("/", Page::redirect(302, &private.url("/")));
    public.set("/name", Page::redirect(302, &format!("http://localhost:{}/", private.address().port())));
    let client = client(&["127.0.0.1/32"]);
    for path in ["/", "/name"] {
        // `localhost` is 127.0.0.1 here, where nobody listens on that port.
        let answer = fetch(&client, &public.url(path)).await;
        assert!(matches!(answer, Err(HttpError::Forbidden(_) | HttpError::Connect { .. })), "{answer:?}");
    }
    assert_eq!(private.request_count(), 0);
}

/// A publisher on 127.0.0.2, and its port on 127.0.0.1, bound so that nobody else listens there.
async fn alone_on_its_port() -> (Publisher, TcpSocket) {
    loop {
        let publisher = Publisher::start_at(Ipv4Addr::new(127, 0, 0, 2).into()).await;
        let socket = TcpSocket::new_v4().unwrap();
        if socket.bind((Ipv4Addr::LOCALHOST, publisher.address().port()).into()).is_ok() {
            return (publisher, socket);
        }
    }
}

#[tokio::test]
async fn u8_environment_proxy_is_ignored() {
    let publisher = Publisher::start().await;
    let proxy = Publisher::start().await;
    publisher.set("/", Page::body("direct"));
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "guard::child_that_fetches"])
        .env(CHILD_URL, publisher.url("/"))
        .envs(["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"].map(|name| (name, proxy.url("/"))))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let status = tokio::task::spawn_blocking(move || {
        let mut child = child;
        child.wait()
    })
    .await
    .unwrap()
    .unwrap();
    assert!(status.success());
    assert_eq!((publisher.request_count(), proxy.request_count()), (1, 0));
}

#[tokio::test]
async fn child_that_fetches() {
    if let Ok(url) = std::env::var(CHILD_URL) {
        assert_eq!(fetch(&client(&["127.0.0.1/32"]), &url).await.unwrap().body, b"direct");
    }
}

#[tokio::test]
async fn u8_operator_proxy_keeps_the_guard() {
    let proxy = Publisher::start().await;
    proxy.set("http://feeds.invalid/", Page::body("by proxy"));
    let settings = ClientSettings { proxy: Some(Url::parse(&proxy.url("/")).unwrap()), ..ClientSettings::default() };
    let client = with(settings);
    assert_eq!(fetch(&client, "http://feeds.invalid/").await.unwrap().body, b"by proxy");
    for private in ["http://10.0.0.1/", "http://localhost/"] {
        assert!(matches!(fetch(&client, private).await, Err(HttpError::Forbidden(_))), "{private}");
    }
    assert_eq!(proxy.request_count(), 1);
}

#[tokio::test]
async fn u8_size_is_counted_after_decompression() {
    const LIMIT: usize = 100_000;
    let publisher = Publisher::start().await;
    publisher.set("/endless", Page::endless("x".repeat(1000)));
    publisher.set("/announced", Page::body("x".repeat(LIMIT + 1)));
    publisher.set("/gzip", Page::body(gzip_bomb()).header("Content-Encoding", "gzip"));
    publisher.set("/zstd", Page::body(zstd_bomb()).header("Content-Encoding", "zstd"));
    publisher.set("/exact", Page::body("x".repeat(LIMIT)).gzip());
    let client = client(&["127.0.0.1/32"]);
    for path in ["/endless", "/announced", "/gzip", "/zstd"] {
        let request = HttpRequest { body_bytes_max: LIMIT, ..get(&publisher.url(path)) };
        assert_eq!(client.send(request).await.unwrap_err(), HttpError::TooLarge(LIMIT), "{path}");
    }
    let exact = client.send(HttpRequest { body_bytes_max: LIMIT, ..get(&publisher.url("/exact")) }).await.unwrap();
    assert_eq!(exact.body.len(), LIMIT);
}

/// 64 MiB of zeros as 3 KiB: blocks of one repeated byte.
fn zstd_bomb() -> Vec<u8> {
    const BLOCK_BYTES: u32 = 128 * 1024;
    const BLOCKS: u32 = 512;
    // The frame: magic, a window of 128 KiB, no size. A block: three bytes of size, kind and whether it is the last.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3];
    for block in 1..=BLOCKS {
        let head = BLOCK_BYTES << 3 | 1 << 1 | u32::from(block == BLOCKS);
        out.extend(&head.to_le_bytes()[..3]);
        out.push(0);
    }
    out
}

/// 16 MiB of zeros as 100 KiB: one literal, then "the last 258 bytes again", 13 bits each.
fn gzip_bomb() -> Vec<u8> {
    const REPEATS: usize = 65_000;
    let mut bits = vec![true, true, false, false, false, true, true, false, false, false, false];
    for _ in 0..REPEATS {
        bits.extend([true, true, false, false, false, true, false, true]);
        bits.extend([false; 5]);
    }
    bits.extend([false; 7]);
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    out.extend(bits.chunks(8).map(|byte| byte.iter().rev().fold(0u8, |sum, bit| sum << 1 | u8::from(*bit))));
    out
}

#[tokio::test]
async fn u8_time_is_bounded() {
    let publisher = Publisher::start().await;
    publisher.set("/hang", Page::hang());
    publisher.set("/endless", Page::endless("x"));
    let silence = ClientSettings {
        allow_networks: vec!["127.0.0.1/32".parse().unwrap()],
        read_timeout: Duration::from_millis(100),
        ..ClientSettings::default()
    };
    let host = publisher.address().to_string();
    assert_eq!(fetch(&with(silence), &publisher.url("/hang")).await.unwrap_err(), HttpError::TimedOut(host.clone()));
    for path in ["/hang", "/endless"] {
        let request = HttpRequest {
            timeout: Duration::from_millis(100),
            body_bytes_max: usize::MAX,
            ..get(&publisher.url(path))
        };
        assert_eq!(
            client(&["127.0.0.1/32"]).send(request).await.unwrap_err(),
            HttpError::TimedOut(host.clone()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn u8_errors_have_system_names() {
    let publisher = Publisher::start().await;
    publisher.set("/reset", Page::reset());
    publisher.set("/cut", Page::break_off("half"));
    publisher.set("/cut-gzip", Page::break_off(&gzip_bomb()[..500]).header("Content-Encoding", "gzip"));
    let client = client(&["127.0.0.1/32"]);
    let host = publisher.address().to_string();
    let error = |code: &str| HttpError::Connect { host: host.clone(), code: code.to_owned() };
    assert_eq!(fetch(&client, &publisher.url("/reset")).await.unwrap_err(), error("ECONNRESET"));
    assert_eq!(fetch(&client, &publisher.url("/cut")).await.unwrap_err(), HttpError::BrokenOff(host.clone()));
    assert_eq!(fetch(&client, &publisher.url("/cut-gzip")).await.unwrap_err(), HttpError::BrokenOff(host.clone()));
    assert!(matches!(fetch(&client, "http://no-such-name.invalid/").await, Err(HttpError::NotFound(_))));
    assert!(matches!(fetch(&client, "ftp://e.org/").await, Err(HttpError::BadUrl(_))));
    let no_url = fetch(&client, "e.org").await.unwrap_err();
    assert_eq!(no_url.to_string(), "not a web address: it is no URL");
    let tls = fetch(&client, &format!("https://{host}/")).await.unwrap_err();
    assert!(matches!(tls, HttpError::Tls { .. } | HttpError::BrokenOff(_) | HttpError::Connect { .. }), "{tls:?}");
    let nobody = publisher.url("/");
    drop(publisher);
    assert_eq!(refused_after_drop(&client, &nobody).await, error("ECONNREFUSED"));
}

#[tokio::test]
async fn f4_bad_encoding_differs_from_broken_connection() {
    let publisher = Publisher::start().await;
    let damaged = [&gzip_bomb()[..2000], &[0xff; 2000]].concat();
    for (coding, body) in [
        ("gzip", b"plain".to_vec()),
        ("gzip", damaged),
        // All that was announced came, but the archive in it has no end.
        ("gzip", gzip_bomb()[..500].to_vec()),
        ("br", vec![0xff; 300]),
        ("br", vec![0x1b, 0x0f, 0]),
        ("zstd", vec![0xff; 300]),
    ] {
        publisher.set("/", Page::body(body.clone()).header("Content-Encoding", coding));
        let error = fetch(&client(&["127.0.0.1/32"]), &publisher.url("/")).await.unwrap_err();
        assert_eq!(error, HttpError::Compression(publisher.address().to_string()), "{coding} {}", body.len());
    }
}

/// The listener goes with its task, a moment after it was told to.
async fn refused_after_drop(client: &GuardedClient, url: &str) -> HttpError {
    loop {
        match fetch(client, url).await {
            Err(error @ HttpError::Connect { .. }) if error.to_string().contains("REFUSED") => return error,
            _ => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn u8_endless_refusal_keeps_its_status() {
    let publisher = Publisher::start().await;
    publisher.set("/", Page::endless("no ").with_status(503));
    let answer = fetch(&client(&["127.0.0.1/32"]), &publisher.url("/")).await.unwrap();
    assert_eq!(answer.status, 503);
    assert!(answer.body.starts_with(b"no no "));
}

#[tokio::test]
async fn f4_redirects_are_followed_and_counted() {
    let publisher = Publisher::start().await;
    publisher.set("/a", Page::redirect(301, "/b"));
    publisher.set("/b", Page::redirect(302, "/c?x=1#y"));
    publisher.set("/c?x=1", Page::body("end"));
    publisher.set("/loop", Page::redirect(307, "/loop"));
    let client = client(&["127.0.0.1/32"]);
    let answer = fetch(&client, &publisher.url("/a")).await.unwrap();
    assert_eq!((answer.body.as_slice(), answer.url), (&b"end"[..], publisher.url("/c?x=1")));
    assert_eq!(answer.moved_to, Some(publisher.url("/b")));
    let error = fetch(&client, &publisher.url("/loop")).await.unwrap_err();
    assert_eq!(error, HttpError::Redirects(publisher.address().to_string()));
    assert_eq!(publisher.requests("/loop").len(), 6);
}

#[tokio::test]
async fn f1_password_goes_to_its_host_only() {
    let publisher = Publisher::start().await;
    let other = Publisher::start_at(Ipv4Addr::new(127, 0, 0, 2).into()).await;
    publisher.set("/a", Page::redirect(302, "/b"));
    publisher.set("/b", Page::redirect(302, &other.url("/c")));
    other.set("/c", Page::redirect(302, &publisher.url("/d")));
    let client = client(&["127.0.0.0/8"]);
    let request = HttpRequest { credentials: Some("u:geheim".to_owned()), ..get(&publisher.url("/a")) };
    assert!(!format!("{request:?}{client:?}").contains("geheim"));
    client.send(request).await.unwrap();
    let sent = |from: &Publisher, path: &str| from.requests(path)[0].header("authorization").map(str::to_owned);
    let basic = Some("Basic dTpnZWhlaW0=".to_owned());
    assert_eq!((sent(&publisher, "/a"), sent(&publisher, "/b")), (basic.clone(), basic));
    assert_eq!((sent(&other, "/c"), sent(&publisher, "/d")), (None, None));
    let in_url = format!("http://u:geheim@{}/a", other.address());
    let error = fetch(&self::client(&[]), &in_url).await.unwrap_err();
    assert!(!error.to_string().contains("geheim"), "{error}");
}

#[tokio::test]
async fn f4_request_names_agent_and_formats() {
    let publisher = Publisher::start().await;
    publisher.set("/", Page::body("hello").gzip());
    let answer = fetch(&client(&["127.0.0.1/32"]), &publisher.url("/")).await.unwrap();
    assert_eq!(answer.body, b"hello");
    let request = &publisher.requests("/")[0];
    let encodings = request.header("accept-encoding").unwrap();
    assert!(["gzip", "br", "zstd"].iter().all(|known| encodings.contains(known)), "{encodings}");
    assert!(request.header("user-agent").unwrap().starts_with("piRSSonite/"));
    let contact = "https://e.org/about".parse().unwrap();
    assert!(user_agent(Some(&contact)).ends_with("(feed reader; +https://e.org/about)"));
    assert_eq!(request.header("referer"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_redirects_count_at_their_target_host() {
    let target = Publisher::start().await;
    let gate = Gate::default();
    target.set("/", Page::body("hello").behind(&gate));
    let elsewhere = Publisher::start_at("127.0.0.2".parse().unwrap()).await;
    elsewhere.set("/", Page::redirect(302, &target.url("/")));
    let settings = ClientSettings {
        allow_networks: vec!["127.0.0.0/8".parse().unwrap()],
        host_concurrency: Some(2),
        ..ClientSettings::default()
    };
    let client = GuardedClient::new(settings).unwrap();
    let url = elsewhere.url("/");
    let answers = futures_util::future::join_all((0..12).map(|_| fetch(&client, &url)));
    let two_are_there = async {
        target.asked("/", 2).await;
        gate.open();
    };
    let (answers, ()) = tokio::join!(answers, two_are_there);
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.body == b"hello")));
    assert_eq!(target.concurrency_max(), 2);
}

#[tokio::test]
async fn u8_w1_own_server_is_never_asked() {
    let (this, other) = (Publisher::start().await, Publisher::start().await);
    this.set("/api", Page::body("secret"));
    other.set("/", Page::body("public"));
    let (port, base_url) = (this.address().port(), "https://reader.example/sub");
    let settings = |listen: &str| ClientSettings {
        allow_networks: vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap(), "0.0.0.0/8".parse().unwrap()],
        own: OwnServer { listen: Some(listen.parse().unwrap()), base_url: Url::parse(base_url).ok() },
        ..ClientSettings::default()
    };
    for listen in [format!("127.0.0.1:{port}"), format!("0.0.0.0:{port}")] {
        let client = with(settings(&listen));
        other.set("/there", Page::redirect(302, &this.url("/api")));
        let named =
            ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"].map(|host| format!("http://{host}:{port}/api"));
        let elsewhere = [other.url("/there"), format!("{base_url}/api/feeds"), "http://reader.example/sub/".to_owned()];
        for url in named.into_iter().chain(elsewhere) {
            let answer = fetch(&client, &url).await;
            assert!(matches!(answer, Err(HttpError::OwnServer(_))), "{listen} {url}: {answer:?}");
        }
        assert!(matches!(client.check(&this.url("/api")).await, Err(HttpError::OwnServer(_))));
        assert!(matches!(client.check(&format!("http://localhost:{port}/")).await, Err(HttpError::OwnServer(_))));
        assert_eq!(fetch(&client, &other.url("/")).await.unwrap().body, b"public", "{listen}");
    }
    assert_eq!(this.requests("/api").len(), 0);
}

/// Answers one request; ends when its connection does.
async fn answer_one(listener: TcpListener) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut buffer = [0; 4096];
    let read = stream.read(&mut buffer).await.unwrap();
    assert!(read > 0);
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
}

#[tokio::test]
async fn p3_idle_connections_to_publishers_end_before_those_to_receivers() {
    let client = client(&["127.0.0.0/8"]);
    let mut ends = JoinSet::new();
    for (method, name) in [(Method::Post, "receiver"), (Method::Get, "publisher")] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        ends.spawn(async move {
            answer_one(listener).await;
            name
        });
        assert_eq!(client.send(HttpRequest { method, ..get(&url) }).await.unwrap().status, 200);
    }
    assert_eq!(ends.join_next().await.unwrap().unwrap(), "publisher");
}
