//! Which addresses requests may go to: public ones, and those that the operator allows. Pure.
//!
//! IPv4 is public unless a table says otherwise. IPv6 is public only inside `2000::/3`, which is all that has been given
//! out, less the ranges in it that lead somewhere else: an address that wraps an IPv4 address (6to4, Teredo, NAT64)
//! would carry a request past the table for IPv4.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// What IPv4 keeps for other purposes (the IANA registry of special-purpose addresses, multicast and the future).
const IPV4_SPECIAL: [Ipv4Net; 16] = [
    v4([0, 0, 0, 0], 8),       // this network
    v4([10, 0, 0, 0], 8),      // private
    v4([100, 64, 0, 0], 10),   // shared by a provider's customers
    v4([127, 0, 0, 0], 8),     // loopback
    v4([169, 254, 0, 0], 16),  // link-local, and where clouds keep their secrets
    v4([172, 16, 0, 0], 12),   // private
    v4([192, 0, 0, 0], 24),    // protocol assignments
    v4([192, 0, 2, 0], 24),    // documentation
    v4([192, 88, 99, 0], 24),  // 6to4 relays
    v4([192, 168, 0, 0], 16),  // private
    v4([198, 18, 0, 0], 15),   // measurements between networks
    v4([198, 51, 100, 0], 24), // documentation
    v4([203, 0, 113, 0], 24),  // documentation
    v4([224, 0, 0, 0], 4),     // multicast
    v4([240, 0, 0, 0], 4),     // the future, and broadcast
    v4([233, 252, 0, 0], 24),  // documentation of multicast
];

/// All that IPv6 has given out.
const IPV6_GLOBAL: Ipv6Net = v6([0x2000, 0, 0, 0], 3);

/// What is special inside it.
const IPV6_SPECIAL: [Ipv6Net; 4] = [
    v6([0x2001, 0, 0, 0], 23),     // protocol assignments, Teredo among them
    v6([0x2001, 0xdb8, 0, 0], 32), // documentation
    v6([0x2002, 0, 0, 0], 16),     // 6to4
    v6([0x3fff, 0, 0, 0], 20),     // documentation
];

const fn v4(address: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(address[0], address[1], address[2], address[3]), length)
}

const fn v6(head: [u16; 4], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(head[0], head[1], head[2], head[3], 0, 0, 0, 0), length)
}

/// The judge of addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    allowed: Vec<IpNet>,
}

impl Guard {
    /// A guard that lets requests go to public addresses and to these networks.
    pub(crate) fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Whether a request may go there.
    pub(crate) fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address) || self.allowed.iter().any(|network| network.contains(&address))
    }
}

/// Whether an address belongs to the public internet. An IPv4 address written as IPv6 is judged as what it is.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !IPV4_SPECIAL.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            IPV6_GLOBAL.contains(&address) && !IPV6_SPECIAL.iter().any(|network| network.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &Guard, addresses: &[&str], expect: bool) {
        for address in addresses {
            assert_eq!(guard.permits(address.parse().unwrap()), expect, "{address}");
        }
    }

    #[test]
    fn u8_public_addresses_pass() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.101.0",
            "203.0.112.255",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "3ffe::1",
        ];
        check(&Guard::default(), &public, true);
    }

    #[test]
    fn u8_all_others_do_not() {
        let others = [
            // IPv4: each range by its first and last address.
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.0",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.0",
            "169.254.169.254",
            "169.254.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.0",
            "192.0.0.255",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.255",
            "224.0.0.1",
            "233.252.0.1",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.254",
            "255.255.255.255",
            // IPv4 inside IPv6: mapped, compatible, translated (NAT64), 6to4, Teredo.
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:0",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b::127.0.0.1",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "2001::1",
            "2001:0:53aa:64c::1",
            // IPv6: unspecified, loopback, discard, unique local, link-local, site-local, multicast, documentation.
            "::",
            "::1",
            "100::1",
            "fc00::1",
            "fd00:ec2::254",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
            "2001:db8::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff::1",
            "3fff::1",
            "3fff:fff::1",
            // Not given out.
            "1::1",
            "1fff::1",
            "4000::1",
            "5f00::1",
            "8000::1",
            "e000::1",
        ];
        check(&Guard::default(), &others, false);
    }

    #[test]
    fn u8_an_operator_can_allow_networks() {
        let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        check(&guard, &["127.0.0.1", "::ffff:127.0.0.1", "fd00::1", "8.8.8.8"], true);
        check(&guard, &["10.0.0.1", "::1", "fc00::1"], false);
    }
}
