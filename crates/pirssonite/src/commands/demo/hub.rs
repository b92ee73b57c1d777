//! The demo's hub, after WebSub: it takes requests for subscriptions, verifies their intent, and pushes what is published,
//! signed, for as long as the lease lasts. It calls nobody but the demo's own server. Told to fall silent it does all but
//! push, which is how hubs fail that nobody notices.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::push::{self, Algorithm, sign};
use engine::SystemIds;
use jiff::{SignedDuration, Timestamp};
use reqwest::{StatusCode, header};
use serde::Serialize;
use url::{Url, form_urlencoded};

use super::{documents::HUB_PATH, publisher::Document};
use crate::wiring;

/// The lease that it grants: short, so that one sees renewals.
const LEASE_SECS: i64 = 120;

/// The shortest that it can be asked for.
const LEASE_SECS_MIN: i64 = 60;

/// Subscriptions that it holds.
const HELD_MAX: usize = 200;

/// Bytes of a secret (WebSub, section 5.1: less than 200).
const SECRET_BYTES_MAX: usize = 199;

/// What is waited before each further attempt to push.
const RETRIES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];

/// A subscription that was verified.
#[derive(Debug, Clone)]
struct Held {
    callback: Url,
    topic: String,
    secret: Option<String>,
    expires_at: Timestamp,
    push_count: u64,
    renewal_count: u64,
}

/// The same as the control page shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeldView {
    topic: String,
    expires_at: Timestamp,
    lease_seconds: i64,
    push_count: u64,
    renewal_count: u64,
}

/// What a subscriber asks.
#[derive(Debug, Default)]
struct Asked {
    mode: String,
    topic: String,
    callback: String,
    secret: Option<String>,
    lease_secs: Option<i64>,
}

#[derive(Debug, Default)]
struct State {
    is_silent: bool,
    held: Vec<Held>,
}

#[derive(Debug)]
pub(super) struct Hub {
    /// Where it is, without a path.
    base_url: String,
    /// What all callbacks begin with.
    callbacks: String,
    client: reqwest::Client,
    state: Mutex<State>,
}

impl Hub {
    /// A hub that is served there, for the server at this address.
    pub(super) fn new(base_url: String, server_url: &str, client: reqwest::Client) -> Arc<Self> {
        Arc::new(Self { base_url, callbacks: format!("{server_url}/"), client, state: Mutex::default() })
    }

    pub(super) fn set_silent(&self, is_silent: bool) {
        self.lock().is_silent = is_silent;
    }

    pub(super) fn is_silent(&self) -> bool {
        self.lock().is_silent
    }

    /// What it holds, by topic.
    pub(super) fn held(&self) -> Vec<HeldView> {
        let view = |held: &Held| HeldView {
            topic: held.topic.clone(),
            expires_at: held.expires_at,
            lease_seconds: LEASE_SECS,
            push_count: held.push_count,
            renewal_count: held.renewal_count,
        };
        let mut held: Vec<HeldView> = self.lock().held.iter().map(view).collect();
        held.sort_by(|one, other| one.topic.cmp(&other.topic));
        held
    }

    /// Answers a request (section 5.2); what it asks for is verified afterwards (section 5.3). `is_topic` says which
    /// topics there are.
    pub(super) fn ask(self: &Arc<Self>, form: &[u8], is_topic: impl Fn(&str) -> bool) -> (StatusCode, &'static str) {
        let asked = read(form);
        let callback = Url::parse(&asked.callback);
        let callback = match callback {
            Ok(callback) if callback.as_str().starts_with(&self.callbacks) => callback,
            Ok(_) => return (StatusCode::FORBIDDEN, "this hub calls only the server of its demo"),
            Err(_) => return (StatusCode::BAD_REQUEST, "hub.callback is no URL"),
        };
        if !matches!(asked.mode.as_str(), "subscribe" | "unsubscribe") {
            return (StatusCode::BAD_REQUEST, "hub.mode is neither subscribe nor unsubscribe");
        }
        if !is_topic(&asked.topic) {
            return (StatusCode::NOT_FOUND, "hub.topic is none of the demo's feeds");
        }
        if asked.secret.as_ref().is_some_and(|secret| secret.len() > SECRET_BYTES_MAX) {
            return (StatusCode::BAD_REQUEST, "hub.secret is too long");
        }
        let hub = Arc::clone(self);
        tokio::spawn(async move { hub.verify(callback, asked).await });
        (StatusCode::ACCEPTED, "it will be verified")
    }

