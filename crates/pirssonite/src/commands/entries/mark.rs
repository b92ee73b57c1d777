//! `pirssonite entries mark`: read, unread, starred, unstarred.

use std::{collections::HashSet, process::ExitCode};

use anyhow::bail;
use clap::ValueEnum;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    super::{format_count, pages::paged, print_json, print_line, to_u64},
    meant,
};
use crate::{
    backend::Backend,
    settings::{SettingsError, ago},
    wiring,
};

/// Entries that one request marks.
const AT_ONCE: usize = 500;

/// Which entries, and how.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true).args(["ids", "feed", "folder", "all"]))]
pub(super) struct MarkArguments {
    /// How to mark them.
    #[arg(value_name = "MARK")]
    mark: MarkAs,
    /// The ids of the entries, as `pirssonite entries` shows them.
    #[arg(value_name = "ID")]
    ids: Vec<i64>,
    /// All of this feed: its id, its title or its URL. Only for `read`, as the three below.
    #[arg(long, value_name = "FEED", conflicts_with = "ids")]
    feed: Option<String>,
    /// All of the feeds in this folder: its name or its id.
    #[arg(long, value_name = "FOLDER", conflicts_with = "ids")]
    folder: Option<String>,
    /// All there are.
    #[arg(long, conflicts_with_all = ["ids", "feed", "folder"])]
    all: bool,
    /// Of those, only what was received until this time, as 2026-03-01T12:00:00Z, or how long ago, as 2h or 3d.
    #[arg(long, value_name = "TIME", conflicts_with = "ids", value_parser = |text: &str| ago(text, wiring::now()))]
    before: Option<Timestamp>,
    /// Print how many were marked as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MarkAs {
    Read,
    Unread,
    #[value(alias = "star")]
    Starred,
    #[value(alias = "unstar")]
    Unstarred,
}

impl MarkAs {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Unread => "unread",
            Self::Starred => "starred",
            Self::Unstarred => "unstarred",
        }
    }

    fn change(self) -> (&'static str, bool) {
        match self {
            Self::Read => ("isRead", true),
            Self::Unread => ("isRead", false),
            Self::Starred => ("isStarred", true),
            Self::Unstarred => ("isStarred", false),
        }
    }
}

pub(super) async fn run(backend: &dyn Backend, marked: &MarkArguments) -> anyhow::Result<ExitCode> {
    let count =
        if marked.ids.is_empty() { mark_all(backend, marked).await? } else { mark_some(backend, marked).await? };
    if marked.json {
        print_json(&json!({ "marked": count }))?;
    } else {
        print_line(&format!("{} marked as {}", format_count(count, "entry", "entries"), marked.mark.name()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Marks those that are named, if all are there.
async fn mark_some(backend: &dyn Backend, marked: &MarkArguments) -> anyhow::Result<u64> {
    let missing = missing(backend, &marked.ids).await?;
    match missing.as_slice() {
        [] => {}
        [id] => bail!("there is no entry {id}; nothing is marked"),
        ids => bail!("there are no entries {}; nothing is marked", joined(ids)),
    }
    let (name, value) = marked.mark.change();
    let mut count = 0;
    for ids in marked.ids.chunks(AT_ONCE) {
        let answer = backend.call(Method::PATCH, "/api/entries", Some(json!({ "ids": ids, name: value }))).await?;
        count += to_u64(&answer["marked"]);
    }
    Ok(count)
}

async fn missing(backend: &dyn Backend, ids: &[i64]) -> anyhow::Result<Vec<i64>> {
    let mut known = HashSet::new();
    for ids in ids.chunks(AT_ONCE) {
        let conditions = [("ids", joined(ids)), ("content", "false".to_owned())];
        let (entries, _) = paged(backend, "/api/entries", &conditions, "entries", ids.len()).await?;
        known.extend(entries.iter().filter_map(|entry: &Value| entry["id"].as_i64()));
    }
    Ok(ids.iter().filter(|id| !known.contains(id)).copied().collect())
}

fn joined(ids: &[i64]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Marks all of a feed, of a folder, or all there are.
async fn mark_all(backend: &dyn Backend, marked: &MarkArguments) -> anyhow::Result<u64> {
    if marked.mark != MarkAs::Read {
        let says = format!("only `read` is for many at once: name the ids to mark as {}", marked.mark.name());
        bail!(SettingsError::Together(says));
    }
    let (feed, folder) = meant(backend, marked.feed.as_deref(), marked.folder.as_deref()).await?;
    let body = json!({ "feedId": feed, "folderId": folder, "before": marked.before });
    Ok(to_u64(&backend.call(Method::POST, "/api/entries/mark-read", Some(body)).await?["marked"]))
}
