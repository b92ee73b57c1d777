//! The HTTP port: what is asked is answered by the scene, without sockets.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use domain::ports::{Clock as _, Headers, Http, HttpError, HttpRequest, HttpResponse, MemoryPermit, Method};
use engine::{Engine, TimeLeft, Verification, VerifyAnswer};
use jiff::SignedDuration;
use url::form_urlencoded;

use super::scene::{LEASES_DAYS, Mood, SHOWN, Scene, document, hub_number, number_in};

/// The HTTP port: what is asked is answered by the scene.
#[derive(Debug, Clone)]
pub(super) struct Net {
    pub(super) scene: Arc<Mutex<Scene>>,
    pub(super) engine: Arc<OnceLock<Arc<Engine>>>,
}

#[async_trait]
impl Http for Net {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        match request.method {
            Method::Get => Ok(self.publisher_answers(&request)),
            Method::Post => self.hub_answers(&request).await,
        }
    }
}

impl Net {
    fn publisher_answers(&self, request: &HttpRequest) -> HttpResponse {
        let mut scene = self.scene.lock().unwrap();
        scene.tally.polls += 1;
        let number = number_in(&request.url, "https://p").expect("only publishers are asked");
        let publisher = &scene.publishers[number];
        let etag = format!("\"{}-{:?}\"", publisher.version, publisher.hubs);
        let body = document(number, publisher, SHOWN);
        scene.saw_all(number);
        let is_known = request.headers.get("if-none-match") == Some(&etag);
        let headers = Headers(vec![("etag".into(), etag), ("content-type".into(), "application/atom+xml".into())]);
        if is_known { answer(304, headers, "", &request.url) } else { answer(200, headers, &body, &request.url) }
    }

    async fn hub_answers(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let form: HashMap<String, String> = form_urlencoded::parse(&request.body).into_owned().collect();
        let number = hub_number(&request.url).expect("only hubs are asked");
        let mood = self.scene.lock().unwrap().hubs[number].mood;
        match mood {
            Mood::Refuses => Err(HttpError::Connect { host: "hub".into(), code: "ECONNREFUSED".into() }),
            Mood::Errs => Ok(answer(500, Headers::default(), "", &request.url)),
            Mood::NeverVerifies => Ok(answer(202, Headers::default(), "", &request.url)),
            Mood::Denies => {
                self.ask_back(&form, "denied", None).await;
                Ok(answer(202, Headers::default(), "", &request.url))
            }
            Mood::Well | Mood::Silent => {
                self.verify(number, &form).await;
                Ok(answer(202, Headers::default(), "", &request.url))
            }
        }
    }

    async fn verify(&self, number: usize, form: &HashMap<String, String>) {
        let lease = LEASES_DAYS[number % LEASES_DAYS.len()] * 86_400;
        let mode = form["hub.mode"].clone();
        if !matches!(self.ask_back(form, &mode, Some(lease)).await, VerifyAnswer::Confirmed(_)) {
            return;
        }
        let mut scene = self.scene.lock().unwrap();
        let until = scene.clock.now() + SignedDuration::from_secs(i64::try_from(lease).unwrap());
        let hub = &mut scene.hubs[number];
        let callback = form["hub.callback"].clone();
        if mode == "unsubscribe" {
            hub.subscribers.remove(&callback);
            return;
        }
        // Every other hub keeps the first secret that it was given.
        let first =
            hub.subscribers.get(&callback).map(|(_, secret, _)| secret.clone()).filter(|_| number.is_multiple_of(2));
        let secret = first.unwrap_or_else(|| form["hub.secret"].clone());
        hub.subscribers.insert(callback, (form["hub.topic"].clone(), secret, until));
    }

    async fn ask_back(&self, form: &HashMap<String, String>, mode: &str, lease: Option<u64>) -> VerifyAnswer {
        let engine = self.engine.get().expect("the net has its engine");
        let token = form["hub.callback"].rsplit('/').next().unwrap_or_default().to_owned();
        let asked = Verification {
            mode: Some(mode.to_owned()),
            topic: Some(form["hub.topic"].clone()),
            challenge: lease.map(|_| "challenge".to_owned()),
            lease_secs: lease.map(|secs| secs.to_string()),
            reason: None,
        };
        engine.verify(Some(&token), asked, &|_| true, &mut TimeLeft::new(Duration::from_mins(3))).await.unwrap()
    }
}

fn answer(status: u16, headers: Headers, body: &str, url: &str) -> HttpResponse {
    HttpResponse {
        status,
        headers,
        body: body.as_bytes().to_vec(),
        url: url.to_owned(),
        moved_to: None,
        memory_permit: MemoryPermit::default(),
    }
}
