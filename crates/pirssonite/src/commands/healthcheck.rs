//! `pirssonite healthcheck`: whether a server answers where the settings say that it listens. For containers, which have no
//! other program to ask with.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, bail};

use super::print_line;
use crate::{backend, settings::Settings};

/// How long it may take to answer: less than any service manager waits for this program.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

/// What is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Ask whether it is ready to work, its database included, and not only whether it lives.
    #[arg(long)]
    ready: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let path = if arguments.ready { "/readyz" } else { "/healthz" };
    let url = format!("{}{path}", backend::url_of(settings.listen));
    let client = reqwest::Client::builder().no_proxy().timeout(ANSWER_TIMEOUT).build()?;
    let answer = client.get(&url).send().await.with_context(|| format!("no server answers at {url}"))?;
    if !answer.status().is_success() {
        bail!("{url} answers {}", answer.status().as_u16());
    }
    print_line(&format!("{url} answers"))?;
    Ok(ExitCode::SUCCESS)
}