    /// Asks the callback whether it wants this, and keeps or forgets it if it does.
    async fn verify(&self, callback: Url, asked: Asked) {
        let challenge = push::new_token(&SystemIds);
        let lease_secs = asked.lease_secs.unwrap_or(LEASE_SECS).clamp(LEASE_SECS_MIN, LEASE_SECS);
        let url = question(&callback, &asked, &challenge, lease_secs);
        let is_confirmed = match self.client.get(url).send().await {
            Ok(answer) if answer.status().is_success() => answer.text().await.is_ok_and(|text| text == challenge),
            _ => false,
        };
        if is_confirmed {
            self.keep(callback, asked, lease_secs);
        }
    }

    fn keep(&self, callback: Url, asked: Asked, lease_secs: i64) {
        let now = wiring::now();
        let mut state = self.lock();
        let is_same = |held: &Held| held.callback == callback && held.topic == asked.topic;
        let before = state.held.iter().position(is_same).map(|place| state.held.remove(place));
        state.held.retain(|held| held.expires_at > now);
        if asked.mode == "subscribe" && state.held.len() < HELD_MAX {
            let (push_count, renewal_count) =
                before.map_or((0, 0), |before| (before.push_count, before.renewal_count + 1));
            let expires_at = now + SignedDuration::from_secs(lease_secs);
            let (topic, secret) = (asked.topic, asked.secret);
            state.held.push(Held { callback, topic, secret, expires_at, push_count, renewal_count });
        }
    }

    /// Pushes a new version of a topic to whoever holds a lease for it (section 7), unless it is silent.
    pub(super) fn distribute(self: &Arc<Self>, topic: &str, document: &Document) {
        let now = wiring::now();
        let state = self.lock();
        if state.is_silent {
            return;
        }
        for held in state.held.iter().filter(|held| held.topic == topic && held.expires_at > now) {
            let (hub, held, document) = (Arc::clone(self), held.clone(), document.clone());
            tokio::spawn(async move { hub.push(&held, &document).await });
        }
    }

    async fn push(&self, held: &Held, document: &Document) {
        for wait in std::iter::once(Duration::ZERO).chain(RETRIES) {
            tokio::time::sleep(wait).await;
            let links = format!("<{}{HUB_PATH}>; rel=\"hub\", <{}>; rel=\"self\"", self.base_url, held.topic);
            let mut request = self.client.post(held.callback.clone()).header(header::LINK, links);
            request = request.header(header::CONTENT_TYPE, document.content_type).body(document.body.clone());
            if let Some(secret) = &held.secret {
                let signature = sign(Algorithm::Sha256, document.body.as_bytes(), secret);
                request = request.header("x-hub-signature", signature);
            }
            let status = request.send().await.map(|answer| answer.status());
            let mut state = self.lock();
            let is_same = |other: &Held| other.callback == held.callback && other.topic == held.topic;
            let Some(place) = state.held.iter().position(is_same) else { return };
            match status {
                Ok(status) if status.is_success() => {
                    state.held[place].push_count += 1;
                    return;
                }
                Ok(StatusCode::GONE) => {
                    state.held.remove(place);
                    return;
                }
                _ => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the callback is asked, with the parameters that it has already.
fn question(callback: &Url, asked: &Asked, challenge: &str, lease_secs: i64) -> Url {
    let mut url = callback.clone();
    let mut query = url.query_pairs_mut();
    query.append_pair("hub.mode", &asked.mode).append_pair("hub.topic", &asked.topic);
    query.append_pair("hub.challenge", challenge);
    if asked.mode == "subscribe" {
        query.append_pair("hub.lease_seconds", &lease_secs.to_string());
    }
    drop(query);
    url
}

fn read(form: &[u8]) -> Asked {
    let mut asked = Asked::default();
    for (name, value) in form_urlencoded::parse(form) {
        match &*name {
            "hub.mode" => asked.mode = value.into_owned(),
            "hub.topic" => asked.topic = value.into_owned(),
            "hub.callback" => asked.callback = value.into_owned(),
            "hub.secret" => asked.secret = Some(value.into_owned()).filter(|secret| !secret.is_empty()),
            "hub.lease_seconds" => asked.lease_secs = value.parse().ok(),
            _ => {}
        }
    }
    asked
}
