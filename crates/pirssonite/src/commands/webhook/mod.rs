//! `pirssonite webhook`: where events go. All that the API knows of them, from a terminal.

mod list;
mod test;

use std::process::ExitCode;

use domain::delivery::HeaderValue;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use super::{format_count, named, print_json, print_line, to_u64};
use crate::{
    backend::{self, Backend},
    settings::{Settings, SettingsError, ago},
    wiring,
};

/// What to do with them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Print the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Add a webhook. Its secret is printed this once.
    Add(Box<AddArguments>),
    /// List the webhooks.
    List,
    /// Send a webhook a test, and say what came of it.
    Test(Target),
    /// Give a webhook another secret, which is printed this once. The old one signs along for a day, also if there is yet
    /// another meanwhile.
    Rotate(Target),
    /// Enable a webhook, also one that was disabled because it failed. What has waited for it is sent.
    Enable(Target),
    /// Disable a webhook. What waits for it stays.
    Disable(Target),
    /// Send a webhook once more what happened since a time, or between two, as far as it wants it.
    Replay {
        #[command(flatten)]
        which: Target,
        /// The time, as 2026-03-01T12:00:00Z, or how long ago, as 2h or 3d.
        #[arg(long, value_name = "TIME", value_parser = |text: &str| ago(text, wiring::now()))]
        since: Timestamp,
        /// The end of that time, written alike; now, if it is not given.
        #[arg(long, value_name = "TIME", value_parser = |text: &str| ago(text, wiring::now()))]
        until: Option<Timestamp>,
    },
    /// Remove a webhook, with what waits for it.
    Remove(Target),
}

#[derive(Debug, clap::Args)]
struct Target {
    /// The id of the webhook, as `pirssonite webhook list` shows it.
    id: i64,
}

