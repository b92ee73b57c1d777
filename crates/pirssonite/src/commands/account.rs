//! `pirssonite account`: who may come in.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, bail};
use domain::account::AccountName;
use reqwest::Method;
use serde_json::{Value, json};

use super::{named::id_of, new_password, print_json, print_line};
use crate::{
    backend::{self, Backend},
    screen::{Column, Screen, table},
    settings::Settings,
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
    /// List the accounts, as without a command.
    List,
    /// Add an account. Its password is asked for.
    Add {
        /// What to call it.
        name: String,
        /// Whether it manages accounts and sees how the whole server stands.
        #[arg(long)]
        admin: bool,
        #[command(flatten)]
        password: PasswordSource,
    },
    /// Set an account's password, which turns the login on and ends its sessions.
    Password {
        /// The account's name; without it, the one that this machine acts for.
        name: Option<String>,
        #[command(flatten)]
        password: PasswordSource,
    },
    /// Give an account another name.
    Rename {
        /// The account's name.
        name: String,
        /// What to call it.
        new_name: String,
    },
    /// Remove an account, with its feeds, marks, folders, webhooks and tokens.
    Remove {
        /// The account's name.
        name: String,
    },
    /// Make an account an administrator, or no longer.
    Admin {
        /// The account's name.
        name: String,
        /// Take it away instead.
        #[arg(long)]
        remove: bool,
    },
}

/// Where a password comes from, if not from whoever sits at the terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct PasswordSource {
    /// Read the password from this file. Without it, it is asked for, or read from standard input if that is no terminal.
    #[arg(long, value_name = "FILE")]
    pub(super) password_file: Option<PathBuf>,
}

pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let (answer, said) = act(arguments, settings).await?;
    if arguments.json {
        print_json(&answer)?;
    } else {
        print_line(&said)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn act(arguments: &Arguments, settings: &Settings) -> anyhow::Result<(Value, String)> {
    let action = arguments.action.as_ref().unwrap_or(&Action::List);
    let backend = match action {
        // Before its first start: a server that listens for others wants a password first.
        Action::Add { .. } | Action::Password { .. } => backend::connect_or_create(settings).await?,
        _ => backend::connect(settings).await?,
    };
    let backend = &*backend;
    match action {
        Action::List => list(backend).await,
        Action::Add { name, admin, password } => {
            AccountName::parse(name)?;
            let password = new_password::read(password)?;
            let before = accounts(backend).await?;
            let body = json!({ "name": name, "password": password, "isAdmin": admin });
            let account = backend.call(Method::POST, "/api/accounts", Some(body)).await?;
            let said = format!("added account {}: {}{}", id_of(&account), name_of(&account), closed_by(&before));
            Ok((account, said))
        }
        Action::Password { name, password } => set_password(backend, name.as_deref(), password).await,
        Action::Rename { name, new_name } => {
            let account = change(backend, name, json!({ "name": new_name })).await?;
            let said = format!("account {} is called {} now", id_of(&account), name_of(&account));
            Ok((account, said))
        }
        Action::Remove { name } => {
            let account = find(backend, name).await?;
            backend.call(Method::DELETE, &path(&account), None).await?;
            let said = format!("removed account {}: {}", id_of(&account), name_of(&account));
            Ok((json!({ "removed": id_of(&account) }), said))
        }
        Action::Admin { name, remove } => {
            let account = change(backend, name, json!({ "isAdmin": !remove })).await?;
            let what = if *remove { "no administrator any more" } else { "an administrator now" };
            let said = format!("{} is {what}", name_of(&account));
            Ok((account, said))
        }
    }
}

/// What the first password means for those who were let in without one.
fn closed_by(before: &[Value]) -> String {
    if before.iter().any(|account| account["hasPassword"] == true) {
        return String::new();
    }
    let names: Vec<String> = before.iter().map(|account| format!("`{}`", name_of(account))).collect();
    format!(
        "; from now on the page and the API ask for a login, and {} cannot log in without a password: set one with \
         `pirssonite account password NAME`",
        names.join(", ")
    )
}

async fn set_password(
    backend: &dyn Backend,
    name: Option<&str>,
    source: &PasswordSource,
) -> anyhow::Result<(Value, String)> {
    let account = match name {
        Some(name) => find(backend, name).await?,
        None => backend.call(Method::GET, "/api/account", None).await?,
    };
    let was_open = accounts(backend).await?.iter().all(|account| account["hasPassword"] != true);
    let password = new_password::read(source)?;
    let account = backend.call(Method::PATCH, &path(&account), Some(json!({ "password": password }))).await?;
    let login = if was_open { "; from now on the page and the API ask for a login" } else { "" };
    let said = format!("the password of {} is set{login}", name_of(&account));
    Ok((account, said))
}

async fn change(backend: &dyn Backend, name: &str, body: Value) -> anyhow::Result<Value> {
    let account = find(backend, name).await?;
    backend.call(Method::PATCH, &path(&account), Some(body)).await
}

async fn list(backend: &dyn Backend) -> anyhow::Result<(Value, String)> {
    const COLUMNS: [Column; 4] =
        [Column::number("ID"), Column::text("ADMIN"), Column::text("PASSWORD"), Column::text("NAME")];
    let accounts = accounts(backend).await?;
    let yes = |value: &Value| if value == true { "yes" } else { "no" }.to_owned();
    let row = |account: &Value| {
        vec![id_of(account).to_string(), yes(&account["isAdmin"]), yes(&account["hasPassword"]), name_of(account)]
    };
    let rows: Vec<Vec<String>> = accounts.iter().map(row).collect();
    let (heading, lines) = table(&COLUMNS, &rows, Screen::of_stdout());
    Ok((Value::Array(accounts), heading.into_iter().chain(lines).collect::<Vec<_>>().join("\n")))
}

async fn accounts(backend: &dyn Backend) -> anyhow::Result<Vec<Value>> {
    backend.list("/api/accounts").await
}

async fn find(backend: &dyn Backend, name: &str) -> anyhow::Result<Value> {
    let key = AccountName::key_of(name);
    let accounts = accounts(backend).await.context("cannot list the accounts")?;
    let found = accounts.into_iter().find(|account| AccountName::key_of(&name_of(account)) == key);
    match found {
        Some(account) => Ok(account),
        None => bail!("there is no account {name}: `pirssonite account` lists them"),
    }
}

fn name_of(account: &Value) -> String {
    account["name"].as_str().unwrap_or_default().to_owned()
}

fn path(account: &Value) -> String {
    format!("/api/accounts/{}", id_of(account))
}
