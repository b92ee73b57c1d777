//! What a delivery costs where there are many webhooks, most of which are sent nothing: claims go by what is due, not by who
//! exists.

use std::{net::SocketAddr, time::Duration};

use domain::{
    account::{AccountName, NewAccount},
    delivery::{NewWebhook, WebhookSecret},
    ports::Store,
};
use engine::{DeliverySettings, SystemIds};
use serde::{Deserialize, Serialize};

use super::{
    empty_stores,
    event_source::{BASE_URL, EventSource},
    fill::make_webhooks,
    node::Node,
    receiver::{ReceiverMode, ReceiverMonitor, ReceiverProcess, url},
    run_job,
};
use crate::{
    fixture::{Fixture, StoreLocation},
    push::{load_average, usage::Usage},
    report::{Rating, Table, Tally},
};

const WEBHOOKS: [usize; 3] = [10, 1_000, 10_000];

/// One webhook is sent these, the others nothing.
const EVENTS: usize = 400;
const EVERY: Duration = Duration::from_millis(50);

/// The limit: what a delivery may cost, beside one where there are ten webhooks.
const OF_TEN_MAX: f64 = 1.5;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    receiver: SocketAddr,
    location: StoreLocation,
    webhooks: usize,
}

pub(crate) fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let title = format!(
        "dispatch: {EVENTS} events, one every {} ms, to one webhook, beside others that are sent nothing\n\
         own and database: CPU ms of this process and of PostgreSQL's for one, its storing included\n\
         load average before: {}",
        EVERY.as_millis(),
        load_average(),
    );
    let mut table = Table::new(title, &["", "webhooks", "own", "database", "of ten", "limit"]);
    for kind in 0..2 {
        let mut of_ten = f64::NAN;
        for webhooks in WEBHOOKS {
            let location = empty_stores(folder.path(), &format!("dispatch_crowd_{webhooks}"))?[kind].clone();
            let (name, receiver) = (location.name(), ReceiverProcess::start()?);
            let usage: Usage = run_job(&super::Job::Crowd(Job { receiver: receiver.address, location, webhooks }))?;
            let [own, database] = [usage.cpu_secs, usage.database_cpu_secs].map(a_delivery_ms);
            if webhooks == WEBHOOKS[0] {
                of_ten = own + database;
            }
            let ratio = (own + database) / of_ten;
            let cells = [
                name.to_owned(),
                webhooks.to_string(),
                format!("{own:.2}"),
                format!("{database:.2}"),
                format!("{ratio:.2}"),
                format!("<= {OF_TEN_MAX}"),
            ];
            table.row(&cells, Rating::of(ratio <= OF_TEN_MAX), "");
        }
    }
    table.print(tally);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn a_delivery_ms(secs: f64) -> f64 {
    secs * 1000.0 / EVENTS as f64
}

impl Job {
    pub(super) async fn perform(self) -> anyhow::Result<Usage> {
        let mut monitor = ReceiverMonitor::open(self.receiver).await?;
        let fixture = Fixture::open(&self.location).await?;
        let source = EventSource::make(&*fixture.store).await?;
        let mut node = Node::new(fixture, DeliverySettings::default(), Some(BASE_URL.to_owned()))?;
        make_webhooks(node.engine(), [url(self.receiver, ReceiverMode::AcceptAndRecord, 0)]).await?;
        make_crowd(&*node.fixture.store, self.webhooks - 1).await?;
        node.fixture.vacuum_analyze().await?;
        node.start();
        let start = Usage::now(Some(&node.fixture))?;
        let latencies = source.push(&*node.fixture.store, &mut monitor, EVENTS, EVERY).await?;
        anyhow::ensure!(latencies.missing == 0, "{} events never arrived", latencies.missing);
        Ok(Usage::now(Some(&node.fixture))?.since(start))
    }
}

/// Webhooks of somebody who follows nothing.
async fn make_crowd(store: &dyn Store, count: usize) -> anyhow::Result<()> {
    let new = NewAccount { name: AccountName::parse("crowd")?, password_hash: None, is_admin: false };
    let Ok(account) = store.create_account(new).await? else { anyhow::bail!("the account is taken") };
    for number in 0..count {
        let secret = WebhookSecret::new(&SystemIds);
        let url = format!("https://receiver.example.org/{number}");
        store.create_webhook(account.id, NewWebhook::to(url, secret)).await?;
    }
    Ok(())
}
