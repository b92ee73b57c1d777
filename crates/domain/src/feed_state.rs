//! Feeds as the store keeps them.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;

use crate::{
    delivery::{EventType, FAILING_AFTER},
    follow::FollowSettings,
    ids::{FeedId, FolderId, IconId},
    ingest::{Document, PollOutcome, PollResult},
    push::SubscriptionView,
    schedule::ADAPTIVE_FIRST,
};

/// Seconds of a feed's own poll interval, at least and at most.
pub const POLL_INTERVAL_SECS: std::ops::RangeInclusive<u32> = 60..=30 * 24 * 60 * 60;

/// Characters of a name that a user gives a feed.
pub const FEED_TITLE_CHARS_MAX: usize = 500;

/// Bytes of a feed's URL.
pub const FEED_URL_BYTES_MAX: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    pub id: FeedId,
    /// Where it is polled, without user and password.
    pub url: String,
    /// Whether it is asked for with a user and a password, which are shown nowhere.
    pub has_credentials: bool,
    /// The page it belongs to.
    pub site_url: Option<String>,
    /// What it calls itself.
    pub title: Option<String>,
    /// What the user calls it.
    pub custom_title: Option<String>,
    /// The folder it is in.
    pub folder_id: Option<FolderId>,
    /// When it was last fetched with success, changed or not.
    pub last_fetched_at: Option<Timestamp>,
    /// When it is to be polled next.
    pub next_check_at: Timestamp,
    /// Failures since the last success.
    pub failure_count: u32,
    /// What the last of them was, in words a user understands.
    pub last_error: Option<String>,
    /// It answered 410: it is gone for good and not polled any more.
    pub is_gone: bool,
    /// Entries not read yet.
    pub unread_count: u64,
    /// Its own poll interval in seconds, if the user gave it one.
    pub poll_interval: Option<u32>,
    /// Whether push is wanted for it.
    pub push_enabled: bool,
    /// Its push subscription, if it has a hub.
    pub subscription: Option<SubscriptionView>,
    /// Its icon, if one was found.
    pub icon_id: Option<IconId>,
}

/// What a feed's URL is split into before it is kept: the secret part is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct FeedAddress {
    /// The URL without user and password.
    pub url: String,
    /// `user:password`, as the URL had it, decoded. Empty once they are taken away: nothing is sent then, but the feed stays
    /// its account's own, because entries that were read with them are.
    pub credentials: Option<String>,
}

impl std::fmt::Debug for FeedAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FeedAddress").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Why a text is not the address of a feed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Not a URL at all.
    #[error("not a URL: {0}")]
    NotAUrl(String),
    /// A scheme that is not fetched.
    #[error("only http and https feeds can be read, not {0}")]
    Scheme(String),
    #[error("the URL is longer than {FEED_URL_BYTES_MAX} bytes")]
    TooLong,
}

impl FeedAddress {
    /// Reads the address of a feed as a user writes it. `feed:` is taken as the scheme of old that it is, and a fragment
    /// names a place in a page, not a feed.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        let text = text.trim();
        if text.len() > FEED_URL_BYTES_MAX {
            return Err(BadAddress::TooLong);
        }
        let text = match text.strip_prefix("feed:") {
            Some(rest) if rest.starts_with("//") => format!("http:{rest}"),
            Some(rest) => rest.to_owned(),
            None => text.to_owned(),
        };
        let mut url = url::Url::parse(&text).map_err(|error| BadAddress::NotAUrl(in_words(error).to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadAddress::Scheme(url.scheme().to_owned()));
        }
        let credentials = credentials(&url);
        // Both can only fail for URLs without a host, which http and https always have.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        Ok(Self { url: url.into(), credentials })
    }

    /// This address, as the one of a feed that has been at another. A URL is shown without its user and password, so one
    /// that names none keeps those that are known, within the same origin. Another origin is never sent them. What was the
    /// account's own stays so.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        let is_same_origin = || match (url::Url::parse(&self.url), url::Url::parse(&before.url)) {
            (Ok(new), Ok(old)) => new.origin() == old.origin(),
            _ => false,
        };
        let credentials = match (&self.credentials, &before.credentials) {
            (Some(new), _) if !new.is_empty() => Some(new.clone()),
            (None, Some(known)) if is_same_origin() => Some(known.clone()),
            (_, known) => known.as_ref().map(|_| String::new()),
        };
        Self { credentials, ..self }
    }
}

