//! At most so many requests at once to a host, without one host holding up another: whoever has to wait for a host
//! waits here, in its own queue, and occupies nothing else.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::oneshot;
use url::Url;

/// The hosts that requests are under way to.
#[derive(Debug)]
pub(crate) struct Hosts {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hosts: HashMap<String, Host>,
    waiting: usize,
}

#[derive(Debug, Default)]
struct Host {
    running: usize,
    waiting: VecDeque<oneshot::Sender<HostPermit>>,
}

/// The right to ask a host, until it is dropped.
#[derive(Debug)]
pub(crate) struct HostPermit {
    /// `None` once it has been handed on.
    host: Option<String>,
    hosts: Arc<Hosts>,
}

/// A place in a host's queue, or the permit itself.
#[derive(Debug)]
pub(crate) enum Admission {
    /// There is room.
    Granted(HostPermit),
    /// There will be.
    Queued(oneshot::Receiver<HostPermit>),
}

impl Admission {
    /// Waits for the permit.
    pub(crate) async fn wait(self) -> HostPermit {
        match self {
            Self::Granted(permit) => permit,
            Self::Queued(receiver) => receiver.await.expect("a host's queue lives as long as someone waits in it"),
        }
    }
}

impl Hosts {
    /// At most `limit` requests at once to a host.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), state: Mutex::default() })
    }

    /// Asks to be let in, at the end of the queue, or before everybody else if a person waits for it.
    pub(crate) fn apply(self: &Arc<Self>, url: &str, urgent: bool) -> Admission {
        let key = key(url);
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { hosts, waiting } = &mut *guard;
        let host = hosts.entry(key.clone()).or_default();
        if host.running < self.limit {
            host.running += 1;
            return Admission::Granted(HostPermit { host: Some(key), hosts: Arc::clone(self) });
        }
        let (sender, receiver) = oneshot::channel();
        if urgent {
            host.waiting.push_front(sender);
        } else {
            host.waiting.push_back(sender);
        }
        *waiting += 1;
        Admission::Queued(receiver)
    }

    /// How many wait for a host.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waiting
    }

    /// The next in the queue of a host, or nobody, and then there is room for one more.
    fn next(&self, key: &str) -> Option<oneshot::Sender<HostPermit>> {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { hosts, waiting } = &mut *guard;
        let host = hosts.get_mut(key)?;
        if let Some(next) = host.waiting.pop_front() {
            *waiting -= 1;
            return Some(next);
        }
        host.running -= 1;
        if host.running == 0 {
            hosts.remove(key);
        }
        None
    }
}

impl Drop for HostPermit {
    fn drop(&mut self) {
        let Some(key) = self.host.take() else { return };
        while let Some(next) = self.hosts.next(&key) {
            let permit = HostPermit { host: Some(key.clone()), hosts: Arc::clone(&self.hosts) };
            match next.send(permit) {
                Ok(()) => return,
                // They wait no longer: disarmed, so that it is handed on once and not twice.
                Err(mut permit) => permit.host = None,
            }
        }
    }
}

/// Two URLs of the same host and port ask the same server.
fn key(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(admission: Admission) -> HostPermit {
        match admission {
            Admission::Granted(permit) => permit,
            Admission::Queued(_) => panic!("not granted"),
        }
    }

    fn queued(admission: Admission) -> oneshot::Receiver<HostPermit> {
        match admission {
            Admission::Granted(_) => panic!("not queued"),
            Admission::Queued(receiver) => receiver,
        }
    }

    #[test]
    fn f4_a_busy_host_holds_up_nobody_else() {
        let hosts = Hosts::new(2);
        let first = granted(hosts.apply("http://a/1", false));
        let _second = granted(hosts.apply("http://a:80/2", false));
        let mut third = queued(hosts.apply("http://a/3", false));
        let _other_host = granted(hosts.apply("http://b/", false));
        let _other_port = granted(hosts.apply("https://a/", false));
        assert_eq!(hosts.waiting(), 1);
        drop(first);
        assert!(third.try_recv().is_ok());
        assert_eq!(hosts.waiting(), 0);
    }

    #[test]
    fn who_is_waited_for_goes_first_and_who_gave_up_is_passed_over() {
        let hosts = Hosts::new(1);
        let running = granted(hosts.apply("http://a/", false));
        drop(queued(hosts.apply("http://a/", false)));
        let mut patient = queued(hosts.apply("http://a/", false));
        let mut urgent = queued(hosts.apply("http://a/", true));
        drop(running);
        let permit = urgent.try_recv().unwrap();
        assert!(patient.try_recv().is_err());
        drop(permit);
        drop(patient.try_recv().unwrap());
        assert_eq!(hosts.waiting(), 0);
        assert!(hosts.state.lock().unwrap().hosts.is_empty());
    }

    #[test]
    fn a_permit_that_nobody_took_is_handed_on() {
        let hosts = Hosts::new(1);
        let running = granted(hosts.apply("http://a/", false));
        let taken_back = queued(hosts.apply("http://a/", false));
        let mut last = queued(hosts.apply("http://a/", false));
        drop(running);
        drop(taken_back);
        assert!(last.try_recv().is_ok());
    }
}
