//! Where everything is sent to, in a process of its own: it reads a request and answers, at once, late, never or with an
//! error, as its path says, and does as little else as it can, so that it leaves the cores to what is measured.

use std::{
    collections::{HashMap, HashSet, VecDeque},
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
    /// With 500 for the first so many requests of one event in `of_each`.
    Flaky {
        of_each: u64,
        refusals: u64,
    },
    /// With this status for all events that are not about an entry with a guid; those are accepted and noted.
    Picky {
        status: u16,
    },
    /// So many a second are accepted, all others are answered 429, with `Retry-After: 1` or without.
    Limited {
        per_sec: u64,
        says_when: bool,
    },
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
        Manner::Flaky { of_each, refusals } => format!("flaky/{of_each}/{refusals}"),
        Manner::Picky { status } => format!("picky/{status}"),
        Manner::Limited { per_sec, says_when } => format!("limited/{per_sec}/{}", u8::from(says_when)),
    };
    format!("http://{address}/{path}/{number}")
}

/// What the sink has seen.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    /// Requests that wait for their answer.
    pub(crate) waiting: u64,
    /// Events that were accepted where some are refused, each once.
    pub(crate) accepted: u64,
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
    /// Refusals that are left for each event, where the first requests are refused.
    refusals_left: Mutex<HashMap<String, u64>>,
    accepted: Mutex<HashSet<String>>,
    /// When requests were accepted of late, where they are limited.
    accepted_secs: Mutex<VecDeque<f64>>,
}

/// A status, and what else stands in the head.
#[derive(Debug, Clone, Copy)]
struct Answer {
    status: u16,
    header: &'static str,
}

impl Answer {
    const OK: Self = Self { status: 200, header: "" };
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
        let (Answer { status, header }, body) = match path {
            "/counts" => (Answer::OK, serde_json::to_string(&seen.counts())?),
            "/noted" => (Answer::OK, serde_json::to_string(&*lock(&seen.noted))?),
            _ => {
                seen.requests.fetch_add(1, Ordering::Relaxed);
                (seen.take(path, head, &read[head_bytes..bytes], came_secs).await?, "ok".to_owned())
            }
        };
        let answer = format!("HTTP/1.1 {status} -\r\n{header}content-length: {}\r\n\r\n{body}", body.len());
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
        Counts {
            requests: self.requests.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
            accepted: lock(&self.accepted).len() as u64,
        }
    }

    /// Returns when it is time to answer.
    async fn take(&self, path: &str, head: &str, body: &[u8], came_secs: f64) -> anyhow::Result<Answer> {
        let mut words = path.trim_start_matches('/').split('/');
        let manner = words.next();
        let mut number = || anyhow::Ok(words.next().context("a number is missing")?.parse::<u64>()?);
        match manner {
            Some("noted") => self.note(body, came_secs)?,
            Some("late") => self.wait(path, number()?, number()?).await,
            Some("never") => std::future::pending().await,
            Some("flaky") => return Ok(self.refuse_first(event_id(head)?, number()?, number()?)),
            Some("picky") if guid(body).is_err() => {
                return Ok(Answer { status: u16::try_from(number()?)?, header: "" });
            }
            Some("picky") => self.note(body, came_secs)?,
            Some("limited") => {
                let (per_sec, says_when) = (number()?, number()? == 1);
                return Ok(self.limit(event_id(head)?, usize::try_from(per_sec)?, says_when, came_secs));
            }
            _ => {}
        }
        Ok(Answer::OK)
    }

    fn note(&self, body: &[u8], came_secs: f64) -> anyhow::Result<()> {
        lock(&self.noted).entry(guid(body)?).or_insert(came_secs);
        Ok(())
    }

    async fn wait(&self, path: &str, after_ms: u64, but_first: u64) {
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

    fn refuse_first(&self, event: &str, of_each: u64, refusals: u64) -> Answer {
        let mut refusals_left = lock(&self.refusals_left);
        let is_flaky = (refusals_left.len() as u64).is_multiple_of(of_each);
        let left = refusals_left.entry(event.to_owned()).or_insert(if is_flaky { refusals } else { 0 });
        if *left > 0 {
            *left -= 1;
            return Answer { status: 500, header: "" };
        }
        lock(&self.accepted).insert(event.to_owned());
        Answer::OK
    }

    fn limit(&self, event: &str, per_sec: usize, says_when: bool, came_secs: f64) -> Answer {
        let mut accepted_secs = lock(&self.accepted_secs);
        while accepted_secs.front().is_some_and(|then| came_secs - then >= 1.0) {
            accepted_secs.pop_front();
        }
        if accepted_secs.len() >= per_sec {
            return Answer { status: 429, header: if says_when { "retry-after: 1\r\n" } else { "" } };
        }
        accepted_secs.push_back(came_secs);
        lock(&self.accepted).insert(event.to_owned());
        Answer::OK
    }
}

/// The id of the event, which is the same in all attempts.
fn event_id(head: &str) -> anyhow::Result<&str> {
    let mut fields = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let id = fields.find(|(name, _)| name.eq_ignore_ascii_case("webhook-id"));
    id.map(|(_, id)| id.trim()).context("a request names no event")
}

/// What the event is about.
fn guid(body: &[u8]) -> anyhow::Result<String> {
    const NAME: &[u8] = br#""guid":""#;
    let start = position(body, NAME).context("it is about no entry")? + NAME.len();
    let length = position(&body[start..], b"\"").context("the guid has no end")?;
    Ok(String::from_utf8(body[start..start + length].to_vec())?)
}