/// What is wrong with a URL, for whoever wrote it.
fn in_words(error: url::ParseError) -> &'static str {
    use url::ParseError as Error;
    match error {
        Error::RelativeUrlWithoutBase => "it does not begin with http:// or https://",
        Error::EmptyHost => "it names no host",
        Error::InvalidPort => "its port is not a number from 0 to 65535",
        Error::IdnaError | Error::InvalidDomainCharacter => "its host name has characters that no name can have",
        Error::InvalidIpv4Address | Error::InvalidIpv6Address => {
            "its host is not an IP address, though it looks like one"
        }
        _ => "it cannot be read as one",
    }
}

fn credentials(url: &url::Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decode = |text: &str| percent_decode(text);
    Some(format!("{}:{}", decode(url.username()), decode(url.password().unwrap_or_default())))
}

fn percent_decode(text: &str) -> String {
    // A form with one key and no value is decoded just so, but for `+`, which stands for itself here.
    let text = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    url::form_urlencoded::parse(text.as_bytes()).map(|(key, _)| key.into_owned()).next().unwrap_or_default()
}

/// A feed that was just fetched and is to be kept.
#[derive(Debug, Clone)]
pub struct NewFeed {
    pub address: FeedAddress,
    /// The folder to put it in.
    pub folder_id: Option<FolderId>,
    /// What the user calls it.
    pub custom_title: Option<String>,
    pub document: Document,
    /// When to poll it next, from now.
    pub next_check_in: Duration,
}

/// A feed of an import: kept as it is, and polled at the next opportunity.
#[derive(Debug, Clone)]
pub struct FeedSeed {
    pub address: FeedAddress,
    /// The folder to put it in, by name; made if there is none of that name.
    pub folder: Option<String>,
    /// What the file calls it.
    pub title: Option<String>,
    /// What the user calls it. Where the file does not tell the two apart, what it calls the feed counts as that.
    pub custom_title: Option<String>,
    /// Its own poll interval in seconds.
    pub poll_interval: Option<u32>,
    /// Whether push is wanted for it.
    pub push_enabled: bool,
    pub site_url: Option<String>,
}

impl FeedSeed {
    /// A feed of which nothing but its address is known.
    pub fn new(address: FeedAddress) -> Self {
        Self {
            address,
            folder: None,
            title: None,
            custom_title: None,
            poll_interval: None,
            push_enabled: true,
            site_url: None,
        }
    }

    /// Of each seed of an import the place of the first with the same URL, if that is before it: an account follows a URL
    /// once, and the second is there already.
    pub fn repeats(seeds: &[Self]) -> Vec<Option<usize>> {
        let mut firsts: HashMap<&str, usize> = HashMap::new();
        let places = seeds.iter().enumerate();
        let repeats = places.map(|(place, seed)| {
            let first = *firsts.entry(&seed.address.url).or_insert(place);
            Some(first).filter(|first| *first < place)
        });
        repeats.collect()
    }

    /// The feed at another address that an account follows instead of this one, with these settings. Until it is fetched it
    /// is called as this one is.
    pub fn instead_of(feed: &Feed, settings: &FollowSettings, address: FeedAddress) -> Self {
        Self {
            title: feed.title.clone(),
            custom_title: settings.custom_title.clone(),
            poll_interval: settings.poll_interval,
            push_enabled: settings.push_enabled,
            site_url: feed.site_url.clone(),
            ..Self::new(address)
        }
    }
}

