//! `pirssonite refresh`: polls what is due, or the feeds named, now.

use std::process::ExitCode;

use futures_util::StreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{format_count, named, print_json, print_line, print_notice, progress_bar, to_u64};
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
    /// The feeds to poll, due or not: ids as `pirssonite list` shows them, titles or URLs. None: all that are due.
    #[arg(value_name = "FEED")]
    feeds: Vec<String>,
    /// Poll all feeds, due or not.
    #[arg(long, conflicts_with = "feeds")]
    all: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = backend::connect(settings).await?;
    let wanted = if arguments.feeds.is_empty() {
        due(&*backend, arguments.all).await?
    } else {
        named_feeds(&*backend, &arguments.feeds).await?
    };
    let Refreshed { summary, missing, failures } = refresh(&*backend, &wanted, "refreshing").await;
    if arguments.json {
        print_json(&summary)?;
    } else {
        print_line(&format!(
            "{} polled: {} fetched, {} unchanged, {} failed; {}, {} changed",
            format_count(to_u64(&summary["polled"]), "feed", "feeds"),
            summary["fetched"],
            summary["unchanged"],
            summary["failed"],
            format_count(to_u64(&summary["newEntries"]), "new entry", "new entries"),
            summary["changedEntries"]
        ))?;
    }
    // A feed that fails is the publisher's matter, and one that was removed meanwhile is not missed, unless it was asked
    // for by name.
    let is_named = !arguments.feeds.is_empty();
    for id in missing.iter().filter(|_| is_named) {
        print_notice(&format!("there is no feed {id}"));
    }
    if let Some(error) = failures.first() {
        print_notice(&format!(
            "{} could not be polled: {error:#}",
            format_count(failures.len() as u64, "feed", "feeds")
        ));
    }
    let is_bad = !failures.is_empty() || is_named && (to_u64(&summary["failed"]) > 0 || !missing.is_empty());
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The ids of feeds as people name them. A number that is no feed's is kept: whether there is one shows when it is polled.
async fn named_feeds(backend: &dyn Backend, given: &[String]) -> anyhow::Result<Vec<i64>> {
    let feeds = backend.feeds().await?;
    let id = |given: &String| match (named::feed(&feeds, given), given.parse()) {
        (Ok(feed), _) => Ok(named::id_of(feed)),
        (Err(_), Ok(id)) if !feeds.iter().any(|feed| named::id_of(feed) == id) => Ok(id),
        (Err(error), _) => Err(error),
    };
    given.iter().map(id).collect()
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

/// What came of it.
pub(super) struct Refreshed {
    /// As the API has it.
    pub(super) summary: Value,
    /// Feeds that are not there, or no longer.
    missing: Vec<i64>,
    /// What kept feeds from being polled, but for that.
    pub(super) failures: Vec<anyhow::Error>,
}

/// Polls feeds side by side and adds up what came of it. What goes wrong with one does not stop the others.
pub(super) async fn refresh(backend: &dyn Backend, feeds: &[i64], what: &'static str) -> Refreshed {
    const SUMS: [&str; 6] = ["polled", "fetched", "unchanged", "failed", "newEntries", "changedEntries"];
    let bar = progress_bar(feeds.len(), what);
    let poll = |id: i64| async move { (id, backend.refresh_feed(id).await) };
    let mut polls = futures_util::stream::iter(feeds.iter().copied().map(poll)).buffer_unordered(AT_ONCE);
    let mut total = [0u64; SUMS.len()];
    let (mut missing, mut failures) = (Vec::new(), Vec::new());
    while let Some((id, polled)) = polls.next().await {
        bar.inc(1);
        match polled {
            Ok(Some(summary)) => {
                for (sum, name) in total.iter_mut().zip(SUMS) {
                    *sum += to_u64(&summary[name]);
                }
            }
            Ok(None) => missing.push(id),
            Err(error) => failures.push(error),
        }
    }
    bar.finish_and_clear();
    let sums = SUMS.into_iter().zip(total).map(|(name, sum)| (name.to_owned(), json!(sum)));
    Refreshed { summary: sums.collect::<serde_json::Map<_, _>>().into(), missing, failures }
}
