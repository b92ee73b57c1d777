//! An engine that delivers, a receiver for what it delivers, and a feed that brings entries.

use domain::account::READER;
use std::{sync::Arc, time::Duration};

use domain::{
    FeedId, LeaseTime,
    delivery::{Attempt, Delivery, DeliveryFilter, DeliveryStatus, NewWebhook, RetryRules, Webhook},
};
use engine::{DeliverySettings, Engine, EngineSettings};
use testkit::{Page, Receiver};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::world::{World, each_with, engine_on, rss, settings};

/// How long a test waits for a state of the store that never comes.
const STATE_MAX: Duration = Duration::from_mins(3);

/// All that a test of deliveries needs.
pub(super) struct Setup {
    pub(super) world: World,
    pub(super) receiver: Receiver,
    pub(super) engine_settings: EngineSettings,
    feed: FeedId,
}

/// An engine that works until it is stopped.
pub(super) struct Working {
    pub(super) stop: CancellationToken,
    pub(super) work: JoinHandle<()>,
}

impl Working {
    /// It is told to stop, and has.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.work.await.unwrap();
    }

    /// It dies: nothing is released.
    pub(super) fn die(self) {
        self.work.abort();
    }
}

/// Settings under which nothing takes long, and no receiver is given up however long it takes: answers wait behind gates,
/// and machines are slow.
pub(super) fn quick() -> DeliverySettings {
    DeliverySettings {
        timeout: Duration::from_mins(10),
        retry: RetryRules { first: Duration::from_millis(20), jitter: 0.0, ..RetryRules::default() },
        ..DeliverySettings::default()
    }
}

pub(super) fn with_lease(lease: Duration) -> DeliverySettings {
    DeliverySettings { lease: LeaseTime::new(lease).unwrap(), ..quick() }
}

/// One for each kind of store. Its engine does not work yet.
pub(super) async fn each(delivery: DeliverySettings) -> Vec<Setup> {
    let engine_settings = EngineSettings { delivery, ..settings() };
    let mut setups = Vec::new();
    for world in each_with(engine_settings.clone()).await {
        world.publisher.set("/feed", Page::body(rss(&[])));
        let feed = world.import(&["/feed"]).await[0];
        world.refresh(feed).await;
        let receiver = Receiver::start().await;
        setups.push(Setup { world, receiver, engine_settings: engine_settings.clone(), feed });
    }
    setups
}

impl Setup {
    /// Its engine works from now on.
    pub(super) fn work(&self) -> Working {
        begin(&self.world.engine)
    }

    /// Another engine on the same store works from now on.
    pub(super) fn work_beside(&self) -> Working {
        begin(&engine_on(Arc::clone(&self.world.store), self.engine_settings.clone()))
    }

    /// A webhook at a path of the receiver, which knows its secret.
    pub(super) async fn webhook(&self, path: &str) -> Webhook {
        self.webhook_with(path, |_| {}).await
    }

    pub(super) async fn webhook_with(&self, path: &str, change: impl FnOnce(&mut NewWebhook)) -> Webhook {
        let url = self.receiver.url(path);
        let make = |secret| {
            let mut new = NewWebhook::to(url, secret);
            change(&mut new);
            new
        };
        let webhook = self.world.engine.create_webhook(READER, make).await.unwrap();
        self.receiver.expect_secret(path, &webhook.secrets[0].expose());
        webhook
    }

    /// So many new entries, polled by the engine.
    pub(super) async fn publish(&self, count: usize) {
        let entries = self.world.entries(self.feed).await.len();
        let guids: Vec<String> = (entries..entries + count).map(|number| format!("guid {number:05}")).collect();
        let items: Vec<(&str, &str)> = guids.iter().map(|guid| (guid.as_str(), guid.as_str())).collect();
        self.world.publisher.set("/feed", Page::body(rss(&items)));
        self.world.refresh(self.feed).await;
    }

    /// A new entry with this text.
    pub(super) async fn publish_text(&self, text: &str) {
        let document = rss(&[("long", "Long")]).replace("About Long", text);
        self.world.publisher.set("/feed", Page::body(document));
        self.world.refresh(self.feed).await;
    }

    /// The feed that brings entries.
    pub(super) fn feed_id(&self) -> FeedId {
        self.feed
    }

    pub(super) async fn deliveries(&self) -> Vec<Delivery> {
        self.world.store.deliveries(READER, DeliveryFilter::default(), 500, None).await.unwrap().deliveries
    }

    /// Waits until all deliveries are as wanted.
    pub(super) async fn wait_until(&self, what: &str, is_so: impl Fn(&Delivery) -> bool) -> Vec<Delivery> {
        let end = tokio::time::Instant::now() + STATE_MAX;
        loop {
            let deliveries = self.deliveries().await;
            if !deliveries.is_empty() && deliveries.iter().all(&is_so) {
                return deliveries;
            }
            assert!(tokio::time::Instant::now() < end, "not {what}: {deliveries:#?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) async fn wait_delivered(&self) -> Vec<Delivery> {
        self.wait_until("delivered", |delivery| delivery.delivery_status == DeliveryStatus::Delivered).await
    }

    /// Waits until what goes to this path is delivered.
    pub(super) async fn wait_delivered_to(&self, path: &str) -> Delivery {
        let url = self.receiver.url(path);
        let webhooks = self.world.store.webhooks(READER).await.unwrap();
        let id = webhooks.iter().find(|webhook| webhook.url == url).expect("it is there").id;
        let is_so =
            |delivery: &Delivery| delivery.webhook_id != id || delivery.delivery_status == DeliveryStatus::Delivered;
        let deliveries = self.wait_until("delivered", is_so).await;
        deliveries.into_iter().find(|delivery| delivery.webhook_id == id).expect("there is one")
    }

    /// Why attempts at the newest deliveries have failed.
    pub(super) async fn last_errors(&self) -> Vec<String> {
        self.deliveries().await.into_iter().filter_map(|delivery| delivery.last_error).collect()
    }

    /// Waits until so many deliveries are claimed by somebody.
    pub(super) async fn wait_held(&self, count: usize) {
        self.wait_held_as(&count.to_string(), |held| held == count).await;
    }

    /// Waits until so many deliveries are being sent to a path, and there are others that wait for their turn. How many
    /// wait is not said: there are fewer if the machine is so slow that the receiver seems to be.
    pub(super) async fn wait_sending(&self, path: &str, count: usize) {
        self.receiver.wait_in_flight(path, count).await;
        self.wait_held_as(&format!("more than {count}"), |held| held > count).await;
    }

    async fn wait_held_as(&self, what: &str, is_so: impl Fn(usize) -> bool) {
        let end = tokio::time::Instant::now() + STATE_MAX;
        loop {
            let deliveries = self.deliveries().await;
            if is_so(deliveries.iter().filter(|delivery| delivery.lease_owner.is_some()).count()) {
                return;
            }
            assert!(tokio::time::Instant::now() < end, "not {what} are held: {deliveries:#?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// What is kept of the attempts of a delivery.
    pub(super) async fn attempts(&self, delivery: &Delivery) -> Vec<Attempt> {
        self.world.store.delivery(READER, &delivery.id).await.unwrap().expect("it is there").1
    }
}

fn begin(engine: &Arc<Engine>) -> Working {
    let stop = CancellationToken::new();
    let work = tokio::spawn(Arc::clone(engine).run(stop.clone()));
    Working { stop, work }
}
