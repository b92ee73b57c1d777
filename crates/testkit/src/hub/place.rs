//! The port of a hub: listening, or refusing connections without letting anybody else have it.

use std::{net::SocketAddr, sync::Arc};

use tokio::{net::TcpSocket, sync::oneshot, task::JoinHandle};

use super::state::Shared;
use crate::publisher::wire::serve;

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

#[derive(Debug)]
pub(super) enum Place {
    Listening {
        stop: oneshot::Sender<()>,
        server: JoinHandle<()>,
    },
    /// Bound but not listening, so that nobody else takes the port meanwhile.
    Stopped(Option<TcpSocket>),
}

impl Place {
    pub(super) fn listening(socket: TcpSocket, shared: Arc<Shared>) -> Self {
        let listener = socket.listen(BACKLOG).expect("the port on loopback is free");
        let (stop, stopped) = oneshot::channel();
        let converse = move |stream| Arc::clone(&shared).converse(stream);
        let server = tokio::spawn(serve(listener, converse, async {
            // A sender that is gone says the same.
            let _ = stopped.await;
        }));
        Self::Listening { stop, server }
    }

    /// Returns once the listener and all connections are closed.
    pub(super) async fn stop(self, address: SocketAddr) -> Self {
        let Self::Listening { stop, server } = self else { return self };
        // Before the other one is closed: there is no moment in which the port is free.
        let socket = bind(address);
        let _ = stop.send(());
        let _ = server.await;
        Self::Stopped(Some(socket))
    }

    pub(super) fn restart(&mut self, shared: &Arc<Shared>) {
        if let Self::Stopped(socket) = self
            && let Some(socket) = socket.take()
        {
            *self = Self::listening(socket, Arc::clone(shared));
        }
    }

    pub(super) fn abort(&self) {
        if let Self::Listening { server, .. } = self {
            server.abort();
        }
    }
}

pub(super) fn bind(address: SocketAddr) -> TcpSocket {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.expect("there are sockets");
    // Two sockets of this process may share a port; one that was chosen by the system is never shared.
    socket.set_reuseport(true).expect("a port can be shared");
    socket.set_reuseaddr(true).expect("an address can be used again");
    socket.bind(address).expect("the port on loopback is free");
    socket
}
