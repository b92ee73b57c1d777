//! Whether it is a feed that fails, or we: without a network, with a name service that does not answer, or out of files
//! and memory, every feed fails, and none of them is to blame.
//!
//! Hosts are counted, never feeds: ten feeds of one dead host are one failure.

use crate::ports::HttpError;

/// Hosts that must fail in the same way before it can be our fault; and with fewer hosts known, nothing can be compared.
pub const HOSTS_MIN: usize = 3;

/// Times that a feed is asked again because it cannot be told yet whose fault it is.
pub const TRIES_MAX: u32 = 3;

/// One host in so many that is reached shows that there is a network: most others may be dead all the same.
const REACHED_PART: usize = 10;

/// In which way no answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// This machine has no more files or memory.
    Machine,
    /// This machine has no way out: no route, no address, no name service that answers.
    Network,
    /// The name was not found.
    Name,
    /// The connection was not taken.
    Connect,
    /// Nothing came in time.
    Silence,
    /// No encrypted connection came about. If most hosts fail so, this machine's clock is wrong, it knows no certificates, or
    /// somebody is in between.
    Tls,
}

impl FailureKind {
    /// What it is called in logs and answers.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Machine => "this machine is out of files or memory",
            Self::Network => "this machine has no network, or its name service does not answer",
            Self::Name => "names of hosts are not found",
            Self::Connect => "no host takes a connection",
            Self::Silence => "no host answers",
            Self::Tls => "no host's certificate is trusted: is this machine's clock right?",
        }
    }
}

/// What a request shows of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// The host was reached.
    Reached,
    Failed(FailureKind),
    /// Neither: it was not asked.
    Nothing,
}

impl Observation {
    /// Of a request that failed so.
    pub fn of(error: &HttpError) -> Self {
        match error {
            HttpError::Exhausted(code) if code == "EADDRNOTAVAIL" => Self::Failed(FailureKind::Network),
            HttpError::Exhausted(_) => Self::Failed(FailureKind::Machine),
            HttpError::NoNameService => Self::Failed(FailureKind::Network),
            HttpError::Connect { code, .. } if matches!(code.as_str(), "ENETUNREACH" | "ENETDOWN") => {
                Self::Failed(FailureKind::Network)
            }
            HttpError::NotFound(_) => Self::Failed(FailureKind::Name),
            HttpError::Connect { .. } => Self::Failed(FailureKind::Connect),
            HttpError::TimedOut(_) => Self::Failed(FailureKind::Silence),
            HttpError::BadUrl(_) | HttpError::Forbidden(_) | HttpError::OwnServer(_) => Self::Nothing,
            HttpError::Tls { .. } => Self::Failed(FailureKind::Tls),
            HttpError::NoMemory
            | HttpError::Redirects(_)
            | HttpError::RedirectScheme(_)
            | HttpError::TooLarge(_)
            | HttpError::Compression(_)
            | HttpError::BrokenOff(_) => Self::Reached,
        }
    }
}

/// What has been seen of hosts since the feed that failed was first asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// Hosts that are known.
    pub known: usize,
    /// Of them, those that failed in the same way, this one included.
    pub failed: usize,
    /// Those that were reached.
    pub reached: usize,
    /// Those that were reached when they were last asked, however long ago.
    pub well: usize,
    /// How often the feed was asked again already.
    pub tries: u32,
}

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The feed's: it is counted.
    Feed,
    /// Ours: nothing is counted, and all wait for the end of it.
    Ours,
    /// That cannot be told yet: the feed is asked again shortly.
    Unclear,
}

