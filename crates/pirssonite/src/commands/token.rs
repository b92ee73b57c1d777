//! `pirssonite token`: what programs come in with.

use std::process::ExitCode;

use anyhow::bail;
use reqwest::Method;
use serde_json::{Value, json};

use super::{named::id_of, print_json, print_line};
use crate::{
    backend::{self, Backend},
    screen::{Column, Screen, table},
    settings::{Settings, later},
    wiring,
};

/// What to do with them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the tokens, as without a command.
    List,
    /// Make a token. It is printed this once.
    Add {
        /// What it is for.
        name: String,
        /// What it may do: read, write (and read), or admin (all that its account may).
        #[arg(long, value_parser = ["read", "write", "admin"], default_value = "write")]
        scope: String,
        /// When it ends: a time, or how long from now, such as 90d. Without it, never.
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Make a token worth nothing, at once.
    Revoke {
        /// The token: its name or its id.
        #[arg(value_name = "NAME_OR_ID")]
        which: String,
    },
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = &*backend::connect(settings).await?;
    let (answer, said) = match arguments.action.as_ref().unwrap_or(&Action::List) {
        Action::List => list(backend).await?,
        Action::Add { name, scope, expires } => add(backend, name, scope, expires.as_deref()).await?,
        Action::Revoke { which } => revoke(backend, which).await?,
    };
    if arguments.json {
        print_json(&answer)?;
    } else {
        print_line(&said)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(backend: &dyn Backend, name: &str, scope: &str, expires: Option<&str>) -> anyhow::Result<(Value, String)> {
    let expires = expires.map(|text| later(text, wiring::now())).transpose().map_err(anyhow::Error::msg)?;
    let body = json!({ "name": name, "scope": scope, "expiresAt": expires.map(|end| end.to_string()) });
    let token = backend.call(Method::POST, "/api/tokens", Some(body)).await?;
    // Alone on its line, for whoever puts it into a variable; it is shown nowhere else.
    let said = token["token"].as_str().unwrap_or_default().to_owned();
    Ok((token, said))
}

async fn list(backend: &dyn Backend) -> anyhow::Result<(Value, String)> {
    const COLUMNS: [Column; 5] = [
        Column::number("ID"),
        Column::text("SCOPE"),
        Column::text("LAST USED"),
        Column::text("ENDS"),
        Column::text("NAME"),
    ];
    let tokens = backend.list("/api/tokens").await?;
    if tokens.is_empty() {
        return Ok((json!([]), "no tokens yet: make one with `pirssonite token add NAME`".to_owned()));
    }
    let text = |value: &Value| value.as_str().unwrap_or("never").to_owned();
    let row = |token: &Value| {
        let [scope, used, ends, name] = ["scope", "lastUsedAt", "expiresAt", "name"].map(|field| text(&token[field]));
        vec![id_of(token).to_string(), scope, used, ends, name]
    };
    let rows: Vec<Vec<String>> = tokens.iter().map(row).collect();
    let (heading, lines) = table(&COLUMNS, &rows, Screen::of_stdout());
    Ok((Value::Array(tokens), heading.into_iter().chain(lines).collect::<Vec<_>>().join("\n")))
}

async fn revoke(backend: &dyn Backend, which: &str) -> anyhow::Result<(Value, String)> {
    let tokens = backend.list("/api/tokens").await?;
    let is_meant = |token: &&Value| token["name"] == which || id_of(token).to_string() == which;
    let meant: Vec<&Value> = tokens.iter().filter(is_meant).collect();
    let token = match meant[..] {
        [token] => token,
        [] => bail!("there is no token {which}: `pirssonite token` lists them"),
        _ => bail!("several tokens are called {which}: name one by its id, which `pirssonite token` shows"),
    };
    backend.call(Method::DELETE, &format!("/api/tokens/{}", id_of(token)), None).await?;
    let said = format!("revoked token {}: {}", id_of(token), token["name"].as_str().unwrap_or_default());
    Ok((json!({ "revoked": id_of(token) }), said))
}
