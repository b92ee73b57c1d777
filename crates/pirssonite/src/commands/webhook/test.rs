//! `pirssonite webhook test`: a `webhook.test`, and what came of it.

use std::{process::ExitCode, time::Duration};

use jiff::Timestamp;
use reqwest::Method;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{print_json, print_line, text, to_u64};
use crate::{backend::Backend, settings::Settings, wiring};

/// How often it is looked: at first, and later.
const LOOK_PAUSE_FIRST: Duration = Duration::from_millis(20);
const LOOK_PAUSE_MAX: Duration = Duration::from_millis(500);

/// How long it may take before it is sent. How long the answer may take is set.
const SENT_WITHIN: Duration = Duration::from_secs(15);

pub(super) async fn run(backend: &dyn Backend, id: i64, settings: &Settings, json: bool) -> anyhow::Result<ExitCode> {
    let webhook = backend.call(Method::GET, &format!("/api/webhooks/{id}"), None).await?;
    let held_until = webhook["heldUntil"].as_str();
    let queued = backend.call(Method::POST, &format!("/api/webhooks/{id}/test"), None).await?;
    let path = format!("/api/outbox/deliveries/{}", text(&queued["id"]));
    let stop = CancellationToken::new();
    let wait_max = if is_held_for_long(held_until, wiring::now()) {
        Duration::ZERO
    } else {
        SENT_WITHIN + settings.delivery.timeout
    };
    let watched = async {
        let watched = tokio::time::timeout(wait_max, watch(backend, &path)).await;
        stop.cancel();
        watched
    };
    let (watched, ()) = tokio::join!(watched, backend.deliver_to(id, stop.clone()));
    let delivery = match watched {
        Ok(delivery) => delivery?,
        Err(_) => backend.call(Method::GET, &path, None).await?,
    };
    if json {
        print_json(&delivery)?;
    } else {
        print_line(&outcome(&delivery, held_until))?;
    }
    let is_good = delivery["deliveryStatus"] == "delivered";
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Looks until an attempt has ended, or there will be none.
async fn watch(backend: &dyn Backend, path: &str) -> anyhow::Result<Value> {
    let mut pause = LOOK_PAUSE_FIRST;
    loop {
        let delivery = backend.call(Method::GET, path, None).await?;
        if delivery["deliveryStatus"] != "pending" || last_attempt(&delivery).is_some() {
            return Ok(delivery);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LOOK_PAUSE_MAX);
    }
}

fn last_attempt(delivery: &Value) -> Option<&Value> {
    delivery["attemptLog"].as_array()?.last()
}

/// Whether it is not sent before it is given up to wait for it.
fn is_held_for_long(held_until: Option<&str>, now: Timestamp) -> bool {
    let until = held_until.and_then(|until| until.parse::<Timestamp>().ok());
    until.is_some_and(|until| Duration::try_from(until.duration_since(now)).is_ok_and(|held| held > SENT_WITHIN))
}

/// What came of it, in a line; and until when the receiver was held when it was queued.
fn outcome(delivery: &Value, held_until: Option<&str>) -> String {
    let id = text(&delivery["id"]);
    let Some(attempt) = last_attempt(delivery) else {
        return match (delivery["deliveryStatus"].as_str(), held_until) {
            (Some("pending"), Some(until)) => {
                format!(
                    "not sent yet: the receiver asked to be sent nothing until {until}; it is sent then, before all else"
                )
            }
            (Some("pending"), None) => {
                format!("not sent yet, because nobody delivers or the webhook fails: see `pirssonite outbox show {id}`")
            }
            (status, _) => format!("{}: see `pirssonite outbox show {id}`", status.unwrap_or_default()),
        };
    };
    let (status, millis) = (&attempt["statusCode"], to_u64(&attempt["durationMs"]));
    let answered = match (status.as_u64(), attempt["error"].as_str()) {
        (Some(status), _) => format!("it answered {status} in {millis} ms"),
        (None, error) => format!("no answer, after {millis} ms: {}", error.unwrap_or_default()),
    };
    match text(&delivery["deliveryStatus"]) {
        "pending" => match delivery["nextAttemptAt"].as_str() {
            Some(next) => format!("not delivered: {answered}; it is tried again at {next}"),
            None => format!("not delivered: {answered}"),
        },
        status => format!("{status}: {answered}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn u5_d1_test_outcome_is_printed() {
        for (delivery, expect) in [
            (
                json!({ "deliveryStatus": "delivered", "attemptLog": [{ "statusCode": 204, "durationMs": 12 }] }),
                "delivered: it answered 204 in 12 ms",
            ),
            (
                json!({
                    "deliveryStatus": "pending", "nextAttemptAt": "2026-03-01T12:00:00Z",
                    "attemptLog": [{ "statusCode": 500, "durationMs": 3, "error": "it answered 500" }],
                }),
                "not delivered: it answered 500 in 3 ms; it is tried again at 2026-03-01T12:00:00Z",
            ),
            (
                json!({
                    "deliveryStatus": "failed",
                    "attemptLog": [{ "statusCode": null, "durationMs": 1, "error": "could not connect" }],
                }),
                "failed: no answer, after 1 ms: could not connect",
            ),
            (json!({ "deliveryStatus": "pending", "id": "dlv_1", "attemptLog": [] }), "not sent yet, because"),
            (json!({ "deliveryStatus": "cancelled", "id": "dlv_1", "attemptLog": [] }), "cancelled: see"),
        ] {
            let said = outcome(&delivery, None);
            assert!(said.starts_with(expect), "{said}");
        }
    }

    #[test]
    fn d1_test_of_held_webhook_does_not_wait() {
        let waiting = json!({ "deliveryStatus": "pending", "id": "dlv_1", "attemptLog": [] });
        let said = outcome(&waiting, Some("2026-03-01T12:00:00Z"));
        assert!(said.contains("nothing until 2026-03-01T12:00:00Z"), "{said}");
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for (held_until, now, expect) in [
            (None, "2026-03-01T12:00:00Z", false),
            (Some("2026-03-01T12:00:01Z"), "2026-03-01T12:00:00Z", false),
            (Some("2026-03-01T13:00:00Z"), "2026-03-01T12:00:00Z", true),
            (Some("2026-03-01T12:00:00Z"), "2026-03-01T13:00:00Z", false),
        ] {
            assert_eq!(is_held_for_long(held_until, at(now)), expect, "{held_until:?} {now}");
        }
    }
}
