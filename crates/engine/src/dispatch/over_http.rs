//! A delivery as an HTTP request, and what the answer says of the attempt. Nothing else in `dispatch` knows of requests,
//! headers and statuses.

use std::{sync::Arc, time::Duration};

use domain::{
    delivery::{ANSWER_BYTES_MAX, AttemptEnd, AttemptLog, DeliveryJob, Webhook, data_for, payload, signatures},
    ports::{Arrived, Clock, Headers, Http, HttpError, HttpRequest, HttpResponse, Method},
    schedule,
};
use jiff::Timestamp;

use super::payload_memory::{MemoryPermit, with_permit};
use crate::trace::OpenSpan;

#[derive(Debug)]
pub(super) struct OverHttp {
    http: Arc<dyn Http>,
    clock: Arc<dyn Clock>,
    timeout: Duration,
}

impl OverHttp {
    pub(super) fn new(http: Arc<dyn Http>, clock: Arc<dyn Clock>, timeout: Duration) -> Self {
        Self { http, clock, timeout }
    }

    /// Makes one attempt, with what the event is about and the memory that this takes: how it ended, and what is kept of it.
    /// `None` if this node had no connection left: nothing was sent.
    pub(super) async fn send(
        &self,
        webhook: &Webhook,
        job: &DeliveryJob,
        (data, permit): (String, Option<MemoryPermit>),
        span: Option<OpenSpan>,
    ) -> Option<(AttemptEnd, AttemptLog)> {
        let begun = self.clock.now();
        let mut request = self.request(webhook, job, data, permit, begun);
        request.headers.0.extend(span.as_ref().map(|span| ("traceparent".to_owned(), span.context().to_string())));
        let answer = self.http.send(request).await;
        let ended_at = self.clock.now();
        if let Some(span) = span {
            end_span(span, &answer, ended_at);
        }
        if let Err(error @ HttpError::Exhausted(_)) = &answer {
            tracing::error!(event_id = %job.event_id, %error, "out of connections");
            return None;
        }
        let (ended, log) = end_of(answer, ended_at);
        let duration = Duration::try_from(ended_at.duration_since(begun)).unwrap_or_default();
        Some((ended, AttemptLog { duration, ..log }))
    }

    fn request(
        &self,
        webhook: &Webhook,
        job: &DeliveryJob,
        data: String,
        permit: Option<MemoryPermit>,
        now: Timestamp,
    ) -> HttpRequest {
        let shown = data_for(job.feed.as_deref(), &data, &job.view, webhook.include_content);
        drop(data);
        let body = payload(&job.event_id, job.kind, job.happened_at, &shown);
        drop(shown);
        let body = body.into_bytes();
        let signature = signatures(&webhook.secrets, &job.event_id, now.as_second(), &body);
        let own = [
            ("content-type", "application/json".to_owned()),
            ("webhook-id", job.event_id.clone()),
            ("webhook-timestamp", now.as_second().to_string()),
            ("webhook-signature", signature),
            ("idempotency-key", job.event_id.clone()),
            ("pirssonite-attempt", (job.tries + 1).to_string()),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let theirs = webhook.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.expose().to_owned()));
        HttpRequest {
            method: Method::Post,
            url: webhook.url.clone(),
            credentials: None,
            headers: Headers(own.chain(theirs).collect()),
            body: with_permit(body, permit),
            body_bytes_max: ANSWER_BYTES_MAX,
            // A redirect is an answer like another: none that says it has arrived.
            redirects_max: 0,
            timeout: self.timeout,
            arrived: Arrived::default(),
        }
    }
}

fn end_of(answer: Result<HttpResponse, HttpError>, now: Timestamp) -> (AttemptEnd, AttemptLog) {
    match answer {
        Ok(HttpResponse { status, headers, body, .. }) => {
            let retry_after = schedule::retry_after(headers.get("retry-after"), headers.get("date"), now);
            let log = AttemptLog {
                status_code: Some(status),
                answer: Some(String::from_utf8_lossy(&body).into_owned()),
                error: wrong(status),
                ..AttemptLog::default()
            };
            (AttemptEnd::Answered { status, retry_after }, log)
        }
        Err(error) => (AttemptEnd::Unanswered, AttemptLog { error: Some(error.to_string()), ..AttemptLog::default() }),
    }
}

fn end_span(mut span: OpenSpan, answer: &Result<HttpResponse, HttpError>, now: Timestamp) {
    let error = match answer {
        Ok(response) => {
            span.number("http.response.status_code", response.status.into());
            wrong(response.status)
        }
        Err(error) => Some(error.to_string()),
    };
    span.end(now, error);
}

/// What is wrong with an answer of this status.
fn wrong(status: u16) -> Option<String> {
    match status {
        200..=299 => None,
        300..=399 => Some(format!("it answered {status}: redirects are not followed")),
        _ => Some(format!("it answered {status}")),
    }
}
