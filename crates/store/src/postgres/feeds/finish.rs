//! How polls ended, each guarded by its lease: feed, owner and fence. A lease that ran out but that nobody else has
//! taken is still good.
//!
//! A document is a transaction of its own, so that one that cannot be stored costs no other. Nor does a poll that brings
//! none: see `finish_plain`. If that is news, it is a transaction too.

use std::borrow::Cow;

use deadpool_postgres::{Client, Transaction};
use domain::{
    FeedId,
    changes::ChangeLog,
    delivery::DomainEvent,
    feed_state::{FeedAddress, Standing},
    ingest::{PollOutcome, PollResult, Stored},
    ports::StoreResult,
};
use jiff::Timestamp;
use tokio_postgres::{Error, Row};

use crate::postgres::{
    Params, PostgresStore, both,
    entries::ingest::{self, KNOWN, Target},
    execute,
    feeds::{feed_rows::Schedule, finish_plain},
    outbox::{
        events::{Audience, payload_feed},
        webhooks::{self, ENABLED},
    },
    prepare,
    push::discovery::PushState,
    query_opt,
    shared::{
        errors::{is_unique_violation, store_error},
        values::{millis, optional, text, to_u32, url_hash},
    },
};
use crate::values::is_renamed;

/// Times a result is stored again because another feed took the URL it moves to in the same moment.
const URL_RACES_MAX: u32 = 3;

const HOLD: &str = include_str!("sql/finish_hold.sql");

const MOVE: &str = include_str!("sql/finish_move.sql");

/// From the columns that begin at this place.
fn standing_of(row: &Row, at: usize) -> Standing {
    Standing {
        failure_count: to_u32(row.get(at)),
        is_failing: row.get(at + 1),
        is_gone: row.get(at + 2),
        is_new: row.get(at + 3),
    }
}

pub(crate) async fn finish(store: &PostgresStore, results: &[PollResult]) -> StoreResult<Vec<StoreResult<Stored>>> {
    let mut client = store.client().await?;
    let mut stored: Vec<Option<StoreResult<Stored>>> = vec![None; results.len()];
    for is_wanted in [finish_plain::is_unchanged, finish_plain::is_failure] {
        let places: Vec<usize> = (0..results.len()).filter(|&place| is_wanted(&results[place])).collect();
        let outcomes = finish_plain::finish(&client, results, &places).await;
        for (place, outcome) in places.into_iter().zip(outcomes) {
            // What was not applied there may be news, which takes a transaction.
            let is_done = outcome.as_ref().map_or(true, |stored| stored.applied);
            stored[place] = is_done.then_some(outcome);
        }
    }
    for (place, result) in results.iter().enumerate() {
        if stored[place].is_some() {
            continue;
        }
        if client.is_closed() {
            match store.client().await {
                Ok(other) => client = other,
                // What is stored is stored: only the rest is not.
                Err(error) => {
                    return Ok(stored.into_iter().map(|stored| stored.unwrap_or(Err(error.clone()))).collect());
                }
            }
        }
        stored[place] = Some(finish_whole(store, &mut client, result).await);
    }
    Ok(stored.into_iter().flatten().collect())
}

/// One result in a transaction of its own: a document, a feed that has moved, or news.
async fn finish_whole(store: &PostgresStore, client: &mut Client, result: &PollResult) -> StoreResult<Stored> {
    for _ in 1..URL_RACES_MAX {
        match write_whole(store, client, result).await {
            Err(error) if is_unique_violation(&error) => {}
            stored => return stored.map_err(store_error),
        }
    }
    write_whole(store, client, result).await.map_err(store_error)
}

async fn write_whole(store: &PostgresStore, client: &mut Client, result: &PollResult) -> Result<Stored, Error> {
    let transaction = client.transaction().await?;
    let (feed, lease) = (result.feed_id, &result.lease);
    let identities = match &result.outcome {
        PollOutcome::Fetched(document) => ingest::identities_of(&document.entries),
        _ => Vec::new(),
    };
    let guard: Params<'_> = &[&feed.0, &lease.owner, &lease.fence];
    prepare(&transaction, &[HOLD, KNOWN, ENABLED]).await?;
    let known = ingest::known(&transaction, feed.0, &identities);
    let looks = both(known, webhooks::enabled(&transaction));
    let (held, (known, webhooks)) = both(query_opt(&transaction, HOLD, guard), looks).await?;
    let Some(held) = held else { return Ok(Stored::default()) };
    let (mut push, standing) = (PushState::of_row(&held, 2), standing_of(&held, 10));
    let mut log = ChangeLog::default();
    if let Some(address) = &result.moved_to
        && move_to(&transaction, feed, address).await?
    {
        push.url = text(&address.url).into_owned();
        log.feed(feed);
    }
    let target = Target {
        feed_id: feed.0,
        folder_id: held.get(1),
        claimed_at: result.claimed_at.as_millisecond(),
        is_backlog: standing.is_new,
        now: held.get(0),
    };
    let mut news: Vec<DomainEvent> =
        standing.news(result).map(|kind| DomainEvent::Feed(kind, feed)).into_iter().collect();
    if !news.is_empty() {
        log.feed(feed);
    }
    let (stored, title) = match &result.outcome {
        PollOutcome::Fetched(document) => {
            let schedule = schedule_of(result);
            let (stored, of_document, changed) =
                ingest::store_document(&transaction, target, schedule, &push, document, &known, &webhooks).await?;
            news.extend(of_document);
            log.add(changed);
            if is_renamed(document.title.as_ref(), held.get(8)) {
                log.feed(feed);
            }
            (stored, optional(document.title.as_ref()).map(Cow::into_owned))
        }
        _ => (finish_plain::write(&transaction, &[result], true).await?.first().copied().unwrap_or_default(), None),
    };
    let title = held.get::<_, Option<String>>(9).or(title).or(held.get(8));
    let audience = Audience { webhooks: &webhooks, feed: payload_feed(target, push.url, title) };
    log.deliveries_if(audience.tell(&transaction, &news, target.now).await?);
    store.commit(transaction, log).await?;
    Ok(stored)
}

fn schedule_of(result: &PollResult) -> Schedule {
    Schedule {
        check_in: millis(result.next_check_in),
        audit_in: millis(result.next_audit_in),
        due_by: result.due_by.map(Timestamp::as_millisecond),
        adaptive_secs: i64::from(result.adaptive_secs),
    }
}

/// Unless another feed is there already: then it stays where it is.
async fn move_to(transaction: &Transaction<'_>, feed: FeedId, address: &FeedAddress) -> Result<bool, Error> {
    let credentials = optional(address.credentials.as_ref());
    let moved = execute(transaction, MOVE, &[&feed.0, &text(&address.url), &url_hash(address), &credentials]).await?;
    Ok(moved > 0)
}
