//! What strangers do at the callback, and that no hub suffers from it.

use std::time::Duration;

use domain::{account::READER, push::SubscriptionState};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use testkit::{Behaviour, HubPush, Verify};
use web::{ServeLimits, WebSettings};

use super::world::{DAY, World, atom, each, each_serving, each_with_few_pushes};
use crate::raw::{Client, LONG, PROBE};

/// More than the limit, and then some.
const CONNECTIONS: usize = 1000;

/// The callback without a token.
fn tokenless(world: &World) -> String {
    format!("{}/api/websub/callback", world.url)
}

/// A push of about so many bytes.
fn push_of_size(world: &World, path: &str, title: &str, bytes: usize) -> HubPush {
    let document = atom(&world.hub.url(), &world.publisher.url(path), &[title]);
    HubPush::new("application/atom+xml", document + &" ".repeat(bytes))
}

#[tokio::test]
async fn w3_u8_tokenless_bodies_have_own_memory() {
    let settings = WebSettings {
        push_memory_bytes: 64 * 1024,
        tokenless_memory_bytes: 64 * 1024,
        json_timeout: LONG * 2,
        ..WebSettings::default()
    };
    for world in each_serving(settings, ServeLimits::default()).await {
        let id = world.subscribe("/f").await;
        let held = world.held("/f").await;
        let mut stranger = Client::connect(&world.url).await;
        let headers = "Host: localhost\r\nX-Hub-Signature: sha1=00\r\nContent-Length: 70000\r\n";
        stranger.send(&format!("POST /api/websub/callback HTTP/1.1\r\n{headers}\r\n{}", " ".repeat(60_000))).await;
        // Once it has come, no other of its kind is taken.
        let (mut by_topic, mut pushed) = (held.clone(), 0);
        by_topic.callback = tokenless(&world);
        let by_topic_is =
            async || world.hub.push(&by_topic, push_of_size(&world, "/f", "by topic", 20_000)).await.status;
        while by_topic_is().await != 503 {
            assert!(pushed < 500, "the limit is not reached");
            pushed += 1;
        }
        let push = push_of_size(&world, "/f", "by token", 20_000);
        assert_eq!(world.hub.push(&held, push).await.status, 204);
        assert!(world.titles(id).await.contains(&"by token".to_owned()));
    }
}

#[tokio::test]
async fn w3_tokenless_body_is_read_only_if_wanted() {
    for world in each().await {
        world.subscribe("/f").await;
        let known = world.publisher.url("/f");
        let signed = "X-Hub-Signature: sha1=00\r\n";
        for (query, headers, answer) in [
            (format!("?hub.topic={known}"), String::new(), "403 Forbidden"),
            (format!("?hub.topic={known}"), "X-Hub-Signature: md5=00\r\n".to_owned(), "400 Bad Request"),
            ("?hub.topic=http://nobody.example/".to_owned(), signed.to_owned(), "404 Not Found"),
            (String::new(), format!("{signed}Link: <http://nobody.example/>; rel=self\r\n"), "404 Not Found"),
            (format!("?hub.topic={known}"), signed.to_owned(), "100 Continue"),
            (String::new(), format!("{signed}Link: <{known}>; rel=self\r\n"), "100 Continue"),
            (String::new(), signed.to_owned(), "100 Continue"),
        ] {
            let mut client = Client::connect(&world.url).await;
            let head = format!("Host: localhost\r\n{headers}Content-Length: 1000\r\nExpect: 100-continue\r\n");
            client.send(&format!("POST /api/websub/callback{query} HTTP/1.1\r\n{head}\r\n")).await;
            // Whoever is told to continue is asked for the body.
            assert_eq!(client.until("\r\n").await, format!("HTTP/1.1 {answer}\r\n"), "{query} {headers}");
        }
    }
}

#[tokio::test]
async fn w3_unsigned_body_is_not_read_though_the_token_is_right() {
    for world in each().await {
        world.subscribe("/f").await;
        let callback = world.held("/f").await.callback;
        let path = callback.strip_prefix(&world.url).unwrap();
        for (headers, answer) in [
            ("", "403 Forbidden"),
            ("X-Hub-Signature: nonsense\r\n", "403 Forbidden"),
            ("X-Hub-Signature: md5=00\r\n", "400 Bad Request"),
            ("X-Hub-Signature: sha1=00\r\n", "100 Continue"),
        ] {
            let mut client = Client::connect(&world.url).await;
            let head = format!("Host: localhost\r\n{headers}Content-Length: 1000\r\nExpect: 100-continue\r\n");
            client.send(&format!("POST {path} HTTP/1.1\r\n{head}\r\n")).await;
            assert_eq!(client.until("\r\n").await, format!("HTTP/1.1 {answer}\r\n"), "{headers}");
        }
    }
}

