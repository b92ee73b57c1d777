//! Where everything is sent to, in a process of its own: a receiver that answers at once, late, never or with an error, as
//! the path says, and records nothing, so that it leaves the cores to what is measured.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use testkit::{Answer, Receipt, Receiver};

use crate::{
    process::{self, ServerProcess},
    push::load::{Connection, position},
};

/// How a path is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReceiverMode {
    Accept,
    /// At once, and when what came is kept.
    AcceptAndRecord,
    /// So many milliseconds later, but for the first so many requests.
    Delay {
        after_ms: u64,
        but_first: u64,
    },
    Hang,
    /// With 500 for the first so many requests of one event in `of_each`.
    Flaky {
        of_each: u64,
        refusals: u64,
    },
    /// With this status for all events that are not about an entry with a guid; those are accepted and recorded.
    RefuseOthers {
        status: u16,
    },
    /// So many a second are accepted, all others are answered 429, with `Retry-After: 1` or without.
    RateLimited {
        per_sec: u64,
        has_retry_after: bool,
    },
}

/// The receiver's process. It ends with this.
pub(crate) struct ReceiverProcess {
    _process: ServerProcess,
    pub(crate) address: SocketAddr,
}

impl ReceiverProcess {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let process = ServerProcess::start(&["dispatch-receiver"])?;
        Ok(Self { address: process.ready_line.parse()?, _process: process })
    }
}

/// A path of its own for each webhook.
pub(crate) fn url(address: SocketAddr, mode: ReceiverMode, number: usize) -> String {
    let path = match mode {
        ReceiverMode::Accept => "accept".to_owned(),
        ReceiverMode::AcceptAndRecord => "record".to_owned(),
        ReceiverMode::Delay { after_ms, but_first } => format!("delay/{after_ms}/{but_first}"),
        ReceiverMode::Hang => "hang".to_owned(),
        ReceiverMode::Flaky { of_each, refusals } => format!("flaky/{of_each}/{refusals}"),
        ReceiverMode::RefuseOthers { status } => format!("refuse-others/{status}"),
        ReceiverMode::RateLimited { per_sec, has_retry_after } => {
            format!("rate-limited/{per_sec}/{}", u8::from(has_retry_after))
        }
    };
    format!("http://{address}/{path}/{number}")
}

/// What the receiver has seen.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    /// Requests that wait for their answer.
    pub(crate) waiting: u64,
    /// Events that were accepted where some are refused, each once.
    pub(crate) accepted: u64,
}

/// Looks at the receiver from elsewhere.
#[derive(Debug)]
pub(crate) struct ReceiverMonitor(Connection);

impl ReceiverMonitor {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        Ok(Self(Connection::open(address).await?))
    }

    pub(crate) async fn counts(&mut self) -> anyhow::Result<Counts> {
        let answer = self.0.send(b"GET /counts HTTP/1.1\r\n\r\n").await?;
        Ok(serde_json::from_slice(answer.body)?)
    }

    /// When what was recorded arrived, by its guid: seconds of [`process::wall_secs`], the same in all processes.
    pub(crate) async fn arrivals(&mut self) -> anyhow::Result<HashMap<String, f64>> {
        let answer = self.0.send(b"GET /arrivals HTTP/1.1\r\n\r\n").await?;
        Ok(serde_json::from_slice(answer.body)?)
    }
}

#[derive(Debug, Default)]
struct Seen {
    requests: u64,
    /// Requests for paths that are answered late.
    delayed: HashMap<String, u64>,
    arrivals: HashMap<String, f64>,
    /// Refusals that are left for each event, where the first requests are refused.
    refusals_left: HashMap<String, u64>,
    accepted: HashSet<String>,
    /// When requests were accepted of late, where they are limited.
    accepted_secs: VecDeque<f64>,
}

