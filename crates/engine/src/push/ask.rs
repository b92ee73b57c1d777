//! One request to a hub: what is sent, and what its answer means (WebSub, section 5.1).

use std::time::Duration;

use domain::{
    ports::{Arrived, Headers, Http, HttpError, HttpRequest, HttpResponse, Method},
    push::{Mode, Subscription, SubscriptionEvent},
    schedule,
};
use jiff::Timestamp;
use url::{Url, form_urlencoded};

/// Redirects that a hub's answer may lead through: only those that repeat the request (307, 308) are followed.
const REDIRECTS_MAX: usize = 5;

/// Bytes of a hub's answer that are read: nothing in it matters.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What a hub that cannot be reached is accused of.
pub(super) const UNREACHABLE: &str = "Hub unreachable";

pub(super) fn request(
    subscription: &Subscription,
    mode: Mode,
    secret: Option<&str>,
    lease_secs: Option<u32>,
    timeout: Duration,
) -> HttpRequest {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("hub.callback", &subscription.callback());
    form.append_pair("hub.mode", mode.name());
    form.append_pair("hub.topic", &subscription.topic_url);
    if let Some(secret) = secret {
        form.append_pair("hub.secret", secret);
    }
    if let Some(secs) = lease_secs.filter(|_| mode == Mode::Subscribe) {
        form.append_pair("hub.lease_seconds", &secs.to_string());
    }
    let content_type = ("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned());
    HttpRequest {
        method: Method::Post,
        url: subscription.hub_url.clone(),
        credentials: None,
        headers: Headers(vec![content_type]),
        body: form.finish().into(),
        body_bytes_max: ANSWER_BYTES_MAX,
        redirects_max: REDIRECTS_MAX,
        timeout,
        arrived: Arrived::default(),
    }
}

/// Sends it, encrypted first where the hub is named without (WebSub, section 8.2): it holds a secret, many hubs answer
/// both, and some only redirect from the one to the other with 301, which no POST follows.
pub(super) async fn send(http: &dyn Http, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let Some(url) = encrypted(&request.url) else { return http.send(request).await };
    let first = HttpRequest { url, timeout: request.timeout / 2, ..request.clone() };
    match http.send(first).await {
        Err(_) => http.send(request).await,
        // Perhaps another server answers there.
        Ok(refused) if (300..500).contains(&refused.status) && refused.status != 429 => {
            let unencrypted = http.send(request).await;
            if unencrypted.as_ref().is_ok_and(is_success) { unencrypted } else { Ok(refused) }
        }
        answered => answered,
    }
}

/// The same hub with TLS. One at a port of its own, or known by an address alone, has hardly another.
fn encrypted(hub_url: &str) -> Option<String> {
    let mut url = Url::parse(hub_url).ok().filter(|url| url.scheme() == "http" && url.port().is_none())?;
    url.domain()?;
    url.set_scheme("https").ok()?;
    Some(url.into())
}

fn is_success(response: &HttpResponse) -> bool {
    (200..300).contains(&response.status)
}

/// What the answer means.
pub(super) fn event(answer: Result<HttpResponse, HttpError>, now: Timestamp) -> SubscriptionEvent {
    match answer {
        Ok(response) if is_success(&response) => SubscriptionEvent::Accepted,
        Ok(response) => SubscriptionEvent::Failed {
            error: format!("Hub subscription failed: {}", response.status),
            retry_after: schedule::retry_after(response.headers.get("retry-after"), response.headers.get("date"), now),
        },
        Err(error) => {
            SubscriptionEvent::Failed { error: format!("{UNREACHABLE}: {}", code(&error)), retry_after: None }
        }
    }
}

/// Why a hub cannot be reached, as the system names it where it does.
fn code(error: &HttpError) -> String {
    match error {
        HttpError::Connect { code, .. } => code.clone(),
        HttpError::NotFound(_) => "ENOTFOUND".to_owned(),
        HttpError::NoNameService => "EAI_AGAIN".to_owned(),
        HttpError::TimedOut(_) => "ETIMEDOUT".to_owned(),
        HttpError::BrokenOff(_) => "ECONNRESET".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use domain::{FeedId, SubscriptionId, ports::MemoryPermit, push::Offer};

    use super::*;

    fn subscription() -> Subscription {
        let offer = Offer { token: "t".into(), base_url: "https://we.org".into() };
        let (hub, topic) = ("https://h.org/hub?x=1", "https://e.org/?a=b&c=ü");
        Subscription::new(SubscriptionId(1), FeedId(1), hub, topic, &offer, Timestamp::UNIX_EPOCH)
    }

    fn fields(request: &HttpRequest) -> Vec<(String, String)> {
        form_urlencoded::parse(&request.body).into_owned().collect()
    }

    fn response(status: u16, headers: &[(&str, &str)]) -> HttpResponse {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HttpResponse {
            status,
            headers: Headers(headers),
            body: Vec::new(),
            url: String::new(),
            moved_to: None,
            memory_permit: MemoryPermit::default(),
        }
    }

    fn answered(status: u16, headers: &[(&str, &str)]) -> SubscriptionEvent {
        event(Ok(response(status, headers)), Timestamp::UNIX_EPOCH)
    }

    /// A hub with and without TLS: what each answers (nothing: the connection is refused), and what it was asked.
    #[derive(Debug)]
    struct TwoHubs {
        encrypted: Option<u16>,
        plain: Option<u16>,
        asked: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl Http for TwoHubs {
        async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
            let status = if request.url.starts_with("https:") { self.encrypted } else { self.plain };
            assert_eq!(request.body, "hub.mode=subscribe");
            self.asked.lock().unwrap().push(request.url);
            let refused = HttpError::Connect { host: "h.org".into(), code: "ECONNREFUSED".into() };
            status.map(|status| response(status, &[])).ok_or(refused)
        }
    }

    #[tokio::test]
    async fn w2_hubs_are_asked_with_tls_first() {
        let ask = async |url: &str, encrypted, plain| {
            let hubs = TwoHubs { encrypted, plain, asked: Mutex::default() };
            let seconds = Duration::from_secs(10);
            let subscription = Subscription { hub_url: url.to_owned(), ..subscription() };
            let asked = request(&subscription, Mode::Subscribe, None, None, seconds);
            let answer = send(&hubs, HttpRequest { body: "hub.mode=subscribe".into(), ..asked }).await;
            let asked = hubs.asked.into_inner().unwrap().join(" ");
            (asked, answer.map(|answer| answer.status).ok())
        };
        let (both, tls) = ("https://h.org/hub?x=1 http://h.org/hub?x=1", "https://h.org/hub?x=1");
        for (encrypted, plain, asked, status) in [
            (Some(202), Some(202), tls, Some(202)),
            (None, Some(202), both, Some(202)),
            (None, None, both, None),
            // Another site is there.
            (Some(404), Some(202), both, Some(202)),
            // The hub itself says why: a redirect to it says nothing.
            (Some(400), Some(301), both, Some(400)),
            (Some(429), Some(202), tls, Some(429)),
            (Some(503), Some(202), tls, Some(503)),
        ] {
            let answer = ask("http://h.org/hub?x=1", encrypted, plain).await;
            assert_eq!(answer, (asked.to_owned(), status), "{encrypted:?} {plain:?}");
        }
        for url in ["https://h.org/", "http://h.org:8080/", "http://192.0.2.7/", "http://[2001:db8::7]/"] {
            assert_eq!(ask(url, Some(500), Some(404)).await.0, url, "it is asked once, as it is named");
        }
    }

    #[test]
    fn w2_subscription_request_is_a_form() {
        let asked = request(&subscription(), Mode::Subscribe, Some("s"), None, Duration::from_secs(10));
        assert_eq!(asked.url, "https://h.org/hub?x=1");
        assert_eq!(asked.headers.get("content-type"), Some("application/x-www-form-urlencoded"));
        let expected = [
            ("hub.callback", "https://we.org/api/websub/callback/t"),
            ("hub.mode", "subscribe"),
            ("hub.topic", "https://e.org/?a=b&c=ü"),
            ("hub.secret", "s"),
        ];
        assert_eq!(fields(&asked), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let with_lease = request(&subscription(), Mode::Subscribe, Some("s"), Some(60), Duration::from_secs(10));
        assert_eq!(fields(&with_lease)[4], ("hub.lease_seconds".to_owned(), "60".to_owned()));
        let unsubscribe = request(&subscription(), Mode::Unsubscribe, None, Some(60), Duration::from_secs(10));
        assert_eq!(fields(&unsubscribe).len(), 3);
    }

    #[test]
    fn w2_w9_only_2xx_accepts() {
        for status in [200, 202, 204] {
            assert_eq!(answered(status, &[]), SubscriptionEvent::Accepted);
        }
        let failed = |error: &str, secs: Option<u64>| SubscriptionEvent::Failed {
            error: error.to_owned(),
            retry_after: secs.map(Duration::from_secs),
        };
        assert!(answered(500, &[]) == failed("Hub subscription failed: 500", None));
        assert!(answered(302, &[]) == failed("Hub subscription failed: 302", None));
        assert!(answered(503, &[("retry-after", "120")]) == failed("Hub subscription failed: 503", Some(120)));
        let refused = HttpError::Connect { host: "h.org".into(), code: "ECONNREFUSED".into() };
        let error = event(Err(refused), Timestamp::UNIX_EPOCH);
        assert!(error == failed("Hub unreachable: ECONNREFUSED", None));
    }
}
