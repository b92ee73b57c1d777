//! The icons of feeds: looked for in the background, weekly and after a feed has moved, apart from polling and adding,
//! which never wait for it. Requests go to publishers by the guarded client, without anybody's password.

mod look;

use std::{collections::BTreeMap, time::Duration};

use domain::{icon::IconJob, ports::StoreResult};
use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use crate::{context::Context, hosts};

/// Feeds that are claimed at once.
const CLAIMED_MAX: u32 = 32;

/// Hosts that are asked at once. Each is asked for one feed after the other, so that polls always have a place at it.
const HOSTS_AT_ONCE: usize = 4;

/// How long a claim lasts: longer than all that is claimed may take.
const LEASE: Duration = Duration::from_mins(15);

/// How long a round sleeps at least and at most: what is due meanwhile on another node's word is found then.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Icons that nobody has any more which go in one piece.
const PRUNED_MAX: u32 = 500;

/// Looks for the icons that are due until it is told to stop.
pub(crate) async fn run(context: &Context, stop: &CancellationToken) {
    if !context.settings().icons {
        return;
    }
    loop {
        let pause = tokio::select! {
            () = stop.cancelled() => return,
            round = round(context) => round.unwrap_or_else(|error| {
                tracing::warn!(%error, "icon search failed");
                PAUSE_MAX
            }),
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
            () = context.wake.icons.notified() => {}
        }
    }
}

/// Looks for all that are due; returns how long there is nothing else to do.
async fn round(context: &Context) -> StoreResult<Duration> {
    while settle(context).await? > 0 {}
    let next = context.deps.store.next_icon_in().await?;
    Ok(next.unwrap_or(PAUSE_MAX).clamp(PAUSE_MIN, PAUSE_MAX))
}

/// Looks for the icons of some feeds that are due; returns how many those were.
pub(crate) async fn settle(context: &Context) -> StoreResult<usize> {
    let jobs = context.deps.store.claim_due_icons(CLAIMED_MAX, LEASE).await?;
    let count = jobs.len();
    let mut by_host: BTreeMap<String, Vec<IconJob>> = BTreeMap::new();
    for job in jobs {
        by_host.entry(hosts::key(job.site_url.as_deref().unwrap_or(&job.url))).or_default().push(job);
    }
    let looks = stream::iter(by_host.into_values()).map(|jobs| look_in_turn(context, jobs));
    let ends: Vec<StoreResult<()>> = looks.buffer_unordered(HOSTS_AT_ONCE).collect().await;
    ends.into_iter().collect::<StoreResult<()>>()?;
    Ok(count)
}

async fn look_in_turn(context: &Context, jobs: Vec<IconJob>) -> StoreResult<()> {
    for job in jobs {
        let look = look::look(context, &job).await;
        context.deps.store.finish_icon(&job, look).await?;
    }
    Ok(())
}

/// Removes icons that no feed has any more; returns how many.
pub(crate) async fn prune(context: &Context) -> StoreResult<u64> {
    context.deps.store.prune_icons(PRUNED_MAX).await
}
