//! The store itself, when no server is running.

use std::sync::Arc;

use anyhow::bail;
use async_trait::async_trait;
use domain::{FeedId, WebhookId, push::SubscriptionView};
use engine::{Engine, SystemIds};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use web::InProcessApi;

use super::{Backend, Refused};

pub(super) struct Local {
    engine: Arc<Engine>,
    /// The same API that a server has.
    inside: InProcessApi,
}

impl Local {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        let inside = InProcessApi::new(Arc::clone(&engine), &SystemIds, env!("CARGO_PKG_VERSION"));
        Self { engine, inside }
    }
}

#[async_trait]
impl Backend for Local {
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let (status, text) = self.inside.call(method, path, body.map(|body| body.to_string())).await?;
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap_or_default() };
        let status = StatusCode::from_u16(status)?;
        if status.is_success() { Ok(body) } else { Err(Refused::new(status, &body).into()) }
    }

    async fn feeds(&self) -> anyhow::Result<Vec<Value>> {
        values(&self.engine.store().feeds().await?)
    }

    async fn folders(&self) -> anyhow::Result<Vec<Value>> {
        values(&self.engine.store().folders().await?)
    }

    async fn counts(&self) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.engine.store().counts().await?)?)
    }

    async fn refresh_feed(&self, id: i64) -> anyhow::Result<Option<Value>> {
        let summary = self.engine.refresh_feed(FeedId(id)).await?;
        Ok(summary.map(serde_json::to_value).transpose()?)
    }

    async fn import(&self, opml: Vec<u8>) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.engine.import_opml(&opml).await?)?)
    }

    async fn export(&self) -> anyhow::Result<String> {
        Ok(self.engine.export_opml().await?)
    }

    async fn subscriptions(&self) -> anyhow::Result<Vec<Value>> {
        let subscriptions = self.engine.store().subscriptions().await?;
        values(&subscriptions.iter().map(SubscriptionView::from).collect::<Vec<_>>())
    }

    async fn renew(&self) -> anyhow::Result<Value> {
        bail!(
            "no server is running here, and a hub renews nothing before it has asked back at the base_url: \
             start `pirssonite`, which renews by itself as well"
        )
    }

    async fn deliver_to(&self, webhook: i64, stop: CancellationToken) {
        self.engine.deliver_to(WebhookId(webhook), &stop).await;
    }

    async fn ready(&self) -> anyhow::Result<()> {
        Ok(self.engine.store().ping().await?)
    }

    fn base_url(&self) -> Option<&str> {
        self.engine.base_url()
    }

    fn is_server(&self) -> bool {
        false
    }

    fn instance(&self) -> Option<&str> {
        None
    }

    fn name(&self) -> String {
        format!("{}, opened directly", self.engine.store().kind())
    }
}

fn values<T: serde::Serialize>(list: &[T]) -> anyhow::Result<Vec<Value>> {
    list.iter().map(|item| Ok(serde_json::to_value(item)?)).collect()
}
