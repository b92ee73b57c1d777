//! The load: requests made beforehand, over connections that stay, one after the other on each. It does little else, so
//! that it leaves the cores to what is measured.

use std::{cell::Cell, net::SocketAddr};

use anyhow::Context;
use futures_util::future::try_join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::process;

/// Bytes of an answer: none that is expected is longer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

pub(crate) struct Answer<'c> {
    pub(crate) status: u16,
    pub(crate) body: &'c [u8],
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, answer: Vec::with_capacity(1024) })
    }

    /// Sends a request and reads its answer, which says how long it is.
    pub(crate) async fn send(&mut self, request: &[u8]) -> anyhow::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        let (mut head_bytes, mut bytes) = (None, usize::MAX);
        while self.answer.len() < bytes {
            let read = self.stream.read_buf(&mut self.answer).await?;
            anyhow::ensure!(read > 0 && self.answer.len() <= ANSWER_BYTES_MAX, "an answer broke off, or is endless");
            if head_bytes.is_none()
                && let Some(end) = position(&self.answer, b"\r\n\r\n")
            {
                let head = std::str::from_utf8(&self.answer[..end])?;
                bytes = end + 4 + content_bytes(head)?;
                head_bytes = Some(end + 4);
            }
        }
        let head_bytes = head_bytes.context("the loop ends with the head read")?;
        let status = self.answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        Ok(Answer { status: status.context("no status")?, body: &self.answer[head_bytes..bytes] })
    }
}

/// Where in these bytes others begin.
pub(crate) fn position(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The length of the body; without a word about it there is none, as after 204.
fn content_bytes(head: &str) -> anyhow::Result<usize> {
    for line in head.split("\r\n").skip(1) {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            return Ok(value.trim().parse()?);
        }
    }
    Ok(0)
}

/// How a load went.
#[derive(Debug, Clone, Default)]
pub(crate) struct Load {
    pub(crate) wall_secs: f64,
    /// What it took to make it, in CPU seconds of this process.
    pub(crate) cpu_secs: f64,
    /// How long each answer took, the shortest first.
    answers_ms: Vec<f64>,
}

impl Load {
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    pub(crate) fn per_sec(&self) -> f64 {
        self.answers_ms.len() as f64 / self.wall_secs
    }

    /// What this part of a hundred answers took no longer than.
    pub(crate) fn percentile_ms(&self, percent: usize) -> f64 {
        let index = (self.answers_ms.len() * percent / 100).min(self.answers_ms.len().saturating_sub(1));
        self.answers_ms.get(index).copied().unwrap_or(f64::NAN)
    }
}

/// Sends these requests, so many at once, each to be answered with 204.
pub(crate) fn run_load(address: SocketAddr, requests: &[Vec<u8>], at_once: usize) -> anyhow::Result<Load> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let connections = try_join_all((0..at_once).map(|_| Connection::open(address))).await?;
        let (wall_secs, cpu_secs) = (process::wall_secs(), process::cpu_secs());
        let next = Cell::new(0);
        let ends = try_join_all(connections.into_iter().map(|connection| work(connection, requests, &next))).await?;
        let (wall_secs, cpu_secs) = (process::wall_secs() - wall_secs, process::cpu_secs() - cpu_secs);
        let mut answers_ms: Vec<f64> = ends.into_iter().flatten().collect();
        answers_ms.sort_by(f64::total_cmp);
        Ok(Load { wall_secs, cpu_secs, answers_ms })
    })
}

/// One connection: takes the next request that nobody has taken, until there is none.
async fn work(mut connection: Connection, requests: &[Vec<u8>], next: &Cell<usize>) -> anyhow::Result<Vec<f64>> {
    const NO_CONTENT: u16 = 204;
    let mut answers_ms = Vec::new();
    while let Some(request) = requests.get(next.replace(next.get() + 1)) {
        let begun_secs = process::wall_secs();
        let answer = connection.send(request).await?;
        answers_ms.push((process::wall_secs() - begun_secs) * 1000.0);
        let (status, body) = (answer.status, answer.body);
        anyhow::ensure!(status == NO_CONTENT, "answered with {status}: {}", String::from_utf8_lossy(body));
    }
    Ok(answers_ms)
}

/// One GET, and its body.
pub(crate) fn get(address: SocketAddr, path: &str) -> anyhow::Result<Vec<u8>> {
    const OK: u16 = 200;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = Connection::open(address).await?;
        let answer = connection.send(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await?;
        anyhow::ensure!(answer.status == OK, "{path} was answered with {}", answer.status);
        Ok(answer.body.to_vec())
    })
}
