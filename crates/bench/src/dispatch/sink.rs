//! Where everything is sent to, in a process of its own: it reads a request and answers, at once, late or never, as its
//! path says, and does as little else as it can, so that it leaves the cores to what is measured.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    process::{self, Server},
    push::load::{Connection, content_bytes, position},
};

/// How a path is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    Now,
    /// At once, and when what came is kept.
    Noted,
    /// So many milliseconds later, but for the first so many requests.
    Late {
        after_ms: u64,
        but_first: u64,
    },
    Never,
}

/// The sink's process. It ends with this.
pub(crate) struct Sink {
    _process: Server,
    pub(crate) address: SocketAddr,
}

impl Sink {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let process = Server::start(&["dispatch-sink"])?;
        Ok(Self { address: process.said.parse()?, _process: process })
    }
}

/// A path of its own for each webhook.
pub(crate) fn url(address: SocketAddr, manner: Manner, number: usize) -> String {
    let path = match manner {
        Manner::Now => "now".to_owned(),
        Manner::Noted => "noted".to_owned(),
        Manner::Late { after_ms, but_first } => format!("late/{after_ms}/{but_first}"),
        Manner::Never => "never".to_owned(),
    };
    format!("http://{address}/{path}/{number}")
}

/// What the sink has seen.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    /// Requests that wait for their answer.
    pub(crate) waiting: u64,
}

/// Looks at the sink from elsewhere.
#[derive(Debug)]
pub(crate) struct Watch(Connection);

impl Watch {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        Ok(Self(Connection::open(address).await?))
    }

    pub(crate) async fn counts(&mut self) -> anyhow::Result<Counts> {
        let answer = self.0.ask(b"GET /counts HTTP/1.1\r\n\r\n").await?;
        Ok(serde_json::from_slice(answer.body)?)
    }

    /// When what was noted came, by its guid: seconds of [`process::wall_secs`], the same in all processes.
    pub(crate) async fn noted(&mut self) -> anyhow::Result<HashMap<String, f64>> {
        let answer = self.0.ask(b"GET /noted HTTP/1.1\r\n\r\n").await?;
        Ok(serde_json::from_slice(answer.body)?)
    }
}

#[derive(Debug, Default)]
struct Seen {
    requests: AtomicU64,
    waiting: AtomicU64,
    /// Requests for paths that are answered late.
    of_late: Mutex<HashMap<String, u64>>,
    noted: Mutex<HashMap<String, f64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The other side: answers until it is killed.
pub(crate) fn serve() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let seen = Arc::new(Seen::default());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // Whoever breaks off has an end to themselves alone.
            tokio::spawn(converse(stream, Arc::clone(&seen)));
        }
    })
}

async fn converse(mut stream: TcpStream, seen: Arc<Seen>) -> anyhow::Result<()> {
    let mut read = Vec::with_capacity(8 * 1024);
    loop {
        let Some((head_bytes, bytes)) = request(&mut stream, &mut read).await? else { return Ok(()) };
        let came_secs = process::wall_secs();
        let head = std::str::from_utf8(&read[..head_bytes])?;
        let path = head.split(' ').nth(1).context("a request names a path")?;
        let body = match path {
            "/counts" => serde_json::to_string(&seen.counts())?,
            "/noted" => serde_json::to_string(&*lock(&seen.noted))?,
            _ => {
                seen.requests.fetch_add(1, Ordering::Relaxed);
                seen.take(path, &read[head_bytes..bytes], came_secs).await?;
                "ok".to_owned()
            }
        };
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await?;
        read.drain(..bytes);
    }
}

/// Reads until a request is there whole: the bytes of its head, and of all of it.
async fn request(stream: &mut TcpStream, read: &mut Vec<u8>) -> anyhow::Result<Option<(usize, usize)>> {
    loop {
        if let Some(end) = position(read, b"\r\n\r\n") {
            let bytes = end + 4 + content_bytes(std::str::from_utf8(&read[..end])?)?;
            while read.len() < bytes {
                anyhow::ensure!(stream.read_buf(read).await? > 0, "a request broke off");
            }
            return Ok(Some((end + 4, bytes)));
        }
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
}

impl Seen {
    fn counts(&self) -> Counts {
        Counts { requests: self.requests.load(Ordering::Relaxed), waiting: self.waiting.load(Ordering::Relaxed) }
    }

    /// Returns when it is time to answer.
    async fn take(&self, path: &str, body: &[u8], came_secs: f64) -> anyhow::Result<()> {
        let mut words = path.trim_start_matches('/').split('/');
        match words.next() {
            Some("noted") => {
                lock(&self.noted).entry(guid(body)?).or_insert(came_secs);
            }
            Some("late") => {
                let mut number = || anyhow::Ok(words.next().context("a number is missing")?.parse::<u64>()?);
                let (after_ms, but_first) = (number()?, number()?);
                let is_late = {
                    let mut of_late = lock(&self.of_late);
                    let count = of_late.entry(path.to_owned()).or_default();
                    *count += 1;
                    *count > but_first
                };
                if is_late {
                    self.waiting.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(after_ms)).await;
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                }
            }
            Some("never") => std::future::pending().await,
            _ => {}
        }
        Ok(())
    }
}

/// What the event is about.
fn guid(body: &[u8]) -> anyhow::Result<String> {
    const NAME: &[u8] = br#""guid":""#;
    let start = position(body, NAME).context("it is about no entry")? + NAME.len();
    let length = position(&body[start..], b"\"").context("the guid has no end")?;
    Ok(String::from_utf8(body[start..start + length].to_vec())?)
}
