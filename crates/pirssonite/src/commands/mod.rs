//! The subcommands, a file each.

pub(crate) mod account;
pub(crate) mod add;
pub(crate) mod backup;
pub(crate) mod copy;
mod deliveries;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod entries;
pub(crate) mod export;
pub(crate) mod feeds;
pub(crate) mod folder;
pub(crate) mod healthcheck;
pub(crate) mod import;
pub(crate) mod list;
mod named;
mod new_password;
pub(crate) mod outbox;
mod pages;
pub(crate) mod parse;
pub(crate) mod refresh;
pub(crate) mod renew;
pub(crate) mod restore;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod status;
mod subscriptions;
pub(crate) mod token;
pub(crate) mod webhook;

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reqwest::Method;
use serde::Serialize;
use serde_json::{
    Value,
    ser::{Formatter, PrettyFormatter},
};

use crate::{
    backend::Backend,
    screen::{Screen, escape_controls},
};

/// How often a progress bar is drawn by itself.
const BAR_TICK: Duration = Duration::from_millis(100);

/// Says on standard error what went wrong, with its causes.
pub(crate) fn print_error(error: &anyhow::Error) {
    print_notice(&format!("{error:#}"));
}

/// Tells a person, on standard error, what is going on. If nobody listens there, there is nobody to tell.
pub(crate) fn print_notice(what: &str) {
    let said = Screen::of_stderr().labelled("pirssonite: ", &escape_controls(what));
    let _ = writeln!(std::io::stderr(), "{said}");
}

fn print_line(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", escape_controls(line))?)
}

/// Prints a text under a label.
fn print_labelled(label: &str, text: &str) -> anyhow::Result<()> {
    print_line(&Screen::of_stdout().labelled(label, text))
}

/// Prints JSON for programs.
fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut out, EscapingFormatter(PrettyFormatter::new())))?;
    Ok(writeln!(out)?)
}

/// JSON in which no character is one that a terminal takes for a command. Below a blank they are written by their number
/// in all JSON, but not those beyond ASCII: a program reads the same, and a person may look on.
struct EscapingFormatter(PrettyFormatter<'static>);

impl Formatter for EscapingFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> std::io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(char::is_control) {
            let (before, after) = rest.split_at(at);
            let c = after.chars().next().unwrap_or_default();
            write!(writer, "{before}\\u{:04x}", u32::from(c))?;
            rest = &after[c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// A progress bar for a person at a terminal; nothing anywhere else.
fn progress_bar(steps: usize, what: &'static str) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style).with_message(what);
    // Of steps that come in quick succession only some are drawn: the next tick shows where it is.
    bar.enable_steady_tick(BAR_TICK);
    bar
}

/// So many of something, as one says it.
fn format_count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A number of the API's, which is there.
fn to_u64(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Whether a feed has been given up by its publisher.
fn is_gone(feed: &Value) -> bool {
    feed["isGone"] == true
}

/// Whether a feed could not be fetched the last time. One that is gone is not tried any more.
fn is_failing(feed: &Value) -> bool {
    !is_gone(feed) && to_u64(&feed["failureCount"]) > 0
}

/// The outage on its side that keeps a server from polling: since when, and what happens.
async fn outage_of(backend: &dyn Backend) -> Option<Value> {
    let ready = backend.call(Method::GET, "/readyz", None).await.ok()?;
    ready.get("outage").cloned()
}

/// What to call a feed.
fn title_of(feed: &Value) -> &str {
    ["customTitle", "title", "url"].iter().find_map(|name| feed[*name].as_str()).unwrap_or("(no title)")
}

/// A size, roughly, as one says it.
fn format_size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format_count(bytes, "byte", "bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_sizes_have_units() {
        let sizes: Vec<String> = [0, 1, 999, 1_000, 1_250_000, 3_999_999_999].map(format_size).into();
        assert_eq!(sizes, ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "1.2 MB", "3.9 GB"]);
    }
}
