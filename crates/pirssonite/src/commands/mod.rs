//! The subcommands, a file each.

pub(crate) mod parse;

/// Says on standard error what went wrong, with its causes.
#[expect(clippy::print_stderr, reason = "the command line speaks to a person here")]
pub(crate) fn complain(error: &anyhow::Error) {
    eprintln!("pirssonite: {error:#}");
}
