//! `pirssonite refresh`: polls what is due, or the feeds named, now.

use std::process::ExitCode;

use futures_util::StreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{progress_bar, say, say_json};
use crate::{
    backend::{self, Backend},
    settings::Settings,
    wiring,
};

/// Feeds that are asked for at once; how many of them go to one host is the engine's to say.
const AT_ONCE: usize = 32;

/// What to refresh.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The ids of the feeds to poll, due or not. None: all that are due.
    feeds: Vec<i64>,
    /// Poll all feeds, due or not.
    #[arg(long, conflicts_with = "feeds")]
    all: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = backend::connect(settings).await?;
    let wanted =
        if arguments.feeds.is_empty() { due(&*backend, arguments.all).await? } else { arguments.feeds.clone() };
    let summary = refresh(&*backend, &wanted).await?;
    if arguments.json {
        say_json(&summary)?;
    } else {
        say(&format!(
            "{} feeds polled: {} fetched, {} unchanged, {} failed; {} new entries, {} changed",
            summary["polled"],
            summary["fetched"],
            summary["unchanged"],
            summary["failed"],
            summary["newEntries"],
            summary["changedEntries"]
        ))?;
    }
    let failed = summary["failed"].as_u64().unwrap_or_default();
    // A feed that fails is the publisher's matter, unless it was asked for by name.
    Ok(if failed > 0 && !arguments.feeds.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The feeds that are due, or all but those that are gone.
async fn due(backend: &dyn Backend, all: bool) -> anyhow::Result<Vec<i64>> {
    let now = wiring::now();
    let is_due = |feed: &Value| {
        let at = feed["nextCheckAt"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        feed["isGone"] != true && (all || at.is_none_or(|at| at <= now))
    };
    Ok(backend.feeds().await?.iter().filter(|feed| is_due(feed)).filter_map(|feed| feed["id"].as_i64()).collect())
}

/// Polls feeds side by side and adds up what came of it.
async fn refresh(backend: &dyn Backend, feeds: &[i64]) -> anyhow::Result<Value> {
    const SUMS: [&str; 6] = ["polled", "fetched", "unchanged", "failed", "newEntries", "changedEntries"];
    let bar = progress_bar(feeds.len(), "refreshing");
    let mut summaries =
        futures_util::stream::iter(feeds.iter().map(|id| backend.refresh_feed(*id))).buffer_unordered(AT_ONCE);
    let mut total = [0u64; SUMS.len()];
    let mut failure = None;
    while let Some(summary) = summaries.next().await {
        bar.inc(1);
        // A feed that was removed meanwhile is not missed; whatever else went wrong does not stop the others.
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => {
                failure = Some(error);
                continue;
            }
        };
        for (sum, name) in total.iter_mut().zip(SUMS) {
            *sum += summary[name].as_u64().unwrap_or_default();
        }
    }
    bar.finish_and_clear();
    if let Some(error) = failure.filter(|_| total[0] == 0) {
        return Err(error);
    }
    Ok(SUMS
        .into_iter()
        .zip(total)
        .map(|(name, sum)| (name.to_owned(), json!(sum)))
        .collect::<serde_json::Map<_, _>>()
        .into())
}
