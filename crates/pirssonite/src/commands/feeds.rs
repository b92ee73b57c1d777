//! `pirssonite remove`, `rename` and `move`: changes of feeds that are there.

use std::process::ExitCode;

use domain::folder::one_line;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    named::{self, id_of},
    print_json, print_line, title_of,
};
use crate::{
    backend::{self, Backend},
    settings::Settings,
};

/// The feeds to remove.
#[derive(Debug, clap::Args)]
pub(crate) struct Remove {
    /// The feeds: ids as `pirssonite list` shows them, titles or URLs.
    #[arg(required = true, value_name = "FEED")]
    feeds: Vec<String>,
    /// Print what was removed as JSON.
    #[arg(long)]
    json: bool,
}

/// The feed to rename.
#[derive(Debug, clap::Args)]
pub(crate) struct Rename {
    /// The feed: its id as `pirssonite list` shows it, its title or its URL.
    feed: String,
    /// What to call it.
    #[arg(required_unless_present = "reset")]
    title: Option<String>,
    /// Call it what it calls itself again.
    #[arg(long, conflicts_with = "title")]
    reset: bool,
    /// Print the feed as JSON.
    #[arg(long)]
    json: bool,
}

/// The feeds to move.
#[derive(Debug, clap::Args)]
pub(crate) struct Move {
    /// The feeds: ids as `pirssonite list` shows them, titles or URLs.
    #[arg(required = true, value_name = "FEED")]
    feeds: Vec<String>,
    /// The folder to put them in: its name or its id.
    #[arg(long, value_name = "FOLDER", required_unless_present = "no_folder")]
    folder: Option<String>,
    /// Put them in no folder.
    #[arg(long, conflicts_with = "folder")]
    no_folder: bool,
    /// Print the feeds as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn remove(arguments: &Remove, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect(settings).await?;
    let feeds = meant(backend, &arguments.feeds).await?;
    for feed in &feeds {
        backend.call(Method::DELETE, &path(feed), None).await?;
        if !arguments.json {
            let url = feed["url"].as_str().unwrap_or_default();
            print_line(&format!("removed feed {} and its entries: {} ({url})", id_of(feed), title_of(feed)))?;
        }
    }
    if arguments.json {
        print_json(&json!({ "removed": feeds.iter().map(id_of).collect::<Vec<_>>() }))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn rename(arguments: &Rename, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect(settings).await?;
    let feeds = backend.feeds().await?;
    let feed = named::feed(&feeds, &arguments.feed)?;
    let title = arguments.title.as_deref().map(one_line);
    let renamed = backend.call(Method::PATCH, &path(feed), Some(json!({ "title": title }))).await?;
    if arguments.json {
        print_json(&renamed)?;
    } else {
        print_line(&format!("feed {} is called {} now", id_of(&renamed), title_of(&renamed)))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn move_to_folder(arguments: &Move, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect(settings).await?;
    let folder = match &arguments.folder {
        Some(given) => Some(named::folder(backend, given).await?),
        None => None,
    };
    let place = folder.as_ref().map_or_else(|| "no folder".to_owned(), named::folder_name);
    let body = json!({ "folderId": folder.as_ref().map(id_of) });
    let mut moved = Vec::new();
    for feed in meant(backend, &arguments.feeds).await? {
        let feed = backend.call(Method::PATCH, &path(&feed), Some(body.clone())).await?;
        if !arguments.json {
            print_line(&format!("feed {} is in {place} now: {}", id_of(&feed), title_of(&feed)))?;
        }
        moved.push(feed);
    }
    if arguments.json {
        print_json(&Value::Array(moved))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All feeds that are named, each once, or an error before anything is done to any.
async fn meant(backend: &dyn Backend, given: &[String]) -> anyhow::Result<Vec<Value>> {
    let feeds = backend.feeds().await?;
    let mut meant: Vec<Value> = Vec::new();
    for given in given {
        let feed = named::feed(&feeds, given)?;
        if !meant.contains(feed) {
            meant.push(feed.clone());
        }
    }
    Ok(meant)
}

fn path(feed: &Value) -> String {
    format!("/api/feeds/{}", id_of(feed))
}
