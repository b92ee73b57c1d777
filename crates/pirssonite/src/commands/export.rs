//! `pirssonite export`: feeds and folders for other readers.

use std::{fs, io::Write, path::PathBuf, process::ExitCode};

use anyhow::Context;

use crate::{backend, settings::Settings};

/// The file to write.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file to write, or `-` for standard output.
    #[arg(default_value = "-")]
    file: PathBuf,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let opml = backend::connect(settings).await?.export().await?;
    match arguments.file.to_str() {
        Some("-") => writeln!(std::io::stdout(), "{}", opml.trim_end())?,
        _ => fs::write(&arguments.file, opml).with_context(|| arguments.file.display().to_string())?,
    }
    Ok(ExitCode::SUCCESS)
}
