//! The subcommands, a file each.

pub(crate) mod add;
pub(crate) mod backup;
mod deliveries;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod outbox;
pub(crate) mod parse;
pub(crate) mod refresh;
pub(crate) mod renew;
pub(crate) mod serve;
pub(crate) mod status;
mod subscriptions;
pub(crate) mod webhook;

use std::{
    borrow::Cow,
    io::{IsTerminal, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reqwest::Method;
use serde_json::Value;

use crate::backend::Backend;

/// How often a progress bar is drawn by itself.
const BAR_TICK: Duration = Duration::from_millis(100);

/// Says on standard error what went wrong, with its causes.
pub(crate) fn complain(error: &anyhow::Error) {
    tell(&format!("{error:#}"));
}

/// Tells a person, on standard error, what is going on. If nobody listens there, there is nobody to tell.
pub(crate) fn tell(what: &str) {
    let _ = writeln!(std::io::stderr(), "pirssonite: {}", harmless(what));
}

/// Prints a line.
fn say(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", harmless(line))?)
}

/// A text without what a terminal takes for a command. Much of what is printed comes from outside: what webhooks answer,
/// what feeds are called. All that is for people passes here, on its way out.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_harmful) {
        return text.into();
    }
    let shown = |c: char| if is_harmful(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
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
    let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style).with_message(what);
    // Of steps that come in quick succession only some are drawn: the next tick shows where it is.
    bar.enable_steady_tick(BAR_TICK);
    bar
}

/// So many of something, as one says it.
fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A number of the API's, which is there.
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Whether a feed has been given up by its publisher.
fn is_gone(feed: &Value) -> bool {
    feed["isGone"] == true
}

/// Whether a feed could not be fetched the last time. One that is gone is not tried any more.
fn is_failing(feed: &Value) -> bool {
    !is_gone(feed) && number(&feed["failureCount"]) > 0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_what_a_terminal_takes_for_a_command_is_shown_instead() {
        for (text, expect) in [
            ("two\nlines,\ta tab, é 👨\u{200d}👩\u{200d}👧", "two\nlines,\ta tab, é 👨\u{200d}👩\u{200d}👧"),
            ("\u{1b}[2J\u{1b}]0;mine\u{7}", "\\u{1b}[2J\\u{1b}]0;mine\\u{7}"),
            ("\u{9b}2J \u{7f} \0", "\\u{9b}2J \\u{7f} \\u{0}"),
            ("what it hides\r\u{8}", "what it hides\\r\\u{8}"),
        ] {
            assert_eq!(harmless(text), expect);
        }
    }
}
