//! `pirssonite entries`: what the feeds have published, listed, searched, read and marked.

mod exclusions;
mod list;
mod mark;
mod show;

use std::process::ExitCode;

use serde_json::Value;

pub(crate) use self::exclusions::kept_as_words;
use super::named::{self, id_of};
use crate::{
    backend::{self, Backend},
    settings::Settings,
};

/// What to do with them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: list::ListArguments,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List entries, the newest first, as without a command.
    List(list::ListArguments),
    /// List the entries that hold what is searched for.
    Search(list::Searched),
    /// Show entries as text.
    Show(show::ShowArguments),
    /// Mark entries as read, unread, starred or unstarred.
    Mark(mark::MarkArguments),
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect(settings).await?;
    match &arguments.action {
        None => list::run(backend, &arguments.list, None).await,
        Some(Action::List(listed)) => list::run(backend, listed, None).await,
        Some(Action::Search(searched)) => list::run(backend, &searched.listed, Some(&searched.query.join(" "))).await,
        Some(Action::Show(shown)) => show::run(backend, shown).await,
        Some(Action::Mark(marked)) => mark::run(backend, marked).await,
    }
}

/// The ids of the feed and of the folder that are meant, if any is.
async fn meant(
    backend: &dyn Backend,
    feed: Option<&str>,
    folder: Option<&str>,
) -> anyhow::Result<(Option<i64>, Option<i64>)> {
    let feed = match feed {
        Some(given) => Some(id_of(named::feed(&backend.feeds().await?, given)?)),
        None => None,
    };
    let folder = match folder {
        Some(given) => Some(named::folder_id(backend, given).await?),
        None => None,
    };
    Ok((feed, folder))
}

/// A time of the API's, to the minute: all times are UTC.
fn minute(time: &Value) -> String {
    let time = time.as_str().unwrap_or_default();
    time.get(..16).unwrap_or(time).replace('T', " ")
}

/// What an entry is called; one without a title by how its text begins.
fn title_of(entry: &Value) -> String {
    const CHARS: usize = 80;
    let text = |name: &str| entry[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    if let Some(title) = text("title") {
        return title.to_owned();
    }
    let begin = text("summary").or(text("content")).map(|html| feed::plain_text(html).chars().take(CHARS).collect());
    begin.filter(|begin: &String| !begin.trim().is_empty()).unwrap_or_else(|| "(no title)".to_owned())
}
