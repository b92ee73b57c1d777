//! A new password: asked for without showing it, or read from a file or standard input; never an argument, which everybody
//! on the machine could see.

use std::io::{BufRead, IsTerminal, Read, Write};

use anyhow::{anyhow, bail};
use domain::account::{PASSWORD_BYTES_MAX, check_password};
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

use super::account::PasswordSource;
use crate::settings::{password_in, without_line_end};

pub(super) fn read(source: &PasswordSource) -> anyhow::Result<String> {
    let password = match &source.password_file {
        Some(file) => password_in(file).map_err(|why| anyhow!("{}: {why}", file.display()))?,
        None if std::io::stdin().is_terminal() => ask_twice()?,
        None => from_stdin()?,
    };
    check_password(&password)?;
    Ok(password)
}

fn from_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    std::io::stdin().lock().take(PASSWORD_BYTES_MAX as u64 + 2).read_to_string(&mut text)?;
    if text.is_empty() {
        bail!("no password came by standard input: nothing was changed");
    }
    Ok(without_line_end(text))
}

fn ask_twice() -> anyhow::Result<String> {
    let password = ask("New password: ")?;
    check_password(&password)?;
    if ask("Once more: ")? == password { Ok(password) } else { bail!("the two are not the same: nothing was changed") }
}

/// Asks for a line that is not shown.
fn ask(what: &str) -> anyhow::Result<String> {
    let (mut to, mut line) = (std::io::stderr(), String::new());
    // First: whoever sees the question may type already.
    let hidden = HiddenInput::begin()?;
    write!(to, "{what}")?;
    to.flush()?;
    let read = std::io::stdin().lock().take(PASSWORD_BYTES_MAX as u64 + 2).read_line(&mut line);
    drop(hidden);
    // The end of the line was not shown either.
    writeln!(to)?;
    if read? == 0 {
        bail!("no password was given: nothing was changed");
    }
    Ok(without_line_end(line))
}

/// A terminal that does not show what is typed, until this is dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> anyhow::Result<Self> {
        let shown = termios::tcgetattr(std::io::stdin())?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        termios::tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(shown))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
