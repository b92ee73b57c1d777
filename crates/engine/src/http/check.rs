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
    let refused_if = |is_forbidden: bool| if is_forbidden { Err(HttpError::Forbidden(host_of(url))) } else { Ok(()) };
    match url.host() {
        Some(Host::Ipv4(address)) => refused_if(!guard.permits(IpAddr::V4(address))),
        Some(Host::Ipv6(address)) => refused_if(!guard.permits(IpAddr::V6(address))),
        // RFC 6761, section 6.3: always loopback, whatever a name service says.
        Some(Host::Domain(name)) if is_localhost(name) => {
            let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            refused_if(!loopback.into_iter().any(|address| guard.permits(address)))
        }
        Some(Host::Domain(name)) => match tokio::time::timeout(RESOLVE_TIMEOUT, resolver.addresses(name)).await {
            Ok(Err(NameError::Forbidden(address))) => {
                Err(HttpError::Forbidden(format!("{} ({address})", host_of(url))))
            }
            Ok(Ok(_) | Err(NameError::NotFound)) | Err(_) => Ok(()),
        },
        None => refused_if(true),
    }
}

fn is_localhost(name: &str) -> bool {
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
    async fn u8_a_private_address_is_refused_before_anything_is_sent() {
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

    #[tokio::test]
    async fn u8_a_name_that_leads_to_private_addresses_alone_is_refused_with_one_of_them() {
        // The name of this machine, which leads to an address of its own wherever it is known.
        let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        let resolver = GuardedResolver::new(Arc::default(), None);
        let Err(NameError::Forbidden(address)) = resolver.addresses(name.trim()).await else { return };
        let refused = checked(&[], &format!("http://{}/", name.trim())).await.unwrap_err();
        assert!(refused.contains(&format!("({address})")), "{refused}");
    }
}
