//! One attempt: whether it is still to be made, and what its end means. How it is made is `over_http`.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use domain::{
    delivery::{AttemptEnd, AttemptLog, AttemptOutcome, DeliveryJob, Verdict, Webhook, judge},
    ports::StoreResult,
    trace::SpanKind,
};
use futures_util::FutureExt;

use super::{
    Dispatcher,
    claim::keys_of,
    in_flight::{ClaimKey, EndEffects, ReadyDelivery, SendEnd},
    payload_memory::MemoryPermit,
};
use crate::{measure, trace::OpenSpan};

/// From then on a request is slow, and so is its receiver.
const SLOW_AFTER: Duration = Duration::from_millis(250);

/// How long it is waited before a delivery is released that this node could not send: it would claim it again at once.
const UNSENT_PAUSE: Duration = Duration::from_secs(1);

/// The error of a delivery whose event is not there: it cannot be, but must not be tried for ever.
const NO_EVENT: &str = "the event is not there any more";

impl Dispatcher {
    /// Whether it is its turn: it is still ours. One whose lease may have run out, because this node stood still, is
    /// renewed first.
    pub(crate) async fn is_still_ours(&self, job: &DeliveryJob) -> bool {
        if let Some(is_ours) = self.is_ours(job) {
            return is_ours;
        }
        self.beat().await;
        self.is_ours(job) == Some(true)
    }

    /// `None` if only the store can tell.
    fn is_ours(&self, job: &DeliveryJob) -> Option<bool> {
        self.in_flight().is_ours(job.into(), self.lease_clock.now())
    }

    /// The webhook as it is now, to within a moment; `None` if it is to be sent nothing. Whoever finds that out releases
    /// what waits for it.
    async fn current_webhook(&self, webhook: Arc<Webhook>, job: &DeliveryJob) -> Option<Arc<Webhook>> {
        let (id, asked_at) = (webhook.id, self.lease_clock.now());
        // Not as it was when the turn began: another may have looked meanwhile.
        let known = self.in_flight().known(id, asked_at);
        let found = if known.is_some() {
            known
        } else {
            match self.store.receiver(id).await {
                Ok(found) => {
                    let found = found.map(Arc::new);
                    let released = self.in_flight().reread(id, found.as_ref(), asked_at);
                    self.release_or_warn(&keys_of(&released)).await;
                    found
                }
                // What is known is still the best guess: the mark is guarded.
                Err(_) => Some(webhook),
            }
        };
        found.filter(|webhook| {
            webhook.enabled && webhook.held_until.is_none() && (!webhook.is_breaker_open || job.is_probe)
        })
    }

    /// Sends a delivery whose turn it is.
    pub(crate) async fn attempt(&self, webhook: Arc<Webhook>, mut job: DeliveryJob) -> Attempted {
        // Before anything is looked at: a large payload may wait for memory for long, and what was ours, or wanted, then
        // may not be any more.
        let data = self.data(&mut job).await;
        if !self.is_still_ours(&job).await {
            return Attempted::Lost;
        }
        let Some(webhook) = self.current_webhook(webhook, &job).await else { return Attempted::Unsent };
        // The look may have taken longer than the lease lasts: the store may be away, or this node may have stood still.
        match self.is_ours(&job) {
            Some(true) => {}
            Some(false) => return Attempted::Lost,
            None => return Attempted::Unsent,
        }
        let (data, permit) = match data {
            Ok(Some(data)) => data,
            Ok(None) => {
                let attempt = AttemptLog { error: Some(NO_EVENT.to_owned()), ..AttemptLog::default() };
                return outcome(&webhook, job, Verdict::Failed, AttemptEnd::Unanswered, attempt);
            }
            Err(error) => {
                tracing::warn!(event_id = %job.event_id, %error, "payload not read");
                tokio::time::sleep(UNSENT_PAUSE).await;
                return Attempted::Unsent;
            }
        };
        let Some((ended, log)) = self.send(&webhook, &job, (data, permit)).await else {
            tokio::time::sleep(UNSENT_PAUSE).await;
            return Attempted::Unsent;
        };
        self.judge(&webhook, job, ended, log)
    }

