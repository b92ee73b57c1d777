//! The program `pirssonite`: command line, settings and wiring. What it does is in the other crates.

mod allocator;
mod backend;
mod callback_probe;
mod commands;
mod fetch;
mod open_files;
mod readable;
mod screen;
mod service_manager;
mod settings;
mod sorting;
mod telemetry;
mod wiring;

use std::{process::ExitCode, time::Duration};

use clap::{CommandFactory, Parser, Subcommand};

use crate::settings::{Flags, Settings};

/// Exit code for settings that cannot be used, as for a command line that cannot.
const EXIT_USAGE: u8 = 2;

/// How long the end of the program waits for what still runs in it.
const STOP_MAX: Duration = Duration::from_secs(1);

/// Reads feeds and hands every new entry on, at once and without loss.
///
/// Without a command it serves.
#[derive(Debug, Parser)]
#[command(version, after_help = "`pirssonite COMMAND -h` shows a command's options, `--help` the settings as well.")]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Poll feeds, deliver events and serve the API until told to stop.
    Serve,
    /// Add a feed, or the best that a page offers.
    Add(commands::add::Arguments),
    /// List the feeds.
    List(commands::list::Arguments),
    /// List, search, show and mark entries.
    #[command(alias = "entry")]
    Entries(Box<commands::entries::Arguments>),
    /// Give a feed another name.
    Rename(commands::feeds::Rename),
    /// Move feeds to a folder.
    Move(commands::feeds::Move),
    /// Remove feeds, with their entries.
    Remove(commands::feeds::Remove),
    /// List, add, rename and remove folders.
    #[command(alias = "folders")]
    Folder(commands::folder::Arguments),
    /// Read a feed and print it as JSON.
    Parse(commands::parse::Arguments),
    /// Import feeds and folders from OPML, and fetch them.
    Import(commands::import::Arguments),
    /// Export feeds and folders as OPML.
    Export(commands::export::Arguments),
    /// Poll the feeds that are due, or some, now.
    Refresh(commands::refresh::Arguments),
    /// Renew the push subscriptions whose leases end soon, now.
    Renew(commands::renew::Arguments),
    /// Say where events are sent: webhooks, added, listed, tried, removed.
    Webhook(commands::webhook::Arguments),
    /// See what is to be delivered, what was, and what was given up.
    Outbox(commands::outbox::Arguments),
    /// Show how things stand.
    Status(commands::status::Arguments),
    /// Look for what is wrong, and say what to do about it.
    Doctor(commands::doctor::Arguments),
    /// Say who may come in: accounts, added, listed, renamed, removed, and their passwords.
    #[command(alias = "accounts")]
    Account(commands::account::Arguments),
    /// Make, list and revoke what programs come in with.
    #[command(alias = "tokens")]
    Token(commands::token::Arguments),
    /// Copy the database into a file, also while it is used.
    Backup(commands::backup::Arguments),
    /// Make a backup the database again.
    Restore(commands::restore::Arguments),
    /// Move everything to PostgreSQL, or from there into a data folder.
    Copy(commands::copy::Arguments),
    /// See it work: a server with feeds, a hub and a webhook of its own, for as long as it runs.
    ///
    /// A publisher posts every few seconds in a dozen invented feeds, a hub pushes, the server shows, a receiver is told. It
    /// needs no network, uses a data folder of its own, and leaves nothing behind. Of the settings only --listen, --log and
    /// --log-format count.
    Demo(commands::demo::Arguments),
    /// Ask whether the server that listens here answers, for containers and watchers.
    Healthcheck(commands::healthcheck::Arguments),
    /// Print what a shell completes commands and options by.
    Completions(commands::shell::Completions),
    /// Print the manual page.
    Man(commands::shell::Manual),
}

fn main() -> ExitCode {
    let CommandLine { command, flags } = CommandLine::parse_from(commands::entries::kept_as_words(std::env::args_os()));
    let command = command.unwrap_or(Command::Serve);
    if matches!(command, Command::Serve) {
        allocator::bound_arenas();
    }
    // One provider of cryptography for all clients; it can only fail if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match run(command, &flags) {
        Ok(code) => code,
        // Whoever reads our output may stop reading, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            commands::print_error(&error);
            if is_usage(&error) { ExitCode::from(EXIT_USAGE) } else { ExitCode::FAILURE }
        }
    }
}

fn run(command: Command, flags: &Flags) -> anyhow::Result<ExitCode> {
    match &command {
        Command::Parse(arguments) => return commands::parse::run(arguments),
        Command::Completions(arguments) => return commands::shell::completions(arguments, CommandLine::command()),
        Command::Man(arguments) => return commands::shell::manual(arguments, CommandLine::command()),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        if let Command::Doctor(arguments) = command {
            return commands::doctor::run(&arguments, flags).await;
        }
        if let Command::Demo(arguments) = command {
            return commands::demo::run(&arguments, flags).await;
        }
        let settings = Settings::read(flags)?;
        match command {
            Command::Serve => commands::serve::run(&settings).await,
            Command::Add(arguments) => commands::add::run(&arguments, &settings).await,
            Command::List(arguments) => commands::list::run(&arguments, &settings).await,
            Command::Entries(arguments) => commands::entries::run(&arguments, &settings).await,
            Command::Rename(arguments) => commands::feeds::rename(&arguments, &settings).await,
            Command::Move(arguments) => commands::feeds::move_to_folder(&arguments, &settings).await,
            Command::Remove(arguments) => commands::feeds::remove(&arguments, &settings).await,
            Command::Folder(arguments) => commands::folder::run(&arguments, &settings).await,
            Command::Import(arguments) => commands::import::run(&arguments, &settings).await,
            Command::Export(arguments) => commands::export::run(&arguments, &settings).await,
            Command::Refresh(arguments) => commands::refresh::run(&arguments, &settings).await,
            Command::Renew(arguments) => commands::renew::run(&arguments, &settings).await,
            Command::Webhook(arguments) => commands::webhook::run(&arguments, &settings).await,
            Command::Outbox(arguments) => commands::outbox::run(&arguments, &settings).await,
            Command::Status(arguments) => commands::status::run(&arguments, &settings).await,
            Command::Account(arguments) => commands::account::run(&arguments, &settings).await,
            Command::Token(arguments) => commands::token::run(&arguments, &settings).await,
            Command::Backup(arguments) => commands::backup::run(&arguments, &settings).await,
            Command::Restore(arguments) => commands::restore::run(&arguments, &settings).await,
            Command::Copy(arguments) => commands::copy::run(&arguments, &settings).await,
            Command::Healthcheck(arguments) => commands::healthcheck::run(&arguments, &settings).await,
            Command::Parse(_) | Command::Doctor(_) | Command::Demo(_) | Command::Completions(_) | Command::Man(_) => {
                unreachable!("they are done above")
            }
        }
    });
    // A command that was interrupted does not wait for what it had begun, such as the resolution of a name.
    runtime.shutdown_timeout(STOP_MAX);
    ended
}

/// Whether a setting is wrong.
fn is_usage(error: &anyhow::Error) -> bool {
    let is_bad_url =
        |cause: &(dyn std::error::Error + 'static)| matches!(cause.downcast_ref(), Some(store::OpenError::BadUrl(_)));
    error.is::<settings::SettingsError>() || error.chain().any(is_bad_url)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        io.or_else(|| cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind))
    };
    error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
}
