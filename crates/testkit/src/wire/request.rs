//! Reading a message.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};

use super::Stream;

/// No test has reason to send more.
const REQUEST_BYTES_MAX: u64 = 32 << 20;

/// A request as it was received.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Its path and query.
    pub path: String,
    pub body: Vec<u8>,
    headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    /// All headers in the order in which they came, their names in lower case.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }
}

/// The value of the first header of this name.
pub(crate) fn value_of<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// The first line of a message, and its headers with names in lower case.
pub(crate) type Head = (String, Vec<(String, String)>);

/// Reads all of a message but its body; `None` when there is none any more.
pub(crate) async fn read_head(stream: &mut (impl AsyncBufRead + Unpin)) -> Option<Head> {
    let mut head = String::new();
    loop {
        let begin = head.len();
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
        if head[begin..].trim_end().is_empty() {
            break;
        }
    }
    let mut lines = head.lines();
    let first = lines.next().filter(|first| !first.is_empty())?.to_owned();
    let header =
        |line: &str| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().into()));
    Some((first, lines.filter_map(header).collect()))
}

/// Reads a request; `None` when there is none any more, or none that can be read.
pub(crate) async fn read_request(stream: &mut Stream) -> Option<Request> {
    let (first, headers) = read_head(stream).await?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut request = Request { method, path, headers, body: Vec::new() };
    match read_body(stream, &request).await {
        Ok(body) => request.body = body,
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            let refusal = b"HTTP/1.1 413 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(refusal).await.ok()?;
            stream.flush().await.ok()?;
            return None;
        }
        Err(_) => return None,
    }
    Some(request)
}

async fn read_body(stream: &mut Stream, request: &Request) -> Result<Vec<u8>> {
    if request.header("transfer-encoding").is_some() {
        return read_chunks(stream, REQUEST_BYTES_MAX).await;
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    append(stream, length, REQUEST_BYTES_MAX, &mut body).await?;
    Ok(body)
}

/// Reads a body that comes in chunks, up to this many bytes.
pub(crate) async fn read_chunks(stream: &mut (impl AsyncBufRead + Unpin), bytes_max: u64) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let length = u64::from_str_radix(line.trim_end(), 16)
            .map_err(|_| Error::new(ErrorKind::InvalidData, "a chunk has no length"))?;
        append(stream, length, bytes_max, &mut body).await?;
        stream.read_line(&mut String::new()).await?;
        if length == 0 {
            return Ok(body);
        }
    }
}

async fn append(
    stream: &mut (impl AsyncBufRead + Unpin),
    length: u64,
    bytes_max: u64,
    body: &mut Vec<u8>,
) -> Result<()> {
    let begin = body.len();
    let end = usize::try_from(length).ok().and_then(|length| begin.checked_add(length));
    let Some(end) = end.filter(|end| u64::try_from(*end).is_ok_and(|end| end <= bytes_max)) else {
        return Err(ErrorKind::FileTooLarge.into());
    };
    body.resize(end, 0);
    stream.read_exact(&mut body[begin..]).await?;
    Ok(())
}
