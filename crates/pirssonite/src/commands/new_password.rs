//! A new password: asked for without showing it, or read from a file or standard input; never an argument, which everybody
//! on the machine could see.

use std::io::{BufRead, IsTerminal, Read, Write};

use anyhow::{anyhow, bail};
use domain::account::{PASSWORD_BYTES_MAX, check_password};
use rustix::{
    process::{self, Signal},
    termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios},
};

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
    let mut to = std::io::stderr();
    // First: whoever sees the question may type already.
    let hidden = HiddenInput::begin()?;
    write!(to, "{what}")?;
    to.flush()?;
    let line = typed_line();
    drop(hidden);
    // The end of the line was not shown either.
    writeln!(to)?;
    let line = line?;
    if line.ends_with(char::from(INTERRUPT)) {
        // As if the terminal had told us.
        process::kill_process(process::getpid(), Signal::INT)?;
        bail!("interrupted: nothing was changed");
    }
    if line.is_empty() {
        bail!("no password was given: nothing was changed");
    }
    Ok(without_line_end(line))
}

/// A terminal gives one line at a time.
fn typed_line() -> anyhow::Result<String> {
    let mut stdin = std::io::stdin().lock();
    let typed = stdin.fill_buf()?.to_vec();
    stdin.consume(typed.len());
    Ok(String::from_utf8(typed)?)
}

/// Ctrl-C.
const INTERRUPT: u8 = 3;

/// A terminal that does not show what is typed, until this is dropped. It sends no signals meanwhile, which would end the
/// program and leave it so: Ctrl-C ends the line.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> anyhow::Result<Self> {
        let shown = termios::tcgetattr(std::io::stdin())?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        hidden.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        termios::tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(shown))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
