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
    process::{self, Server},
    push::load::{Connection, position},
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
    requests: u64,
    /// Requests for paths that are answered late.
    of_late: HashMap<String, u64>,
    noted: HashMap<String, f64>,
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
                "/noted" => serde_json::to_vec(&seen.noted),
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
    receiver.in_flight_where(|path| path.starts_with("/late/"))
}

impl Seen {
    fn counts(&self, waiting: usize) -> Counts {
        Counts { requests: self.requests, waiting: waiting as u64, accepted: self.accepted.len() as u64 }
    }

    fn take(&mut self, path: &str, receipt: &Receipt) -> anyhow::Result<Answer> {
        self.requests += 1;
        let came_secs = process::wall_secs();
        let mut words = path.trim_start_matches('/').split('/');
        let manner = words.next();
        let mut number = || anyhow::Ok(words.next().context("a number is missing")?.parse::<u64>()?);
        match manner {
            Some("noted") => self.note(receipt.body(), came_secs),
            Some("late") => Ok(self.late(path, number()?, number()?)),
            Some("never") => Ok(Answer::hang()),
            Some("flaky") => Ok(self.refuse_first(receipt.event_id(), number()?, number()?)),
            Some("picky") if guid(receipt.body()).is_err() => Ok(Answer::status(u16::try_from(number()?)?)),
            Some("picky") => self.note(receipt.body(), came_secs),
            Some("limited") => {
                let (per_sec, says_when) = (usize::try_from(number()?)?, number()? == 1);
                Ok(self.limit(receipt.event_id(), per_sec, says_when, came_secs))
            }
            _ => Ok(Answer::ok()),
        }
    }

    fn note(&mut self, body: &[u8], came_secs: f64) -> anyhow::Result<Answer> {
        self.noted.entry(guid(body)?).or_insert(came_secs);
        Ok(Answer::ok())
    }

    fn late(&mut self, path: &str, after_ms: u64, but_first: u64) -> Answer {
        let count = self.of_late.entry(path.to_owned()).or_default();
        *count += 1;
        let is_late = *count > but_first;
        if is_late { Answer::ok().delay(Duration::from_millis(after_ms)) } else { Answer::ok() }
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

    fn limit(&mut self, event: &str, per_sec: usize, says_when: bool, came_secs: f64) -> Answer {
        while self.accepted_secs.front().is_some_and(|then| came_secs - then >= 1.0) {
            self.accepted_secs.pop_front();
        }
        if self.accepted_secs.len() >= per_sec {
            let refusal = Answer::status(429);
            return if says_when { refusal.with_retry_after(1) } else { refusal };
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
