//! A port: listening, or refusing connections without letting anybody else have it.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::BufStream,
    net::{TcpListener, TcpSocket, TcpStream},
    sync::oneshot,
    task::{JoinHandle, JoinSet},
};

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

pub(crate) type Stream = BufStream<TcpStream>;

/// What is said on a connection, request after request, until either side has had enough.
pub(crate) trait ConnectionHandler: Send + Sync + 'static {
    fn handle(self: Arc<Self>, stream: Stream) -> impl Future<Output = ()> + Send;
}

/// A port of this machine and what answers there. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Listening {
        stop: oneshot::Sender<()>,
        server: JoinHandle<()>,
    },
    /// Bound but not listening, so that nobody else takes the port meanwhile.
    Stopped(Option<TcpSocket>),
}

impl Listener {
    /// Some port at an address of this machine, where nothing listens before [`Self::start`].
    pub(crate) fn at(address: IpAddr) -> Self {
        let socket = bind(SocketAddr::new(address, 0));
        let address = socket.local_addr().expect("a bound socket has an address");
        Self { address, state: Mutex::new(State::Stopped(Some(socket))) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Listens, if it does not yet.
    pub(crate) fn start(&self, server: &Arc<impl ConnectionHandler>) {
        let mut state = self.lock();
        if let State::Stopped(socket) = &mut *state
            && let Some(socket) = socket.take()
        {
            *state = State::listening(socket, Arc::clone(server));
        }
    }

    /// Refuses connections from now on. Returns once the listener and all connections are closed.
    pub(crate) async fn stop(&self) {
        let state = std::mem::replace(&mut *self.lock(), State::Stopped(None));
        let stopped = state.stop(self.address).await;
        *self.lock() = stopped;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let State::Listening { server, .. } = &*self.lock() {
            server.abort();
        }
    }
}

impl State {
    fn listening(socket: TcpSocket, server: Arc<impl ConnectionHandler>) -> Self {
        let listener = socket.listen(BACKLOG).expect("the port on loopback is free");
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(serve(listener, server, async {
            // A sender that is gone says the same.
            let _ = stopped.await;
        }));
        Self::Listening { stop, server }
    }

    async fn stop(self, address: SocketAddr) -> Self {
        let Self::Listening { stop, server } = self else { return self };
        // Before the other one is closed: there is no moment in which the port is free.
        let socket = bind(address);
        let _ = stop.send(());
        let _ = server.await;
        Self::Stopped(Some(socket))
    }
}

/// Serves connections until it is told to stop or aborted; then they end with it.
async fn serve(listener: TcpListener, server: Arc<impl ConnectionHandler>, stop: impl Future<Output = ()>) {
    let mut connections = JoinSet::new();
    let accepting = async {
        while let Ok((stream, _)) = listener.accept().await {
            while connections.try_join_next().is_some() {}
            // What is flushed is meant to leave. Where that cannot be had, it leaves a little later.
            let _ = stream.set_nodelay(true);
            connections.spawn(Arc::clone(&server).handle(BufStream::new(stream)));
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
    drop(listener);
    connections.shutdown().await;
}

fn bind(address: SocketAddr) -> TcpSocket {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.expect("there are sockets");
    // Two sockets of this process may share a port; one that was chosen by the system is never shared.
    socket.set_reuseport(true).expect("a port can be shared");
    socket.set_reuseaddr(true).expect("an address can be used again");
    socket.bind(address).expect("the port on loopback is free");
    socket
}
