//! Variables that container platforms set by themselves. For a service or a linked container called `pirssonite`, or
//! `pirssonite-web`, Kubernetes and Docker tell every container near it where it is, in names that begin like ours.

/// Ends of an address in the form `tcp://10.0.0.7:3000`.
const SCHEMES: [&str; 3] = ["tcp://", "udp://", "sctp://"];
/// What stands for the protocol in a name such as `PIRSSONITE_PORT_3000_TCP_ADDR`.
const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
/// How such a name may go on.
const DETAILS: [&str; 3] = ["ADDR", "PORT", "PROTO"];

/// Whether a platform sets this variable, so that it is no setting of ours that is misspelt.
pub(super) fn is_set_by_platform(name: &str, value: &str) -> bool {
    let Some(rest) = name.strip_prefix("PIRSSONITE_") else { return false };
    // `PORT` alone has any value: platforms other than these set it as well.
    if rest == "PORT" || rest.starts_with("ENV_") {
        return true;
    }
    is_link(rest, value) || is_of_service(rest) || is_of_port(rest) || (rest.ends_with("_PORT") && is_address(value))
}

/// `NAME`, and the same after the rest of a container's name: who is linked, and as what. And `ENV_...` of such a one, which is
/// any variable of it.
fn is_link(rest: &str, value: &str) -> bool {
    let is_name = rest == "NAME" || (rest.ends_with("_NAME") && value.starts_with('/'));
    is_name || rest.contains("_ENV_")
}

/// `SERVICE_HOST`, `SERVICE_PORT`, `SERVICE_PORT_HTTP`, and the same after the rest of a service's name.
fn is_of_service(rest: &str) -> bool {
    let after = |word: &str| rest.split_once(word).filter(|(before, _)| before.is_empty() || before.ends_with('_'));
    let is_host = after("SERVICE_HOST").is_some_and(|(_, end)| end.is_empty());
    is_host || after("SERVICE_PORT").is_some_and(|(_, end)| end.is_empty() || end.starts_with('_'))
}

/// `PORT_3000_TCP`, `PORT_3000_TCP_ADDR` and so on, and the same after the rest of a service's name.
fn is_of_port(rest: &str) -> bool {
    let mut parts = rest.rsplit('_').peekable();
    parts.next_if(|last| DETAILS.contains(last));
    parts.next().is_some_and(|protocol| PROTOCOLS.contains(&protocol))
        && parts.next().is_some_and(|port| port.parse::<u16>().is_ok())
        && parts.next() == Some("PORT")
}

fn is_address(value: &str) -> bool {
    SCHEMES.iter().any(|scheme| value.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_platform_variables_are_no_settings() {
        for (name, value, expect) in [
            ("PIRSSONITE_PORT", "tcp://10.0.0.7:3000", true),
            ("PIRSSONITE_PORT", "8080", true),
            ("PIRSSONITE_SERVICE_HOST", "10.0.0.7", true),
            ("PIRSSONITE_SERVICE_PORT", "3000", true),
            ("PIRSSONITE_SERVICE_PORT_HTTP", "3000", true),
            ("PIRSSONITE_PORT_3000_TCP", "tcp://10.0.0.7:3000", true),
            ("PIRSSONITE_PORT_3000_TCP_PROTO", "tcp", true),
            ("PIRSSONITE_PORT_3000_TCP_PORT", "3000", true),
            ("PIRSSONITE_PORT_53_UDP_ADDR", "10.0.0.7", true),
            ("PIRSSONITE_WEB_SERVICE_HOST", "10.0.0.7", true),
            ("PIRSSONITE_WEB_SERVICE_PORT_HTTP", "3000", true),
            ("PIRSSONITE_WEB_PORT", "tcp://10.0.0.7:3000", true),
            ("PIRSSONITE_WEB_PORT_3000_TCP_ADDR", "10.0.0.7", true),
            ("PIRSSONITE_NAME", "/web/pirssonite", true),
            ("PIRSSONITE_ENV_PATH", "/bin", true),
            ("PIRSSONITE_WEB_NAME", "/proxy/pirssonite-web", true),
            ("PIRSSONITE_WEB_ENV_PATH", "/bin", true),
            ("PIRSSONITE_WEB_NAME", "web", false),
            ("PIRSSONITE_LISTEN_PORT", "3000", false),
            ("PIRSSONITE_PORTS", "3000", false),
            ("PIRSSONITE_PORT_TCP", "3000", false),
            ("PIRSSONITE_PORT_X_TCP", "3000", false),
            ("PIRSSONITE_SERVICE_HOSTS", "x", false),
            ("PIRSSONITE_SERVICE", "x", false),
            ("PIRSSONITE_POLL_MINIMUM", "15m", false),
        ] {
            assert_eq!(is_set_by_platform(name, value), expect, "{name}={value}");
        }
    }
}