#[tokio::test]
async fn w3_u8_one_subscription_does_not_take_the_memory_of_all() {
    let settings = WebSettings { push_memory_bytes: 64 * 1024, json_timeout: LONG * 2, ..WebSettings::default() };
    for world in each_serving(settings, ServeLimits::default()).await {
        world.subscribe("/greedy").await;
        let id = world.subscribe("/f").await;
        let (greedy, held) = (world.held("/greedy").await, world.held("/f").await);
        let path = greedy.callback.strip_prefix(&world.url).unwrap();
        let headers = "Host: localhost\r\nX-Hub-Signature: sha1=00\r\nContent-Length: 20000\r\n";
        let mut unfinished = Vec::new();
        for _ in 0..8 {
            let mut client = Client::connect(&world.url).await;
            client.send(&format!("POST {path} HTTP/1.1\r\n{headers}\r\n{}", " ".repeat(15_000))).await;
            unfinished.push(client);
        }
        // Once those have come, no more of the same is read.
        let mut pushed = 0;
        while world.hub.push(&greedy, push_of_size(&world, "/greedy", "more", 1_000)).await.status != 503 {
            assert!(pushed < 500, "the limit is not reached");
            pushed += 1;
        }
        assert_eq!(world.hub.push(&held, push_of_size(&world, "/f", "pushed", 20_000)).await.status, 204);
        assert_eq!(world.titles(id).await, ["first", "pushed"]);
    }
}

#[tokio::test]
async fn w3_u8_strangers_use_up_no_subscription_rate() {
    for world in each_with_few_pushes().await {
        let id = world.subscribe("/f").await;
        // The minute in which they are counted is a real one.
        for path in [|number: u32| format!("/api/websub/callback/{number}"), |_| "/api/websub/callback".to_owned()] {
            let mut statuses = Vec::new();
            while statuses.last() != Some(&429) {
                assert!(statuses.len() < 1000, "each has an account of its own");
                statuses.push(world.post(&path(u32::try_from(statuses.len()).unwrap())).await.status);
            }
            assert!(statuses.iter().all(|status| [403, 404, 429].contains(status)), "{statuses:?}");
        }
        assert_eq!(world.hub.push(&world.held("/f").await, world.push_of("/f", &["pushed"])).await.status, 204);
        assert_eq!(world.titles(id).await, ["first", "pushed"]);
    }
}

#[tokio::test]
async fn w3_tokenless_confirmation_keeps_polling_until_push() {
    for world in each().await {
        world.hub.script(Behaviour::verifying(Verify::Never));
        let id = world.subscribe("/f").await;
        let mut request = world.hub.request().await;
        request.callback = tokenless(&world);
        assert!(world.hub.verify(&request).await.confirms());
        world.settle().await;
        assert!(world.due_in(id).await < 86_400, "it is polled as usual");
        assert_eq!(world.hub.push(&world.held("/f").await, world.push_of("/f", &["new"])).await.status, 204);
        world.advance(DAY).await;
        world.settle().await;
        assert_eq!(world.due_in(id).await, 86_400);
    }
}

#[tokio::test]
async fn w3_u8_strangers_fill_no_log() {
    crate::observed::log();
    for (place, world) in each().await.into_iter().enumerate() {
        world.subscribe("/f").await;
        let topic = world.publisher.url("/f");
        let (held, bare) = (world.held("/f").await.callback, tokenless(&world));
        let unknown = format!("{bare}/nobody's");
        let ask = format!("hub.mode=unsubscribe&hub.challenge=x&hub.topic={topic}");
        let wrong = "sha1=0000000000000000000000000000000000000000";
        for (step, (method, url, signature, is_logged)) in [
            ("POST", unknown.clone(), Some(wrong), false),
            ("POST", bare.clone(), None, false),
            ("POST", format!("{bare}?hub.topic={topic}"), Some(wrong), false),
            ("GET", format!("{unknown}?{ask}"), None, false),
            ("GET", format!("{bare}?{ask}"), None, false),
            // Who knows the token may be a hub that has lost the secret.
            ("POST", held.clone(), None, true),
            ("POST", held.clone(), Some(wrong), true),
            ("GET", format!("{held}?{ask}"), None, true),
        ]
        .into_iter()
        .enumerate()
        {
            let id = format!("stranger-{place}-{step}");
            let request = reqwest::Client::new().request(method.parse().unwrap(), &url).header("x-request-id", &id);
            let request = signature.into_iter().fold(request, |request, it| request.header("x-hub-signature", it));
            let answer = crate::server::answer(request).await;
            assert!([403, 404].contains(&answer.status), "{method} {url}: {answer:?}");
            let lines = crate::observed::logged(&id);
            assert!(!lines.is_empty(), "{method} {url}");
            assert_eq!(lines.iter().any(|line| line["level"] != "DEBUG"), is_logged, "{method} {url}: {lines:?}");
        }
    }
}

