//! Miniflux's API, as NewsFlash and its own Python client use it: pages of entries by offset, many marked at once.

use std::net::SocketAddr;

use anyhow::Context;
use serde::Deserialize;

use super::{Step, Steps, UNREAD};

struct App {
    client: reqwest::Client,
    base: String,
}

#[derive(Deserialize)]
struct Page {
    total: usize,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: i64,
}

pub(super) fn app(client: reqwest::Client, server: SocketAddr) -> Box<dyn Steps> {
    Box::new(App { client, base: format!("http://{server}/v1") })
}

impl App {
    async fn get(&self, path: &str) -> anyhow::Result<bytes::Bytes> {
        let request = self.client.get(format!("{}/{path}", self.base)).basic_auth("reader", Some("any"));
        Ok(request.send().await?.error_for_status()?.bytes().await?)
    }

    async fn page(&self, query: &str) -> anyhow::Result<Page> {
        Ok(serde_json::from_slice(&self.get(&format!("entries?{query}")).await?)?)
    }

    async fn first(&self, at_once: usize) -> anyhow::Result<usize> {
        for list in ["me", "categories", "feeds"] {
            self.get(list).await?;
        }
        let (mut requests, mut entries) = (3, 0);
        loop {
            let page = self.page(&format!("status=unread&direction=desc&limit={at_once}&offset={entries}")).await?;
            anyhow::ensure!(page.total == UNREAD, "{} in all", page.total);
            entries += page.entries.len();
            requests += 1;
            if page.entries.len() < at_once {
                break;
            }
        }
        anyhow::ensure!(entries == UNREAD, "{entries} entries");
        Ok(requests)
    }

    async fn nothing_new(&self) -> anyhow::Result<usize> {
        for list in ["categories", "feeds", "feeds/counters", "entries?starred=true"] {
            self.get(list).await?;
        }
        let new = self.page(&format!("order=id&after_entry_id={}", i32::MAX)).await?;
        anyhow::ensure!(new.total == 0 && new.entries.is_empty(), "{} new", new.total);
        Ok(5)
    }

    async fn mark_thousand(&self) -> anyhow::Result<usize> {
        let page = self.page("status=unread&direction=desc&limit=1000").await?;
        let ids: Vec<i64> = page.entries.iter().map(|entry| entry.id).collect();
        ids.get(999).context("there are as many")?;
        let body = serde_json::json!({ "entry_ids": ids, "status": "read" }).to_string();
        let request = self.client.put(format!("{}/entries", self.base)).basic_auth("reader", Some("any")).body(body);
        request.send().await?.error_for_status()?;
        Ok(2)
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
