//! One event at a time on an idle system: how long it takes from its commit to its receiver, beside one request of a
//! plain client on its way to the same receiver.

use std::{net::SocketAddr, time::Duration};

use engine::DeliverySettings;
use serde::{Deserialize, Serialize};

use super::{
    answer, bare,
    fill::make_webhooks,
    news::{BASE_URL, Hub, Spread, Told},
    node::Node,
    places,
    sink::{Manner, Sink, Watch, url},
};
use crate::{
    process,
    push::load_average,
    report::{Mark, Table, Tally},
    world::{Place, World},
};

const EVENTS: usize = 200;
const EVERY: Duration = Duration::from_millis(40);

/// The same of another, by its own account: on the average.
const GRAPHILE_MS: f64 = 4.16;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    sink: SocketAddr,
    /// `None` for the plain client.
    place: Option<Place>,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "dispatch: {EVENTS} events, one every {} ms, to one webhook\n\
         from when the commit was known to the receipt; from the call: with the commit; bare: a plain client, from its \
         call to the receipt\n\
         load average before: {} (elsewhere, by its own account: graphile-worker, from add_job to the start of the job, \
         {GRAPHILE_MS} ms on the average, 13.84 at most)",
        EVERY.as_millis(),
        load_average(),
    );
    let head =
        ["", "median ms", "99th ms", "most ms", "median from the call", "99th from the call", "x bare", "x graphile"];
    let mut table = Table::new(title, &head);
    let bare = measure(None)?;
    table.row(&cells("bare", &bare, &bare), Mark::None, "");
    for place in places(folder.path(), "dispatch_alone")? {
        let name = place.name();
        let spread = measure(Some(place))?;
        anyhow::ensure!(spread.missing == 0, "{} events never arrived", spread.missing);
        table.row(&cells(name, &spread, &bare), Mark::None, "");
    }
    table.print(tally);
    Ok(())
}

fn measure(place: Option<Place>) -> anyhow::Result<Spread> {
    let sink = Sink::start()?;
    answer(&super::Job::Alone(Job { sink: sink.address, place }))
}

fn cells(name: &str, spread: &Spread, bare: &Spread) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.2}", spread.median_ms),
        format!("{:.2}", spread.percentile_99_ms),
        format!("{:.2}", spread.most_ms),
        format!("{:.2}", spread.asked_median_ms),
        format!("{:.2}", spread.asked_percentile_99_ms),
        format!("{:.1}", spread.asked_median_ms / bare.asked_median_ms),
        format!("{:.1}", spread.asked_median_ms / GRAPHILE_MS),
    ]
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Spread> {
        let mut watch = Watch::open(self.sink).await?;
        let url = url(self.sink, Manner::Noted, 0);
        let Some(place) = self.place else { return post_all(&url, &mut watch).await };
        let world = World::open(&place).await?;
        let hub = Hub::make(&*world.store).await?;
        let mut node = Node::new(world, DeliverySettings::default(), Some(BASE_URL.to_owned()))?;
        make_webhooks(node.engine(), [url]).await?;
        node.world.settle().await?;
        node.start();
        hub.push(&*node.world.store, &mut watch, EVENTS, EVERY).await
    }
}

/// The plain client.
async fn post_all(url: &str, watch: &mut Watch) -> anyhow::Result<Spread> {
    let client = bare::client()?;
    let mut told = Vec::new();
    for number in 0..EVENTS {
        tokio::time::sleep(EVERY / 4).await;
        let guid = format!("urn:bare:{number}");
        let asked_secs = process::wall_secs();
        bare::post(&client, url, format!(r#"{{"guid":"{guid}"}}"#)).await?;
        told.push(Told { guid, asked_secs, committed_secs: asked_secs });
    }
    Ok(Spread::of(&told, &watch.noted().await?))
}
