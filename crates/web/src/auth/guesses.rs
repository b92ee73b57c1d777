//! Guessing is slowed: after some failures each further one makes the next wait twice as long.
//!
//! Failures are counted for an account from an address, for an address, and for an account. The last makes only those
//! addresses wait that have failed at this account themselves: whoever knows the password comes in from elsewhere,
//! however many others guess. And who goes on guessing at one account is slowed there alone: an app that has an old
//! password keeps nobody else behind the same router from logging in.
//!
//! An address of IPv6 is its /64, as one has them all. Many are given a /48, which is 65,536 of these: so the failures of a
//! /48 are counted too, of each /64 the first few, so that none of them can make the others wait alone.
//!
//! What is kept is bounded, and under keys that nobody can aim at.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// A failure is forgotten after so long without another.
const FORGET_AFTER: Duration = Duration::from_hours(1);
/// Keys that are kept; beyond it the half that failed longest ago is forgotten.
const KEYS_MAX: usize = 20_000;
/// The first wait, unless told otherwise.
pub(crate) const WAIT_FIRST: Duration = Duration::from_secs(1);

/// How failures of a kind are answered.
#[derive(Debug, Clone, Copy)]
struct Rule {
    /// So many cost nothing.
    free: u32,
    wait_max: Duration,
}

const PAIR: Rule = Rule { free: 5, wait_max: Duration::from_mins(15) };
const ADDRESS: Rule = Rule { free: 20, wait_max: Duration::from_mins(15) };
const SITE: Rule = Rule { free: 100, wait_max: Duration::from_mins(1) };
const ACCOUNT: Rule = Rule { free: 50, wait_max: Duration::from_secs(8) };
const TOKENS: Rule = Rule { free: 20, wait_max: Duration::from_mins(1) };

/// Failures of each address that count for its site.
const SITE_SHARE: u32 = 5;
/// A site has failed once this many have: those of more than three addresses.
const SITE_FAILED: u32 = 3 * SITE_SHARE + 1;

impl Rule {
    /// How long nobody may try after so many failures, the first of which costs `first`.
    fn wait(self, failures: u32, first: Duration) -> Duration {
        let Some(beyond) = failures.checked_sub(self.free) else { return Duration::ZERO };
        first.saturating_mul(1 << beyond.min(20)).min(self.wait_max)
    }
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
}

