//! `pirssonite entries show`: entries as text.

use std::process::ExitCode;

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    super::{format_size, print_json, print_line, title_of as feed_title},
    minute, title_of,
};
use crate::{
    backend::Backend,
    readable::readable,
    screen::{Screen, clean, wrap},
};

/// Which entries.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArguments {
    /// The ids of the entries, as `pirssonite entries` shows them.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<i64>,
    /// Mark them as read.
    #[arg(long)]
    mark_read: bool,
    /// Print them as JSON, with their HTML.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(backend: &dyn Backend, shown: &ShowArguments) -> anyhow::Result<ExitCode> {
    let mut entries = Vec::new();
    for id in &shown.ids {
        let entry = backend.call(Method::GET, &format!("/api/entries/{id}"), None).await;
        entries.push(entry.map_err(|error| error.context(format!("entry {id}")))?);
    }
    if shown.mark_read {
        let body = json!({ "ids": shown.ids, "isRead": true });
        backend.call(Method::PATCH, "/api/entries", Some(body)).await?;
        for entry in &mut entries {
            entry["isRead"] = json!(true);
        }
    }
    if shown.json {
        let one_or_all = if let [entry] = entries.as_slice() { entry.clone() } else { Value::Array(entries) };
        print_json(&one_or_all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (feeds, screen) = (backend.feeds().await?, Screen::of_stdout());
    for (number, entry) in entries.iter().enumerate() {
        if number > 0 {
            print_line("")?;
        }
        let feed = feeds.iter().find(|feed| feed["id"] == entry["feedId"]);
        for line in lines(entry, feed.map(feed_title), screen.text_cells()) {
            print_line(&line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// An entry as text.
fn lines(entry: &Value, feed: Option<&str>, cells: Option<usize>) -> Vec<String> {
    let text = |name: &str| entry[name].as_str().map(clean).filter(|text| !text.is_empty());
    let wrapped = |text: &str| cells.map_or_else(|| vec![text.to_owned()], |cells| wrap(text, cells));
    let mut lines = wrapped(&clean(&title_of(entry)));
    let marks = [(entry["isRead"] == false, "unread"), (entry["isStarred"] == true, "starred")];
    let about = feed.map(clean).into_iter().chain(text("author").map(|author| format!("by {author}")));
    let about = about.chain([format!("{} UTC", minute(&entry["sortAt"]))]);
    let about = about.chain(marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark.to_owned()));
    lines.extend(wrapped(&about.collect::<Vec<_>>().join(", ")));
    lines.extend(text("url"));
    let html = entry["content"].as_str().or(entry["summary"].as_str()).unwrap_or_default();
    let read = readable(html, cells);
    if !read.lines.is_empty() {
        lines.push(String::new());
        lines.extend(read.lines);
    }
    let numbered = read.links.iter().enumerate().map(|(number, link)| format!("[{}] {link}", number + 1));
    let below: Vec<String> = numbered.chain(enclosures(entry)).collect();
    if !below.is_empty() {
        lines.push(String::new());
        lines.extend(below);
    }
    lines
}

/// The files of an entry, such as the sound of an episode.
fn enclosures(entry: &Value) -> Vec<String> {
    let files = entry["enclosures"].as_array().map(Vec::as_slice).unwrap_or_default();
    let in_words = |file: &Value| {
        let mime = file["type"].as_str().map(clean);
        let size = file["length"].as_u64().filter(|size| *size > 0);
        let about: Vec<String> = mime.into_iter().chain(size.map(format_size)).collect();
        let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
        format!("file: {}{about}", clean(file["url"].as_str().unwrap_or_default()))
    };
    files.iter().map(in_words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_entry_is_shown_in_full() {
        let entry = json!({
            "id": 7, "title": "Fresh\u{1b}[2J bread", "author": "Ann\u{9b}0m", "url": "https://e.org/1", "isRead": false,
            "isStarred": true, "sortAt": "2026-03-02T18:55:00Z", "content": "<p>Warm <a href='https://e.org/w'>it</a></p>",
            "enclosures": [{ "url": "https://e.org/a.mp3", "type": "audio/mpeg", "length": 1_200_000 }],
        });
        assert_eq!(
            lines(&entry, Some("News"), Some(40)),
            [
                "Fresh[2J bread",
                "News, by Ann0m, 2026-03-02 18:55 UTC,",
                "unread, starred",
                "https://e.org/1",
                "",
                "Warm it[1]",
                "",
                "[1] https://e.org/w",
                "file: https://e.org/a.mp3 (audio/mpeg, 1.2 MB)",
            ]
        );
        let bare =
            json!({ "id": 8, "title": null, "summary": "<p>No <b>title</b></p>", "isRead": true, "sortAt": "x" });
        assert_eq!(lines(&bare, None, None), ["No title", "x UTC", "", "No title"]);
    }
}
