//! The API in this process, over the store, when no server is running.

use std::sync::Arc;

use anyhow::anyhow;
use async_trait::async_trait;
use domain::WebhookId;
use engine::{Engine, SystemIds};
use reqwest::{Method, StatusCode};
use tokio_util::sync::CancellationToken;
use web::InProcessApi;

use super::{Backend, Refused, RequestBody};

pub(super) struct Local {
    engine: Arc<Engine>,
    api: InProcessApi,
}

impl Local {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        let api = InProcessApi::new(Arc::clone(&engine), &SystemIds, env!("CARGO_PKG_VERSION"));
        Self { engine, api }
    }
}

#[async_trait]
impl Backend for Local {
    async fn send(&self, method: Method, path: &str, body: RequestBody) -> anyhow::Result<String> {
        let answer = self.api.call(method, path, body.into_parts()).await?;
        let status = StatusCode::from_u16(answer.status)?;
        match answer.reason {
            // There is no log to look it up in.
            Some(reason) => Err(anyhow!(reason)),
            None if status.is_success() => Ok(answer.body),
            None => Err(Refused::new(status, &answer.body).into()),
        }
    }

    async fn deliver_to(&self, webhook: i64, stop: CancellationToken) {
        self.engine.deliver_to(WebhookId(webhook), &stop).await;
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
