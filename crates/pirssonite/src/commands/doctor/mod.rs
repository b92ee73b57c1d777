//! `pirssonite doctor`: whether all that the program needs is there, and what to do where it is not.

mod backup;
mod database;
mod files;
mod login;
mod push;
mod webhooks;

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{is_failing, is_gone, outage_of, print_json, print_line};
use crate::{
    backend::{self, NoData},
    screen::Screen,
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
    severity: Severity,
    says: String,
}

/// What there is to be said of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Severity {
    Fine,
    /// It works, but for something that may be meant so, or is not ours to mend.
    Noted,
    Wrong,
}

impl Finding {
    fn fine(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, severity: Severity::Fine, says: says.into() }
    }

    fn noted(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, severity: Severity::Noted, says: says.into() }
    }

    fn wrong(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, severity: Severity::Wrong, says: says.into() }
    }

    fn of(what: &'static str, result: Result<String, String>) -> Self {
        match result {
            Ok(says) => Self::fine(what, says),
            Err(says) => Self::wrong(what, says),
        }
    }
}

pub(crate) async fn run(arguments: &Arguments, flags: &Flags) -> anyhow::Result<ExitCode> {
    let Examination { findings, failing } = examine(flags).await;
    let is_well = findings.iter().all(|finding| finding.severity != Severity::Wrong);
    if arguments.json {
        let in_json = |finding: &Finding| {
            let (is_ok, is_noted) = (finding.severity != Severity::Wrong, finding.severity == Severity::Noted);
            json!({ "check": finding.what, "ok": is_ok, "note": is_noted, "says": finding.says })
        };
        let list: Vec<Value> = findings.iter().map(in_json).collect();
        print_json(&json!({ "ok": is_well, "checks": list }))?;
    } else {
        let screen = Screen::of_stdout();
        for finding in &findings {
            let mark = match finding.severity {
                Severity::Fine => "ok   ",
                Severity::Noted => "note ",
                Severity::Wrong => "WRONG",
            };
            print_line(&screen.labelled(&format!("{mark}  {:<9} ", finding.what), &finding.says))?;
        }
        print_line(&conclusion(is_well, failing))?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All that was looked at.
struct Examination {
    findings: Vec<Finding>,
    failing: usize,
}

async fn examine(flags: &Flags) -> Examination {
    let settings = match Settings::read(flags) {
        Ok(settings) => settings,
        Err(wrong) => {
            return Examination { findings: vec![Finding::wrong("settings", wrong.to_string())], failing: 0 };
        }
    };
    let sound = "no mistake in the flags, the PIRSSONITE_ variables or the settings file";
    let mut findings = vec![Finding::fine("settings", sound)];
    let connected = backend::connect(&settings).await;
    let none_yet = connected.as_ref().err().and_then(anyhow::Error::downcast_ref::<NoData>).map(ToString::to_string);
    let (backend, feeds) = match connected {
        Ok(backend) => {
            let feeds = backend.feeds().await;
            (Some(backend), feeds)
        }
        Err(error) => (None, Err(error)),
    };
    findings.push(match none_yet {
        Some(says) => Finding::noted("database", says),
        None => database::judge(&settings, backend.as_deref(), &feeds).await,
    });
    if backend.is_some() {
        findings.extend(backup::judge(&settings).await);
    }
    let server = backend.as_ref().filter(|backend| backend.is_server()).map(|backend| backend.name());
    findings.push(Finding::of("server", address(&settings, server).await));
    findings.extend(files::judge(&settings));
    let feeds = feeds.ok();
    findings.extend(feeds.as_deref().map(|feeds| Finding::fine("feeds", summary(feeds))));
    let failing = count(feeds.as_deref().unwrap_or_default(), is_failing);
    findings.push(push::base_url(&settings, backend.as_deref()).await);
    if let Some(backend) = backend {
        findings.extend(login::judge(&settings, &*backend).await);
        findings.extend(push::subscriptions(&*backend).await);
        findings.extend(webhooks::judge(&*backend, &settings).await);
        findings.extend(outage_of(&*backend).await.as_ref().map(network));
    }
    Examination { findings, failing }
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

/// An outage on the server's side.
fn network(outage: &Value) -> Finding {
    let [reason, since] = ["reason", "since"].map(|name| outage[name].as_str().unwrap_or_default());
    Finding::wrong(
        "network",
        format!(
            "since {since} {reason}: no feed is polled, and none is blamed; see to the network, the name service and the \
             limit of open files of this machine, and polling goes on by itself"
        ),
    )
}

/// How the feeds are. That one fails is its publisher's matter.
fn summary(feeds: &[Value]) -> String {
    let all = feeds.len();
    let (failing, gone) = (count(feeds, is_failing), count(feeds, is_gone));
    let failing = (failing > 0).then(|| format!("{failing} {}", if failing == 1 { "fails" } else { "fail" }));
    let gone = (gone > 0).then(|| format!("{gone} {} gone", if gone == 1 { "is" } else { "are" }));
    let bad: Vec<String> = failing.into_iter().chain(gone).collect();
    match (all, bad.is_empty()) {
        (0, _) => "none yet: `pirssonite add URL` adds one".to_owned(),
        (_, true) => format!("{all}, and none fails"),
        (_, false) => format!("{all}, of which {}: `pirssonite list` says more", bad.join(" and ")),
    }
}

fn count(feeds: &[Value], wanted: fn(&Value) -> bool) -> usize {
    feeds.iter().filter(|feed| wanted(feed)).count()
}

/// The last word. That feeds fail is nothing that is wrong here.
fn conclusion(is_well: bool, failing: usize) -> String {
    match (is_well, failing) {
        (false, _) => "not all is well: see what is marked WRONG".to_owned(),
        (true, 0) => "all is well".to_owned(),
        (true, 1) => "everything works here; 1 feed fails: see `pirssonite list`".to_owned(),
        (true, failing) => format!("everything works here; {failing} feeds fail: see `pirssonite list`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_failing_and_gone_feeds_are_counted_apart() {
        let fine = json!({ "isGone": false, "failureCount": 0 });
        let failing = json!({ "isGone": false, "failureCount": 3, "lastError": "no" });
        let gone = json!({ "isGone": true, "failureCount": 1, "lastError": "gone" });
        for (feeds, expect) in [
            (vec![], "none yet"),
            (vec![&fine], "1, and none fails"),
            (vec![&fine, &failing], "2, of which 1 fails:"),
            (vec![&gone, &failing, &failing], "3, of which 2 fail and 1 is gone:"),
            (vec![&gone, &gone], "2, of which 2 are gone:"),
        ] {
            let feeds: Vec<Value> = feeds.into_iter().cloned().collect();
            assert!(summary(&feeds).starts_with(expect), "{expect}: {}", summary(&feeds));
        }
    }

    #[test]
    fn u6_outage_is_reported_with_advice() {
        let finding = network(&json!({ "since": "2026-03-01T12:00:00Z", "reason": "no host answers" }));
        assert!(finding.severity == Severity::Wrong);
        assert!(finding.says.starts_with("since 2026-03-01T12:00:00Z no host answers: "), "{}", finding.says);
    }

    #[test]
    fn u5_failing_feeds_are_no_fault_of_ours() {
        assert_eq!(conclusion(true, 0), "all is well");
        assert!(conclusion(true, 1).contains("works here; 1 feed fails"));
        assert!(conclusion(true, 7).contains("works here; 7 feeds fail"));
        assert!(conclusion(false, 7).contains("WRONG"));
    }
}