#[derive(Debug, Clone, Copy, Hash)]
enum Key<'a> {
    Pair(&'a str, IpAddr),
    Address(IpAddr),
    Site(Ipv6Addr),
    Account(&'a str),
    Tokens(IpAddr),
}

/// A guess that was admitted, and under which keys it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guess {
    pair: u64,
    account: u64,
    address: Option<u64>,
    site: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Guesses {
    failures: Mutex<HashMap<u64, Failures>>,
    /// Made by chance with each start.
    hasher: RandomState,
    wait_first: Duration,
}

impl Guesses {
    pub(crate) fn new(wait_first: Duration) -> Self {
        Self { failures: Mutex::default(), hasher: RandomState::default(), wait_first }
    }

    /// Admits a guess at the account of this name, and counts it as a failure until it [succeeds](Self::succeeded):
    /// guesses at the same time count too. Otherwise how long to wait.
    pub(crate) fn begin(&self, name: &str, address: IpAddr, now: Instant) -> Result<Guess, Duration> {
        let (address, site) = (network_of(address), site_of(address));
        let (pair, from, account) = (Key::Pair(name, address), Key::Address(address), Key::Account(name));
        let mut failures = self.lock();
        let (before, before_from) = (self.count(&failures, pair, now), self.count(&failures, from, now));
        let mut wait = self.left(&failures, pair, PAIR, now).max(self.left(&failures, from, ADDRESS, now));
        if let Some(site) = site {
            wait = wait.max(self.left(&failures, site, SITE, now));
        }
        if before > 0 {
            wait = wait.max(self.left(&failures, account, ACCOUNT, now));
        }
        if !wait.is_zero() {
            return Err(wait);
        }
        // Beyond those that are free it waits for itself.
        let address = (before < PAIR.free).then_some(from);
        let site = site.filter(|_| address.is_some() && before_from < SITE_SHARE);
        let hash = |key: Key<'_>| self.hasher.hash_one(key);
        let guess =
            Guess { pair: hash(pair), account: hash(account), address: address.map(hash), site: site.map(hash) };
        for key in guess.keys() {
            add(&mut failures, key, now);
        }
        Ok(guess)
    }

    /// Whether this address has failed lately, at whatever account, or many of its site have.
    pub(crate) fn has_failed(&self, name: &str, address: IpAddr, now: Instant) -> bool {
        let (site, address, failures) = (site_of(address), network_of(address), self.lock());
        [Key::Pair(name, address), Key::Address(address)].into_iter().any(|key| self.count(&failures, key, now) > 0)
            || site.is_some_and(|site| self.count(&failures, site, now) >= SITE_FAILED)
    }

    /// The guess was right: its address is no guesser's.
    pub(crate) fn succeeded(&self, guess: Guess) {
        self.undo(guess);
        self.lock().remove(&guess.pair);
    }

    /// The guess was not looked at after all.
    pub(crate) fn undo(&self, guess: Guess) {
        let mut failures = self.lock();
        for key in guess.keys() {
            if let Some(failed) = failures.get_mut(&key) {
                failed.count = failed.count.saturating_sub(1);
            }
        }
    }

    /// How long a token from this address that is not known to be good has to wait.
    pub(crate) fn token_wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let wait = self.left(&self.lock(), Key::Tokens(network_of(address)), TOKENS, now);
        (!wait.is_zero()).then_some(wait)
    }

    /// A token from this address was wrong.
    pub(crate) fn token_failed(&self, address: IpAddr, now: Instant) {
        add(&mut self.lock(), self.hasher.hash_one(Key::Tokens(network_of(address))), now);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Failures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, failures: &HashMap<u64, Failures>, key: Key<'_>, now: Instant) -> u32 {
        let failed = failures.get(&self.hasher.hash_one(key)).filter(|failed| !is_forgotten(failed, now));
        failed.map_or(0, |failed| failed.count)
    }

    /// How much of the wait is left.
    fn left(&self, failures: &HashMap<u64, Failures>, key: Key<'_>, rule: Rule, now: Instant) -> Duration {
        let failed = failures.get(&self.hasher.hash_one(key)).filter(|failed| !is_forgotten(failed, now));
        failed.map_or(Duration::ZERO, |failed| {
            rule.wait(failed.count, self.wait_first).saturating_sub(now.saturating_duration_since(failed.last))
        })
    }
}

impl Guess {
    fn keys(self) -> impl Iterator<Item = u64> {
        [self.pair, self.account].into_iter().chain(self.address).chain(self.site)
    }
}

fn add(failures: &mut HashMap<u64, Failures>, key: u64, now: Instant) {
    if failures.len() >= KEYS_MAX && !failures.contains_key(&key) {
        forget_half(failures, now);
    }
    let failed = failures.entry(key).or_insert(Failures { count: 0, last: now });
    if is_forgotten(failed, now) {
        failed.count = 0;
    }
    *failed = Failures { count: failed.count.saturating_add(1), last: now };
}

fn is_forgotten(failed: &Failures, now: Instant) -> bool {
    now.saturating_duration_since(failed.last) >= FORGET_AFTER
}

fn forget_half(failures: &mut HashMap<u64, Failures>, now: Instant) {
    failures.retain(|_, failed| !is_forgotten(failed, now));
    if failures.len() < KEYS_MAX {
        return;
    }
    let mut times: Vec<Instant> = failures.values().map(|failed| failed.last).collect();
    let middle = times.len() / 2;
    let (_, middle, _) = times.select_nth_unstable(middle);
    let middle = *middle;
    failures.retain(|_, failed| failed.last > middle);
}

