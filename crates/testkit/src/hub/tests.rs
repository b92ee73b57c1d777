//! Each behaviour of the hub, against a callback that is served as the product's is.

mod answers;
mod pushes;
mod verifications;

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    body::to_bytes,
    extract::{Query as Params, Request, State},
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, task::JoinHandle};
use url::form_urlencoded::Serializer;

use super::*;

const TOPIC: &str = "http://blog.example/feed?a=1&b=%20";

/// A subscriber: it confirms every question, unless told otherwise, and keeps what it is sent.
struct Subscriber {
    hub: Hub,
    address: SocketAddr,
    seen: Arc<Recorded>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Recorded {
    /// The parameters of every question, with the callback's own.
    questions: Mutex<Vec<HashMap<String, String>>>,
    pushes: Mutex<Vec<Pushed>>,
    /// Instead of the challenge.
    refusal: Mutex<Option<StatusCode>>,
    /// Instead of 204.
    push_status: Mutex<Option<StatusCode>>,
}

#[derive(Debug, Clone, Default)]
struct Pushed {
    uri: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Pushed {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Subscriber {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Recorded::default());
        let app = axum::Router::new().fallback(callback).with_state(Arc::clone(&seen));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { hub: Hub::start().await, address, seen, server }
    }

    fn callback(&self) -> String {
        format!("http://{}/callback?token=t%201", self.address)
    }

    /// Asks the hub, with a secret.
    async fn ask(&self, mode: &str, secret: &str) -> CallbackAnswer {
        let callback = self.callback();
        let fields = [("hub.mode", mode), ("hub.topic", TOPIC), ("hub.callback", &callback), ("hub.secret", secret)];
        self.post(&self.hub.url(), &fields).await
    }

    async fn post(&self, url: &str, fields: &[(&str, &str)]) -> CallbackAnswer {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = ("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned());
        client::send("POST", url, &[kind], body.as_bytes(), None).await
    }

    /// Subscribes at a hub that behaves, and returns what it holds.
    async fn subscribed(&self) -> HubSubscription {
        assert_eq!(self.ask("subscribe", "secret").await.status, 202);
        self.hub.subscribed(TOPIC).await
    }

    fn questions(&self) -> Vec<HashMap<String, String>> {
        self.seen.questions.lock().unwrap().clone()
    }

    fn pushes(&self) -> Vec<Pushed> {
        self.seen.pushes.lock().unwrap().clone()
    }

    fn refuse(&self, status: u16) {
        *self.seen.refusal.lock().unwrap() = Some(StatusCode::from_u16(status).unwrap());
    }

    fn answer_pushes(&self, status: u16) {
        *self.seen.push_status.lock().unwrap() = Some(StatusCode::from_u16(status).unwrap());
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn callback(State(seen): State<Arc<Recorded>>, request: Request) -> Response {
    if request.method() == Method::GET {
        let Params(question) = Params::<HashMap<String, String>>::try_from_uri(request.uri()).unwrap();
        let challenge = question.get("hub.challenge").cloned().unwrap_or_default();
        seen.questions.lock().unwrap().push(question);
        return match *seen.refusal.lock().unwrap() {
            Some(status) => status.into_response(),
            None => challenge.into_response(),
        };
    }
    let (head, body) = request.into_parts();
    let header = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
    let pushed = Pushed { uri: head.uri.to_string(), headers: head.headers.iter().map(header).collect(), body };
    seen.pushes.lock().unwrap().push(pushed);
    seen.push_status.lock().unwrap().unwrap_or(StatusCode::NO_CONTENT).into_response()
}
