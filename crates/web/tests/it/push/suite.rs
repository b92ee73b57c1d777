//! The cases for subscribers of the W3C's suite, by their numbers: what it serves, and when it passes.

use domain::account::READER;
use std::time::Duration;

use domain::push::SubscriptionState;
use testkit::{Behaviour, Hub, HubPush, Page, Query, Signed};

use super::world::{World, atom, each};

const POST: &str = "<div class=\"h-entry\"><a class=\"u-url p-name\" href=\"/post/1\">Post</a>\
                    <div class=\"e-content\">Words</div></div>";

const NEW_POST: &str = "<div class=\"h-entry\"><a class=\"u-url p-name\" href=\"/post/2\">New</a>\
                        <div class=\"e-content\">Words</div></div>";

fn html(head: &str, body: &str) -> String {
    format!("<!doctype html><html><head><title>T</title>{head}</head><body>{body}</body></html>")
}

fn links(hub: &str, topic: &str) -> String {
    format!("<link rel=\"hub\" href=\"{hub}\"><link rel=\"self\" href=\"{topic}\">")
}

fn rss(hub: &str, topic: &str, entry: &str) -> String {
    format!(
        "<rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\"><channel><title>T</title>\
         <atom:link rel=\"hub\" href=\"{hub}\"/><atom:link rel=\"self\" href=\"{topic}\"/>\
         <item><guid>{entry}</guid><title>{entry}</title><description>Words</description></item></channel></rss>"
    )
}

/// A world whose hub is that of the suite.
async fn worlds() -> Vec<World> {
    let worlds = each().await;
    for world in &worlds {
        world.hub.script(Behaviour::of_w3c_suite());
    }
    worlds
}

/// Adds the page at this path; the hub must be asked for this topic, verify, and push.
async fn passes(world: &World, path: &str, topic: &str, hub: &Hub, pushed: &str) {
    let id = world.add(&world.publisher.url(path)).await;
    world.settle().await;
    assert_eq!(hub.request().await.topic, topic, "{path}");
    assert_eq!(world.state(id).await, SubscriptionState::Active, "{path}");
    let before = world.entries(id).await.len();
    let answers = hub.publish(topic, HubPush::new("text/html", pushed)).await;
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [204], "{path}: {answers:?}");
    assert_eq!(world.entries(id).await.len(), before + 1, "{path}");
}

#[tokio::test]
async fn w1_100_hub_and_self_in_two_link_headers() {
    for world in worlds().await {
        let topic = world.publisher.url("/100");
        let page = Page::body(html("", POST)).header("Content-Type", "text/html");
        let page = page.header("Link", &format!("<{}>; rel=\"hub\"", world.hub.url()));
        world.publisher.set("/100", page.header("Link", &format!("<{topic}>; rel=\"self\"")));
        passes(&world, "/100", &topic, &world.hub, &html("", NEW_POST)).await;
    }
}

#[tokio::test]
async fn w1_101_links_in_the_head_of_a_page() {
    for world in worlds().await {
        let topic = world.publisher.url("/101");
        let page = Page::body(html(&links(&world.hub.url(), &topic), POST));
        world.publisher.set("/101", page.header("Content-Type", "text/html"));
        passes(&world, "/101", &topic, &world.hub, &html("", NEW_POST)).await;
    }
}

#[tokio::test]
async fn w1_102_103_links_in_atom_and_in_rss() {
    for world in worlds().await {
        let (hub, topic) = (world.hub.url(), world.publisher.url("/102"));
        world.publisher.set("/102", Page::body(atom(&hub, &topic, &["a"])).header("Content-Type", "text/xml"));
        passes(&world, "/102", &topic, &world.hub, &atom(&hub, &topic, &["b"])).await;
        let topic = world.publisher.url("/103");
        world.publisher.set("/103", Page::body(rss(&hub, &topic, "a")).header("Content-Type", "text/xml"));
        passes(&world, "/103", &topic, &world.hub, &rss(&hub, &topic, "b")).await;
    }
}