#[tokio::test]
async fn w5_u8_refused_pushes_fill_no_log() {
    crate::observed::log();
    for (place, world) in each_with_few_pushes().await.into_iter().enumerate() {
        world.subscribe("/f").await;
        let callback = world.held("/f").await.callback;
        let client = reqwest::Client::new();
        for turn in 0..2 {
            let (id, mut refused) = (format!("refused-{place}-{turn}"), 0);
            // The minute in which they are counted is a real one: on a slow machine it takes more until there are too many.
            for _ in 0..1000 {
                let answer = crate::server::answer(client.post(&callback).header("x-request-id", &id)).await;
                refused += usize::from(answer.status == 429);
                if refused == 20 {
                    break;
                }
            }
            let is_warning = |line: &&Value| line["level"] == "WARN" && line["fields"]["reason"] == "too_many";
            let warnings = crate::observed::logged(&id).iter().filter(is_warning).count();
            assert_eq!((refused, warnings), (20, 1), "in turn {turn}");
            // The poll that was asked for is due: what is refused now needs another.
            world.advance(Duration::from_secs(10)).await;
        }
    }
}

#[tokio::test]
async fn w5_u8_body_of_a_push_that_is_gone_or_too_many_is_drained() {
    let body = " ".repeat(6 * 1024 * 1024);
    for world in each_with_few_pushes().await {
        let id = world.subscribe("/f").await;
        let callback = world.held("/f").await.callback;
        let path = callback.strip_prefix(&world.url).unwrap();
        let status_of_push = async || {
            let mut client = Client::connect(&world.url).await;
            let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
            client.send(&head).await;
            client.send(&body).await;
            let answer = client.until("}").await;
            // All of it was read, so the connection serves for another request.
            client.send(PROBE).await;
            assert!(client.until("}").await.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            answer.lines().next().unwrap().to_owned()
        };
        // The minute in which they are counted is a real one.
        let mut pushed = 0;
        while status_of_push().await != "HTTP/1.1 429 Too Many Requests" {
            assert!(pushed < 500, "there are never too many");
            pushed += 1;
        }
        world.engine.delete_feed(READER, id).await.unwrap();
        assert_eq!(status_of_push().await, "HTTP/1.1 410 Gone");
    }
}

#[tokio::test]
async fn w4_head_verifies_nothing() {
    for world in each().await {
        world.hub.script(Behaviour::verifying(Verify::Never));
        let id = world.subscribe("/f").await;
        let request = world.hub.request().await;
        let topic = world.publisher.url("/f");
        for callback in [request.callback, tokenless(&world)] {
            let query = format!("hub.mode=subscribe&hub.challenge=x&hub.topic={topic}");
            let answer = world.head(&format!("{callback}?{query}")).await;
            assert_eq!((answer.status, answer.header("allow")), (405, "GET,POST"));
            assert_eq!(world.state(id).await, SubscriptionState::Pending);
        }
    }
}

#[tokio::test]
async fn w3_u8_idle_connections_delay_no_push() {
    // Client and server are one process here.
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    // None of them ends by itself before the test does.
    let settings = WebSettings { json_timeout: LONG * 4, quick_timeout: LONG * 4, ..WebSettings::default() };
    let limits = ServeLimits { header_timeout: LONG * 4, ..ServeLimits::default() };
    for world in each_serving(settings, limits).await {
        let id = world.subscribe("/f").await;
        let held = world.held("/f").await;
        let half_a_body = "POST /api/folders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                           Content-Length: 99\r\n\r\n{";
        let mut strangers = Vec::new();
        for number in 0..CONNECTIONS {
            let mut client = Client::connect(&world.url).await;
            client.send(["", "GET /healthz HTTP/1.1\r\nX-Slow: ", half_a_body][number % 3]).await;
            strangers.push(client);
        }
        let served = async {
            for path in ["/healthz", "/readyz"] {
                world.get(path).await.ok(200);
            }
            assert_eq!(world.hub.push(&held, world.push_of("/f", &["pushed"])).await.status, 204);
        };
        tokio::time::timeout(LONG, served).await.expect("it waits for strangers");
        assert_eq!(world.titles(id).await, ["first", "pushed"]);
    }
}