/// Decides whose fault it is that no answer came.
///
/// No way out and a silent name service are mostly ours, also where one host alone fails so. But a zone may be broken, and
/// a host may have nothing but IPv6: here, too, another host is asked first.
pub fn judge(way: FailureKind, seen: Evidence) -> Fault {
    let others_are_reached = seen.reached > 0 && seen.reached >= seen.failed;
    let is_nearly_all = seen.reached * REACHED_PART < seen.failed;
    let (is_network, are_several) = (way == FailureKind::Network, seen.failed >= HOSTS_MIN);
    let (can_be_compared, is_tried_out) = (seen.known >= HOSTS_MIN, seen.tries >= TRIES_MAX);
    match way {
        FailureKind::Machine => Fault::Ours,
        _ if others_are_reached => Fault::Feed,
        _ if are_several && seen.well < seen.failed => {
            if is_nearly_all || !is_tried_out {
                Fault::Ours
            } else {
                Fault::Feed
            }
        }
        // Few of many, which may be dead by chance: one of the others was asked before it is called an outage.
        _ if (are_several || (is_network && can_be_compared)) && seen.tries > 0 && is_nearly_all => Fault::Ours,
        _ if (is_network || can_be_compared) && !is_tried_out => Fault::Unclear,
        _ => Fault::Feed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f4_whose_fault_it_is_that_no_answer_came() {
        use Fault::{Feed, Ours, Unclear};
        for (way, known, failed, reached, well, tries, expect) in [
            // A machine without files or memory says nothing about any feed.
            (FailureKind::Machine, 1, 1, 0, 0, 0, Ours),
            (FailureKind::Machine, 100, 1, 99, 99, 9, Ours),
            // No way out, or no name service: ours, unless others are reached at the same time, which is tried first.
            (FailureKind::Network, 100, 1, 0, 99, 0, Unclear),
            (FailureKind::Network, 100, 1, 0, 99, 1, Ours),
            (FailureKind::Network, 100, 1, 1, 99, 1, Feed),
            (FailureKind::Network, 100, 1, 0, 0, 0, Unclear),
            (FailureKind::Network, 100, 1, 0, 0, 9, Ours),
            (FailureKind::Network, 100, 1, 1, 1, 0, Feed),
            (FailureKind::Network, 100, 2, 1, 98, TRIES_MAX - 1, Unclear),
            (FailureKind::Network, 100, 2, 1, 98, TRIES_MAX, Feed),
            (FailureKind::Network, 100, 3, 0, 0, 0, Ours),
            (FailureKind::Network, 100, 50, 3, 3, 0, Ours),
            // With nothing to compare with it may soon be over, but is not waited for longer.
            (FailureKind::Network, 1, 1, 0, 0, 0, Unclear),
            (FailureKind::Network, 2, 2, 0, 0, TRIES_MAX - 1, Unclear),
            (FailureKind::Network, 1, 1, 0, 0, TRIES_MAX, Feed),
            // One or two hosts are all there is: nothing can be compared.
            (FailureKind::Connect, 1, 1, 0, 0, 0, Feed),
            (FailureKind::Silence, 2, 2, 0, 0, 0, Feed),
            (FailureKind::Name, 2, 1, 0, 0, 0, Feed),
            // A dead host among others.
            (FailureKind::Connect, 100, 1, 1, 1, 0, Feed),
            (FailureKind::Silence, 10_000, 500, 9_500, 9_500, 0, Feed),
            // Nobody else was heard of yet: asked again, but not for ever.
            (FailureKind::Connect, 3, 1, 0, 0, 0, Unclear),
            (FailureKind::Connect, 100, 2, 1, 1, TRIES_MAX - 1, Unclear),
            (FailureKind::Connect, 100, 2, 1, 1, TRIES_MAX, Feed),
            // Most fail in the same way at the same time.
            (FailureKind::Name, 3, 3, 0, 0, 0, Ours),
            (FailureKind::Name, 3, 3, 0, 0, 100, Ours),
            (FailureKind::Tls, 3, 3, 0, 0, 0, Ours),
            (FailureKind::Tls, 100, 1, 1, 1, 0, Feed),
            (FailureKind::Connect, 64, 40, 1, 1, 100, Ours),
            (FailureKind::Silence, 10, 6, 4, 4, 0, Ours),
            // Most are dead, and there is a network all the same.
            (FailureKind::Silence, 10, 6, 4, 4, TRIES_MAX, Feed),
            // Some are dead among many that were well: one of those is asked first, and shows whose fault it is.
            (FailureKind::Connect, 100, 3, 0, 97, 0, Unclear),
            (FailureKind::Connect, 100, 3, 0, 97, 1, Ours),
            (FailureKind::Connect, 100, 3, 1, 97, 1, Unclear),
            (FailureKind::Connect, 100, 3, 1, 97, TRIES_MAX, Feed),
            (FailureKind::Silence, 100, 60, 0, 40, 0, Ours),
        ] {
            let seen = Evidence { known, failed, reached, well, tries };
            assert_eq!(judge(way, seen), expect, "{way:?} {seen:?}");
        }
    }

    #[test]
    fn f4_what_a_failure_shows_of_the_network() {
        let host = || "e.org".to_owned();
        let connect = |code: &str| HttpError::Connect { host: host(), code: code.to_owned() };
        let exhausted = |code: &str| HttpError::Exhausted(code.to_owned());
        for (error, expect) in [
            (exhausted("system error 24"), Observation::Failed(FailureKind::Machine)),
            (exhausted("ENOMEM"), Observation::Failed(FailureKind::Machine)),
            (exhausted("EADDRNOTAVAIL"), Observation::Failed(FailureKind::Network)),
            (connect("ENETUNREACH"), Observation::Failed(FailureKind::Network)),
            (connect("ENETDOWN"), Observation::Failed(FailureKind::Network)),
            (HttpError::NoNameService, Observation::Failed(FailureKind::Network)),
            (connect("ECONNREFUSED"), Observation::Failed(FailureKind::Connect)),
            (HttpError::NotFound(host()), Observation::Failed(FailureKind::Name)),
            (HttpError::TimedOut(host()), Observation::Failed(FailureKind::Silence)),
            (HttpError::BrokenOff(host()), Observation::Reached),
            (HttpError::NoMemory, Observation::Reached),
            (HttpError::Tls { host: host(), reason: String::new() }, Observation::Failed(FailureKind::Tls)),
            (HttpError::Forbidden(host()), Observation::Nothing),
        ] {
            assert_eq!(Observation::of(&error), expect, "{error}");
        }
    }
}
