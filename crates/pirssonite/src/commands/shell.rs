//! `pirssonite completions` and `pirssonite man`: what shells and `man` know of the command line, made from itself.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

/// For which shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell that reads them.
    shell: Shell,
}

/// Where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Manual {
    /// Write the page of the program and one for each command into this folder.
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

pub(crate) fn completions(arguments: &Completions, mut program: Command) -> anyhow::Result<ExitCode> {
    // Into memory first: a pipe that is closed early would end it with a panic.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "pirssonite", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn manual(arguments: &Manual, program: Command) -> anyhow::Result<ExitCode> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    match &arguments.to {
        None => std::io::stdout().write_all(&page_of(program)?)?,
        Some(folder) => write_pages(&program, folder)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn page_of(command: Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).manual("piRSSonite").render(&mut page)?;
    Ok(page)
}

fn write_pages(program: &Command, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut commands = vec![program.clone()];
    while let Some(command) = commands.pop() {
        // The settings stand in the program's own page, not in every one.
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        commands.extend(inner.map(|inner| inner.clone().mut_args(without_settings)));
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let file = folder.join(format!("{name}.1"));
        fs::write(&file, page_of(command)?).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

fn without_settings(argument: clap::Arg) -> clap::Arg {
    let is_setting = argument.is_global_set();
    argument.hide(is_setting)
}
