//! F4: an outage of ours is blamed on no feed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    FeedId,
    account::READER,
    ports::{Http, HttpError, HttpRequest, HttpResponse},
};
use engine::{Engine, http::GuardedClient};
use testkit::{Page, Publisher};

use crate::world::{self, World, import, rss};

/// A network that can be cut, as a whole or for some hosts.
#[derive(Debug, Clone)]
struct Network {
    client: GuardedClient,
    cut: Arc<Mutex<Cut>>,
}

#[derive(Debug, Default)]
struct Cut {
    all: Option<HttpError>,
    hosts: HashMap<String, HttpError>,
}

#[async_trait]
impl Http for Network {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let host = url::Url::parse(&request.url).unwrap().authority().to_owned();
        let error = {
            let cut = self.cut.lock().unwrap();
            cut.all.clone().or_else(|| cut.hosts.get(&host).cloned())
        };
        match error {
            Some(error) => Err(error),
            None => self.client.send(request).await,
        }
    }
}

fn refused(code: &str) -> HttpError {
    HttpError::Connect { host: "e.org".to_owned(), code: code.to_owned() }
}

struct Scene {
    engine: Arc<Engine>,
    cut: Arc<Mutex<Cut>>,
    publishers: Vec<Publisher>,
    ids: Vec<FeedId>,
}

/// Feeds at as many hosts, all of them fetched once.
async fn scene(world: &World, hosts: usize) -> Scene {
    world.stop_clocks().await;
    let cut = Arc::new(Mutex::new(Cut::default()));
    let engine = world.engine_through(|client| Network { client, cut: Arc::clone(&cut) });
    let mut publishers = Vec::new();
    for _ in 0..hosts {
        let publisher = Publisher::start().await;
        publisher.set("/feed", Page::body(rss(&[("1", "One")])));
        publishers.push(publisher);
    }
    let urls: Vec<String> = publishers.iter().map(|publisher| publisher.url("/feed")).collect();
    let ids = import(&world.store, &urls).await;
    assert_eq!(engine.refresh_due().await.unwrap().fetched, u32::try_from(hosts).unwrap());
    Scene { engine, cut, publishers, ids }
}

#[tokio::test]
async fn f4_outage_is_blamed_on_no_feed() {
    let host = || "e.org".to_owned();
    let ways = [
        refused("ECONNREFUSED"),
        refused("ENETUNREACH"),
        HttpError::NotFound(host()),
        HttpError::TimedOut(host()),
        HttpError::NoNameService,
        HttpError::Exhausted("system error 24".to_owned()),
    ];
    for world in world::each().await {
        let Scene { engine, cut, ids, publishers: _publishers } = scene(&world, 6).await;
        for way in &ways {
            cut.lock().unwrap().all = Some(way.clone());
            world.advance(Duration::from_hours(48)).await;
            for _ in 0..10 {
                engine.refresh_due().await.unwrap();
                world.advance(Duration::from_mins(2)).await;
            }
            let outage = engine.outage().unwrap_or_else(|| panic!("no outage: {way}"));
            assert!(!outage.reason.is_empty());
            for id in &ids {
                let feed = world.feed(*id).await;
                assert_eq!((feed.failure_count, feed.last_error.as_deref()), (0, None), "{way}");
                assert!(world.due_in(&feed) <= 60, "{way}: {}", world.due_in(&feed));
            }
            // It is over with the first host that is reached, and all others follow.
            cut.lock().unwrap().all = None;
            let summary = engine.refresh_due().await.unwrap();
            assert_eq!((summary.polled, summary.failed), (6, 0), "{way}");
            assert_eq!(engine.outage(), None, "{way}");
        }
    }
}

