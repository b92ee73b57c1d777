//! `pirssonite renew`: the subscriptions whose leases end soon, now. The server does so by itself; this is for whoever
//! wants to see it.

use std::{collections::HashMap, process::ExitCode};

use anyhow::ensure;
use serde_json::Value;

use super::{format_count, print_json, print_line, title_of, to_u64};
use crate::{backend, settings::Settings};

/// How to print it.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

/// Renewals that a server makes in one call.
const RENEWALS_MAX: usize = 20;

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = backend::connect(settings).await?;
    ensure!(
        backend.base_url().is_some(),
        "push is off, because no base_url is set: there is nothing to renew, and all feeds are polled"
    );
    ensure!(
        backend.is_server(),
        "no server is running here, and a hub renews nothing before it has asked back at the base_url: \
         start `pirssonite`, which renews by itself as well"
    );
    let summary = backend.renew().await?;
    let results = summary["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    if arguments.json {
        print_json(&summary)?;
    } else if results.is_empty() {
        print_line("nothing to renew: no lease ends soon")?;
    } else {
        let feeds = backend.feeds().await?;
        let titles: HashMap<i64, &str> =
            feeds.iter().filter_map(|feed| Some((feed["id"].as_i64()?, title_of(feed)))).collect();
        for result in results {
            print_line(&line(result, &titles))?;
        }
        print_line(&format_total(&summary, results.len()))?;
    }
    Ok(if to_u64(&summary["failed"]) > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn line(result: &Value, titles: &HashMap<i64, &str>) -> String {
    let feed = result["feedId"].as_i64();
    let id = feed.map_or_else(|| "-".to_owned(), |id| id.to_string());
    let title = feed.and_then(|id| titles.get(&id).copied()).unwrap_or("(removed)");
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    let ended = match text("status") {
        "renewed" => format!("renewed until {}", text("newExpiresAt")),
        "pending" => "accepted by its hub, which has not verified it yet".to_owned(),
        _ => {
            let times = result["errorCount"].as_u64().filter(|count| *count > 1);
            format!("failed: {}{}", text("error"), times.map(|count| format!(" ({count} times)")).unwrap_or_default())
        }
    };
    format!("{id:>5}  {title}  {ended}")
}

fn format_total(summary: &Value, results: usize) -> String {
    let count = format_count(results as u64, "subscription", "subscriptions");
    let more = if results < RENEWALS_MAX { "" } else { "; at most so many in one go: there may be more" };
    format!(
        "{count}: {} renewed, {} failed, {} pending{more}",
        summary["renewed"], summary["failed"], summary["pending"]
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn w7_renewals_are_printed_line_by_line() {
        let titles = HashMap::from([(7, "News")]);
        for (result, expect) in [
            (
                json!({ "feedId": 7, "status": "renewed", "newExpiresAt": "2026-03-12T12:00:00Z" }),
                "    7  News  renewed until 2026-03-12T12:00:00Z",
            ),
            (
                json!({ "feedId": 7, "status": "failed", "error": "Hub unreachable", "errorCount": 3 }),
                "    7  News  failed: Hub unreachable (3 times)",
            ),
            (
                json!({ "feedId": null, "status": "failed", "error": "No longer wanted" }),
                "    -  (removed)  failed: No longer wanted",
            ),
            (
                json!({ "feedId": 8, "status": "pending" }),
                "    8  (removed)  accepted by its hub, which has not verified it yet",
            ),
        ] {
            assert_eq!(line(&result, &titles), expect);
        }
        let summary = json!({ "renewed": 19, "failed": 1, "pending": 0 });
        assert_eq!(format_total(&summary, 1), "1 subscription: 19 renewed, 1 failed, 0 pending");
        assert!(format_total(&summary, 20).ends_with("there may be more"));
    }
}
