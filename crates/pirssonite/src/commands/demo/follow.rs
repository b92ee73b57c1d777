//! Has the demo's server follow the demo's feeds, in folders, and tell the demo's receiver: what a user would do first.

use anyhow::Context;
use domain::delivery::WebhookSecret;
use reqwest::Method;
use serde_json::json;

use crate::backend::Backend;

/// Makes the webhook; returns its secret.
pub(super) async fn add_webhook(server: &dyn Backend, url: &str) -> anyhow::Result<WebhookSecret> {
    let body = json!({ "url": url, "description": "The demo's receiver" });
    let webhook = server.call(Method::POST, "/api/webhooks", Some(body)).await?;
    let secret = webhook["secret"].as_str().and_then(WebhookSecret::parse);
    secret.context("a new webhook has no secret")
}

/// Adds the feeds, each in its folder.
pub(super) async fn add_feeds(server: &dyn Backend, feeds: &[(String, String)]) -> anyhow::Result<()> {
    let mut folders: Vec<(&str, i64)> = Vec::new();
    for (url, folder) in feeds {
        let known = folders.iter().find(|(name, _)| name == folder).map(|(_, id)| *id);
        let id = if let Some(id) = known {
            id
        } else {
            let made = server.call(Method::POST, "/api/folders", Some(json!({ "name": folder }))).await?;
            let id = made["id"].as_i64().context("a new folder has no id")?;
            folders.push((folder, id));
            id
        };
        let body = json!({ "url": url, "folderId": id });
        server.call(Method::POST, "/api/feeds", Some(body)).await.with_context(|| format!("cannot add {url}"))?;
    }
    Ok(())
}
