//! `pirssonite entries list` and `entries search`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{
    super::{pages::paged, print_json, print_line, to_u64},
    meant, minute, title_of,
};
use crate::{
    backend::Backend,
    screen::{Column, Screen, table},
};

const COLUMNS: [Column; 5] = [
    Column::number("ID"),
    Column::short("TIME (UTC)"),
    Column::short("MARK"),
    Column::text("TITLE"),
    Column::text("FEED"),
];

/// Which entries.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct ListArguments {
    /// Only those that are not read yet.
    #[arg(long)]
    unread: bool,
    /// Only those that are starred.
    #[arg(long)]
    starred: bool,
    /// Only those of this feed: its id, its title or its URL.
    #[arg(long, value_name = "FEED")]
    feed: Option<String>,
    /// Only those of the feeds in this folder: its name or its id.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// The oldest first.
    #[arg(long)]
    oldest: bool,
    /// At most so many.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "NUMBER")]
    limit: usize,
    /// Print them as JSON, with their content.
    #[arg(long)]
    json: bool,
}

/// What to search for.
#[derive(Debug, clap::Args)]
pub(super) struct Searched {
    /// The words to search for: bread 'conf*' -jumps. A phrase in two kinds of quotes, as the shell takes one away:
    /// '"fresh bread"'.
    #[arg(required = true)]
    pub(super) query: Vec<String>,
    #[command(flatten)]
    pub(super) listed: ListArguments,
}

pub(super) async fn run(
    backend: &dyn Backend,
    listed: &ListArguments,
    query: Option<&str>,
) -> anyhow::Result<ExitCode> {
    let (feed, folder) = meant(backend, listed.feed.as_deref(), listed.folder.as_deref()).await?;
    let conditions = [
        ("q", query.map(str::to_owned)),
        ("feedId", feed.map(|id| id.to_string())),
        ("folderId", folder.map(|id| id.to_string())),
        ("unread", listed.unread.then(|| "true".to_owned())),
        ("starred", listed.starred.then(|| "true".to_owned())),
        ("order", listed.oldest.then(|| "oldest".to_owned())),
    ];
    let conditions: Vec<(&str, String)> =
        conditions.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let (entries, next_cursor) = paged(backend, "/api/entries", &conditions, "entries", listed.limit).await?;
    if listed.json {
        print_json(&json!({ "entries": entries, "nextCursor": next_cursor }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if entries.is_empty() {
        print_line(if query.is_some() { "no entry holds that" } else { "no such entries" })?;
        return Ok(ExitCode::SUCCESS);
    }
    let feeds = backend.feeds().await?;
    let rows: Vec<Vec<String>> = entries.iter().map(|entry| row(entry, &feeds)).collect();
    let screen = Screen::of_stdout();
    let (heading, lines) = table(&COLUMNS, &rows, screen);
    for line in heading.iter().chain(&lines) {
        print_line(line)?;
    }
    if screen.is_terminal() {
        let more = next_cursor.map(|_| format!("there are more: --limit {} lists further ones; ", listed.limit * 2));
        print_line(&format!("{}`pirssonite entries show ID` shows one", more.unwrap_or_default()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(entry: &Value, feeds: &[Value]) -> Vec<String> {
    let feed = feeds.iter().find(|feed| feed["id"] == entry["feedId"]);
    let mark = match (entry["isRead"] == true, entry["isStarred"] == true) {
        (false, false) => "new",
        (false, true) => "new ★",
        (true, true) => "★",
        (true, false) => "",
    };
    vec![
        to_u64(&entry["id"]).to_string(),
        minute(&entry["sortAt"]),
        mark.to_owned(),
        title_of(entry),
        feed.map(|feed| super::super::title_of(feed).to_owned()).unwrap_or_default(),
    ]
}
