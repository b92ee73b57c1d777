//! `pirssonite add`: a feed by its URL, or by that of a page that offers it.

use std::process::ExitCode;

use anyhow::bail;
use domain::folder::one_line;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    format_count,
    named::{self, id_of},
    print_json, print_line, title_of, to_u64,
};
use crate::{
    backend::{self, Backend},
    settings::Settings,
};

/// The feed to add.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The URL of a feed, or of a page that offers one; example.org will do.
    url: String,
    /// The folder to put it in: its name, or its id. One of a new name is made.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// What to call it, instead of what it calls itself.
    #[arg(long)]
    title: Option<String>,
    /// Print the feed as JSON, with what a page offers besides.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect_or_create(settings).await?;
    let folder = match &arguments.folder {
        Some(given) => Some(folder(backend, given).await?),
        None => None,
    };
    let title = arguments.title.as_deref().map(one_line);
    let body = json!({ "url": arguments.url, "folderId": folder.map(|(id, _)| id), "title": title });
    let added = backend.call(Method::POST, "/api/feeds", Some(body)).await;
    if let (Err(_), Some((id, true))) = (&added, folder) {
        // Nothing is kept of what failed, nor the folder that was made for it.
        // If that fails too, why the feed was not added matters more.
        let _ = backend.call(Method::DELETE, &format!("/api/folders/{id}"), None).await;
    }
    let feed = added?;
    if arguments.json {
        print_json(&feed)?;
    } else {
        for line in lines(&feed, &arguments.url) {
            print_line(&line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder that is meant, and whether it was made for this.
async fn folder(backend: &dyn Backend, given: &str) -> anyhow::Result<(i64, bool)> {
    let name = one_line(given);
    if let Some(known) = named::find_folder(&backend.folders().await?, &name)? {
        return Ok((id_of(known), false));
    }
    // A number is more likely an id that is not there than the name of a new folder.
    if named::is_id(&name) {
        bail!("there is no folder {name}; to make one of that name, `pirssonite folder add {name}`");
    }
    let folder = backend.call(Method::POST, "/api/folders", Some(json!({ "name": name }))).await?;
    Ok((id_of(&folder), true))
}

/// What was added, and what else the page offers.
fn lines(feed: &Value, typed: &str) -> Vec<String> {
    let url = feed["url"].as_str().unwrap_or_default();
    let entries = format_count(to_u64(&feed["unreadCount"]), "entry", "entries");
    let place = if url == typed { String::new() } else { format!(" from {url}") };
    let mut lines = vec![format!("added feed {}: {} ({entries}){place}", feed["id"], title_of(feed))];
    let offered = feed["offered"].as_array().map(Vec::as_slice).unwrap_or_default();
    let others: Vec<&Value> = offered.iter().filter(|offer| offer["url"] != url).collect();
    if !others.is_empty() {
        lines.push(format!("the page also offers {}:", format_count(others.len() as u64, "feed", "feeds")));
        let title = |offer: &Value| offer["title"].as_str().map(|title| format!("  {}", one_line(title)));
        let line = |offer: &&Value| {
            let url = offer["url"].as_str().unwrap_or_default();
            format!("  {url}{}", title(offer).unwrap_or_default())
        };
        lines.extend(others.iter().map(line));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_f1_other_offered_feeds_are_named() {
        let feed = json!({
            "id": 1, "url": "https://e.org/feed", "title": "News", "unreadCount": 1,
            "offered": [
                { "url": "https://e.org/feed", "title": "News" },
                { "url": "https://e.org/comments", "title": "Comments\n on News" },
                { "url": "https://e.org/x", "title": null },
            ],
        });
        assert_eq!(
            lines(&feed, "e.org"),
            [
                "added feed 1: News (1 entry) from https://e.org/feed",
                "the page also offers 2 feeds:",
                "  https://e.org/comments  Comments on News",
                "  https://e.org/x",
            ]
        );
        assert_eq!(lines(&json!({ "id": 1, "url": "u", "unreadCount": 2 }), "u"), ["added feed 1: u (2 entries)"]);
    }
}
