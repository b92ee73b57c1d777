//! S1: the Google Reader API.

mod apps;
mod lists;
mod live;
mod login;
mod reading;
mod writing;

use serde_json::Value;

use super::{Reader, url_encoded, with_form};
use crate::{
    accounts::PASSWORD,
    server::{Answer, answer},
};

pub const READING_LIST: &str = "user/-/state/com.google/reading-list";
pub const READ: &str = "user/-/state/com.google/read";
pub const STARRED: &str = "user/-/state/com.google/starred";

/// An app that has logged in.
pub struct App<'a> {
    pub reader: &'a Reader,
    /// Where it was told that the server is.
    pub base: &'static str,
    pub auth: String,
}

impl<'a> App<'a> {
    pub async fn with_token(reader: &'a Reader) -> Self {
        Self::log_in(reader, "", &reader.token).await
    }

    pub async fn with_password(reader: &'a Reader) -> Self {
        Self::log_in(reader, "/api/greader.php", PASSWORD).await
    }

    pub async fn log_in(reader: &'a Reader, base: &'static str, secret: &str) -> Self {
        let answer = log_in(reader, base, "reader", secret).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let auth = answer.text.lines().find_map(|line| line.strip_prefix("Auth=")).unwrap().to_owned();
        Self { reader, base, auth }
    }

    /// Asks below `reader/`.
    pub async fn ask(&self, method: &str, path: &str, form: &[(&str, &str)]) -> Answer {
        let request = self.reader.server.request(method, &format!("{}/reader/{path}", self.base));
        let request = request.header("authorization", format!("GoogleLogin auth={}", self.auth));
        answer(if form.is_empty() { request } else { with_form(request, form) }).await
    }

    pub async fn get(&self, path: &str, query: &[(&str, &str)]) -> Answer {
        let query = url_encoded(query);
        self.ask("GET", &format!("api/0/{path}?{query}"), &[]).await
    }

    pub async fn json(&self, path: &str, query: &[(&str, &str)]) -> Value {
        self.get(path, query).await.ok(200)
    }

    /// Changes something, which is answered `OK` and nothing more.
    #[track_caller]
    pub fn change(&self, path: &str, form: &[(&str, &str)]) -> impl Future<Output = ()> {
        let (path, form) = (format!("api/0/{path}"), form.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())));
        let form: Vec<(String, String)> = form.collect();
        let caller = std::panic::Location::caller();
        async move {
            let form: Vec<(&str, &str)> = form.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            let answer = self.ask("POST", &path, &form).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, "OK"), "{caller}: {answer:?}");
        }
    }

    /// The titles of a stream's contents.
    pub async fn titles(&self, stream: &str, query: &[(&str, &str)]) -> Vec<String> {
        let query: Vec<_> = [("s", stream), ("n", "100")].into_iter().chain(query.iter().copied()).collect();
        titles(&self.json("stream/contents", &query).await)
    }

    /// The long id of an item.
    pub async fn id(&self, title: &str) -> String {
        format!("tag:google.com,2005:reader/item/{:016x}", self.reader.entry(title).await["id"].as_i64().unwrap())
    }
}

pub async fn log_in(reader: &Reader, base: &str, name: &str, secret: &str) -> Answer {
    let request = reader.server.request("POST", &format!("{base}/accounts/ClientLogin"));
    answer(with_form(request, &[("Email", name), ("Passwd", secret), ("service", "reader"), ("source", "test")])).await
}

pub fn titles(contents: &Value) -> Vec<String> {
    let items = contents["items"].as_array().unwrap();
    items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
}