/// The other side: answers until it is killed.
pub(crate) fn serve() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let receiver = Arc::new(Receiver::start().await);
        receiver.record(false);
        let (mut seen, of) = (Seen::default(), Arc::downgrade(&receiver));
        receiver.answer_others_by(move |receipt| {
            let json = match receipt.http.path.as_str() {
                "/counts" => serde_json::to_vec(&seen.counts(of.upgrade().map_or(0, |receiver| waiting(&receiver)))),
                "/arrivals" => serde_json::to_vec(&seen.arrivals),
                path => return seen.take(path, receipt).unwrap_or_else(|error| bad_request(&error)),
            };
            json.map_or_else(|_| Answer::status(500), Answer::body)
        });
        println!("{}", receiver.address());
        std::future::pending().await
    })
}

fn bad_request(error: &anyhow::Error) -> Answer {
    Answer::body(error.to_string()).with_status(400)
}

fn waiting(receiver: &Receiver) -> usize {
    receiver.in_flight_where(|path| path.starts_with("/delay/"))
}

impl Seen {
    fn counts(&self, waiting: usize) -> Counts {
        Counts { requests: self.requests, waiting: waiting as u64, accepted: self.accepted.len() as u64 }
    }

    fn take(&mut self, path: &str, receipt: &Receipt) -> anyhow::Result<Answer> {
        self.requests += 1;
        let came_secs = process::wall_secs();
        let mut words = path.trim_start_matches('/').split('/');
        let mode = words.next();
        let mut number = || anyhow::Ok(words.next().context("a number is missing")?.parse::<u64>()?);
        match mode {
            Some("record") => self.record(receipt.body(), came_secs),
            Some("delay") => Ok(self.delay(path, number()?, number()?)),
            Some("hang") => Ok(Answer::hang()),
            Some("flaky") => Ok(self.refuse_first(receipt.event_id(), number()?, number()?)),
            Some("refuse-others") if guid(receipt.body()).is_err() => Ok(Answer::status(u16::try_from(number()?)?)),
            Some("refuse-others") => self.record(receipt.body(), came_secs),
            Some("rate-limited") => {
                let (per_sec, has_retry_after) = (usize::try_from(number()?)?, number()? == 1);
                Ok(self.limit(receipt.event_id(), per_sec, has_retry_after, came_secs))
            }
            _ => Ok(Answer::ok()),
        }
    }

    fn record(&mut self, body: &[u8], came_secs: f64) -> anyhow::Result<Answer> {
        self.arrivals.entry(guid(body)?).or_insert(came_secs);
        Ok(Answer::ok())
    }

    fn delay(&mut self, path: &str, after_ms: u64, but_first: u64) -> Answer {
        let count = self.delayed.entry(path.to_owned()).or_default();
        *count += 1;
        let is_delayed = *count > but_first;
        if is_delayed { Answer::ok().delay(Duration::from_millis(after_ms)) } else { Answer::ok() }
    }

    fn refuse_first(&mut self, event: &str, of_each: u64, refusals: u64) -> Answer {
        let is_flaky = (self.refusals_left.len() as u64).is_multiple_of(of_each);
        let left = self.refusals_left.entry(event.to_owned()).or_insert(if is_flaky { refusals } else { 0 });
        if *left > 0 {
            *left -= 1;
            return Answer::status(500);
        }
        self.accepted.insert(event.to_owned());
        Answer::ok()
    }

    fn limit(&mut self, event: &str, per_sec: usize, has_retry_after: bool, came_secs: f64) -> Answer {
        while self.accepted_secs.front().is_some_and(|then| came_secs - then >= 1.0) {
            self.accepted_secs.pop_front();
        }
        if self.accepted_secs.len() >= per_sec {
            let refusal = Answer::status(429);
            return if has_retry_after { refusal.with_retry_after(1) } else { refusal };
        }
        self.accepted_secs.push_back(came_secs);
        self.accepted.insert(event.to_owned());
        Answer::ok()
    }
}

/// What the event is about.
fn guid(body: &[u8]) -> anyhow::Result<String> {
    const NAME: &[u8] = br#""guid":""#;
    let start = position(body, NAME).context("it is about no entry")? + NAME.len();
    let length = position(&body[start..], b"\"").context("the guid has no end")?;
    Ok(String::from_utf8(body[start..start + length].to_vec())?)
}
