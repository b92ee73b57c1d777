//! A line to the database that can be cut, or swallow what is sent.

use std::sync::Arc;

use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};
use url::Url;

/// What becomes of what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineState {
    Up,
    /// Connections end, and none is made.
    Cut,
    /// Connections stay and are made; what is sent is acknowledged and never answered. Those that met this are silent for
    /// good.
    Silent,
}

/// A line to the database, between a store and its server.
#[derive(Debug)]
pub struct Line {
    url: String,
    state: watch::Sender<LineState>,
    refused: Arc<watch::Sender<usize>>,
}

impl Line {
    /// To the database at this URL.
    ///
    /// # Panics
    ///
    /// If the URL names no host, or there is no port left.
    pub async fn to(url: &str) -> Self {
        let mut here = Url::parse(url).expect("the URL can be read");
        let database = format!("{}:{}", here.host_str().expect("it names a host"), here.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port left");
        let port = listener.local_addr().expect("it listens").port();
        here.set_host(Some("127.0.0.1")).expect("it has a host");
        here.set_port(Some(port)).expect("it has a host");
        let state = watch::Sender::new(LineState::Up);
        let refused = Arc::new(watch::Sender::new(0));
        tokio::spawn(carry(listener, database, state.subscribe(), Arc::clone(&refused)));
        Self { url: here.into(), state, refused }
    }

    /// The database's URL by this line.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Cuts, silences or mends it; returns how many connections were refused so far.
    pub fn set(&self, state: LineState) -> usize {
        self.state.send_replace(state);
        *self.refused.borrow()
    }

    /// Waits until more than so many were refused.
    pub async fn refused_after(&self, count: usize) {
        // The sender is ours.
        let _ = self.refused.subscribe().wait_for(|refused| *refused > count).await;
    }
}

async fn carry(
    listener: TcpListener,
    database: String,
    state: watch::Receiver<LineState>,
    refused: Arc<watch::Sender<usize>>,
) {
    while let Ok((near, _)) = listener.accept().await {
        let mut state = state.clone();
        if *state.borrow_and_update() == LineState::Cut {
            refused.send_modify(|refused| *refused += 1);
            continue;
        }
        let far = TcpStream::connect(&database).await.expect("the database is there");
        tokio::spawn(carry_one(near, far, state));
    }
}

async fn carry_one(mut near: TcpStream, mut far: TcpStream, mut state: watch::Receiver<LineState>) {
    if *state.borrow() == LineState::Up {
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut near, &mut far) => return,
            _ = state.wait_for(|state| *state != LineState::Up) => {}
        }
    }
    let is_silent = *state.borrow() == LineState::Silent;
    if is_silent {
        // Until the other side gives up, or the line is cut.
        let mut nowhere = tokio::io::sink();
        tokio::select! {
            _ = tokio::io::copy(&mut near, &mut nowhere) => {}
            _ = state.wait_for(|state| *state == LineState::Cut) => {}
        }
    }
}
