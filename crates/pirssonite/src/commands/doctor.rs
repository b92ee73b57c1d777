//! `pirssonite doctor`: whether all that the program needs is there, and what to do where it is not.

use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Value, json};

use super::{say, say_json};
use crate::{
    backend,
    settings::{Flags, Settings},
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
    let healthy = findings.iter().all(|finding| finding.result.is_ok());
    if arguments.json {
        let list: Vec<Value> = findings
            .iter()
            .map(|finding| {
                let (Ok(said) | Err(said)) = &finding.result;
                json!({ "check": finding.what, "ok": finding.result.is_ok(), "says": said })
            })
            .collect();
        say_json(&json!({ "ok": healthy, "checks": list }))?;
    } else {
        for finding in &findings {
            let (mark, said) = match &finding.result {
                Ok(said) => ("ok   ", said),
                Err(said) => ("WRONG", said),
            };
            say(&format!("{mark}  {:<10} {said}", finding.what))?;
        }
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn examine(flags: &Flags) -> Vec<Finding> {
    let settings = match Settings::read(flags) {
        Ok(settings) => settings,
        Err(wrong) => return vec![Finding { what: "settings", result: Err(wrong.to_string()) }],
    };
    let mut findings = vec![Finding { what: "settings", result: Ok("can be used".to_owned()) }];
    let connected = backend::connect(&settings).await;
    let store = match &connected {
        Ok(backend) => backend
            .counts()
            .await
            .map(|counts| format!("{} answers, {} unread entries", backend.name(), counts["total"])),
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    findings.push(Finding { what: "store", result: store.map_err(|error| format!("{error:#}")) });
    findings.push(Finding {
        what: "address",
        result: address(&settings, connected.is_ok_and(|backend| backend.is_server())).await,
    });
    findings.push(Finding { what: "base URL", result: Ok(base_url(&settings)) });
    findings
}

/// Whether the address to serve on is free, or served on by us.
async fn address(settings: &Settings, is_serving: bool) -> Result<String, String> {
    if is_serving {
        return Ok("a server is running".to_owned());
    }
    match tokio::net::TcpListener::bind(settings.listen).await.context("cannot listen") {
        Ok(_) => Ok(format!("{} is free", settings.listen)),
        Err(error) => Err(format!("{}: {error:#}; choose another with --listen", settings.listen)),
    }
}

fn base_url(settings: &Settings) -> String {
    match &settings.base_url {
        Some(url) => format!("{url}"),
        None => "none is set: others reach this server only by its address".to_owned(),
    }
}
