//! `pirssonite export`: feeds and folders for other readers.

use std::{fs, io::Write, path::PathBuf, process::ExitCode};

use anyhow::Context;

use super::{format_count, print_line};
use crate::{backend, settings::Settings};

/// The file to write.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file to write, or `-` for standard output.
    #[arg(default_value = "-")]
    file: PathBuf,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = backend::connect(settings).await?;
    let opml = backend.export().await?;
    if arguments.file.to_str() == Some("-") {
        writeln!(std::io::stdout(), "{}", opml.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let name = arguments.file.display().to_string();
    fs::write(&arguments.file, opml).with_context(|| name.clone())?;
    let feeds = format_count(backend.feeds().await?.len() as u64, "feed", "feeds");
    let folders = format_count(backend.folders().await?.len() as u64, "folder", "folders");
    print_line(&format!("{name} written: {feeds}, {folders}"))?;
    Ok(ExitCode::SUCCESS)
}
