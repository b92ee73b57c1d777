//! `pirssonite list`: the feeds, with what is unread, where they are, how they come, and what is wrong.

use std::process::ExitCode;

use serde_json::Value;

use super::{
    named::{self, folder_name, id_of},
    print_json, print_line, title_of, to_u64,
};
use crate::{
    backend,
    screen::{Column, Screen, table},
    settings::Settings,
    sorting,
};

const COLUMNS: [Column; 6] = [
    Column::number("ID"),
    Column::number("UNREAD"),
    Column::text("TITLE"),
    Column::text("FOLDER"),
    Column::text("ADDRESS"),
    Column::short("STATE"),
];

/// Which to list, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only the feeds in this folder: its name or its id.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect(settings).await?;
    let (mut feeds, folders) = (backend.feeds().await?, backend.folders().await?);
    if let Some(given) = &arguments.folder {
        let folder = named::folder(backend, given).await?;
        feeds.retain(|feed| feed["folderId"] == folder["id"]);
    }
    if arguments.json {
        print_json(&Value::Array(feeds))?;
        return Ok(ExitCode::SUCCESS);
    }
    if feeds.is_empty() {
        let empty = if arguments.folder.is_some() { "no feeds in this folder" } else { "no feeds yet" };
        print_line(&format!("{empty}: add one with `pirssonite add URL`"))?;
    }
    for line in lines(feeds, &folders, Screen::of_stdout()) {
        print_line(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The feeds by folder, in the order of the folders, and by title; those in no folder at the end.
fn lines(mut feeds: Vec<Value>, folders: &[Value], screen: Screen) -> Vec<String> {
    let place = |feed: &Value| folders.iter().position(|folder| folder["id"] == feed["folderId"]);
    feeds.sort_by(|one, other| {
        let places = place(one).unwrap_or(usize::MAX).cmp(&place(other).unwrap_or(usize::MAX));
        places
            .then_with(|| sorting::compare(title_of(one), title_of(other)))
            .then_with(|| id_of(one).cmp(&id_of(other)))
    });
    let row = |feed: &Value| {
        let (state, why) = state(feed);
        // On a terminal the reason stands below, where it fits.
        let why = why.filter(|_| !screen.is_terminal()).map(|why| format!(": {why}")).unwrap_or_default();
        vec![
            id_of(feed).to_string(),
            to_u64(&feed["unreadCount"]).to_string(),
            title_of(feed).to_owned(),
            place(feed).map(|at| folder_name(&folders[at])).unwrap_or_default(),
            feed["url"].as_str().unwrap_or_default().to_owned(),
            format!("{state}{why}"),
        ]
    };
    let (heading, rows) = table(&COLUMNS, &feeds.iter().map(row).collect::<Vec<_>>(), screen);
    let below = |feed: &Value| {
        let why = state(feed).1.filter(|_| screen.is_terminal())?;
        Some(screen.labelled("        ", &why))
    };
    let rows = feeds.iter().zip(rows).flat_map(|(feed, row)| std::iter::once(row).chain(below(feed)));
    heading.into_iter().filter(|_| !feeds.is_empty()).chain(rows).collect()
}

/// How a feed comes or why it does not, in a word, and more of that.
fn state(feed: &Value) -> (&'static str, Option<String>) {
    let is_pushed = feed["subscription"]["isActive"] == true;
    match (feed["isGone"] == true, feed["lastError"].as_str()) {
        (true, _) => ("gone", None),
        (false, Some(error)) => ("failing", Some(error.to_owned())),
        (false, None) if feed["lastFetchedAt"].is_null() => ("not fetched yet", None),
        (false, None) if is_pushed => ("pushed", None),
        (false, None) => ("", None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn feed(id: i64, title: &str, folder: Option<i64>, error: Option<&str>) -> Value {
        json!({
            "id": id, "url": format!("https://e.org/{id}"), "title": title, "folderId": folder, "unreadCount": id,
            "lastError": error, "isGone": false, "lastFetchedAt": "x", "subscription": null,
        })
    }

    #[test]
    fn u5_feeds_are_listed_by_folder_and_title() {
        let folders = [json!({ "id": 9, "name": "Zürich" }), json!({ "id": 8, "name": "Art" })];
        let feeds = vec![
            feed(1, "zebra", None, None),
            feed(2, "Äpfel", None, None),
            feed(3, "Issue 10", Some(8), None),
            feed(4, "issue 9", Some(8), Some("the server answered 503 Service Unavailable")),
            feed(5, "日本語", Some(9), None),
        ];
        assert_eq!(
            lines(feeds.clone(), &folders, Screen::of(None)),
            [
                "5  5  日本語    Zürich  https://e.org/5",
                "4  4  issue 9   Art     https://e.org/4  failing: the server answered 503 Service Unavailable",
                "3  3  Issue 10  Art     https://e.org/3",
                "2  2  Äpfel             https://e.org/2",
                "1  1  zebra             https://e.org/1",
            ]
        );
        let on_terminal = lines(feeds, &folders, Screen::of(Some(48)));
        assert_eq!(
            on_terminal[..5],
            [
                "ID  UNREAD  TITLE     FOLDER  ADDRESS    STATE",
                " 5       5  日本語    Zürich  https://…",
                " 4       4  issue 9   Art     https://…  failing",
                "        the server answered 503 Service\n        Unavailable",
                " 3       3  Issue 10  Art     https://…",
            ]
        );
        assert!(lines(Vec::new(), &folders, Screen::of(Some(80))).is_empty());
    }
}