#[derive(Debug, clap::Args)]
struct AddArguments {
    /// Where events are sent.
    url: String,
    /// A note about it.
    #[arg(long)]
    description: Option<String>,
    /// Only events of this type, such as entry.created; may be given several times.
    #[arg(long = "event", value_name = "TYPE")]
    events: Vec<String>,
    /// Only events of this feed: its id, its title or its URL; may be given several times, also beside --folder: then of
    /// either.
    #[arg(long = "feed", value_name = "FEED")]
    feeds: Vec<String>,
    /// Only events of the feeds in this folder: its name or its id; may be given several times.
    #[arg(long = "folder", value_name = "FOLDER")]
    folders: Vec<String>,
    /// A header to send along, as 'Authorization: Bearer abc'; may be given several times.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, HeaderValue)>,
    /// Send entries without their content and summary.
    #[arg(long)]
    no_content: bool,
    /// Send also what a feed holds when it is first fetched.
    #[arg(long)]
    backlog: bool,
    /// Send at most so many requests a second, such as 5 or 0.5.
    #[arg(long, value_name = "NUMBER")]
    rate: Option<f64>,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    // What cannot be meant is refused before anything is opened.
    let body = match &arguments.action {
        Action::Add(new) => Some(new.to_json()?),
        Action::Replay { since, until, .. } => Some(json!({ "since": since, "until": until })),
        _ => None,
    };
    let backend = &*backend::connect(settings).await?;
    match &arguments.action {
        Action::List => return list::run(backend, arguments.json).await,
        Action::Test(which) => return test::run(backend, which.id, settings, arguments.json).await,
        _ => {}
    }
    let (answer, said) = match &arguments.action {
        Action::Add(new) => {
            let body = new.with_ids(backend, body.unwrap_or_default()).await?;
            let webhook = backend.call(Method::POST, "/api/webhooks", Some(body)).await?;
            let said = format!("added webhook {}: {}", webhook["id"], text(&webhook["url"]));
            (webhook, said)
        }
        Action::Rotate(which) => {
            let webhook = backend.call(Method::POST, &which.path("/rotate-secret"), None).await?;
            (webhook, format!("webhook {} has another secret; for a day the old one signs along", which.id))
        }
        Action::Enable(which) => which.set_enabled(backend, true).await?,
        Action::Disable(which) => which.set_enabled(backend, false).await?,
        Action::Replay { which, .. } => {
            let queued = backend.call(Method::POST, &which.path("/replay"), body).await?;
            let said = format!("{} queued", format_count(to_u64(&queued["queued"]), "delivery", "deliveries"));
            (queued, said)
        }
        Action::Remove(which) => {
            backend.call(Method::DELETE, &which.path(""), None).await?;
            (json!({ "removed": which.id }), format!("webhook {} removed", which.id))
        }
        Action::List | Action::Test(_) => unreachable!("both are done above"),
    };
    if arguments.json {
        print_json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(&said)?;
    if let Some(secret) = answer["secret"].as_str() {
        print_line(&format!("secret: {secret}"))?;
        print_line("keep it where the receiver can read it: it is shown this once")?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Target {
    fn path(&self, rest: &str) -> String {
        format!("/api/webhooks/{}{rest}", self.id)
    }

    async fn set_enabled(&self, backend: &dyn Backend, enabled: bool) -> anyhow::Result<(Value, String)> {
        let webhook = backend.call(Method::PATCH, &self.path(""), Some(json!({ "enabled": enabled }))).await?;
        let said = format!("webhook {} {}", self.id, if enabled { "enabled" } else { "disabled" });
        Ok((webhook, said))
    }
}

impl AddArguments {
    /// The same with the ids of the feeds and folders that are meant. Nothing said of them means all.
    async fn with_ids(&self, backend: &dyn Backend, mut body: Value) -> anyhow::Result<Value> {
        let some = |ids: Vec<i64>| if ids.is_empty() { Value::Null } else { json!(ids) };
        let feeds = backend.feeds().await?;
        let ids: anyhow::Result<Vec<i64>> =
            self.feeds.iter().map(|given| named::feed(&feeds, given).map(named::id_of)).collect();
        body["feedIds"] = some(ids?);
        let mut ids = Vec::new();
        for given in &self.folders {
            ids.push(named::folder_id(backend, given).await?);
        }
        body["folderIds"] = some(ids);
        Ok(body)
    }

    /// As the API takes it, but for what must be looked up.
    fn to_json(&self) -> Result<Value, SettingsError> {
        let some = |list: Value| if list.as_array().is_some_and(Vec::is_empty) { Value::Null } else { list };
        let mut headers = serde_json::Map::new();
        for (name, value) in &self.headers {
            if headers.insert(name.clone(), json!(value.expose())).is_some() {
                return Err(SettingsError::Together(format!("the header {name} is given more than once")));
            }
        }
        Ok(json!({
            "url": self.url,
            "description": self.description,
            "eventTypes": some(json!(self.events)),
            "headers": headers,
            "includeContent": !self.no_content,
            "backlog": self.backlog,
            "ratePerSecond": self.rate,
        }))
    }
}

/// A header as one writes it.
fn header(text: &str) -> Result<(String, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("write its name, a colon and its value, as 'X-Name: value'")?;
    Ok((name.trim().to_owned(), HeaderValue::new(value.trim())))
}

/// A text of the API's, which is there.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(headers: &[&str]) -> AddArguments {
        AddArguments {
            url: "https://r.org/".into(),
            description: None,
            events: vec![],
            feeds: vec![],
            folders: vec![],
            headers: headers.iter().map(|text| header(text).unwrap()).collect(),
            no_content: true,
            backlog: false,
            rate: None,
        }
    }

    #[test]
    fn u5_d1_new_webhook_from_flags() {
        let body = new(&["Authorization: Bearer a:b", "X-A:"]).to_json().unwrap();
        assert_eq!(body["eventTypes"], json!(null));
        assert_eq!(body["headers"], json!({ "Authorization": "Bearer a:b", "X-A": "" }));
        assert_eq!((&body["includeContent"], &body["backlog"]), (&json!(false), &json!(false)));
        let some = AddArguments { events: vec!["entry.created".into()], ..new(&[]) }.to_json().unwrap();
        assert_eq!(some["eventTypes"], json!(["entry.created"]));
        assert!(header("nonsense").unwrap_err().contains("write its name, a colon"));
        assert!(new(&["a: 1", "a: 2"]).to_json().unwrap_err().to_string().contains("more than once"));
    }
}