/// What a user changes about a feed. `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedPatch {
    /// The user's name for it.
    pub custom_title: Option<Option<String>>,
    /// Where it is: validators are forgotten and it is polled at once. Credentials are those of
    /// [`after`](FeedAddress::after).
    pub address: Option<FeedAddress>,
    /// Whether the user and password that are stored for it are taken away.
    pub forgets_credentials: bool,
    /// The folder it is in.
    pub folder_id: Option<Option<FolderId>>,
    /// Its own poll interval in seconds.
    pub poll_interval: Option<Option<u32>>,
    /// Whether push is wanted for it.
    pub push_enabled: Option<bool>,
}

impl FeedPatch {
    /// The address that a feed is to have, if that is to change: see [`after`](FeedAddress::after).
    pub fn address_of(&self, feed: &Feed) -> Option<FeedAddress> {
        if !self.forgets_credentials {
            return self.address.clone();
        }
        let named = self.address.as_ref().map(|address| &address.url);
        let url = named.or(feed.has_credentials.then_some(&feed.url))?;
        Some(FeedAddress { url: url.clone(), credentials: Some(String::new()) })
    }
}

/// What is stored of a feed's success so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Failures since the last success.
    pub failure_count: u32,
    /// `feed.failing` was sent, and no `feed.recovered` since.
    pub is_failing: bool,
    /// It answered 410.
    pub is_gone: bool,
}

/// What the end of a poll makes of its feed. Stores write it as it is; only what may change until the very moment of
/// writing (whether a hub is trusted to push the feed, whether somebody has requested a poll meanwhile) is left to SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedStateChange {
    pub standing: Standing,
    /// When to poll again, from now.
    pub check_in: Duration,
    /// The same if a hub is trusted to push the feed. Equal to `check_in` after a failure.
    pub audit_in: Duration,
    /// No later than this, by the store's clock.
    pub due_by: Option<Timestamp>,
    pub adaptive_secs: u32,
    /// What webhooks are sent.
    pub event: Option<EventType>,
}

impl Standing {
    /// Decides what a poll's result means for a feed that stands so. That a feed is gone is sent once, and never as a
    /// failure. A poll that somebody requested before the feed was due (`due_by`) adds no failure to those that there are
    /// and defers nothing.
    #[must_use]
    pub fn after(self, result: &PollResult) -> FeedStateChange {
        let (standing, event) = match &result.outcome {
            PollOutcome::Fetched(_) | PollOutcome::Unchanged(_) => {
                (Self::default(), self.is_failing.then_some(EventType::FeedRecovered))
            }
            PollOutcome::Gone(_) => {
                let event = (!self.is_gone).then_some(EventType::FeedGone);
                (Self { is_gone: true, ..self.failed(result) }, event)
            }
            PollOutcome::Failed(_) => {
                let standing = self.failed(result);
                let is_counted = result.due_by.is_none();
                let is_failing = is_counted && standing.failure_count == FAILING_AFTER && !self.is_failing;
                let event = is_failing.then_some(EventType::FeedFailing);
                (Self { is_failing: self.is_failing || is_failing, ..standing }, event)
            }
        };
        let is_failure = matches!(result.outcome, PollOutcome::Failed(_) | PollOutcome::Gone(_));
        FeedStateChange {
            standing,
            check_in: result.next_check_in,
            audit_in: if is_failure { result.next_check_in } else { result.next_audit_in },
            due_by: result.due_by,
            adaptive_secs: result.adaptive_secs,
            event,
        }
    }

    /// One failure more, or the first.
    fn failed(self, result: &PollResult) -> Self {
        let counted = u32::from(result.due_by.is_none());
        Self { failure_count: self.failure_count.saturating_add(counted).max(1), ..self }
    }
}

