//! The engine in its world: what happens to it, and what it has made of that.

use domain::account::READER;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use domain::{
    EntryFilter, FeedId,
    ports::{Clock as _, Store},
    push::{Algorithm, Subscription, sign},
};
use engine::{AddFeed, Deps, Engine, EngineSettings, PushAnswer, PushRequest, PushSettings, TimeLeft};
use jiff::{SignedDuration, Timestamp};
use testkit::{SeededIds, SimulatedClock};

use super::{
    net::Net,
    scene::{FEEDS, Publisher, STEP, Scene, Tally},
};

pub(super) struct World {
    pub(super) clock: SimulatedClock,
    engine: Arc<Engine>,
    store: Arc<dyn Store>,
    scene: Arc<Mutex<Scene>>,
    feeds: Vec<FeedId>,
}

impl World {
    pub(super) async fn new(store: Arc<dyn Store>, clock: SimulatedClock, seed: u64) -> Self {
        let scene = Arc::new(Mutex::new(Scene::new(clock.clone(), seed)));
        let net = Net { scene: Arc::clone(&scene), engine: Arc::new(OnceLock::new()) };
        let settings = EngineSettings {
            batch_wait: Duration::ZERO,
            push: PushSettings { base_url: Some("https://we.example".into()), ..PushSettings::default() },
            ..EngineSettings::default()
        };
        let engine = Engine::new(Deps {
            store: Arc::clone(&store),
            http: Arc::new(net.clone()),
            clock: Arc::new(clock.clone()),
            ids: Arc::new(SeededIds::new(seed)),
            settings,
        });
        net.engine.set(Arc::clone(&engine)).expect("the net has no engine yet");
        let mut feeds = Vec::new();
        for number in 0..FEEDS {
            let url = format!("https://p{number}.example/feed");
            feeds.push(
                engine.add_feed(AddFeed { account: READER, url, folder_id: None, title: None }).await.unwrap().id,
            );
        }
        Self { clock, engine, store, scene, feeds }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// When the next thing happens, in the world or in the engine.
    pub(super) async fn next_time(&self) -> Timestamp {
        let now = self.now();
        let in_world = self.scene.lock().unwrap().next_time();
        let poll = self.store.next_poll_in().await.unwrap();
        let step = self.store.next_step_in().await.unwrap();
        let in_engine = [poll, step].into_iter().flatten().min().unwrap_or(Duration::MAX);
        let in_engine = in_engine.min(Duration::from_hours(24));
        let next = in_world.min(now + SignedDuration::try_from(in_engine).unwrap()).max(now);
        // Later, and together with what happens about the same time: a year has many moments.
        let step = STEP.as_secs();
        Timestamp::from_second((next.as_second() / step + 1) * step).unwrap()
    }

    /// Lets happen in the world what is due; what was published is pushed.
    pub(super) async fn happen(&self) {
        let pushes = self.scene.lock().unwrap().happen();
        for (feed, token, secret, body) in pushes {
            let delivery = PushRequest {
                signature: Some(sign(Algorithm::Sha256, body.as_bytes(), &secret)),
                content_type: Some("application/atom+xml".into()),
                body: body.into_bytes(),
                ..PushRequest::default()
            };
            // As long as a busy machine takes.
            let mut time = TimeLeft::new(Duration::from_mins(3));
            let answer = match self.engine.recipient(&token, &mut time).await.unwrap() {
                Ok(recipient) => self.engine.receive(recipient, delivery, time).await.unwrap(),
                Err(answer) => answer,
            };
            if answer == PushAnswer::Stored {
                let mut scene = self.scene.lock().unwrap();
                scene.tally.pushes += 1;
                scene.saw_all(feed);
            }
        }
    }

    /// Lets the engine do what is due, and looks at what came of it.
    pub(super) async fn engine_works(&self) {
        let is_due = |next: Option<Duration>| next == Some(Duration::ZERO);
        // A poll may lead to a step, and a step to a poll.
        loop {
            let step = is_due(self.store.next_step_in().await.unwrap());
            let poll = is_due(self.store.next_poll_in().await.unwrap());
            if step {
                self.engine.settle_push().await.unwrap();
            }
            if poll {
                self.engine.refresh_due().await.unwrap();
            }
            if !step && !poll {
                break;
            }
        }
        self.look_at_recoveries().await;
    }

    /// How long it took, or takes, until push was back at hubs that have recovered.
    async fn look_at_recoveries(&self) {
        let now = self.now();
        let waiting: Vec<(usize, Timestamp)> = {
            let scene = self.scene.lock().unwrap();
            let since = |publisher: &Publisher| {
                // Since the first of its hubs is well again.
                let hubs = publisher.hubs.iter().filter_map(|hub| scene.hubs[*hub].well_since);
                hubs.min().map(|since| since.max(publisher.hubs_since))
            };
            scene
                .publishers
                .iter()
                .enumerate()
                .filter_map(|(feed, publisher)| Some((feed, since(publisher)?)))
                .collect()
        };
        // Only those that have waited for long: it costs a look into the store.
        for (feed, since) in waiting {
            let waited = now.duration_since(since);
            let others = if self.hub_count(feed) > 1 { SignedDuration::from_mins(156) } else { SignedDuration::ZERO };
            let waited = waited - others;
            if waited > SignedDuration::from_hours(24) && waited < SignedDuration::from_hours(60) {
                let subscription = self.store.subscription_of(self.feeds[feed]).await.unwrap();
                let is_back = subscription.as_ref().is_some_and(Subscription::is_active);
                if !is_back {
                    let mut scene = self.scene.lock().unwrap();
                    scene.tally.longest_recovery = scene.tally.longest_recovery.max(waited);
                }
            }
        }
    }

    fn hub_count(&self, feed: usize) -> usize {
        self.scene.lock().unwrap().publishers[feed].hubs.len()
    }

    /// From now on all is well, and nothing is published.
    pub(super) fn quiet_down(&self) {
        self.scene.lock().unwrap().quiet_down();
    }

    /// The entries of each feed that are stored, by their numbers.
    pub(super) async fn stored(&self) -> BTreeMap<usize, Vec<u64>> {
        let mut stored = BTreeMap::new();
        for (number, feed) in self.feeds.iter().enumerate() {
            let filter = EntryFilter { feed_id: Some(*feed), ..EntryFilter::default() };
            let (mut numbers, mut after) = (Vec::new(), None);
            loop {
                let page = self.store.entries(READER, &filter, 500, after).await.unwrap();
                numbers.extend(
                    page.entries.iter().map(|entry| entry.guid.rsplit(':').next().unwrap().parse::<u64>().unwrap()),
                );
                after = page.next_cursor;
                if after.is_none() {
                    break;
                }
            }
            numbers.sort_unstable();
            stored.insert(number, numbers);
        }
        stored
    }

    /// The same of those that were published.
    pub(super) fn published(&self) -> BTreeMap<usize, Vec<u64>> {
        let scene = self.scene.lock().unwrap();
        let numbers = |publisher: &Publisher| publisher.entries.iter().map(|(number, _)| *number).collect();
        scene.publishers.iter().map(numbers).enumerate().collect()
    }

    pub(super) fn longest_delay(&self) -> SignedDuration {
        self.scene.lock().unwrap().tally.longest_delay
    }

    pub(super) fn longest_recovery(&self) -> SignedDuration {
        self.scene.lock().unwrap().tally.longest_recovery
    }

    pub(super) fn pushes(&self) -> u64 {
        self.scene.lock().unwrap().tally.pushes
    }

    pub(super) fn outages(&self) -> u64 {
        self.scene.lock().unwrap().tally.outages
    }

    pub(super) fn summary(&self) -> String {
        let scene = self.scene.lock().unwrap();
        let Tally { pushes, polls, outages, longest_delay, longest_recovery, seen } = &scene.tally;
        format!(
            "{} entries, {pushes} pushes, {polls} polls, {outages} outages of hubs, longest delay {longest_delay:#}, \
             longest recovery beyond a day {longest_recovery:#}",
            seen.len()
        )
    }
}
