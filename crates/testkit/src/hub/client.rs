//! HTTP/1.1 by hand, as a client: one request for each connection, to where the test says; or, for measurements, over
//! connections that are kept.

use std::{
    collections::HashMap,
    convert::Infallible,
    io::{Error, ErrorKind, Result},
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncBufRead, AsyncReadExt, AsyncWriteExt, BufReader, BufStream},
    net::TcpStream,
};

use crate::wire::{Stream, WAIT_MAX, read_chunks, read_head, value_of};

/// No callback has reason to answer with more.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// What a callback answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallbackAnswer {
    /// The URL that was asked, with all parameters.
    pub url: String,
    /// Its status; 0 if no answer came.
    pub status: u16,
    pub body: Vec<u8>,
    /// Why no answer came.
    pub error: Option<String>,
    /// The challenge that was sent.
    pub challenge: Option<String>,
    pub(super) headers: Vec<(String, String)>,
}

impl CallbackAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether it is a success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it confirms what was asked: a success with the challenge and nothing else (WebSub, section 5.3.1).
    pub fn confirms(&self) -> bool {
        self.is_success() && self.challenge.as_ref().is_some_and(|challenge| challenge.as_bytes() == self.body)
    }
}

/// Sends a request and waits for the answer. It goes to this address, if there is one, whatever the URL says.
pub(crate) async fn send(
    method: &str,
    url: &str,
    headers: &[(String, String)],
    body: &[u8],
    address: Option<SocketAddr>,
) -> CallbackAnswer {
    answered(method, url, exchange(method, url, headers, body, address)).await
}

async fn answered(method: &str, url: &str, exchange: impl Future<Output = Result<CallbackAnswer>>) -> CallbackAnswer {
    let answer = tokio::time::timeout(WAIT_MAX, exchange).await;
    let answer = answer.unwrap_or_else(|_| panic!("waited {WAIT_MAX:?} for the answer to {method} {url}"));
    let failed = |error: Error| CallbackAnswer { error: Some(error.to_string()), ..CallbackAnswer::default() };
    CallbackAnswer { url: url.to_owned(), ..answer.unwrap_or_else(failed) }
}

async fn exchange(
    method: &str,
    url: &str,
    headers: &[(String, String)],
    body: &[u8],
    address: Option<SocketAddr>,
) -> Result<CallbackAnswer> {
    let (host, target) = split(url).ok_or_else(|| invalid("the URL is not one of http"))?;
    let mut stream = connect(url, host, address).await?;
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = match method {
        "GET" => String::new(),
        _ => format!("Content-Length: {}\r\n", body.len()),
    };
    let head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}{length}\r\n");
    let (reading, mut writing) = stream.split();
    let mut reading = BufReader::new(reading).take(ANSWER_BYTES_MAX);
    // A server may answer before it has read everything, and then read no more.
    let write = async {
        let message = [head.as_bytes(), body].concat();
        let _ = writing.write_all(&message).await;
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        answer = read_answer(&mut reading) => answer,
        never = write => match never {},
    }
}

async fn connect(url: &str, host: &str, address: Option<SocketAddr>) -> Result<TcpStream> {
    match address {
        Some(address) => TcpStream::connect(address).await,
        None if url.starts_with("https:") => Err(invalid("https needs Hub::route_callbacks_to")),
        None if host.contains(':') => TcpStream::connect(host).await,
        None => TcpStream::connect((host, 80)).await,
    }
}

/// Idle connections, by host.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<HashMap<String, Vec<Stream>>>);

impl Pool {
    pub(super) async fn get(&self, url: &str, address: Option<SocketAddr>) -> CallbackAnswer {
        answered("GET", url, self.exchange(url, address)).await
    }

    async fn exchange(&self, url: &str, address: Option<SocketAddr>) -> Result<CallbackAnswer> {
        let (host, target) = split(url).ok_or_else(|| invalid("the URL is not one of http"))?;
        let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let idle = self.lock().get_mut(host).and_then(Vec::pop);
        // One that was idle for long may be closed by now.
        if let Some(stream) = idle
            && let Ok(answer) = self.ask(stream, host, &head).await
        {
            return Ok(answer);
        }
        let stream = connect(url, host, address).await?;
        stream.set_nodelay(true)?;
        self.ask(BufStream::new(stream), host, &head).await
    }

    async fn ask(&self, mut stream: Stream, host: &str, head: &str) -> Result<CallbackAnswer> {
        stream.write_all(head.as_bytes()).await?;
        stream.flush().await?;
        let answer = read_answer(&mut (&mut stream).take(ANSWER_BYTES_MAX)).await?;
        if answer.header("content-length").is_some() && answer.header("connection") != Some("close") {
            self.lock().entry(host.to_owned()).or_default().push(stream);
        }
        Ok(answer)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Stream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host with its port, and the path with its query, exactly as they stand in a URL.
fn split(url: &str) -> Option<(&str, String)> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let slash = if target.starts_with('/') { "" } else { "/" };
    Some((host, format!("{slash}{target}")))
}

async fn read_answer(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<CallbackAnswer> {
    let (first, headers) = read_head(stream).await.ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| invalid("the answer has no status"))?;
    let mut answer = CallbackAnswer { status, headers, ..CallbackAnswer::default() };
    if answer.header("transfer-encoding").is_some() {
        answer.body = read_chunks(stream, ANSWER_BYTES_MAX).await?;
    } else if let Some(length) = answer.header("content-length") {
        let length = length.parse().map_err(|_| invalid("Content-Length is no number"))?;
        let read = stream.take(length).read_to_end(&mut answer.body).await?;
        if u64::try_from(read) != Ok(length) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    } else if status != 204 {
        stream.read_to_end(&mut answer.body).await?;
    }
    Ok(answer)
}

fn invalid(text: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, text)
}