#[tokio::test]
async fn f4_full_memory_is_no_outage_and_no_feeds_fault() {
    for world in world::each().await {
        let Scene { engine, cut, publishers, ids } = scene(&world, 4).await;
        world.advance(Duration::from_hours(48)).await;
        for publisher in &publishers[..3] {
            cut.lock().unwrap().hosts.insert(publisher.address().to_string(), HttpError::NoMemory);
        }
        engine.refresh_due().await.unwrap();
        assert_eq!(engine.outage(), None);
        for id in &ids[..3] {
            let feed = world.feed(*id).await;
            assert_eq!((feed.failure_count, feed.last_error.as_deref()), (0, None));
            assert!((1..=60).contains(&world.due_in(&feed)), "{}", world.due_in(&feed));
        }
        assert!(world.due_in(&world.feed(ids[3]).await) > 60, "the other was fetched");
    }
}

#[tokio::test]
async fn f4_single_dead_host_is_no_outage() {
    for world in world::each().await {
        let Scene { engine, cut, publishers, ids } = scene(&world, 4).await;
        let dead = &publishers[0];
        let more: Vec<String> = (0..10).map(|n| dead.url(&format!("/{n}"))).collect();
        let mut of_dead = import(&world.store, &more).await;
        of_dead.push(ids[0]);
        cut.lock().unwrap().hosts.insert(dead.address().to_string(), refused("ECONNREFUSED"));
        for _ in 0..5 {
            world.advance(Duration::from_mins(15)).await;
            engine.refresh_due().await.unwrap();
            assert_eq!(engine.outage(), None);
        }
        world.advance(Duration::from_hours(3)).await;
        engine.refresh_due().await.unwrap();
        for id in of_dead {
            assert!(world.feed(id).await.failure_count > 0, "{id}");
        }
        for id in &ids[1..] {
            assert_eq!(world.feed(*id).await.failure_count, 0);
        }
    }
}

#[tokio::test]
async fn f4_some_dead_hosts_are_counted_though_no_other_is_due() {
    for world in world::each().await {
        let Scene { engine, cut, publishers, ids } = scene(&world, 12).await;
        // A zone may be broken, and a host may have nothing but IPv6.
        for (count, way) in [(4, refused("ECONNREFUSED")), (1, HttpError::NoNameService), (1, refused("ENETUNREACH"))] {
            let dead = &ids[..count];
            let hosts = publishers[..count].iter().map(|publisher| (publisher.address().to_string(), way.clone()));
            cut.lock().unwrap().hosts = hosts.collect();
            for _ in 0..8 {
                for id in dead {
                    world.store.poll_soon(*id, Duration::ZERO).await.unwrap();
                }
                engine.refresh_due().await.unwrap();
                assert_eq!(engine.outage(), None, "{way}");
                world.advance(Duration::from_mins(1)).await;
            }
            for id in dead {
                assert!(world.feed(*id).await.failure_count > 0, "{id} {way}");
            }
            for id in &ids[count..] {
                assert_eq!(world.feed(*id).await.failure_count, 0, "{id} {way}");
            }
            cut.lock().unwrap().hosts.clear();
            for id in dead {
                engine.refresh_feed(READER, *id).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn f4_one_hosts_failure_is_the_feeds() {
    for world in world::each().await {
        let Scene { engine, cut, ids, publishers: _publishers } = scene(&world, 1).await;
        let fail = |error| cut.lock().unwrap().all = Some(error);
        // It may soon be over, but nothing shows that it is not the feed's.
        fail(HttpError::NoNameService);
        world.advance(Duration::from_hours(24)).await;
        for expect in [0, 0, 0, 1] {
            engine.refresh_due().await.unwrap();
            assert_eq!((world.feed(ids[0]).await.failure_count, engine.outage()), (expect, None));
            world.advance(Duration::from_mins(2)).await;
        }
        cut.lock().unwrap().all = None;
        world.advance(Duration::from_hours(24)).await;
        engine.refresh_due().await.unwrap();
        assert_eq!(world.feed(ids[0]).await.failure_count, 0);
        fail(HttpError::TimedOut("e.org".to_owned()));
        world.advance(Duration::from_hours(24)).await;
        engine.refresh_due().await.unwrap();
        assert_eq!((world.feed(ids[0]).await.failure_count, engine.outage()), (1, None));
    }
}
