//! How polls ended, each guarded by its lease: feed, owner and fence. A lease that ran out but that nobody else has
//! taken is still good.
//!
//! A document is a transaction of its own, so that one that cannot be stored costs no other. Nor does a poll that brings
//! none: see `finish_plain`. If webhooks are sent something about it, it is a transaction too.

use std::borrow::Cow;

use deadpool_postgres::{Client, Transaction};
use domain::{
    AccountId, FeedId,
    changes::ChangeLog,
    delivery::DomainEvent,
    feed_state::FeedAddress,
    found_by::FoundBy,
    ingest::{PollOutcome, PollResult, Stored},
    ports::StoreResult,
};
use tokio_postgres::Error;

use crate::postgres::{
    Params, PostgresStore, both,
    entries::ingest,
    execute,
    feeds::finish_plain::{self, Decided},
    outbox::events::{Listeners, payload_feed},
    push::discovery::PushState,
    query, query_then,
    shared::{
        errors::{is_unique_violation, store_error},
        values::{optional, text},
    },
};
use crate::target::Target;
use crate::values::is_renamed;

/// Times a result is stored again because another feed took the URL it moves to in the same moment.
const URL_RACES_MAX: u32 = 3;

const HELD: &str = include_str!("sql/finish_held.sql");

/// Two are enough to know that it is shared.
const FOLLOWERS: &str = "SELECT account_id FROM follows WHERE feed_id = $1 LIMIT 2";

const MOVE: &str = include_str!("sql/finish_move.sql");

pub(crate) async fn finish(store: &PostgresStore, results: &[PollResult]) -> StoreResult<Vec<StoreResult<Stored>>> {
    let mut client = store.client_for_long().await?;
    let mut stored: Vec<Option<StoreResult<Stored>>> = vec![None; results.len()];
    finish_plain::finish(&client, results, &mut stored).await;
    for (place, result) in results.iter().enumerate() {
        if stored[place].is_some() {
            continue;
        }
        if client.is_closed() {
            match store.client_for_long().await {
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

/// One result in a transaction of its own: a document, a feed that has moved, or an event.
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
    let known = ingest::known(&transaction, feed.0, &identities);
    // What is known is read under the lock.
    let feeds = [feed.0];
    let reads = both(known, Listeners::of_feeds(&transaction, &feeds));
    let (held, (known, listeners)) = query_then(&transaction, HELD, guard, reads).await?;
    let Some(held) = held.into_iter().next() else { return Ok(Stored::default()) };
    let (mut push, standing) = (PushState::of_row(&held, 1), finish_plain::standing_of(&held, 8));
    let mut log = ChangeLog::default();
    if let Some(address) = &result.moved_to
        && move_to(&transaction, feed, address).await?
    {
        push.url = text(&address.url).into_owned();
        log.feed(feed);
    }
    let target = Target {
        feed_id: feed.0,
        claimed_at: result.claimed_at.as_millisecond(),
        is_backlog: held.get(11),
        now: held.get(0),
        trace: result.trace(),
    };
    let change = standing.after(result);
    let mut events: Vec<DomainEvent> = change.event.map(|kind| DomainEvent::Feed(kind, feed)).into_iter().collect();
    if !events.is_empty() {
        log.feed(feed);
    }
    let (stored, title) = if let PollOutcome::Fetched(document) = &result.outcome {
        let (stored, of_document, changed) =
            ingest::store_document(&transaction, target, change, &push, document, &known, &listeners).await?;
        events.extend(of_document);
        log.add(changed);
        if is_renamed(document.title.as_ref(), held.get(7)) {
            log.feed(feed);
        }
        (stored, optional(document.title.as_ref()).map(Cow::into_owned))
    } else {
        let stored = finish_plain::write(&transaction, &[Decided::new(result, standing)]).await?;
        (stored.first().copied().unwrap_or_default(), None)
    };
    let shown = payload_feed(target, push.url, title.or(held.get(7)));
    log.deliveries_if(listeners.record_for_feed(&transaction, shown, &events, target.now).await?);
    store.commit(transaction, log).await?;
    Ok(stored)
}

/// Unless another feed is there already, or it must stay. Returns whether it has moved.
async fn move_to(transaction: &Transaction<'_>, feed: FeedId, address: &FeedAddress) -> Result<bool, Error> {
    let followers = query(transaction, FOLLOWERS, &[&feed.0]).await?;
    let followers: Vec<AccountId> = followers.iter().map(|row| AccountId(row.get(0))).collect();
    let Some(found) = FoundBy::after_move(address, &followers) else { return Ok(false) };
    let in_the_way = Vec::from(found.in_the_way(address).map(|other| other.hash(&address.url).0.to_vec()));
    let hash = found.hash(&address.url).0.to_vec();
    let credentials = optional(address.credentials.as_ref());
    let row: Params<'_> = &[&feed.0, &text(&address.url), &hash, &credentials, &in_the_way];
    Ok(execute(transaction, MOVE, row).await? > 0)
}
