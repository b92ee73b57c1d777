//! Answering a request in any [`ResponseMode`].

use std::{io::Result, time::Duration};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

use super::{
    Request, Stream,
    page::{Page, ResponseMode},
};

/// What a huge body is made of.
static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];

/// What a network takes at least. The timer makes it the next millisecond.
const NETWORK_DELAY: Duration = Duration::from_micros(1);

/// Takes the time that a network takes. Without it a server here is so quick that it never sees two requests at once,
/// however many are made.
pub(crate) async fn network_delay() {
    tokio::time::sleep(NETWORK_DELAY).await;
}

/// How it went with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is there, and the connection can go on.
    GoesOn,
    /// The connection ends with it.
    Ended,
    /// The client went away before it was time for it.
    Abandoned,
}

/// Answers.
///
/// `in_flight` is what counts the request as one that has no answer yet. It is dropped before the last byte goes out:
/// who has the answer can ask again at once, and is then never counted twice.
pub(crate) async fn respond<T>(stream: &mut Stream, page: &Page, request: &Request, in_flight: T) -> Outcome {
    tokio::select! {
        biased;
        () = page.wait_until_due() => {}
        () = client_closed(stream) => return Outcome::Abandoned,
    }
    let answered = match page.mode {
        ResponseMode::Normal if page.is_not_modified_for(request) => write(stream, page, 304, &[], 0, in_flight).await,
        ResponseMode::Normal => write(stream, page, page.status, &page.body, page.body.len(), in_flight).await,
        ResponseMode::Truncated => {
            write(stream, page, page.status, &page.body, page.body.len() + 1000, in_flight).await
        }
        ResponseMode::Huge(bytes) => huge(stream, page, bytes, in_flight).await,
        ResponseMode::Drip { every, piece_bytes } => drip(stream, page, (every, piece_bytes), in_flight).await,
        ResponseMode::Endless => endless(stream, page).await,
        ResponseMode::Garbage => send(stream, &page.body, in_flight).await,
        ResponseMode::Reset => stream.get_ref().set_zero_linger(),
        ResponseMode::Close | ResponseMode::Hang => Ok(()),
    };
    let ends_well = matches!(page.mode, ResponseMode::Normal | ResponseMode::Huge(_) | ResponseMode::Drip { .. });
    if answered.is_ok() && ends_well { Outcome::GoesOn } else { Outcome::Ended }
}

/// Comes back when the client has closed the connection.
async fn client_closed(stream: &mut Stream) {
    if stream.fill_buf().await.is_ok_and(|ahead| !ahead.is_empty()) {
        // It sends the next request already, so it is there.
        std::future::pending::<()>().await;
    }
}

fn head(page: &Page, status: u16, length: impl std::fmt::Display) -> Vec<u8> {
    let headers: String = page.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {length}\r\n\r\n").into_bytes()
}

async fn write<T>(
    stream: &mut Stream,
    page: &Page,
    status: u16,
    body: &[u8],
    length: usize,
    in_flight: T,
) -> Result<()> {
    let mut message = head(page, status, length);
    message.extend(body);
    send(stream, &message, in_flight).await
}

async fn send<T>(stream: &mut Stream, message: &[u8], in_flight: T) -> Result<()> {
    // What is written may leave at once if it is much; a single byte waits for the flush.
    let (rest, last) = message.split_at(message.len().saturating_sub(1));
    stream.write_all(rest).await?;
    drop(in_flight);
    stream.write_all(last).await?;
    stream.flush().await
}

async fn huge<T>(stream: &mut Stream, page: &Page, bytes: u64, in_flight: T) -> Result<()> {
    stream.write_all(&head(page, page.status, bytes)).await?;
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    while left > PIECE.len() {
        stream.write_all(&PIECE).await?;
        left -= PIECE.len();
    }
    send(stream, &PIECE[..left], in_flight).await
}

async fn drip<T>(
    stream: &mut Stream,
    page: &Page,
    (every, piece_bytes): (Duration, usize),
    in_flight: T,
) -> Result<()> {
    stream.write_all(&head(page, page.status, page.body.len())).await?;
    stream.flush().await?;
    let mut in_flight = Some(in_flight);
    let mut pieces = page.body.chunks(piece_bytes).peekable();
    while let Some(piece) = pieces.next() {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = client_closed(stream) => return Err(std::io::ErrorKind::BrokenPipe.into()),
        }
        let is_last = pieces.peek().is_none();
        send(stream, piece, in_flight.take_if(|_| is_last)).await?;
    }
    Ok(())
}

async fn endless(stream: &mut Stream, page: &Page) -> Result<()> {
    stream.write_all(format!("HTTP/1.1 {} x\r\n\r\n", page.status).as_bytes()).await?;
    loop {
        stream.write_all(&page.body).await?;
        stream.flush().await?;
    }
}
