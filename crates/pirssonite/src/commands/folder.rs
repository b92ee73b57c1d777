//! `pirssonite folder`: the folders, listed, added, renamed, removed.

use std::process::ExitCode;

use domain::folder::one_line;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    format_count,
    named::{self, folder_name, id_of},
    print_json, print_line, to_u64,
};
use crate::{
    backend::{self, Backend},
    screen::{Column, Screen, table},
    settings::Settings,
};

/// What to do with them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the folders in their order, as without a command.
    List,
    /// Add a folder, after the others.
    Add {
        /// What to call it.
        name: String,
    },
    /// Give a folder another name.
    Rename {
        #[command(flatten)]
        which: Target,
        /// What to call it.
        name: String,
    },
    /// Remove a folder. Its feeds stay, in no folder.
    Remove(Target),
}

#[derive(Debug, clap::Args)]
struct Target {
    /// The folder: its name or its id.
    folder: String,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect(settings).await?;
    let (answer, said) = match arguments.action.as_ref().unwrap_or(&Action::List) {
        Action::List => list(backend).await?,
        Action::Add { name } => {
            let body = json!({ "name": one_line(name) });
            let folder = backend.call(Method::POST, "/api/folders", Some(body)).await?;
            let said = format!("added folder {}: {}", id_of(&folder), folder_name(&folder));
            (folder, said)
        }
        Action::Rename { which, name } => {
            let before = named::folder(backend, &which.folder).await?;
            let body = json!({ "name": one_line(name) });
            let folder = backend.call(Method::PATCH, &path(&before), Some(body)).await?;
            let said = format!("folder {} is called {} now", id_of(&folder), folder_name(&folder));
            (folder, said)
        }
        Action::Remove(which) => remove(backend, which).await?,
    };
    if arguments.json {
        print_json(&answer)?;
    } else {
        print_line(&said)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(backend: &dyn Backend) -> anyhow::Result<(Value, String)> {
    const COLUMNS: [Column; 4] =
        [Column::number("ID"), Column::number("FEEDS"), Column::number("UNREAD"), Column::text("NAME")];
    let (folders, feeds) = (backend.folders().await?, backend.feeds().await?);
    if folders.is_empty() {
        return Ok((json!([]), "no folders yet: add one with `pirssonite folder add NAME`".to_owned()));
    }
    let row = |folder: &Value| {
        let within: Vec<&Value> = feeds.iter().filter(|feed| feed["folderId"] == folder["id"]).collect();
        let unread: u64 = within.iter().map(|feed| to_u64(&feed["unreadCount"])).sum();
        vec![id_of(folder).to_string(), within.len().to_string(), unread.to_string(), folder_name(folder)]
    };
    let rows: Vec<Vec<String>> = folders.iter().map(row).collect();
    let (heading, lines) = table(&COLUMNS, &rows, Screen::of_stdout());
    Ok((Value::Array(folders), heading.into_iter().chain(lines).collect::<Vec<_>>().join("\n")))
}

async fn remove(backend: &dyn Backend, which: &Target) -> anyhow::Result<(Value, String)> {
    let folder = named::folder(backend, &which.folder).await?;
    let feeds = backend.feeds().await?;
    let within = feeds.iter().filter(|feed| feed["folderId"] == folder["id"]).count();
    backend.call(Method::DELETE, &path(&folder), None).await?;
    let kept = match within {
        0 => String::new(),
        feeds => format!("; {} kept, in no folder", format_count(feeds as u64, "feed is", "feeds are")),
    };
    let said = format!("removed folder {}: {}{kept}", id_of(&folder), folder_name(&folder));
    Ok((json!({ "removed": id_of(&folder) }), said))
}

fn path(folder: &Value) -> String {
    format!("/api/folders/{}", id_of(folder))
}
