//! The world around the engine: publishers and hubs that answer through the HTTP port, without sockets.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    EntryFilter, FeedId,
    ports::{Clock as _, Headers, Http, HttpError, HttpRequest, HttpResponse, Ids, Method, Store},
    push::{Algorithm, Subscription, sign},
};
use engine::{AddFeed, Delivery, Engine, EngineSettings, Parts, PushAnswer, PushSettings, Verification, VerifyAnswer};
use jiff::{SignedDuration, Timestamp};
use testkit::{SeededIds, SimulatedClock};
use url::form_urlencoded;

pub(super) const FEEDS: usize = 50;
const HUBS: usize = 8;

/// Time goes on in steps of this.
const STEP: SignedDuration = SignedDuration::from_mins(15);

/// Entries that a feed's document holds.
const SHOWN: usize = 20;

/// The hub's leases, in days.
const LEASES_DAYS: [u64; 4] = [1, 5, 10, 30];

/// How a hub behaves for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Well,
    Refuses,
    Errs,
    Denies,
    NeverVerifies,
    /// It takes subscriptions, and pushes nothing.
    Silent,
}

#[derive(Debug)]
struct Hub {
    mood: Mood,
    /// Since when it has been well.
    well_since: Option<Timestamp>,
    next_mood_at: Timestamp,
    /// By callback: topic, secret, end of the lease.
    subscribers: HashMap<String, (String, String, Timestamp)>,
}

#[derive(Debug)]
struct Publisher {
    hubs: Vec<usize>,
    /// Since when it has had these hubs.
    hubs_since: Timestamp,
    entries: Vec<(u64, Timestamp)>,
    next_entry_at: Timestamp,
    /// How often it publishes, on average.
    pause: Duration,
    version: u64,
}

#[derive(Debug, Default)]
struct Told {
    pushes: u64,
    polls: u64,
    outages: u64,
    longest_delay: SignedDuration,
    longest_recovery: SignedDuration,
    seen: HashSet<(usize, u64)>,
}

#[derive(Debug)]
struct Scene {
    clock: SimulatedClock,
    chance: SeededIds,
    hubs: Vec<Hub>,
    publishers: Vec<Publisher>,
    told: Told,
}

