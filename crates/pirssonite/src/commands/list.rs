//! `pirssonite list`: the feeds, with what is unread, how they come, and what is wrong.

use std::process::ExitCode;

use serde_json::Value;

use super::{say, say_json, title_of};
use crate::{backend, settings::Settings};

/// How to list them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let feeds = backend::connect(settings).await?.feeds().await?;
    if arguments.json {
        say_json(&Value::Array(feeds))?;
        return Ok(ExitCode::SUCCESS);
    }
    if feeds.is_empty() {
        say("no feeds yet: add one with `pirssonite add URL`")?;
    }
    for feed in &feeds {
        let state = match (feed["isGone"].as_bool(), feed["lastError"].as_str()) {
            (Some(true), _) => "  gone".to_owned(),
            (_, Some(error)) => format!("  failing: {error}"),
            _ if feed["lastFetchedAt"].is_null() => "  not fetched yet".to_owned(),
            _ => String::new(),
        };
        let way = if feed["subscription"]["isActive"] == true { "  pushed" } else { "" };
        let (id, unread) = (feed["id"].to_string(), feed["unreadCount"].to_string());
        say(&format!(
            "{id:>5}  {unread:>6} unread  {}  {}{way}{state}",
            title_of(feed),
            feed["url"].as_str().unwrap_or_default()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
