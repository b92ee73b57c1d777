//! Fever's API, as Reeder, Unread and elfeed use it: fifty items at once, and one mark a request.

use std::net::SocketAddr;

use anyhow::Context;
use md5::{Digest, Md5};
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::{Step, Steps, UNREAD};

struct App {
    client: reqwest::Client,
    base: String,
    key: OnceCell<String>,
}

#[derive(Deserialize)]
struct Answer {
    auth: u8,
    #[serde(default)]
    unread_item_ids: String,
    #[serde(default)]
    items: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Token {
    token: String,
}

pub(super) fn app(client: reqwest::Client, server: SocketAddr) -> Box<dyn Steps> {
    Box::new(App { client, base: format!("http://{server}"), key: OnceCell::new() })
}

impl App {
    /// The key of a token that is made for it: the server is open to this machine, Fever is not.
    async fn key(&self) -> anyhow::Result<&String> {
        let made = self.key.get_or_try_init(async || {
            let request = self.client.post(format!("{}/api/tokens", self.base));
            let request =
                request.header("content-type", "application/json").body(r#"{"name":"bench","scope":"write"}"#);
            let made: Token = serde_json::from_slice(&request.send().await?.error_for_status()?.bytes().await?)?;
            let digest = Md5::digest(format!("reader:{}", made.token));
            anyhow::Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
        });
        made.await
    }

    async fn call(&self, query: &str) -> anyhow::Result<Answer> {
        let request = self.client.post(format!("{}/fever/?api&{query}", self.base));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(format!("api_key={}", self.key().await?));
        let answer: Answer = serde_json::from_slice(&request.send().await?.error_for_status()?.bytes().await?)?;
        anyhow::ensure!(answer.auth == 1, "the key is refused");
        Ok(answer)
    }

    async fn unread(&self) -> anyhow::Result<Vec<String>> {
        let ids = self.call("unread_item_ids").await?.unread_item_ids;
        Ok(ids.split(',').map(str::to_owned).collect())
    }

    async fn first(&self, at_once: usize) -> anyhow::Result<usize> {
        for list in ["groups", "feeds"] {
            self.call(list).await?;
        }
        let ids = self.unread().await?;
        anyhow::ensure!(ids.len() == UNREAD, "{} ids", ids.len());
        let (mut requests, mut items) = (3, 0);
        for some in ids.chunks(at_once) {
            items += self.call(&format!("items&with_ids={}", some.join(","))).await?.items.len();
            requests += 1;
        }
        anyhow::ensure!(items == UNREAD, "{items} items");
        Ok(requests)
    }

    async fn nothing_new(&self) -> anyhow::Result<usize> {
        for list in ["groups", "feeds", "unread_item_ids", "saved_item_ids"] {
            self.call(list).await?;
        }
        let new = self.call(&format!("items&since_id={}", i64::from(i32::MAX))).await?.items;
        anyhow::ensure!(new.is_empty(), "{} new", new.len());
        Ok(5)
    }

    async fn mark_thousand(&self) -> anyhow::Result<usize> {
        let ids = self.unread().await?;
        for id in ids.get(..1_000).context("there are as many")? {
            self.call(&format!("mark=item&as=read&id={id}")).await?;
        }
        Ok(1_001)
    }
}

impl Steps for App {
    fn first(&self, at_once: usize) -> Step<'_> {
        Box::pin(self.first(at_once))
    }

    fn nothing_new(&self) -> Step<'_> {
        Box::pin(self.nothing_new())
    }

    fn mark_thousand(&self) -> Step<'_> {
        Box::pin(self.mark_thousand())
    }
}