/// The HTTP port: what is asked is answered by the scene.
#[derive(Debug, Clone)]
struct Net {
    scene: Arc<Mutex<Scene>>,
    engine: Arc<OnceLock<Arc<Engine>>>,
}

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
            gather: Duration::ZERO,
            push: PushSettings { base_url: Some("https://we.example".into()), ..PushSettings::default() },
            ..EngineSettings::default()
        };
        let engine = Engine::new(Parts {
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
            feeds.push(engine.add_feed(AddFeed { url, folder_id: None, title: None }).await.unwrap().id);
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
            let delivery = Delivery {
                signature: Some(sign(Algorithm::Sha256, body.as_bytes(), &secret)),
                content_type: Some("application/atom+xml".into()),
                body: body.into_bytes(),
                ..Delivery::default()
            };
            let answer = match self.engine.recipient(Some(&token)).await.unwrap() {
                Ok(recipient) => self.engine.receive(recipient, delivery).await.unwrap(),
                Err(answer) => answer,
            };
            if answer == PushAnswer::Stored {
                let mut scene = self.scene.lock().unwrap();
                scene.told.pushes += 1;
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
                    scene.told.longest_recovery = scene.told.longest_recovery.max(waited);
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
                let page = self.store.entries(&filter, 500, after).await.unwrap();
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
        self.scene.lock().unwrap().told.longest_delay
    }

    pub(super) fn longest_recovery(&self) -> SignedDuration {
        self.scene.lock().unwrap().told.longest_recovery
    }

    pub(super) fn pushes(&self) -> u64 {
        self.scene.lock().unwrap().told.pushes
    }

    pub(super) fn outages(&self) -> u64 {
        self.scene.lock().unwrap().told.outages
    }

    pub(super) fn told(&self) -> String {
        let scene = self.scene.lock().unwrap();
        let Told { pushes, polls, outages, longest_delay, longest_recovery, seen } = &scene.told;
        format!(
            "{} entries, {pushes} pushes, {polls} polls, {outages} outages of hubs, longest delay {longest_delay:#}, \
             longest recovery beyond a day {longest_recovery:#}",
            seen.len()
        )
    }
}

impl Scene {
    fn new(clock: SimulatedClock, seed: u64) -> Self {
        let now = clock.now();
        let chance = SeededIds::new(!seed);
        let hubs = (0..HUBS)
            .map(|_| Hub {
                mood: Mood::Well,
                well_since: Some(now),
                next_mood_at: now + hours(24.0 + 24.0 * 10.0 * chance.fraction()),
                subscribers: HashMap::new(),
            })
            .collect();
        let publishers = (0..FEEDS)
            .map(|number| Publisher {
                hubs: if number % 5 == 0 { vec![number % HUBS, (number + 3) % HUBS] } else { vec![number % HUBS] },
                hubs_since: now,
                entries: vec![(0, now)],
                next_entry_at: now + hours(24.0 * chance.fraction()),
                pause: Duration::from_secs_f64(3600.0 * (12.0 + 84.0 * chance.fraction())),
                version: 0,
            })
            .collect();
        let mut scene = Self { clock, chance, hubs, publishers, told: Told::default() };
        (0..FEEDS).for_each(|feed| scene.saw_all(feed));
        scene
    }

    fn next_time(&self) -> Timestamp {
        let moods = self.hubs.iter().map(|hub| hub.next_mood_at);
        moods.chain(self.publishers.iter().map(|publisher| publisher.next_entry_at)).min().unwrap_or(Timestamp::MAX)
    }

    /// What is due happens; returns what is to be pushed: feed, token, secret and body.
    fn happen(&mut self) -> Vec<(usize, String, String, String)> {
        let now = self.clock.now();
        for number in 0..HUBS {
            // At the time it was meant for, not when it is looked: so the world is the same in every run.
            let at = self.hubs[number].next_mood_at;
            if at <= now {
                self.change_mood(number, at);
            }
        }
        let mut pushes = Vec::new();
        for number in 0..FEEDS {
            let at = self.publishers[number].next_entry_at;
            if at <= now {
                self.publish(number, at, &mut pushes);
            }
        }
        pushes
    }

    fn change_mood(&mut self, number: usize, now: Timestamp) {
        let (kind, length) = (self.chance.fraction(), self.chance.fraction());
        let hub = &mut self.hubs[number];
        if hub.mood != Mood::Well {
            hub.mood = Mood::Well;
            hub.well_since = Some(now);
            hub.next_mood_at = now + hours(24.0 + 24.0 * 12.0 * length);
            return;
        }
        let moods = [Mood::Refuses, Mood::Errs, Mood::Denies, Mood::NeverVerifies, Mood::Silent];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of five")]
        let place = (kind * 5.0) as usize;
        hub.mood = moods[place];
        hub.well_since = None;
        hub.next_mood_at = now + hours(1.0 + 24.0 * 12.0 * length * length);
        self.told.outages += 1;
        if self.hubs[number].mood == Mood::Denies {
            // It has forgotten whom it knew.
            self.hubs[number].subscribers.clear();
        }
    }

    fn publish(&mut self, number: usize, now: Timestamp, pushes: &mut Vec<(usize, String, String, String)>) {
        let (chance, moves, which) = (self.chance.fraction(), self.chance.fraction(), self.chance.fraction());
        let publisher = &mut self.publishers[number];
        let next = publisher.entries.last().map_or(0, |(last, _)| last + 1);
        publisher.entries.push((next, now));
        publisher.version += 1;
        publisher.next_entry_at = now + SignedDuration::try_from(publisher.pause.mul_f64(0.2 + 1.6 * chance)).unwrap();
        if moves < 0.01 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of eight")]
            let hub = (which * 8.0) as usize % HUBS;
            publisher.hubs = vec![hub];
            publisher.hubs_since = now + SignedDuration::from_hours(25);
        }
        let topic = topic(number);
        let body = document(number, publisher, 1);
        for hub in self.publishers[number].hubs.clone() {
            let hub = &mut self.hubs[hub];
            hub.subscribers.retain(|_, (_, _, until)| *until > now);
            if hub.mood != Mood::Well && hub.mood != Mood::NeverVerifies {
                continue;
            }
            for (callback, (its_topic, secret, _)) in &hub.subscribers {
                if *its_topic == topic {
                    let token = callback.rsplit('/').next().unwrap_or_default().to_owned();
                    pushes.push((number, token, secret.clone(), body.clone()));
                }
            }
        }
    }

    /// All that a publisher shows is stored now, and what had not been is as late as it is.
    fn saw_all(&mut self, feed: usize) {
        let now = self.clock.now();
        let publisher = &self.publishers[feed];
        let shown = publisher.entries.len().saturating_sub(SHOWN);
        for (number, published) in &publisher.entries[shown..] {
            if self.told.seen.insert((feed, *number)) {
                self.told.longest_delay = self.told.longest_delay.max(now.duration_since(*published));
            }
        }
    }

    fn quiet_down(&mut self) {
        for publisher in &mut self.publishers {
            publisher.next_entry_at = Timestamp::MAX;
        }
        for hub in &mut self.hubs {
            hub.next_mood_at = Timestamp::MAX;
        }
    }
}

#[async_trait]
impl Http for Net {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        match request.method {
            Method::Get => Ok(self.publisher_answers(&request)),
            Method::Post => self.hub_answers(&request).await,
        }
    }
}

