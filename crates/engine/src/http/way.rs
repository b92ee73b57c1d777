//! Which way this machine would take to an address, as the system says. Nothing is sent to find out.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

use super::resolver::NameError;

/// The address of this machine that something would be sent from.
pub(super) fn source_to(address: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((address, 9))?;
    Ok(socket.local_addr()?.ip())
}

/// Whether there is a way to an address. Most containers have none to IPv6, whatever addresses names have.
pub(super) fn is_there(address: IpAddr) -> bool {
    !source_to(address).is_err_and(|error| is_none(&error))
}

/// The addresses of a name to which there is a way. An attempt at one of the others would be the last that is made, and
/// hide why those before it failed.
pub(super) fn reachable(
    addresses: Vec<SocketAddr>,
    is_there: impl Fn(IpAddr) -> bool,
) -> Result<Vec<SocketAddr>, NameError> {
    let reachable: Vec<_> = addresses.into_iter().filter(|address| is_there(address.ip())).collect();
    if reachable.is_empty() { Err(NameError::NoWay) } else { Ok(reachable) }
}

/// Whether an error says that there is no way, and nothing else.
fn is_none(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    const EAFNOSUPPORT: i32 = 97;
    matches!(error.kind(), Kind::AddrNotAvailable | Kind::NetworkUnreachable | Kind::HostUnreachable)
        || error.raw_os_error() == Some(EAFNOSUPPORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d8_addresses_without_a_way_are_not_tried() {
        let address = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
        let [v4, v6] = ["192.0.2.1", "2001:db8::1"].map(address);
        for (has_v6, addresses, expect) in [
            (false, vec![v4, v6], Ok(vec![v4])),
            (false, vec![v6, v4], Ok(vec![v4])),
            (false, vec![v6], Err(NameError::NoWay)),
            (true, vec![v4, v6], Ok(vec![v4, v6])),
        ] {
            assert_eq!(reachable(addresses, |address| has_v6 || address.is_ipv4()), expect);
        }
        assert!(is_there(Ipv4Addr::LOCALHOST.into()));
    }

    #[test]
    fn d8_lack_of_a_way_differs_from_other_errors() {
        for (code, expect) in [(99, true), (101, true), (113, true), (97, true), (24, false), (98, false), (1, false)] {
            assert_eq!(is_none(&io::Error::from_raw_os_error(code)), expect, "{code}");
        }
    }
}