    /// Asks. A receiver that takes long to answer is slow from then on.
    async fn send(
        &self,
        webhook: &Webhook,
        job: &DeliveryJob,
        data: (String, Option<MemoryPermit>),
    ) -> Option<(AttemptEnd, AttemptLog)> {
        let sent = self.over_http.send(webhook, job, data, self.begin_span(job));
        tokio::pin!(sent);
        if let Ok(ended) = tokio::time::timeout(SLOW_AFTER, &mut sent).await {
            return ended;
        }
        self.in_flight().slowed(webhook.id);
        sent.await
    }

    /// A span of the trace that the event belongs to, wherever that began.
    fn begin_span(&self, job: &DeliveryJob) -> Option<OpenSpan> {
        let (tracer, now) = (self.settings.tracer.as_ref()?, self.clock.now());
        let mut span =
            OpenSpan::begin(Some(tracer), ("webhook delivery", SpanKind::Client), job.trace(), &*self.ids, now)?;
        span.text("pirssonite.event.id", &job.event_id);
        span.text("pirssonite.event.type", job.kind.name());
        span.number("pirssonite.webhook.id", job.webhook_id.0);
        span.number("pirssonite.attempt", (job.tries + 1).into());
        Some(span)
    }

    /// What the event is about. A large one is fetched now, as far as there is memory: half of that is for
    /// receivers that are not slow.
    async fn data(&self, job: &mut DeliveryJob) -> StoreResult<Option<(String, Option<MemoryPermit>)>> {
        if let Some(data) = job.data.take() {
            return Ok(Some((data, None)));
        }
        let is_slow = self.in_flight().is_slow(job.webhook_id);
        let permit = self.payload_memory.reserve(job.size, is_slow).await;
        Ok(self.store.event_data(job.event).await?.map(|data| (data, permit)))
    }

    fn judge(&self, webhook: &Webhook, job: DeliveryJob, ended: AttemptEnd, log: AttemptLog) -> Attempted {
        let verdict = judge(ended, job.attempts + 1, &self.settings.retry, self.ids.fraction());
        measure::attempted(verdict, log.duration);
        if verdict == Verdict::Delivered {
            measure::delivered_after(self.clock.now().duration_since(job.happened_at));
        }
        outcome(webhook, job, verdict, ended.honoured(&self.settings.retry), log)
    }
}

/// What became of a turn.
#[derive(Debug)]
pub(crate) enum Attempted {
    /// It was sent, and ended so.
    Ended(Box<AttemptOutcome>),
    /// It was not ours any more, and not sent: whoever has it sends it.
    Lost,
    /// It could not be sent, or is to be sent no more: it is released.
    Unsent,
}

/// How an attempt ended, for the store.
fn outcome(webhook: &Webhook, job: DeliveryJob, verdict: Verdict, ended: AttemptEnd, attempt: AttemptLog) -> Attempted {
    Attempted::Ended(Box::new(AttemptOutcome {
        id: job.id,
        lease: job.lease,
        webhook_id: job.webhook_id,
        event: job.event,
        kind: job.kind,
        url: webhook.url.clone(),
        verdict,
        ended,
        is_probe: job.is_probe,
        tries: job.tries,
        attempt: AttemptLog { number: job.attempts + 1, ..attempt },
    }))
}

/// Sends one, and hands on how it ended. Whatever happens, its place is free afterwards.
pub(super) async fn deliver(dispatcher: &Dispatcher, ready: ReadyDelivery) {
    let ReadyDelivery { webhook, job } = ready;
    let (key, to) = (ClaimKey::from(&job), webhook.id);
    let attempted = AssertUnwindSafe(dispatcher.attempt(webhook, job)).catch_unwind().await;
    let attempted = attempted.unwrap_or_else(|_| {
        tracing::error!(delivery_id = key.id.0, "delivery panicked");
        Attempted::Unsent
    });
    let end = match &attempted {
        Attempted::Ended(outcome) => {
            SendEnd::Attempted { outcome: outcome.as_ref(), is_slow: outcome.attempt.duration >= SLOW_AFTER }
        }
        Attempted::Unsent => SendEnd::Unsent,
        Attempted::Lost => SendEnd::Lost,
    };
    let EndEffects { wants_more, released } = dispatcher.in_flight().ended(key, to, end);
    match attempted {
        // Marks are stored until after all who send have ended.
        Attempted::Ended(outcome) => drop(dispatcher.outcomes.send(*outcome)),
        Attempted::Unsent => dispatcher.release_or_warn(&[key]).await,
        Attempted::Lost => {}
    }
    dispatcher.release_or_warn(&keys_of(&released)).await;
    if wants_more {
        dispatcher.freed.notify_one();
    }
}
