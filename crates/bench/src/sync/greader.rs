//! The Google Reader API, as NewsFlash and RSS Guard use it.

use std::net::SocketAddr;

use anyhow::Context;
use serde::Deserialize;

use super::{Step, Steps, UNREAD};

const READING_LIST: &str = "user/-/state/com.google/reading-list";
const READ: &str = "user/-/state/com.google/read";
const STARRED: &str = "user/-/state/com.google/starred";

struct App {
    client: reqwest::Client,
    base: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ids {
    item_refs: Vec<Id>,
    continuation: Option<String>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Deserialize)]
struct Contents {
    items: Vec<serde::de::IgnoredAny>,
}

pub(super) fn app(client: reqwest::Client, server: SocketAddr) -> Box<dyn Steps> {
    Box::new(App { client, base: format!("http://{server}/api/greader.php") })
}

impl App {
    async fn get(&self, path: &str) -> anyhow::Result<bytes::Bytes> {
        let request = self.client.get(format!("{}/reader/api/0/{path}", self.base));
        Ok(request.header("authorization", "GoogleLogin auth=open").send().await?.error_for_status()?.bytes().await?)
    }

    async fn post(&self, path: &str, form: String) -> anyhow::Result<bytes::Bytes> {
        let request = self.client.post(format!("{}/reader/api/0/{path}", self.base)).body(form);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        Ok(request.header("authorization", "GoogleLogin auth=open").send().await?.error_for_status()?.bytes().await?)
    }

    /// Logs in, with whatever password: the server is open to this machine.
    async fn log_in(&self) -> anyhow::Result<()> {
        let login = self.client.post(format!("{}/accounts/ClientLogin?Email=reader&Passwd=any", self.base));
        let text = login.send().await?.error_for_status()?.text().await?;
        anyhow::ensure!(text.contains("Auth=open\n"), "{text}");
        Ok(())
    }

    /// All ids of a stream, and how many requests they took.
    async fn ids(&self, query: &str) -> anyhow::Result<(Vec<String>, usize)> {
        let (mut ids, mut requests, mut after) = (Vec::new(), 0, String::new());
        loop {
            let page = self.get(&format!("stream/items/ids?output=json&n=10000&{query}{after}")).await?;
            let page: Ids = serde_json::from_slice(&page)?;
            ids.extend(page.item_refs.into_iter().map(|one| one.id));
            requests += 1;
            match page.continuation {
                Some(continuation) => after = format!("&c={continuation}"),
                None => return Ok((ids, requests)),
            }
        }
    }

    async fn first(&self, at_once: usize) -> anyhow::Result<usize> {
        self.log_in().await?;
        self.get("subscription/list").await?;
        let (ids, mut requests) = self.ids(&format!("s={READING_LIST}&xt={READ}")).await?;
        anyhow::ensure!(ids.len() == UNREAD, "{} ids", ids.len());
        let mut items = 0;
        for some in ids.chunks(at_once) {
            let contents = self.post("stream/items/contents", form(some)).await?;
            items += serde_json::from_slice::<Contents>(&contents)?.items.len();
            requests += 1;
        }
        anyhow::ensure!(items == UNREAD, "{items} items");
        Ok(requests + 2)
    }

    async fn nothing_new(&self) -> anyhow::Result<usize> {
        self.get("subscription/list").await?;
        let (_, unread) = self.ids(&format!("s={READING_LIST}&xt={READ}")).await?;
        let (_, starred) = self.ids(&format!("s={STARRED}")).await?;
        let since = jiff::Timestamp::now().as_second() + 1;
        let (new, requests) = self.ids(&format!("s={READING_LIST}&ot={since}")).await?;
        anyhow::ensure!(new.is_empty(), "{} new", new.len());
        Ok(1 + unread + starred + requests)
    }

    async fn mark_thousand(&self) -> anyhow::Result<usize> {
        let (ids, requests) = self.ids(&format!("s={READING_LIST}&xt={READ}")).await?;
        let thousand = ids.get(..1_000).context("there are as many")?;
        let answer = self.post("edit-tag", format!("{}&a={READ}", form(thousand))).await?;
        anyhow::ensure!(answer == "OK", "{answer:?}");
        Ok(requests + 1)
    }
}

fn form(ids: &[String]) -> String {
    ids.iter().map(|id| format!("i={id}")).collect::<Vec<_>>().join("&")
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
