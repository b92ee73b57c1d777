//! At most so many requests at once to a host, without one host holding up another: whoever has to wait for a host
//! waits here, in its own queue, and occupies nothing else. The queues are bounded: what finds no place in them has to
//! be deferred.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;
use url::Url;

/// Polls that wait for one host at once, besides those that a person waits for.
pub(crate) const HOST_WAITING_MAX: usize = 256;

/// Polls that wait for their hosts at once, in all.
const WAITING_MAX: usize = 8192;

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

/// A host, while anybody asks it or waits for it.
#[derive(Debug, Default)]
struct Host {
    running: usize,
    /// Those that a person waits for: served first, in their order.
    urgent: VecDeque<oneshot::Sender<HostPermit>>,
    /// All others, in their order.
    patient: VecDeque<oneshot::Sender<HostPermit>>,
}

impl Host {
    fn pop(&mut self) -> Option<oneshot::Sender<HostPermit>> {
        self.urgent.pop_front().or_else(|| self.patient.pop_front())
    }
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
    Granted(HostPermit),
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks to be let in, at the end of the queue; `None` if the queue is full.
    pub(crate) fn apply(self: &Arc<Self>, url: &str) -> Option<Admission> {
        let key = key(url);
        let mut guard = self.lock();
        let State { hosts, waiting } = &mut *guard;
        let host = hosts.entry(key.clone()).or_default();
        if host.running < self.limit {
            return Some(self.grant(host, key));
        }
        // A host that is not there yet was granted above, so nothing is left behind.
        if host.patient.len() >= HOST_WAITING_MAX || *waiting >= WAITING_MAX {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        host.patient.push_back(sender);
        *waiting += 1;
        Some(Admission::Queued(receiver))
    }

    /// Asks to be let in before all that nobody waits for. Never refused: those who ask so are limited elsewhere.
    pub(crate) fn apply_urgently(self: &Arc<Self>, url: &str) -> Admission {
        let key = key(url);
        let mut guard = self.lock();
        let State { hosts, waiting } = &mut *guard;
        let host = hosts.entry(key.clone()).or_default();
        if host.running < self.limit {
            return self.grant(host, key);
        }
        let (sender, receiver) = oneshot::channel();
        host.urgent.push_back(sender);
        *waiting += 1;
        Admission::Queued(receiver)
    }

    fn grant(self: &Arc<Self>, host: &mut Host, key: String) -> Admission {
        host.running += 1;
        Admission::Granted(HostPermit { host: Some(key), hosts: Arc::clone(self) })
    }

    /// How many wait for a host.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Whether anybody waits for the host of a URL.
    pub(crate) fn has_queue(&self, url: &str) -> bool {
        let state = self.lock();
        state.waiting > 0
            && state.hosts.get(&key(url)).is_some_and(|host| !host.urgent.is_empty() || !host.patient.is_empty())
    }

    /// How many more a host's queue can take, by the host's [key].
    pub(crate) fn queue_capacity(&self, key: &str) -> usize {
        let state = self.lock();
        let patient = state.hosts.get(key).map_or(0, |host| host.patient.len());
        HOST_WAITING_MAX.saturating_sub(patient).min(WAITING_MAX.saturating_sub(state.waiting))
    }

    /// The next in the queue of a host, or nobody, and then there is a place for one more.
    fn next(&self, key: &str) -> Option<oneshot::Sender<HostPermit>> {
        let mut guard = self.lock();
        let State { hosts, waiting } = &mut *guard;
        let host = hosts.get_mut(key)?;
        if let Some(next) = host.pop() {
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
pub(crate) fn key(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(admission: Option<Admission>) -> HostPermit {
        match admission {
            Some(Admission::Granted(permit)) => permit,
            other => panic!("not granted: {other:?}"),
        }
    }

    fn queued(admission: Option<Admission>) -> oneshot::Receiver<HostPermit> {
        match admission {
            Some(Admission::Queued(receiver)) => receiver,
            other => panic!("not queued: {other:?}"),
        }
    }

    fn urgent(hosts: &Arc<Hosts>, url: &str) -> oneshot::Receiver<HostPermit> {
        queued(Some(hosts.apply_urgently(url)))
    }

    #[test]
    fn f4_a_busy_host_holds_up_nobody_else() {
        let hosts = Hosts::new(2);
        let first = granted(hosts.apply("http://a/1"));
        let _second = granted(hosts.apply("http://a:80/2"));
        let mut third = queued(hosts.apply("http://a/3"));
        let _other_host = granted(hosts.apply("http://b/"));
        let _other_port = granted(hosts.apply("https://a/"));
        assert_eq!(hosts.waiting(), 1);
        drop(first);
        assert!(third.try_recv().is_ok());
        assert_eq!(hosts.waiting(), 0);
    }

    #[test]
    fn f4_urgent_goes_first_and_abandoned_is_skipped() {
        let hosts = Hosts::new(1);
        let running = granted(hosts.apply("http://a/"));
        drop(queued(hosts.apply("http://a/")));
        let mut patient = queued(hosts.apply("http://a/"));
        let mut urgent = urgent(&hosts, "http://a/");
        drop(running);
        let permit = urgent.try_recv().unwrap();
        assert!(patient.try_recv().is_err());
        drop(permit);
        drop(patient.try_recv().unwrap());
        assert_eq!(hosts.waiting(), 0);
        assert!(hosts.state.lock().unwrap().hosts.is_empty());
    }

    #[test]
    fn f5_urgent_polls_keep_their_order() {
        let hosts = Hosts::new(1);
        let mut permit = granted(hosts.apply("http://a/"));
        let mut patient = [queued(hosts.apply("http://a/")), queued(hosts.apply("http://a/"))];
        let mut urgent = [(); 3].map(|()| urgent(&hosts, "http://a/"));
        for place in 0..3 {
            drop(permit);
            assert!(urgent[place + 1..].iter_mut().all(|later| later.try_recv().is_err()), "{place}");
            permit = urgent[place].try_recv().expect("the first that came is served first");
        }
        for next in &mut patient {
            drop(permit);
            permit = next.try_recv().expect("then those that nobody waits for, in their order");
        }
    }

    #[test]
    fn a_permit_that_nobody_took_is_handed_on() {
        let hosts = Hosts::new(1);
        let running = granted(hosts.apply("http://a/"));
        let taken_back = queued(hosts.apply("http://a/"));
        let mut last = queued(hosts.apply("http://a/"));
        drop(running);
        drop(taken_back);
        assert!(last.try_recv().is_ok());
    }

    #[test]
    fn f4_host_queue_is_bounded() {
        let hosts = Hosts::new(1);
        let running = granted(hosts.apply("http://a/"));
        assert_eq!(hosts.queue_capacity(&key("http://a/")), HOST_WAITING_MAX);
        let _waiting: Vec<_> = (0..HOST_WAITING_MAX).map(|_| queued(hosts.apply("http://a/"))).collect();
        assert!(hosts.apply("http://a/").is_none());
        assert_eq!(hosts.queue_capacity(&key("http://a/")), 0);
        let _other = granted(hosts.apply("http://b/"));
        let _other_waits = queued(hosts.apply("http://b/"));
        let _person = urgent(&hosts, "http://a/");
        drop(running);
        assert_eq!(hosts.waiting(), HOST_WAITING_MAX + 1, "the person was served");
    }

    #[test]
    fn f4_all_host_queues_are_bounded() {
        let hosts = Hosts::new(1);
        let url = |host: usize| format!("http://{host}.e.org/");
        let mut kept = Vec::new();
        for host in 0..WAITING_MAX / HOST_WAITING_MAX {
            kept.push((granted(hosts.apply(&url(host))), Vec::new()));
            kept[host].1.extend((0..HOST_WAITING_MAX).map(|_| queued(hosts.apply(&url(host)))));
        }
        let _idle = granted(hosts.apply("http://idle.e.org/"));
        assert!(hosts.apply("http://idle.e.org/").is_none());
        assert_eq!((hosts.waiting(), hosts.queue_capacity(&key("http://new.e.org/"))), (WAITING_MAX, 0));
    }
}
