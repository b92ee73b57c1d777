//! A simulated year: feeds that are published, and hubs that fail, recover, deny, change and fall silent, all by one
//! seed, on the injected clock and without sockets. A failure prints its seed.

mod net;
mod scene;
mod world;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use self::{scene::FEEDS, world::World};

/// The seed of chance.
const SEED: u64 = 20_260_302;

/// What polling promises: a day at most between two polls, and a tenth of that for jitter; an hour for hosts that fail.
const DELAY_MAX: SignedDuration = SignedDuration::from_mins(24 * 60 + 24 * 6 + 60);

/// Push is back so long after a hub has recovered, at the latest: a day, and the time between two looks. A feed with two
/// hubs may be trying the other just then, which takes 156 minutes.
const RECOVERY_MAX: SignedDuration = SignedDuration::from_mins(24 * 60 + 30);

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

#[tokio::test]
async fn w1_to_w12_year_loses_nothing() {
    let database = testkit::fresh_sqlite().await;
    database.set_now(start()).await;
    let clock = database.clock.clone();
    let mut world = World::new(std::sync::Arc::new(database.store.clone()), clock, SEED).await;
    simulate(&mut world, Duration::from_hours(365 * 24), async |_| {}).await;
}

#[tokio::test]
async fn w1_to_w12_month_loses_nothing_on_postgresql() {
    let database = testkit::fresh_postgres().await;
    database.set_now(start()).await;
    let clock = testkit::SimulatedClock::at(start());
    let mut world = World::new(std::sync::Arc::new(database.store.clone()), clock, SEED).await;
    simulate(&mut world, Duration::from_hours(30 * 24), async |now| database.set_now(now).await).await;
}

/// Goes from one thing that happens to the next, and looks at the end whether all is there.
async fn simulate(world: &mut World, time: Duration, set_now: impl AsyncFn(Timestamp)) {
    let end = start() + SignedDuration::try_from(time).unwrap();
    while world.now() < end {
        let next = world.next_time().await.min(end);
        world.clock.set(next);
        set_now(next).await;
        world.happen().await;
        world.engine_works().await;
    }
    // A last look at everything, as polling promises it.
    let last = end + DELAY_MAX;
    world.quiet_down();
    while world.now() < last {
        let next = world.next_time().await.min(last);
        world.clock.set(next);
        set_now(next).await;
        world.engine_works().await;
    }
    let summary = format!("seed {SEED}: {}", world.summary());
    assert_eq!(world.stored().await, world.published(), "{summary}");
    assert!(world.longest_delay() <= DELAY_MAX, "{summary}: an entry came {:#} late", world.longest_delay());
    assert!(world.longest_recovery() <= RECOVERY_MAX, "{summary}: push came back after {:#}", world.longest_recovery());
    // The test would show nothing if little had happened.
    let days = time.as_secs() / 86_400;
    assert!(world.pushes() > days * FEEDS as u64 / 6, "{summary}");
    assert!(world.outages() > days / 2, "{summary}");
}
