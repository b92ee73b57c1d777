//! `pirssonite status`: how things stand, on one screen.

use std::process::ExitCode;

use jiff::Timestamp;
use reqwest::Method;
use serde_json::json;

use super::{
    deliveries::{Outbox, Webhooks},
    is_failing, is_gone, outage_of, print_json, print_labelled,
    subscriptions::{OFF, Summary},
};
use crate::{
    backend::{self, Backend},
    settings::Settings,
    wiring,
};

/// How to print it.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = backend::connect(settings).await?;
    let feeds = backend.feeds().await?;
    let counts = backend.counts().await?;
    let subscriptions = Summary::of(&backend.subscriptions().await?);
    let webhooks = Webhooks::ask(&*backend).await?;
    let outbox = backend.call(Method::GET, "/api/outbox/overview", None).await?;
    let outage = outage_of(&*backend).await;
    let now = wiring::now();
    let count = |wanted: &dyn Fn(&serde_json::Value) -> bool| feeds.iter().filter(|feed| wanted(feed)).count();
    let status = json!({
        "backend": backend.name(),
        "feeds": feeds.len(),
        "due": count(&|feed| feed["isGone"] != true && feed["nextCheckAt"].as_str().and_then(|at| at.parse::<Timestamp>().ok()).is_some_and(|at| at <= now)),
        "failing": count(&is_failing),
        "gone": count(&is_gone),
        "folders": backend.folders().await?.len(),
        "unread": counts["total"],
        "starred": counts["starred"],
        "push": push_json(&*backend, &subscriptions),
        "webhooks": webhooks.to_json(),
        "outbox": outbox,
        "outage": outage,
    });
    if arguments.json {
        print_json(&status)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_labelled("working on  ", &backend.name())?;
    print_labelled(
        "feeds       ",
        &format!("{} ({} due, {} failing, {} gone)", status["feeds"], status["due"], status["failing"], status["gone"]),
    )?;
    if let Some(reason) = outage.as_ref().and_then(|outage| outage["reason"].as_str()) {
        print_labelled("outage      ", &format!("{reason}: feeds are not polled, and none of them is blamed"))?;
    }
    print_labelled("folders     ", &status["folders"].to_string())?;
    print_labelled("entries     ", &format!("{} unread, {} starred", status["unread"], status["starred"]))?;
    say_push(&*backend, &subscriptions)?;
    if !webhooks.is_empty() {
        print_labelled("webhooks    ", &webhooks.in_words())?;
        print_labelled("outbox      ", &Outbox(&status["outbox"]).in_words())?;
    }
    for webhook in &webhooks.troubled {
        print_labelled("webhook     ", webhook)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn push_json(backend: &dyn Backend, subscriptions: &Summary) -> serde_json::Value {
    let mut push = subscriptions.to_json();
    push["isOn"] = json!(backend.base_url().is_some() && backend.is_server());
    push["baseUrl"] = json!(backend.base_url());
    push
}

fn say_push(backend: &dyn Backend, subscriptions: &Summary) -> anyhow::Result<()> {
    match backend.base_url() {
        None => print_labelled("push        ", &format!("off: {OFF}"))?,
        Some(url) if backend.is_server() => {
            print_labelled("push        ", &format!("on: hubs are told to push to {url}"))?;
        }
        Some(url) => {
            print_labelled("push        ", &format!("waits for a server, which hubs are told to reach at {url}"))?;
        }
    }
    if backend.base_url().is_some() || !subscriptions.is_empty() {
        print_labelled("hubs        ", &subscriptions.states())?;
        print_labelled("pushes      ", &subscriptions.pushes())?;
    }
    for hub in &subscriptions.failing {
        print_labelled("failing     ", &hub.in_words())?;
    }
    Ok(())
}
