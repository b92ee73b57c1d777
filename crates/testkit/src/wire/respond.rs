//! Answering a request, in whatever manner.

use std::{io::Result, time::Duration};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

use super::{
    Request, Stream,
    page::{Manner, Page},
};

/// What a huge body is made of.
static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];

/// What a network takes at least. The timer makes it the next millisecond.
const TRAVEL: Duration = Duration::from_micros(1);

/// Takes the time that a network takes. Without it a server here is so quick that it never sees two requests at once,
/// however many are made.
pub(crate) async fn travel() {
    tokio::time::sleep(TRAVEL).await;
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
/// `under_way` is what counts the request as one that has no answer yet. It is dropped before the last byte goes out:
/// who has the answer can ask again at once, and is then never counted twice.
pub(crate) async fn respond<T>(stream: &mut Stream, page: &Page, request: &Request, under_way: T) -> Outcome {
    tokio::select! {
        biased;
        () = page.is_due() => {}
        () = gone(stream) => return Outcome::Abandoned,
    }
    let answered = match page.manner {
        Manner::Proper if page.is_known_by(request) => write(stream, page, 304, &[], 0, under_way).await,
        Manner::Proper => write(stream, page, page.status, &page.body, page.body.len(), under_way).await,
        Manner::BreakOff => write(stream, page, page.status, &page.body, page.body.len() + 1000, under_way).await,
        Manner::Huge(bytes) => huge(stream, page, bytes, under_way).await,
        Manner::Drip(every) => drip(stream, page, every, under_way).await,
        Manner::Endless => endless(stream, page).await,
        Manner::Garbage => send(stream, &page.body, under_way).await,
        Manner::Reset => stream.get_ref().set_zero_linger(),
        Manner::Close | Manner::Hang => Ok(()),
    };
    let ends_well = matches!(page.manner, Manner::Proper | Manner::Huge(_) | Manner::Drip(_));
    if answered.is_ok() && ends_well { Outcome::GoesOn } else { Outcome::Ended }
}

/// Comes back when the client has closed the connection.
async fn gone(stream: &mut Stream) {
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
    under_way: T,
) -> Result<()> {
    let mut message = head(page, status, length);
    message.extend(body);
    send(stream, &message, under_way).await
}

async fn send<T>(stream: &mut Stream, message: &[u8], under_way: T) -> Result<()> {
    // What is written may leave at once if it is much; a single byte waits for the flush.
    let (rest, last) = message.split_at(message.len().saturating_sub(1));
    stream.write_all(rest).await?;
    drop(under_way);
    stream.write_all(last).await?;
    stream.flush().await
}

async fn huge<T>(stream: &mut Stream, page: &Page, bytes: u64, under_way: T) -> Result<()> {
    stream.write_all(&head(page, page.status, bytes)).await?;
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    while left > PIECE.len() {
        stream.write_all(&PIECE).await?;
        left -= PIECE.len();
    }
    send(stream, &PIECE[..left], under_way).await
}

async fn drip<T>(stream: &mut Stream, page: &Page, every: Duration, under_way: T) -> Result<()> {
    stream.write_all(&head(page, page.status, page.body.len())).await?;
    stream.flush().await?;
    let mut under_way = Some(under_way);
    for (place, byte) in page.body.iter().enumerate() {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = gone(stream) => return Err(std::io::ErrorKind::BrokenPipe.into()),
        }
        let is_last = place + 1 == page.body.len();
        send(stream, &[*byte], under_way.take_if(|_| is_last)).await?;
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
