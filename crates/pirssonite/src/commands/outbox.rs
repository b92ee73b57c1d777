//! `pirssonite outbox`: what is to be delivered, what was, and what was given up.

use std::process::ExitCode;

use anyhow::ensure;
use domain::folder::one_line;
use reqwest::Method;
use serde_json::{Value, json};

use super::{deliveries::Outbox, format_count, pages::paged, print_json, print_line, to_u64};
use crate::{
    backend::{self, Backend},
    settings::Settings,
};

/// What to do with it.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show the outbox in numbers, as without a command.
    Status,
    /// List deliveries, the newest first.
    List(Filter),
    /// Show a delivery with its attempts.
    Show(Target),
    /// Queue a delivery again that has failed or was delivered, or all of a webhook that have failed.
    Requeue(RequeueArguments),
    /// Call off a delivery that is pending or has failed.
    Cancel {
        #[command(flatten)]
        which: Target,
        /// Why; it is kept with the delivery.
        #[arg(long)]
        reason: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
struct Filter {
    /// Only those that are pending, delivered, failed or cancelled.
    #[arg(long, value_parser = ["pending", "delivered", "failed", "cancelled"])]
    status: Option<String>,
    /// Only those to this webhook.
    #[arg(long, value_name = "ID")]
    webhook: Option<i64>,
    /// At most so many.
    #[arg(long, default_value_t = 50, value_name = "NUMBER")]
    limit: usize,
}

#[derive(Debug, clap::Args)]
struct Target {
    /// The id of the delivery, as `pirssonite outbox list` shows it.
    id: String,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct RequeueArguments {
    /// The id of the delivery, as `pirssonite outbox list` shows it.
    id: Option<String>,
    /// All failed ones of this webhook.
    #[arg(long, value_name = "ID")]
    webhook: Option<i64>,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect(settings).await?;
    let (answer, said) = match arguments.action.as_ref().unwrap_or(&Action::Status) {
        Action::Status => {
            let overview = backend.call(Method::GET, "/api/outbox/overview", None).await?;
            let said = Outbox(&overview).in_words();
            (overview, said)
        }
        Action::List(filter) => list(backend, filter).await?,
        Action::Show(which) => {
            let delivery = backend.call(Method::GET, &which.path("")?, None).await?;
            let said = shown(&delivery);
            (delivery, said)
        }
        Action::Requeue(again) => requeue(backend, again).await?,
        Action::Cancel { which, reason } => {
            let body = reason.as_ref().map(|reason| json!({ "reason": reason }));
            let delivery = backend.call(Method::POST, &which.path("/cancel")?, body).await?;
            (delivery, format!("{} cancelled", which.id))
        }
    };
    if arguments.json {
        print_json(&answer)?;
    } else {
        print_line(&said)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Target {
    fn path(&self, rest: &str) -> anyhow::Result<String> {
        // What is no id would be another path.
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        ensure!(!self.id.is_empty() && self.id.bytes().all(is_word), "there is no such delivery");
        Ok(format!("/api/outbox/deliveries/{}{rest}", self.id))
    }
}

/// So many of the newest, page by page.
async fn list(backend: &dyn Backend, filter: &Filter) -> anyhow::Result<(Value, String)> {
    let conditions = [("status", filter.status.clone()), ("webhookId", filter.webhook.map(|id| id.to_string()))];
    let conditions: Vec<(&str, String)> =
        conditions.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let (events, cursor) = paged(backend, "/api/outbox/deliveries", &conditions, "events", filter.limit).await?;
    let lines: Vec<String> = events.iter().map(line).collect();
    let said = if lines.is_empty() { "no such deliveries".to_owned() } else { lines.join("\n") };
    Ok((json!({ "events": events, "nextCursor": cursor }), said))
}

async fn requeue(backend: &dyn Backend, again: &RequeueArguments) -> anyhow::Result<(Value, String)> {
    let Some(id) = &again.id else {
        let body = json!({ "webhookId": again.webhook });
        let requeued = backend.call(Method::POST, "/api/outbox/requeue", Some(body)).await?;
        let said = format!("{} queued again", format_count(to_u64(&requeued["requeued"]), "delivery", "deliveries"));
        return Ok((requeued, said));
    };
    let which = Target { id: id.clone() };
    let delivery = backend.call(Method::POST, &which.path("/requeue")?, None).await?;
    Ok((delivery, format!("{id} queued again")))
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// A delivery in a line.
fn line(delivery: &Value) -> String {
    let next = delivery["nextAttemptAt"].as_str().map(|next| format!("  next at {next}"));
    let sender = delivery["leaseUntil"].as_str().map(|_| "  being sent".to_owned());
    let why = delivery["reason"].as_str().or(delivery["lastError"].as_str()).map(|why| format!("  {}", one_line(why)));
    let status = delivery["lastStatusCode"].as_u64().filter(|_| why.is_none()).map(|status| format!("  {status}"));
    let rest: String = [sender.or(next), why, status].into_iter().flatten().collect();
    format!(
        "{}  {:<9}  webhook {}  {}  {} of {} attempts{rest}",
        text(delivery, "id"),
        text(delivery, "deliveryStatus"),
        delivery["webhookId"],
        text(delivery, "eventType"),
        delivery["attempts"],
        delivery["maxAttempts"],
    )
}

/// A delivery with its attempts.
fn shown(delivery: &Value) -> String {
    let attempts = delivery["attemptLog"].as_array().map(Vec::as_slice).unwrap_or_default();
    let event = format!("event     {}, queued at {}", text(delivery, "eventId"), text(delivery, "createdAt"));
    let delivered = delivery["deliveredAt"].as_str().map(|at| format!("delivered {at}"));
    let attempt = |attempt: &Value| {
        let (status, error) = (attempt["statusCode"].as_u64(), attempt["error"].as_str().map(one_line));
        let ended = match (status, error) {
            (Some(status), Some(error)) => format!("{status}: {error}"),
            (Some(status), None) => status.to_string(),
            (None, error) => error.unwrap_or_default(),
        };
        let answer = attempt["answer"].as_str().filter(|answer| !answer.trim().is_empty());
        let answer = answer.map(|answer| format!("\n          {}", answer.trim().replace('\n', "\n          ")));
        let answer = answer.unwrap_or_default();
        format!(
            "attempt   {} at {}, {} ms: {ended}{answer}",
            attempt["number"],
            text(attempt, "at"),
            attempt["durationMs"]
        )
    };
    let lines = [line(delivery), event].into_iter().chain(delivered).chain(attempts.iter().map(attempt));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_d10_delivery_is_shown_with_attempts() {
        let mut delivery = json!({
            "id": "dlv_1", "eventId": "evt_1", "eventType": "entry.created", "webhookId": 3, "attempts": 2,
            "maxAttempts": 16, "deliveryStatus": "pending", "nextAttemptAt": "2026-03-01T12:00:00Z",
            "leaseUntil": null, "lastStatusCode": 500, "lastError": null, "reason": null,
            "createdAt": "2026-03-01T11:00:00Z", "deliveredAt": null,
            "attemptLog": [
                { "number": 1, "at": "2026-03-01T11:00:01Z", "durationMs": 7, "statusCode": null, "error": "no route" },
                { "number": 2, "at": "2026-03-01T11:00:06Z", "durationMs": 8, "statusCode": 500, "answer": "oh\nno\n" },
            ],
        });
        let first = "dlv_1  pending    webhook 3  entry.created  2 of 16 attempts  next at 2026-03-01T12:00:00Z  500";
        assert_eq!(line(&delivery), first);
        assert_eq!(
            shown(&delivery),
            format!(
                "{first}\nevent     evt_1, queued at 2026-03-01T11:00:00Z\n\
                 attempt   1 at 2026-03-01T11:00:01Z, 7 ms: no route\n\
                 attempt   2 at 2026-03-01T11:00:06Z, 8 ms: 500\n          oh\n          no"
            )
        );
        delivery["leaseUntil"] = json!("2026-03-01T12:00:10Z");
        delivery["lastError"] = json!("too slow");
        assert!(line(&delivery).ends_with("attempts  being sent  too slow"), "{}", line(&delivery));
    }

    #[test]
    fn u5_d10_bad_ids_make_no_path() {
        for id in ["", "a/b", "a?b", "..", "a b"] {
            assert!(Target { id: id.to_owned() }.path("").is_err(), "{id}");
        }
        assert_eq!(Target { id: "dlv_0a".to_owned() }.path("/x").unwrap(), "/api/outbox/deliveries/dlv_0a/x");
    }
}
