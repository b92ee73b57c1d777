//! HTTP/1.1 by hand.

use std::io;

use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{
    Request,
    page::{Manner, Page},
};

/// Serves connections until it is told to stop or aborted; then they end with it.
pub(crate) async fn serve<Talk>(
    listener: TcpListener,
    converse: impl Fn(BufStream<TcpStream>) -> Talk,
    stop: impl Future<Output = ()>,
) where
    Talk: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let accepting = async {
        while let Ok((stream, _)) = listener.accept().await {
            while connections.try_join_next().is_some() {}
            connections.spawn(converse(BufStream::new(stream)));
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
    drop(listener);
    connections.shutdown().await;
}

/// The first line of a message, and its headers with names in lower case.
pub(crate) type Head = (String, Vec<(String, String)>);

/// Reads all of a message but its body; `None` when there is none any more.
pub(crate) async fn read_head(stream: &mut (impl AsyncBufRead + Unpin)) -> Option<Head> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header =
        |line: &String| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let headers = lines.iter().skip(1).filter_map(header).collect();
    Some((lines.into_iter().next()?, headers))
}

/// Reads a request; `None` when there is none any more.
pub(crate) async fn read_request(stream: &mut BufStream<TcpStream>) -> Option<Request> {
    let (first, headers) = read_head(stream).await?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut request = Request { method, path, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    stream.read_exact(&mut request.body).await.ok()?;
    Some(request)
}

/// Answers; returns whether the connection can go on.
pub(crate) async fn respond(stream: &mut BufStream<TcpStream>, page: &Page, request: &Request) -> bool {
    if let Some(mut gate) = page.gate.clone() {
        // A gate that is gone will never open: like one that is open.
        let _ = gate.wait_for(|is_open| *is_open).await;
    }
    tokio::time::sleep(page.delay).await;
    let answered = match page.manner {
        Manner::Hang => std::future::pending().await,
        Manner::Reset => return stream.get_ref().set_zero_linger().is_err(),
        Manner::Endless => endless(stream, page).await,
        Manner::Proper if page.is_known_by(request) => write(stream, page, 304, &[], 0).await,
        Manner::Proper => write(stream, page, page.status, &page.body, page.body.len()).await,
        Manner::BreakOff => write(stream, page, page.status, &page.body, page.body.len() + 1000).await,
    };
    answered.is_ok() && page.manner == Manner::Proper
}

async fn write(
    stream: &mut BufStream<TcpStream>,
    page: &Page,
    status: u16,
    body: &[u8],
    length: usize,
) -> io::Result<()> {
    let headers: String = page.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await
}

async fn endless(stream: &mut BufStream<TcpStream>, page: &Page) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {} x\r\n\r\n", page.status).as_bytes()).await?;
    loop {
        stream.write_all(&page.body).await?;
        stream.flush().await?;
    }
}
