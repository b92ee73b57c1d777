//! A database that takes what is sent and never answers: hubs are told so in time, and push goes on when it is back.

use std::time::{Duration, Instant};

use testkit::LineState;

use super::world::by_line;

/// Far less than whoever waits for a statement would wait, and more than a busy machine needs for five seconds' work.
const TOLD_WITHIN: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn u4_w7_hub_is_told_in_time_that_the_database_is_silent() {
    let (world, line) = by_line().await;
    let id = world.subscribe("/f").await;
    let held = world.held("/f").await;
    let push = async |title: &str| world.hub.push(&held, world.push_of("/f", &[title])).await.status;
    assert_eq!(push("before").await, 204);
    line.set(LineState::Silent);
    // Several at once: one must not wait for another's time to pass.
    let asked = Instant::now();
    assert_eq!(tokio::join!(push("lost"), push("lost"), push("lost")), (503, 503, 503));
    assert!(asked.elapsed() < TOLD_WITHIN, "{:?}", asked.elapsed());
    let asked = Instant::now();
    world.get("/api/feeds").await.error(503);
    world.get("/readyz").await.error(503);
    assert!(asked.elapsed() < 2 * TOLD_WITHIN, "{:?}", asked.elapsed());
    line.set(LineState::Up);
    // Connections that met the silence are replaced.
    while push("after").await != 204 {}
    assert!(world.titles(id).await.contains(&"after".to_owned()));
    world.get("/readyz").await.ok(200);
}
