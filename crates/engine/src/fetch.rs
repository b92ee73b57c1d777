//! Asking a feed's server: the request, and what its answer means.

use bytes::Bytes;
use domain::{
    feed_state::FeedAddress,
    ingest::{Hash, Validators},
    ports::{Arrived, Headers, HttpRequest, HttpResponse, MemoryPermit, Method},
    push::{
        self, Discovery, InDocument, KnownHub,
        link::{self, Link},
    },
};

use crate::settings::EngineSettings;

/// Redirects followed from a feed's URL.
const REDIRECTS_MAX: usize = 10;

/// What we read, best first; a page only because it may offer a feed or be one.
const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, \
                      application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, text/html;q=0.5, */*;q=0.1";

/// Bytes of a validator that is kept; a longer one is not worth its place.
const VALIDATOR_BYTES_MAX: usize = 1024;

/// What a server's answer means.
#[derive(Debug)]
pub(crate) enum Answer {
    Document(Document),
    /// It has not changed since it was last asked for.
    NotModified(Validators),
    /// It is gone for good.
    Gone,
    /// Nothing, with this status.
    Refused(u16),
}

/// A document as it was received.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) body: Vec<u8>,
    /// Kept as long as the body is.
    _memory_permit: MemoryPermit,
    pub(crate) content_type: Option<String>,
    /// Where it came from, after redirects.
    pub(crate) url: String,
    /// The HTTP `Content-Location`.
    pub(crate) base: Option<String>,
    pub(crate) validators: Validators,
    /// The HTTP `Link` headers.
    pub(crate) links: Vec<Link>,
}

impl Document {
    /// What it says about push, in its headers and in itself.
    pub(crate) fn discovery(&self, head: &feed::Head, known_hubs: &[KnownHub]) -> Discovery {
        let in_document = InDocument { hubs: &head.hubs, topic: head.self_url.as_deref() };
        push::discover(&self.links, in_document, &self.url, known_hubs)
    }

    /// What the parser is told.
    pub(crate) fn hints(&self, document_bytes_max: usize) -> feed::Hints<'_> {
        feed::Hints {
            content_type: self.content_type.as_deref(),
            url: Some(&self.url),
            base: self.base.as_deref(),
            document_bytes_max,
        }
    }
}

/// The request for a feed, with what is known of its last version.
pub(crate) fn request(address: &FeedAddress, known: &Validators, settings: &EngineSettings) -> HttpRequest {
    let mut headers = vec![("accept".to_owned(), ACCEPT.to_owned())];
    headers.extend(known.etag.iter().map(|etag| ("if-none-match".to_owned(), etag.clone())));
    headers.extend(known.last_modified.iter().map(|time| ("if-modified-since".to_owned(), time.clone())));
    HttpRequest {
        method: Method::Get,
        url: address.url.clone(),
        credentials: address.credentials.clone(),
        headers: Headers(headers),
        body: Bytes::new(),
        body_bytes_max: settings.document_bytes_max,
        redirects_max: REDIRECTS_MAX,
        timeout: settings.fetch_timeout,
        arrived: Arrived::default(),
    }
}

/// Reads an answer to a request that was made with `known`.
pub(crate) fn read(response: HttpResponse, known: &Validators) -> Answer {
    match response.status {
        200..=299 => Answer::Document(document(response)),
        304 if known.etag.is_some() || known.last_modified.is_some() => {
            let new = validators(&response.headers);
            Answer::NotModified(Validators {
                etag: new.etag.or_else(|| known.etag.clone()),
                last_modified: new.last_modified.or_else(|| known.last_modified.clone()),
                body_hash: known.body_hash,
            })
        }
        410 => Answer::Gone,
        status => Answer::Refused(status),
    }
}

/// A refusal in words.
pub(crate) fn refusal(status: u16) -> String {
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let advice = match status {
        401 => "; it wants a user and a password, as in https://user:password@host/",
        403 => "; it does not let us read it",
        429 => "; it wants to be asked less often",
        _ => "",
    };
    match reason {
        Some(reason) => format!("the server answered {status} {reason}{advice}"),
        None => format!("the server answered {status}"),
    }
}

fn document(response: HttpResponse) -> Document {
    let mut validators = validators(&response.headers);
    validators.body_hash = Some(hash(&response));
    Document {
        links: link::parse(response.headers.all("link")),
        content_type: response.headers.get("content-type").map(str::to_owned),
        base: response.headers.get("content-location").map(str::to_owned),
        body: response.body,
        _memory_permit: response.memory_permit,
        url: response.url,
        validators,
    }
}

/// Of the body, and of the headers that name hubs: with another hub it is another document, and is looked at again.
fn hash(response: &HttpResponse) -> Hash {
    let mut links = response.headers.all("link").peekable();
    if links.peek().is_none() {
        return Hash::of(&response.body);
    }
    let mut whole = response.body.clone();
    for link in links {
        whole.push(b'\n');
        whole.extend_from_slice(link.as_bytes());
    }
    Hash::of(&whole)
}

fn validators(headers: &Headers) -> Validators {
    let value =
        |name| headers.get(name).map(str::trim).filter(|value| !value.is_empty() && value.len() <= VALIDATOR_BYTES_MAX);
    Validators {
        etag: value("etag").map(str::to_owned),
        last_modified: value("last-modified").map(str::to_owned),
        body_hash: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, headers: &[(&str, &str)]) -> HttpResponse {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HttpResponse {
            status,
            headers: Headers(headers),
            body: b"x".to_vec(),
            url: "http://e.org/".into(),
            moved_to: None,
            memory_permit: MemoryPermit::default(),
        }
    }

    fn known() -> Validators {
        Validators { etag: Some("\"1\"".into()), last_modified: None, body_hash: Some(Hash::of(b"x")) }
    }

    #[test]
    fn f4_304_keeps_other_validators() {
        let Answer::NotModified(validators) = read(response(304, &[("last-modified", "now")]), &known()) else {
            panic!("not modified")
        };
        assert_eq!(validators, Validators { last_modified: Some("now".into()), ..known() });
        assert!(matches!(read(response(304, &[]), &Validators::default()), Answer::Refused(304)));
    }

    #[test]
    fn f4_validators_are_asked_with() {
        let address = FeedAddress { url: "http://e.org/".into(), credentials: None };
        let request = request(
            &address,
            &Validators { last_modified: Some("then".into()), ..known() },
            &EngineSettings::default(),
        );
        assert_eq!(request.headers.get("if-none-match"), Some("\"1\""));
        assert_eq!(request.headers.get("if-modified-since"), Some("then"));
    }

    #[test]
    fn refusals_are_explained() {
        assert_eq!(refusal(404), "the server answered 404 Not Found");
        assert_eq!(refusal(599), "the server answered 599");
        assert!(refusal(401).contains("password"));
        assert!(matches!(read(response(410, &[]), &known()), Answer::Gone));
        assert!(matches!(read(response(500, &[]), &known()), Answer::Refused(500)));
    }
}
