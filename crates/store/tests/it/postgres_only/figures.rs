//! U3: figures of many nodes in one database.

use domain::{
    delivery::{BreakerRules, FinishReport, Verdict},
    figures::{FigureQuery, FigureStep, Metric},
    ports::{DeliveryStore, FigureStore, Viewer},
};
use jiff::Timestamp;
use testkit::fresh_postgres;

use super::given_outbox::{RETRY, claim, finished, webhook};

#[tokio::test(flavor = "multi_thread")]
async fn u3_d9_nobody_waits_for_a_frozen_nodes_count() {
    let database = fresh_postgres().await;
    let now = Timestamp::from_second(1_767_268_800).unwrap();
    database.set_now(now).await;
    let store = &database.store;
    webhook(store, 4).await;
    let jobs = claim(store, "here", 4).await;
    let first: Vec<_> = jobs[..1].iter().map(|job| finished(job, Verdict::Delivered)).collect();
    store.finish_deliveries(first, &BreakerRules::default()).await.unwrap();
    // A node that has counted in this minute and does not go on.
    let frozen = database.client().await;
    let count = "BEGIN; INSERT INTO figures_by_minute (account_id, series, minute, backend, count)
                 SELECT owners, series, pirssonite_now_ms() / 60000, pg_backend_pid(), 1
                 FROM generate_series(0, 1) AS owners, generate_series(1, 130) AS series";
    frozen.batch_execute(count).await.unwrap();
    for (jobs, verdict) in [(&jobs[1..2], Verdict::Delivered), (&jobs[2..], RETRY)] {
        let ended = jobs.iter().map(|job| finished(job, verdict)).collect();
        let stored = store.finish_deliveries(ended, &BreakerRules::default()).await;
        assert_eq!(stored, Ok(FinishReport::default()), "at once, and all of it");
    }
    let counted = async || {
        let wanted = FigureQuery::last(Metric::Deliveries, FigureStep::Minute, 1, now);
        store.figures(Viewer::Server, wanted).await.unwrap().remove(0).counts
    };
    assert_eq!(counted().await, [2, 2, 0]);
    frozen.batch_execute("COMMIT").await.unwrap();
    assert_eq!(counted().await, [3, 3, 1], "all nodes count");
}
