//! `pirssonite import` and `pirssonite export`: feeds and folders from and to other readers.

use std::{fs, io::Read, path::PathBuf, process::ExitCode};

use anyhow::{Context, bail};

use super::{progress_bar, say, say_json};
use crate::{backend, settings::Settings};

/// Bytes of an OPML file.
const OPML_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The file to read.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArguments {
    /// An OPML file, or `-` for standard input.
    file: PathBuf,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// The file to write.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArguments {
    /// The file to write, or `-` for standard output.
    #[arg(default_value = "-")]
    file: PathBuf,
}

/// Imports a file. It fails only if the file is no OPML: single outlines that are no feeds are reported.
pub(crate) async fn import(arguments: &ImportArguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let name = arguments.file.display();
    let reader: Box<dyn Read> = match arguments.file.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(fs::File::open(&arguments.file).with_context(|| name.to_string())?),
    };
    let mut opml = Vec::new();
    reader.take(OPML_BYTES_MAX + 1).read_to_end(&mut opml).with_context(|| name.to_string())?;
    if opml.len() as u64 > OPML_BYTES_MAX {
        bail!("{name} is larger than {OPML_BYTES_MAX} bytes");
    }
    let bar = progress_bar(1, "importing");
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    let report = backend::connect(settings).await?.import(opml).await.with_context(|| name.to_string())?;
    bar.finish_and_clear();
    if arguments.json {
        say_json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    let errors = report["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    for error in errors {
        say(&format!(
            "not imported: {}: {}",
            error["url"].as_str().unwrap_or_default(),
            error["error"].as_str().unwrap_or_default()
        ))?;
    }
    say(&format!(
        "{} imported, {} already there, {} not imported",
        report["imported"],
        report["skipped"],
        errors.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Exports all feeds.
pub(crate) async fn export(arguments: &ExportArguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let opml = backend::connect(settings).await?.export().await?;
    match arguments.file.to_str() {
        Some("-") => say(opml.trim_end())?,
        _ => fs::write(&arguments.file, opml).with_context(|| arguments.file.display().to_string())?,
    }
    Ok(ExitCode::SUCCESS)
}
