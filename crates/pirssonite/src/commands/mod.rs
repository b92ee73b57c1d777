//! The subcommands, a file each.

pub(crate) mod add;
pub(crate) mod backup;
pub(crate) mod doctor;
pub(crate) mod list;
pub(crate) mod opml;
pub(crate) mod parse;
pub(crate) mod refresh;
pub(crate) mod serve;
pub(crate) mod status;

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

/// Says on standard error what went wrong, with its causes.
#[expect(clippy::print_stderr, reason = "the command line speaks to a person here")]
pub(crate) fn complain(error: &anyhow::Error) {
    eprintln!("pirssonite: {error:#}");
}

/// Prints a line.
fn say(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Prints JSON for programs.
fn say_json(value: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    Ok(writeln!(out)?)
}

/// A progress bar for a person at a terminal; nothing anywhere else.
fn progress_bar(steps: usize, what: &'static str) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style).with_message(what)
}

/// What to call a feed.
fn title_of(feed: &Value) -> &str {
    ["customTitle", "title", "url"].iter().find_map(|name| feed[*name].as_str()).unwrap_or("(no title)")
}
