//! What the commands work on: the running server where there is one, else the store itself. Both speak the API's
//! shapes, so a command prints the same whichever it was.

mod local;
mod remote;

use anyhow::Context;
use async_trait::async_trait;
use serde_json::Value;
use store::OpenError;

pub(crate) use self::remote::{Remote, announce, withdraw};
use crate::{settings::Settings, wiring};

/// What the commands need.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// `GET /api/feeds`.
    async fn feeds(&self) -> anyhow::Result<Vec<Value>>;
    /// `GET /api/folders`.
    async fn folders(&self) -> anyhow::Result<Vec<Value>>;
    /// `GET /api/counts`.
    async fn counts(&self) -> anyhow::Result<Value>;
    /// `POST /api/folders`.
    async fn create_folder(&self, name: &str) -> anyhow::Result<Value>;
    /// `POST /api/feeds`.
    async fn add(&self, url: &str, folder_id: Option<i64>, title: Option<&str>) -> anyhow::Result<Value>;
    /// `POST /api/feeds/{id}/refresh`; the summary.
    async fn refresh_feed(&self, id: i64) -> anyhow::Result<Value>;
    /// `POST /api/opml/import`.
    async fn import(&self, opml: Vec<u8>) -> anyhow::Result<Value>;
    /// `GET /api/opml/export`.
    async fn export(&self) -> anyhow::Result<String>;
    /// Whether it is a running server.
    fn is_server(&self) -> bool;
    /// What it is, for people.
    fn name(&self) -> String;
}

/// Finds what to work on. The lock on the data folder says whether a server is running.
pub(crate) async fn connect(settings: &Settings) -> anyhow::Result<Box<dyn Backend>> {
    match wiring::open_store(settings).await {
        Ok(store) => Ok(Box::new(local::Local::new(wiring::build_engine(settings, store)?))),
        Err(error) if is_in_use(&error) => {
            let remote = Remote::find(&settings.data_dir).await;
            Ok(Box::new(remote.with_context(|| format!("{} is in use, but", settings.data_dir.display()))?))
        }
        Err(error) => Err(error),
    }
}

fn is_in_use(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref::<OpenError>(), Some(OpenError::InUse(..))))
}
