//! `pirssonite doctor`: whether all that the program needs is there, and what to do where it is not.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{say, say_json};
use crate::{
    backend,
    settings::{Flags, Settings},
    wiring,
};

/// How to print it.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    result: Result<String, String>,
}

pub(crate) async fn run(arguments: &Arguments, flags: &Flags) -> anyhow::Result<ExitCode> {
    let findings = examine(flags).await;
    let wrong = findings.iter().filter(|finding| finding.result.is_err()).count();
    if arguments.json {
        let list: Vec<Value> = findings
            .iter()
            .map(|finding| {
                let (Ok(said) | Err(said)) = &finding.result;
                json!({ "check": finding.what, "ok": finding.result.is_ok(), "says": said })
            })
            .collect();
        say_json(&json!({ "ok": wrong == 0, "checks": list }))?;
    } else {
        for finding in &findings {
            let (mark, said) = match &finding.result {
                Ok(said) => ("ok   ", said),
                Err(said) => ("WRONG", said),
            };
            say(&format!("{mark}  {:<9} {said}", finding.what))?;
        }
        say(match wrong {
            0 => "all is well",
            _ => "not all is well: see what is marked WRONG",
        })?;
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn examine(flags: &Flags) -> Vec<Finding> {
    let settings = match Settings::read(flags) {
        Ok(settings) => settings,
        Err(wrong) => return vec![Finding { what: "settings", result: Err(wrong.to_string()) }],
    };
    let sound = "no mistake in the flags, the PIRSSONITE_ variables or the settings file".to_owned();
    let mut findings = vec![Finding { what: "settings", result: Ok(sound) }];
    let connected = backend::connect(&settings).await;
    let feeds = match &connected {
        Ok(backend) => backend.feeds().await,
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    let database = feeds.as_ref().map(|_| place(&settings)).map_err(|error| unusable(error, &settings));
    findings.push(Finding { what: "database", result: database });
    let server = connected.ok().filter(|backend| backend.is_server()).map(|backend| backend.name());
    findings.push(Finding { what: "server", result: address(&settings, server).await });
    if let Ok(feeds) = feeds {
        findings.push(Finding { what: "feeds", result: Ok(summary(&feeds)) });
    }
    findings.push(Finding { what: "base_url", result: Ok(base_url(&settings)) });
    findings
}

/// Where everything is kept.
fn place(settings: &Settings) -> String {
    if settings.database_url.is_some() {
        return "the PostgreSQL of database_url can be used".to_owned();
    }
    let file = wiring::database_file(settings);
    format!("{} can be used", file.canonicalize().unwrap_or(file).display())
}

fn unusable(error: &anyhow::Error, settings: &Settings) -> String {
    let advice = match settings.database_url {
        Some(_) => "check that PostgreSQL runs there, and that database_url names it rightly",
        None => "check that data_dir is a folder that you may write to",
    };
    format!("{error:#}; {advice}")
}

/// Whether there is a server, or could be one.
async fn address(settings: &Settings, server: Option<String>) -> Result<String, String> {
    if let Some(server) = server {
        return Ok(format!("{server} is running"));
    }
    let listen = settings.listen;
    match tokio::net::TcpListener::bind(listen).await {
        Ok(_) => Ok(format!("none is running; `pirssonite` starts one on http://{listen}, which is free")),
        Err(error) => {
            Err(format!("none is running, and none can start on {listen} ({error}): choose another with --listen"))
        }
    }
}

/// How the feeds are. That one fails is its publisher's matter.
fn summary(feeds: &[Value]) -> String {
    let is_failing = |feed: &&Value| feed["isGone"] == true || feed["lastError"].is_string();
    match (feeds.len(), feeds.iter().filter(is_failing).count()) {
        (0, _) => "none yet: `pirssonite add URL` adds one".to_owned(),
        (all, 0) => format!("{all}, and none fails"),
        (all, failing) => format!("{all}, of which {failing} fail: `pirssonite list` says why"),
    }
}

fn base_url(settings: &Settings) -> String {
    match &settings.base_url {
        Some(url) => format!("others reach this server at {url}"),
        None => "not set, and needed only where others reach this server by a name".to_owned(),
    }
}
