//! One request and its answer: each hop judged, sent and read.

use std::{net::IpAddr, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use domain::ports::{Headers, HttpError, HttpRequest, HttpResponse, MemoryPermit, Method};
use http_body_util::Full;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use url::{Host, Url};

use super::{
    GuardedClient,
    body_memory::{BodyMemory, BodyPermit},
    failure::{Stage, describe, no_way},
    redirect::{Chain, host_of, strip_secrets},
    resolver::NameError,
    way,
};

/// Bytes read of an answer that is no success: enough to tell a person why.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// How long the next piece of a body is waited for that only explains a status.
const EXPLANATION_PAUSE_MAX: Duration = Duration::from_millis(500);

/// How long all of it is waited for.
const EXPLANATION_MAX: Duration = Duration::from_secs(2);

/// Bytes set aside at once on a server's word about the size of its answer.
const BODY_BYTES_EXPECTED_MAX: usize = 256 * 1024;

/// Sends a request and follows where it leads.
pub(crate) async fn run(
    client: &GuardedClient,
    mut request: HttpRequest,
    mut url: Url,
) -> Result<HttpResponse, HttpError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(HttpError::BadUrl(format!("the scheme {} is not fetched", url.scheme())));
    }
    strip_secrets(&mut url);
    let mut chain = Chain::new(request.method, url, request.redirects_max);
    loop {
        check_host(client, &chain.url).await?;
        let host = host_of(&chain.url);
        // Whoever sends something has limits of their own.
        let _place = match request.method {
            Method::Get => client.gate.enter(chain.url.host_str().unwrap_or_default()).await,
            Method::Post => None,
        };
        let body = match request.method {
            Method::Get => None,
            // What is sent only once is kept by nobody once it is sent: it may be large, and the answer take long.
            Method::Post if request.redirects_max == 0 => {
                Some(reqwest::Body::wrap(Full::new(std::mem::take(&mut request.body))))
            }
            Method::Post => Some(request.body.clone().into()),
        };
        let answer = send_hop(client, &request, body, &chain, &host).await?;
        let location =
            answer.headers().get(LOCATION).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        if !chain.follow(answer.status().as_u16(), location.as_deref())? {
            return read(client, answer, &request, chain, &host).await;
        }
    }
}

/// Refuses hosts that are addresses themselves, in whatever spelling: the URL's parser has made them plain.
async fn check_host(client: &GuardedClient, url: &Url) -> Result<(), HttpError> {
    let permitted = match url.host() {
        Some(Host::Ipv4(address)) => client.guard.permits(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => client.guard.permits(IpAddr::V6(address)),
        // A proxy resolves the name, but not one that we know to be private.
        Some(Host::Domain(name)) if client.is_proxied => match client.route(url).resolver.addresses(name).await {
            Err(NameError::OwnServer) => return Err(HttpError::OwnServer(host_of(url))),
            found => !matches!(found, Err(NameError::Forbidden(_))),
        },
        Some(Host::Domain(_)) => true,
        None => false,
    };
    if !permitted {
        return Err(HttpError::Forbidden(host_of(url)));
    }
    client.check_own(url)?;
    match url.host() {
        // No resolver sees it, which leaves out others like it.
        Some(Host::Ipv6(address)) if !client.is_proxied && !way::is_there(address.into()) => Err(no_way(host_of(url))),
        _ => Ok(()),
    }
}

async fn send_hop(
    client: &GuardedClient,
    request: &HttpRequest,
    body: Option<reqwest::Body>,
    chain: &Chain,
    host: &str,
) -> Result<reqwest::Response, HttpError> {
    let method = match request.method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
    };
    let route = client.route(&chain.url);
    let connections = route.client(request.method);
    let mut hop = connections.request(method, chain.url.clone()).headers(headers(request, chain.keeps_secrets));
    if let Some(body) = body {
        hop = hop.body(body);
    }
    hop.send().await.map_err(|error| describe(&error, Stage::Asking, host))
}

fn headers(request: &HttpRequest, with_secrets: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers.0 {
        let pair = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value));
        let (Ok(name), Ok(value)) = pair else { continue };
        if with_secrets || !matches!(name, AUTHORIZATION | COOKIE) {
            headers.append(name, value);
        }
    }
    let credentials = request.credentials.as_deref().filter(|pair| with_secrets && !pair.is_empty());
    if let Some(mut basic) =
        credentials.and_then(|pair| HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok())
    {
        basic.set_sensitive(true);
        headers.insert(AUTHORIZATION, basic);
    }
    headers
}

async fn read(
    client: &GuardedClient,
    mut answer: reqwest::Response,
    request: &HttpRequest,
    chain: Chain,
    host: &str,
) -> Result<HttpResponse, HttpError> {
    let status = answer.status();
    let headers = answer
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    // Of what was sent, the status is the answer, and of a refusal: what else is said only explains it.
    let mut permit = BodyPermit::default();
    let body = if status.is_success() && request.method == Method::Get {
        whole_body(&mut answer, request, host, (&client.memory, &mut permit)).await?
    } else {
        start_of_body(&mut answer, request.body_bytes_max.min(REFUSAL_BYTES_MAX)).await
    };
    Ok(HttpResponse {
        status: status.as_u16(),
        headers: Headers(headers),
        body,
        url: chain.url.into(),
        moved_to: chain.moved_to.map(String::from),
        memory_permit: MemoryPermit(Some(Arc::new(permit))),
    })
}

/// Reads a body to its end. The pieces are counted as they come out of decompression: a bomb ends at the limit.
async fn whole_body(
    answer: &mut reqwest::Response,
    request: &HttpRequest,
    host: &str,
    (memory, permit): (&BodyMemory, &mut BodyPermit),
) -> Result<Vec<u8>, HttpError> {
    let bytes_max = request.body_bytes_max;
    let expected = answer.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    if expected > bytes_max {
        return Err(HttpError::TooLarge(bytes_max));
    }
    let mut body = Vec::with_capacity(expected.min(BODY_BYTES_EXPECTED_MAX));
    let arriving = memory.begin();
    let read = async {
        while let Some(piece) = answer.chunk().await.map_err(|error| describe(&error, Stage::Reading, host))? {
            if body.len() + piece.len() > bytes_max {
                return Err(HttpError::TooLarge(bytes_max));
            }
            arriving.grow(permit, body.len() + piece.len()).await?;
            request.arrived.add(piece.len());
            body.extend_from_slice(&piece);
        }
        Ok(body)
    };
    tokio::select! {
        biased;
        () = arriving.given_up() => Err(HttpError::TimedOut(host.to_owned())),
        read = read => read,
    }
}

/// Reads the start of a body that only explains a status; that it breaks off, or never ends, is no reason to lose that.
async fn start_of_body(answer: &mut reqwest::Response, bytes_max: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while body.len() < bytes_max {
            let Ok(Ok(Some(piece))) = tokio::time::timeout(EXPLANATION_PAUSE_MAX, answer.chunk()).await else { break };
            body.extend_from_slice(&piece[..piece.len().min(bytes_max - body.len())]);
        }
    };
    // What was read by then is enough.
    let _ = tokio::time::timeout(EXPLANATION_MAX, read).await;
    body
}