impl FeedStateChange {
    /// The state of a feed that was fetched before it was stored: no hub is trusted to push it yet.
    pub fn of_new_feed(next_check_in: Duration) -> Self {
        Self {
            standing: Standing::default(),
            check_in: next_check_in,
            audit_in: next_check_in,
            due_by: None,
            adaptive_secs: u32::try_from(ADAPTIVE_FIRST.as_secs()).unwrap_or(u32::MAX),
            event: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_an_address_is_http_and_keeps_its_password_apart() {
        let address = FeedAddress::parse(" https://u%40x:p+%2Fw@e.org/f?a=b#c ").unwrap();
        assert_eq!(address.url, "https://e.org/f?a=b");
        assert_eq!(address.credentials.as_deref(), Some("u@x:p+/w"));
        assert!(!format!("{address:?}").contains("p+"));
        assert_eq!(FeedAddress::parse("feed://e.org/f").unwrap().url, "http://e.org/f");
        assert_eq!(FeedAddress::parse("feed:https://e.org/f").unwrap().url, "https://e.org/f");
        for bad in ["", "e.org/feed", "ftp://e.org/", "javascript:x", "http://", "file:///etc/passwd"] {
            assert!(FeedAddress::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn f1_an_address_keeps_the_known_password_within_its_origin() {
        for (before, new, expect) in [
            ("https://u:p@e.org/f", "https://e.org/f", Some("u:p")),
            ("https://u:p@e.org/f", "https://E.org:443/other?x", Some("u:p")),
            ("https://u:p@e.org/f", "https://v:q@e.org/f", Some("v:q")),
            ("https://u:p@e.org/f", "https://v:q@other.org/f", Some("v:q")),
            // Nothing is sent to another origin, but what was private stays so.
            ("https://u:p@e.org/f", "https://other.org/f", Some("")),
            ("https://u:p@e.org/f", "https://e.org:8443/f", Some("")),
            ("https://u:p@e.org/f", "http://e.org/f", Some("")),
            ("https://e.org/f", "https://e.org/f", None),
        ] {
            let [before, new] = [before, new].map(|url| FeedAddress::parse(url).unwrap());
            assert_eq!(new.clone().after(&before).credentials.as_deref(), expect, "{new:?}");
        }
    }

    #[test]
    fn f6_a_url_that_is_in_a_file_twice_is_one_feed() {
        let check = |urls: &[&str], expect: &[Option<usize>]| {
            let seeds: Vec<FeedSeed> = urls.iter().map(|url| FeedSeed::new(FeedAddress::parse(url).unwrap())).collect();
            assert_eq!(FeedSeed::repeats(&seeds), expect, "{urls:?}");
        };
        check(&[], &[]);
        check(&["https://e.org/1", "https://e.org/2"], &[None, None]);
        check(
            &["https://e.org/1", "https://e.org/2", "https://e.org/1", "https://e.org/1"],
            &[None, None, Some(0), Some(0)],
        );
        check(&["https://e.org/1", "https://user:pw@e.org/1"], &[None, Some(0)]);
    }

    #[test]
    fn f1_a_known_password_is_taken_away() {
        let none = FeedAddress { url: "https://e.org/f".into(), credentials: Some(String::new()) };
        for (before, expect) in [(Some("u:p"), Some("")), (Some(""), Some("")), (None, None)] {
            let before = FeedAddress { credentials: before.map(str::to_owned), ..none.clone() };
            assert_eq!(none.clone().after(&before).credentials.as_deref(), expect, "{before:?}");
        }
    }

    #[test]
    fn f1_bad_addresses_are_explained() {
        for (bad, expect) in [
            ("", "not a URL: it does not begin with http:// or https://"),
            ("e.org/feed", "not a URL: it does not begin with http:// or https://"),
            ("http://", "not a URL: it names no host"),
            ("http://e.org:99999/", "not a URL: its port is not a number from 0 to 65535"),
            ("http://e.org:x/", "not a URL: its port is not a number from 0 to 65535"),
            ("http://a b/", "not a URL: its host name has characters that no name can have"),
            ("http://xn--a/", "not a URL: its host name has characters that no name can have"),
            ("http://1.2.3.456/", "not a URL: its host is not an IP address, though it looks like one"),
            ("http://[::x]/", "not a URL: its host is not an IP address, though it looks like one"),
            ("ftp://e.org/", "only http and https feeds can be read, not ftp"),
        ] {
            assert_eq!(FeedAddress::parse(bad).unwrap_err().to_string(), expect, "{bad}");
        }
    }

    #[test]
    fn f4_standing_after_a_poll() {
        use crate::{
            ingest::{PollOutcome::*, Validators},
            lease::Lease,
        };
        let well = Standing::default();
        let failed = |failure_count| Standing { failure_count, ..well };
        let failing = |failure_count| Standing { is_failing: true, ..failed(failure_count) };
        let gone = |failure_count| Standing { is_gone: true, ..failed(failure_count) };
        let gone_failing = Standing { is_gone: true, ..failing(4) };
        let (unchanged, fetched) = (|| Unchanged(Validators::default()), || Fetched(Document::default()));
        let (failure, gone_answer) = (|| Failed("no".to_owned()), || Gone("gone".to_owned()));
        let (recovered, is_gone) = (Some(EventType::FeedRecovered), Some(EventType::FeedGone));
        let now_failing = Some(EventType::FeedFailing);
        for (name, before, outcome, is_requested, expect, event) in [
            ("well, unchanged", well, unchanged(), false, well, None),
            ("well, fetched", well, fetched(), false, well, None),
            ("failed, unchanged", failed(2), unchanged(), false, well, None),
            ("failing, unchanged", failing(3), unchanged(), false, well, recovered),
            ("failing, fetched", failing(7), fetched(), false, well, recovered),
            ("failing, fetched by request", failing(7), fetched(), true, well, recovered),
            ("gone, fetched", gone(1), fetched(), false, well, None),
            ("gone while failing, unchanged", gone_failing, unchanged(), false, well, recovered),
            ("first failure", well, failure(), false, failed(1), None),
            ("second failure", failed(1), failure(), false, failed(2), None),
            ("third failure", failed(2), failure(), false, failing(3), now_failing),
            ("fourth failure", failing(3), failure(), false, failing(4), None),
            ("failing, counted anew at another URL", failing(2), failure(), false, failing(3), None),
            ("more than three before, never sent", failed(5), failure(), false, failed(6), None),
            ("first failure by request", well, failure(), true, failed(1), None),
            ("second failure by request", failed(1), failure(), true, failed(1), None),
            ("third failure by request", failed(2), failure(), true, failed(2), None),
            ("failure after request", failed(3), failure(), true, failed(3), None),
            ("first answer 410", well, gone_answer(), false, gone(1), is_gone),
            ("410 as the third failure", failed(2), gone_answer(), false, gone(3), is_gone),
            ("410 while failing", failing(3), gone_answer(), false, gone_failing, is_gone),
            ("410 again", gone(1), gone_answer(), false, gone(2), None),
            ("410 by request", failed(1), gone_answer(), true, gone(1), is_gone),
            ("gone, failed", gone(1), failure(), false, gone(2), None),
            ("most failures", failed(u32::MAX), failure(), false, failed(u32::MAX), None),
        ] {
            let is_failure = matches!(outcome, Failed(_) | Gone(_));
            let due_by = is_requested.then_some(Timestamp::UNIX_EPOCH);
            let result = PollResult {
                feed_id: FeedId(1),
                lease: Lease { owner: "w".into(), fence: 1 },
                claimed_at: Timestamp::UNIX_EPOCH,
                next_check_in: Duration::from_mins(1),
                next_audit_in: Duration::from_mins(10),
                due_by,
                adaptive_secs: 77,
                moved_to: None,
                outcome,
            };
            let expect = FeedStateChange {
                standing: expect,
                check_in: Duration::from_mins(1),
                audit_in: Duration::from_mins(if is_failure { 1 } else { 10 }),
                due_by,
                adaptive_secs: 77,
                event,
            };
            assert_eq!(before.after(&result), expect, "{name}");
        }
    }
}
