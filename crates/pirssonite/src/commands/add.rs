//! `pirssonite add`: a feed by its URL, or by that of a page that offers it.

use std::process::ExitCode;

use anyhow::Context;
use domain::folder::one_line;

use super::{counted, number, say, say_json, title_of};
use crate::{
    backend::{self, Backend},
    settings::Settings,
};

/// The feed to add.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The URL of a feed, or of a page that offers one.
    url: String,
    /// The folder to put it in, made if there is none of that name.
    #[arg(long, value_name = "NAME")]
    folder: Option<String>,
    /// What to call it, instead of what it calls itself.
    #[arg(long)]
    title: Option<String>,
    /// Print the feed as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = backend::connect(settings).await?;
    let folder = match &arguments.folder {
        Some(name) => Some(folder(&*backend, &one_line(name)).await?),
        None => None,
    };
    let folder_id = folder.map(|(id, _)| id);
    let title = arguments.title.as_deref().map(one_line);
    let added = backend.add(&arguments.url, folder_id, title.as_deref()).await;
    if let (Err(_), Some((id, true))) = (&added, folder) {
        // Nothing is kept of what failed, nor the folder that was made for it.
        backend.delete_folder(id).await?;
    }
    let feed = added?;
    if arguments.json {
        say_json(&feed)?;
    } else {
        let entries = counted(number(&feed["unreadCount"]), "entry", "entries");
        say(&format!("added feed {}: {} ({entries})", feed["id"], title_of(&feed)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder of this name, and whether it was made for this.
async fn folder(backend: &dyn Backend, name: &str) -> anyhow::Result<(i64, bool)> {
    let known = backend.folders().await?.into_iter().find(|folder| folder["name"] == name);
    let is_new = known.is_none();
    let folder = match known {
        Some(folder) => folder,
        None => backend.create_folder(name).await?,
    };
    Ok((folder["id"].as_i64().context("a folder without an id")?, is_new))
}
