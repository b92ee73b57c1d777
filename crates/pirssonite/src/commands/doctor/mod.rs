//! `pirssonite doctor`: whether all that the program needs is there, and what to do where it is not.

mod push;

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
    verdict: Verdict,
    says: String,
}

/// What there is to be said of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// It works, but for something that may be meant so, or is not ours to mend.
    Noted,
    Wrong,
}

impl Finding {
    fn fine(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Fine, says: says.into() }
    }

    fn noted(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Noted, says: says.into() }
    }

    fn wrong(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Wrong, says: says.into() }
    }

    fn of(what: &'static str, result: Result<String, String>) -> Self {
        match result {
            Ok(says) => Self::fine(what, says),
            Err(says) => Self::wrong(what, says),
        }
    }
}

pub(crate) async fn run(arguments: &Arguments, flags: &Flags) -> anyhow::Result<ExitCode> {
    let findings = examine(flags).await;
    let is_well = findings.iter().all(|finding| finding.verdict != Verdict::Wrong);
    if arguments.json {
        let in_json = |finding: &Finding| {
            let (is_ok, is_noted) = (finding.verdict != Verdict::Wrong, finding.verdict == Verdict::Noted);
            json!({ "check": finding.what, "ok": is_ok, "note": is_noted, "says": finding.says })
        };
        let list: Vec<Value> = findings.iter().map(in_json).collect();
        say_json(&json!({ "ok": is_well, "checks": list }))?;
    } else {
        for finding in &findings {
            let mark = match finding.verdict {
                Verdict::Fine => "ok   ",
                Verdict::Noted => "note ",
                Verdict::Wrong => "WRONG",
            };
            say(&format!("{mark}  {:<9} {}", finding.what, finding.says))?;
        }
        say(if is_well { "all is well" } else { "not all is well: see what is marked WRONG" })?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn examine(flags: &Flags) -> Vec<Finding> {
    let settings = match Settings::read(flags) {
        Ok(settings) => settings,
        Err(wrong) => return vec![Finding::wrong("settings", wrong.to_string())],
    };
    let sound = "no mistake in the flags, the PIRSSONITE_ variables or the settings file";
    let mut findings = vec![Finding::fine("settings", sound)];
    let connected = backend::connect(&settings).await;
    let feeds = match &connected {
        Ok(backend) => backend.feeds().await,
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    let database = feeds.as_ref().map(|_| place(&settings)).map_err(|error| unusable(error, &settings));
    findings.push(Finding::of("database", database));
    let backend = connected.ok();
    let server = backend.as_ref().filter(|backend| backend.is_server()).map(|backend| backend.name());
    findings.push(Finding::of("server", address(&settings, server).await));
    if let Ok(feeds) = feeds {
        findings.push(Finding::fine("feeds", summary(&feeds)));
    }
    findings.push(push::base_url(&settings, backend.as_deref()).await);
    if let Some(backend) = backend {
        findings.extend(push::subscriptions(&*backend).await);
    }
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