#[tokio::test]
async fn w1_104_header_hub_goes_first() {
    for world in worlds().await {
        let (other, topic) = (Hub::start().await, world.publisher.url("/104"));
        let link = format!("<{}>; rel=hub, <{topic}>; rel=self", world.hub.url());
        let page = Page::body(atom(&other.url(), &world.publisher.url("/wrong"), &["a"]));
        world.publisher.set("/104", page.header("Link", &link));
        passes(&world, "/104", &topic, &world.hub, &atom(&other.url(), &topic, &["b"])).await;
        assert!(other.requests().is_empty());
    }
}

#[tokio::test]
async fn w2_200_topic_is_exactly_self() {
    for world in worlds().await {
        let (hub, topic) = (world.hub.url(), world.publisher.url("/200?self=other"));
        world.publisher.set("/200", Page::body(atom(&hub, &topic, &["a"])));
        passes(&world, "/200", &topic, &world.hub, &atom(&hub, &topic, &["b"])).await;
        assert_eq!(world.store.feeds(READER).await.unwrap()[0].url, world.publisher.url("/200"));
    }
}

#[tokio::test]
async fn w1_201_202_topic_is_self_after_redirects() {
    for world in worlds().await {
        for (status, path) in [(302, "/201"), (301, "/202")] {
            let (hub, target) = (world.hub.url(), format!("{path}-target"));
            let topic = world.publisher.url(&target);
            world.publisher.set(path, Page::redirect(status, &topic));
            world.publisher.set(&target, Page::body(atom(&hub, &topic, &["a"])));
            passes(&world, path, &topic, &world.hub, &atom(&hub, &topic, &["b"])).await;
        }
    }
}

#[tokio::test]
async fn w2_203_204_subscription_follows_redirects() {
    for world in worlds().await {
        for (status, path) in [(307, "/203"), (308, "/204")] {
            let first = Hub::start().await;
            first.script(Behaviour::only(Page::redirect(status, &world.hub.url())));
            let topic = world.publisher.url(path);
            world.publisher.set(path, Page::body(atom(&first.url(), &topic, &["a"])));
            passes(&world, path, &topic, &world.hub, &atom(&first.url(), &topic, &["b"])).await;
            assert_eq!(first.requests()[0].secret, world.hub.requests().last().unwrap().secret);
        }
    }
}

#[tokio::test]
async fn w4_205_another_topic_is_404() {
    for world in worlds().await {
        world.hub.script(Behaviour::asking([Query::invalid_topic()]));
        let id = world.subscribe("/205").await;
        assert_eq!(world.hub.verification().await.status, 404);
        assert_eq!(world.state(id).await, SubscriptionState::Pending);
    }
}

#[tokio::test]
async fn w5_300_301_302_only_signed_pushes_are_taken() {
    for world in worlds().await {
        let id = world.subscribe("/300").await;
        let held = world.held("/300").await;
        for (signed, status) in [(Signed::Right, 204), (Signed::TooLong, 403), (Signed::Missing, 403)] {
            let title = format!("{signed:?}");
            let answer = world.hub.push(&held, world.push_of("/300", &[&title]).signed(signed)).await;
            assert_eq!(answer.status, status, "{title}");
        }
        assert_eq!(world.titles(id).await, ["Right", "first"]);
        assert_eq!(world.state(id).await, SubscriptionState::Active, "it stays");
        // The hub may have lost the secret: the feed is polled soon, but not for each of them.
        assert!(world.due_in(id).await <= 60);
        world.advance(Duration::from_mins(1)).await;
        world.settle().await;
        let later = world.due_in(id).await;
        assert!(later > 600, "{later}");
        let wrong = || async { world.hub.push(&held, world.push_of("/300", &["wrong"]).signed(Signed::TooLong)).await };
        assert_eq!(wrong().await.status, 403);
        assert_eq!(world.due_in(id).await, later, "once in ten minutes");
        world.advance(Duration::from_mins(10)).await;
        assert_eq!(wrong().await.status, 403);
        assert!(world.due_in(id).await <= 60);
    }
}
