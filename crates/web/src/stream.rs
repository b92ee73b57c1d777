//! A connection to a client that must not stop reading: whoever takes no byte of an answer for too long is cut off.
//!
//! An answer lies in memory until it is written, so a client that never reads would hold it, and its connection, for
//! ever. How long a client may take to *send* is bounded elsewhere: headers by the server, bodies where they are read.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

use crate::idle::Connection;

pub(crate) struct Stream {
    inner: TcpStream,
    connection: Arc<Connection>,
    write_timeout: Duration,
    /// Runs while a write waits.
    overdue: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    /// Whose client takes something at least every so often.
    pub(crate) fn new(inner: TcpStream, connection: Arc<Connection>, write_timeout: Duration) -> Self {
        Self { inner, connection, write_timeout, overdue: None }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.connection.touch();
            self.overdue = None;
            return written;
        }
        let timeout = self.write_timeout;
        let overdue = self.overdue.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        overdue.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
