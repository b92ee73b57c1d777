//! A server for one test, and a client that shows everything of an answer.

use std::sync::{Arc, LazyLock};

use domain::ports::{Http, Store};
use engine::{Deps, Engine, EngineSettings, SystemClock, SystemIds};
use metrics_exporter_prometheus::PrometheusHandle;
use reqwest::{Method, RequestBuilder, header::HeaderMap};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use web::{AppState, ServeLimits, WebSettings};

/// One for all tests: a process counts in one place.
pub static METRICS: LazyLock<PrometheusHandle> = LazyLock::new(|| web::install_metrics().unwrap());

/// A server that runs.
pub struct Server {
    pub url: String,
    pub client: reqwest::Client,
    pub stop: CancellationToken,
    pub task: JoinHandle<std::io::Result<()>>,
}

/// All of an answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Server {
    pub async fn start(store: Arc<dyn Store>, http: Arc<dyn Http>, settings: WebSettings) -> Self {
        Self::start_within(store, http, settings, ServeLimits::default()).await
    }

    pub async fn start_within(
        store: Arc<dyn Store>,
        http: Arc<dyn Http>,
        settings: WebSettings,
        limits: ServeLimits,
    ) -> Self {
        let engine = Engine::new(Deps {
            store,
            http,
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            settings: EngineSettings::default(),
        });
        let router = web::router(AppState::new(engine, METRICS.clone(), settings, &SystemIds, "1.2.3"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let task = tokio::spawn(web::serve_within(listener, router, stop.clone(), limits));
        Self { url, client: client(), stop, task }
    }

    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method: Method = method.parse().unwrap();
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub async fn get(&self, path: &str) -> Answer {
        answer(self.request("GET", path)).await
    }

    /// Sends JSON, as it is written.
    pub async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let request = self.request(method, path).header("content-type", "application/json");
        answer(request.body(body.to_owned())).await
    }

    /// Sends nothing.
    pub async fn call(&self, method: &str, path: &str) -> Answer {
        answer(self.request(method, path)).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/json", "{self:?}");
        serde_json::from_str(&self.text).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The sentence of an error of this status.
    #[track_caller]
    pub fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        let sentence = self.json()["error"].as_str().unwrap().to_owned();
        assert!(!sentence.is_empty());
        sentence
    }

    /// The body of a success of this status.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }
}

pub async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    // An event stream has no end.
    let has_end = headers.get("content-type").is_none_or(|kind| kind != "text/event-stream");
    let text = if has_end { response.text().await.unwrap() } else { String::new() };
    Answer { status, headers, text }
}

pub fn client() -> reqwest::Client {
    // A second installation is refused, and the first is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}
