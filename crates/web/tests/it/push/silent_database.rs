//! A database that takes what is sent and never answers: hubs are told so in time, and push goes on when it is back.

use std::time::Duration;

use testkit::LineState;

use super::world::by_line;

/// Less than the time limit of a request, which would tell the hub as well, and more than a busy machine needs for five
/// seconds' work.
const ANSWERED_WITHIN: Duration = Duration::from_secs(25);

#[tokio::test(flavor = "multi_thread")]
async fn u4_w7_hub_gets_503_in_time_if_the_database_is_silent() {
    let (world, line) = by_line().await;
    let id = world.subscribe("/f").await;
    let held = world.held("/f").await;
    let push = async |title: &str| world.hub.push(&held, world.push_of("/f", &[title])).await.status;
    // A machine that is busy may take longer than a hub waits.
    while push("before").await != 204 {}
    line.set(LineState::Silent);
    // Several at once: one must not wait for another's time to pass.
    let answers =
        tokio::time::timeout(ANSWERED_WITHIN, async { tokio::join!(push("lost"), push("lost"), push("lost")) }).await;
    assert_eq!(answers.expect("hubs are told in time"), (503, 503, 503));
    for path in ["/api/feeds", "/readyz"] {
        let answers = tokio::time::timeout(ANSWERED_WITHIN, world.get(path)).await;
        answers.expect("others are told in time").error(503);
    }
    line.set(LineState::Up);
    // Connections that met the silence are replaced.
    while push("after").await != 204 {}
    assert!(world.titles(id).await.contains(&"after".to_owned()));
    world.get("/readyz").await.ok(200);
}