impl Net {
    fn publisher_answers(&self, request: &HttpRequest) -> HttpResponse {
        let mut scene = self.scene.lock().unwrap();
        scene.told.polls += 1;
        let number = number_in(&request.url, "https://p").expect("only publishers are asked");
        let publisher = &scene.publishers[number];
        let etag = format!("\"{}-{:?}\"", publisher.version, publisher.hubs);
        let body = document(number, publisher, SHOWN);
        scene.saw_all(number);
        let is_known = request.headers.get("if-none-match") == Some(&etag);
        let headers = Headers(vec![("etag".into(), etag), ("content-type".into(), "application/atom+xml".into())]);
        if is_known { answer(304, headers, "", &request.url) } else { answer(200, headers, &body, &request.url) }
    }

    async fn hub_answers(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let form: HashMap<String, String> = form_urlencoded::parse(&request.body).into_owned().collect();
        let number = hub_number(&request.url).expect("only hubs are asked");
        let mood = self.scene.lock().unwrap().hubs[number].mood;
        match mood {
            Mood::Refuses => Err(HttpError::Connect { host: "hub".into(), code: "ECONNREFUSED".into() }),
            Mood::Errs => Ok(answer(500, Headers::default(), "", &request.url)),
            Mood::NeverVerifies => Ok(answer(202, Headers::default(), "", &request.url)),
            Mood::Denies => {
                self.ask_back(&form, "denied", None).await;
                Ok(answer(202, Headers::default(), "", &request.url))
            }
            Mood::Well | Mood::Silent => {
                self.verify(number, &form).await;
                Ok(answer(202, Headers::default(), "", &request.url))
            }
        }
    }

    async fn verify(&self, number: usize, form: &HashMap<String, String>) {
        let lease = LEASES_DAYS[number % LEASES_DAYS.len()] * 86_400;
        let mode = form["hub.mode"].clone();
        if !matches!(self.ask_back(form, &mode, Some(lease)).await, VerifyAnswer::Confirmed(_)) {
            return;
        }
        let mut scene = self.scene.lock().unwrap();
        let until = scene.clock.now() + SignedDuration::from_secs(i64::try_from(lease).unwrap());
        let hub = &mut scene.hubs[number];
        let callback = form["hub.callback"].clone();
        if mode == "unsubscribe" {
            hub.subscribers.remove(&callback);
            return;
        }
        // Every other hub keeps the first secret that it was given.
        let first =
            hub.subscribers.get(&callback).map(|(_, secret, _)| secret.clone()).filter(|_| number.is_multiple_of(2));
        let secret = first.unwrap_or_else(|| form["hub.secret"].clone());
        hub.subscribers.insert(callback, (form["hub.topic"].clone(), secret, until));
    }

    async fn ask_back(&self, form: &HashMap<String, String>, mode: &str, lease: Option<u64>) -> VerifyAnswer {
        let engine = self.engine.get().expect("the net has its engine");
        let token = form["hub.callback"].rsplit('/').next().unwrap_or_default().to_owned();
        let asked = Verification {
            mode: Some(mode.to_owned()),
            topic: Some(form["hub.topic"].clone()),
            challenge: lease.map(|_| "challenge".to_owned()),
            lease_secs: lease.map(|secs| secs.to_string()),
            reason: None,
        };
        engine.verify(Some(&token), asked).await.unwrap()
    }
}

fn hours(hours: f64) -> SignedDuration {
    SignedDuration::from_secs_f64(hours * 3600.0)
}

fn topic(number: usize) -> String {
    format!("https://p{number}.example/topic")
}

fn number_in(url: &str, prefix: &str) -> Option<usize> {
    url.strip_prefix(prefix)?.split('.').next()?.parse().ok()
}

fn hub_number(url: &str) -> Option<usize> {
    number_in(url, "https://h")
}

fn answer(status: u16, headers: Headers, body: &str, url: &str) -> HttpResponse {
    HttpResponse { status, headers, body: body.as_bytes().to_vec(), url: url.to_owned(), moved_to: None }
}

/// An Atom feed with the newest so many entries.
fn document(number: usize, publisher: &Publisher, count: usize) -> String {
    let hubs: String =
        publisher.hubs.iter().map(|hub| format!("<link rel=\"hub\" href=\"https://h{hub}.example/\"/>")).collect();
    let shown = publisher.entries.len().saturating_sub(count);
    let entry = |(entry, published): &(u64, Timestamp)| {
        format!(
            "<entry><id>urn:{number}:{entry}</id><title>Entry {entry}</title><published>{published}</published>\
             <updated>{published}</updated><content>Words of entry {entry}</content></entry>"
        )
    };
    let entries: String = publisher.entries[shown..].iter().rev().map(entry).collect();
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Feed {number}</title>{hubs}\
         <link rel=\"self\" href=\"{}\"/>{entries}</feed>",
        topic(number)
    )
}