/// Whoever has an IPv6 address has at least a /64 of them.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The /48 of an address of IPv6: what a place or a customer is given at most.
fn site_of(address: IpAddr) -> Option<Key<'static>> {
    match address.to_canonical() {
        IpAddr::V6(address) => Some(Key::Site((address.to_bits() >> 80 << 80).into())),
        IpAddr::V4(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    impl Guesses {
        fn wait(&self, name: &str, address: IpAddr, now: Instant) -> Result<(), Duration> {
            self.begin(name, address, now).map(drop)
        }
    }

    #[test]
    fn a4_waits_grow_after_five_failures() {
        let seconds: Vec<u64> = (0..20).map(|failures| PAIR.wait(failures, WAIT_FIRST).as_secs()).collect();
        assert_eq!(seconds[..10], [0, 0, 0, 0, 0, 1, 2, 4, 8, 16]);
        assert_eq!(seconds[14..], [512, 900, 900, 900, 900, 900]);
        assert_eq!(PAIR.wait(u32::MAX, WAIT_FIRST), PAIR.wait_max);
    }

    #[tokio::test]
    async fn a4_a_guesser_waits_and_nobody_else() {
        let (guesses, now, bad) = (Guesses::new(WAIT_FIRST), Instant::now(), address("203.0.113.7"));
        for _ in 0..5 {
            assert_eq!(guesses.wait("ann", bad, now), Ok(()));
        }
        assert_eq!(guesses.wait("ann", bad, now), Err(Duration::from_secs(1)));
        assert_eq!(guesses.wait("ann", address("::ffff:203.0.113.7"), now), Err(Duration::from_secs(1)));
        assert_eq!(guesses.wait("ann", address("203.0.113.8"), now), Ok(()), "from elsewhere");
        assert_eq!(guesses.wait("ben", bad, now), Ok(()), "another account");
        // Refused ones do not count: after its wait there is one more, and twice the wait.
        let later = now + Duration::from_secs(1);
        let right = guesses.begin("ann", bad, later).unwrap();
        assert_eq!(guesses.wait("ann", bad, later), Err(Duration::from_secs(2)));
        guesses.succeeded(right);
        assert_eq!(guesses.wait("ann", bad, later), Ok(()));
        assert_eq!(guesses.wait("ann", bad, later + FORGET_AFTER), Ok(()));
    }

    #[tokio::test]
    async fn a4_an_address_that_tries_many_names_waits() {
        let (guesses, now) = (Guesses::new(WAIT_FIRST), Instant::now());
        // All of a /64 are one.
        let admitted = (0..200_u32)
            .filter(|number| {
                let from = format!("2001:db8:1:2::{number:x}");
                guesses.begin(&format!("name{number}"), address(&from), now).is_ok()
            })
            .count();
        assert_eq!(admitted, 20);
        assert!(guesses.begin("ann", address("2001:db8:1:3::1"), now).is_ok());
    }

    #[tokio::test]
    async fn a4_a_site_with_many_addresses_waits() {
        let (guesses, now) = (Guesses::new(WAIT_FIRST), Instant::now());
        let of_site = |number: u32| address(&format!("2001:db8:1:{number:x}::1"));
        let admitted = (0..1_000).filter(|number| guesses.begin("ann", of_site(*number), now).is_ok()).count();
        assert_eq!(admitted, 100);
        assert!(guesses.has_failed("ben", of_site(2_000), now));
        let later = now + Duration::from_hours(1) - Duration::from_secs(1);
        let hour = (0..3_600).filter(|second| {
            guesses.begin("ann", of_site(3_000 + second), now + Duration::from_secs(u64::from(*second))).is_ok()
        });
        let in_an_hour = hour.count();
        assert!((60..70).contains(&in_an_hour), "one a minute: {in_an_hour}");
        assert!(guesses.wait("ben", of_site(9_000), later).unwrap_err() <= SITE.wait_max);
        // The one beside it is another.
        let beside = address("2001:db8:2::1");
        assert!(!guesses.has_failed("ann", beside, now) && guesses.begin("ann", beside, now).is_ok());
    }

    #[tokio::test]
    async fn a4_an_address_makes_no_others_of_its_site_wait() {
        let (guesses, now) = (Guesses::new(WAIT_FIRST), Instant::now());
        let try_from = |network: u32, now: Instant| {
            let from = address(&format!("2001:db8:1:{network:x}::1"));
            for number in 0..200 {
                let _ = guesses.begin(&format!("name{}", number / 6), from, now);
            }
        };
        let neighbour = address("2001:db8:1:ffff::1");
        // One of them all day, also at the account of the neighbour's, and after what it had is forgotten.
        for hour in 0..24 {
            let now = now + Duration::from_mins(59 * hour);
            try_from(1, now);
            let _ = guesses.begin("ann", address("2001:db8:1:1::1"), now);
            assert!(!guesses.has_failed("ann", neighbour, now), "in hour {hour}");
            assert_eq!(guesses.begin("ann", neighbour, now).map(|right| guesses.succeeded(right)), Ok(()));
        }
        let now = now + Duration::from_hours(48);
        for network in 0..19 {
            try_from(network, now);
        }
        assert!(guesses.has_failed("ann", neighbour, now), "it has to take its turn");
        assert_eq!(guesses.wait("ann", neighbour, now), Ok(()), "but may try");
    }

    #[tokio::test]
    async fn a4_an_old_password_in_an_app_keeps_nobody_else_out() {
        let (guesses, now, home) = (Guesses::new(WAIT_FIRST), Instant::now(), address("203.0.113.7"));
        for minute in 0..24 * 60 {
            let now = now + Duration::from_mins(minute);
            let _ = guesses.begin("ann", home, now);
            assert_eq!(guesses.wait("ann", home, now).is_ok(), minute < 2, "in minute {minute}");
            guesses.succeeded(guesses.begin("ben", home, now).unwrap());
            assert!(guesses.has_failed("ann", home, now), "in minute {minute}");
        }
    }

    #[tokio::test]
    async fn a4_who_comes_in_with_a_password_of_their_own_has_no_more_guesses() {
        let (guesses, now, from) = (Guesses::new(WAIT_FIRST), Instant::now(), address("203.0.113.7"));
        let mut tried = 0;
        for number in 0..200 {
            tried += u32::from(guesses.begin(&format!("name{}", number / 10), from, now).is_ok());
            if let Ok(right) = guesses.begin("ben", from, now) {
                guesses.succeeded(right);
            }
        }
        assert_eq!(tried, 20);
    }

    #[tokio::test]
    async fn a4_ten_thousand_guesses_from_a_hundred_addresses() {
        let (guesses, now) = (Guesses::new(WAIT_FIRST), Instant::now());
        let mut tried = 0;
        for round in 0..100_u32 {
            for host in 1..=100 {
                let from = address(&format!("198.51.100.{host}"));
                tried += u32::from(guesses.begin("ann", from, now + Duration::from_millis(u64::from(round))).is_ok());
            }
        }
        assert_eq!(tried, 100, "one each, and then the account makes them wait");
        assert!(guesses.begin("ann", address("192.0.2.1"), now).is_ok(), "its owner comes in from elsewhere");
        assert!(guesses.begin("ben", address("192.0.2.2"), now).is_ok());
    }

    #[tokio::test]
    async fn a5_wrong_tokens_count_by_address() {
        let (guesses, now, from) = (Guesses::new(WAIT_FIRST), Instant::now(), address("203.0.113.7"));
        for _ in 0..20 {
            assert_eq!(guesses.token_wait(from, now), None);
            guesses.token_failed(from, now);
        }
        assert_eq!(guesses.token_wait(from, now), Some(Duration::from_secs(1)));
        assert_eq!(guesses.token_wait(address("203.0.113.8"), now), None);
        assert_eq!(guesses.wait("ann", from, now), Ok(()), "passwords are another matter");
    }

    #[tokio::test]
    async fn a4_what_is_kept_is_bounded() {
        let (guesses, now) = (Guesses::new(WAIT_FIRST), Instant::now());
        for number in 0..30_000_u32 {
            let at = now + Duration::from_millis(u64::from(number));
            let _ = guesses.begin(&format!("name{number}"), IpAddr::V4((0x0a00_0000 + number).into()), at);
        }
        let kept = guesses.lock().len();
        assert!((KEYS_MAX / 4..=KEYS_MAX).contains(&kept), "{kept}");
    }
}
