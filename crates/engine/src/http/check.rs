//! Whether requests may go to a URL, before any is sent: so that a user who names a private address is told at once.
//! What is sent later is checked again: a name may lead elsewhere by then.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use domain::ports::HttpError;
use url::{Host, Url};

use super::{
    address::Guard,
    redirect::host_of,
    resolver::{GuardedResolver, NameError},
};

/// How long a name may take to be resolved.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Refuses hosts all of whose addresses are forbidden. A name that is not found now may be found later.
pub(super) async fn check(guard: &Guard, resolver: &GuardedResolver, url: &Url) -> Result<(), HttpError> {
    let refused_if = |is_forbidden: bool| {
        if is_forbidden { Err(HttpError::Forbidden(host_of(url))) } else { Ok(()) }
    };
    match url.host() {
        Some(Host::Ipv4(address)) => refused_if(!guard.permits(IpAddr::V4(address))),
        Some(Host::Ipv6(address)) => refused_if(!guard.permits(IpAddr::V6(address))),
        // RFC 6761, section 6.3: always loopback, whatever a name service says.
        Some(Host::Domain(name)) if is_localhost(name) => {
            let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            refused_if(!loopback.into_iter().any(|address| guard.permits(address)))
        }
        Some(Host::Domain(name)) => {
            let found = tokio::time::timeout(RESOLVE_TIMEOUT, resolver.addresses(name)).await;
            judge_name(url, found.ok().and_then(Result::err))
        }
        None => refused_if(true),
    }
}

/// Of a name that could not be resolved for this reason, or could.
fn judge_name(url: &Url, problem: Option<NameError>) -> Result<(), HttpError> {
    match problem {
        Some(NameError::Forbidden(address)) => Err(HttpError::Forbidden(format!("{} ({address})", host_of(url)))),
        Some(NameError::OwnServer) => Err(HttpError::OwnServer(host_of(url))),
        Some(NameError::NotFound | NameError::NoAnswer | NameError::NoWay) | None => Ok(()),
    }
}

pub(super) fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    async fn checked(allowed: &[&str], url: &str) -> Result<(), String> {
        let guard = Arc::new(Guard::new(allowed.iter().map(|network| network.parse().unwrap()).collect()));
        let resolver = GuardedResolver::new(Arc::clone(&guard), None);
        check(&guard, &resolver, &Url::parse(url).unwrap()).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn u8_private_address_is_refused_unsent() {
        for (url, names) in [
            ("http://127.0.0.1:8080/hook", "127.0.0.1:8080"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://10.1.2.3/", "10.1.2.3"),
            ("http://169.254.169.254/latest", "169.254.169.254"),
            ("http://[::1]/", "[::1]"),
            ("http://[fd00::1]/", "[fd00::1]"),
            ("http://localhost:3000/", "localhost:3000"),
            ("http://LOCALHOST./", "localhost."),
            ("http://a.localhost/", "a.localhost"),
        ] {
            let sentence = format!("the address of {names} is not public; `allow_networks` can allow it");
            assert_eq!(checked(&[], url).await, Err(sentence), "{url}");
        }
        for (allowed, url) in [
            (&[][..], "http://8.8.8.8/"),
            (&[], "https://no-such-name.invalid/"),
            (&["127.0.0.0/8"], "http://127.0.0.1/"),
            (&["127.0.0.0/8"], "http://localhost/"),
            (&["::1/128"], "http://localhost/"),
            (&["10.0.0.0/8"], "http://10.1.2.3/"),
        ] {
            assert_eq!(checked(allowed, url).await, Ok(()), "{url}");
        }
    }

    #[test]
    fn u8_private_only_name_is_refused_with_address() {
        let url = Url::parse("http://intern.example:81/hook").unwrap();
        let refused = judge_name(&url, Some(NameError::Forbidden([10, 0, 0, 5].into()))).unwrap_err();
        let sentence = "the address of intern.example:81 (10.0.0.5) is not public; `allow_networks` can allow it";
        assert_eq!(refused.to_string(), sentence);
        assert_eq!(judge_name(&url, Some(NameError::NotFound)), Ok(()));
        assert_eq!(judge_name(&url, None), Ok(()));
    }
}
