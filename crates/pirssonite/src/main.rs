//! The program `pirssonite`: command line and wiring. What it does is in the other crates.

mod commands;
mod fetch;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Reads feeds and hands every new entry on, at once and without loss.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = false)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read a feed and print it as JSON.
    Parse(commands::parse::Arguments),
}

fn main() -> ExitCode {
    let result = match CommandLine::parse().command {
        Some(Command::Parse(arguments)) => commands::parse::run(&arguments),
        None => CommandLine::command().print_help().map(|()| ExitCode::SUCCESS).map_err(anyhow::Error::from),
    };
    match result {
        Ok(code) => code,
        // Whoever reads our output may stop reading, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            commands::complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        io.or_else(|| cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind))
    };
    error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
}
