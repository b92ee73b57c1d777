//! Whether a password is set where it matters.

use super::Finding;
use crate::{backend::Backend, settings::Settings};

const HOW: &str = "set one with `pirssonite account password`";

/// Whether others may come in. Nothing is said where the accounts cannot be seen: another finding says why.
pub(super) async fn judge(settings: &Settings, backend: &dyn Backend) -> Option<Finding> {
    let accounts = backend.list("/api/accounts").await.ok()?;
    let has_password = accounts.iter().any(|account| account["hasPassword"] == true);
    Some(finding(settings, has_password))
}

fn finding(settings: &Settings, has_password: bool) -> Finding {
    if has_password {
        return Finding::fine("login", "a password is set, and whoever comes in needs one, or a token");
    }
    if settings.listen.ip().is_loopback() {
        if settings.base_url.is_none() {
            return Finding::fine("login", format!("none is needed on this machine, which alone is let in; {HOW}"));
        }
        let says = "base_url is set, so others may reach this server through a proxy, and no account has a password";
        return Finding::noted("login", format!("{says}: only hubs are let in from outside; {HOW}"));
    }
    if settings.no_auth {
        let says = format!("listen is {}, and no_auth lets everybody in who reaches it", settings.listen);
        return Finding::noted("login", format!("{says}: {HOW}, and take no_auth away"));
    }
    let says = format!("listen is {}, which others can reach, and no account has a password", settings.listen);
    Finding::wrong("login", format!("{says}: {HOW}, or say --no-auth; a server does not start so"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Severity;

    #[test]
    fn a3_doctor_says_whether_a_password_is_set_where_it_matters() {
        let public = ["--listen", "0.0.0.0:3000"];
        for (flags, has_password, severity, expect) in [
            (&[][..], false, Severity::Fine, "on this machine"),
            (&[], true, Severity::Fine, "a password is set"),
            (&["--base-url", "https://reader.example"], false, Severity::Noted, "through a proxy"),
            (&["--base-url", "https://reader.example"], true, Severity::Fine, "a password is set"),
            (&public, false, Severity::Wrong, "does not start so"),
            (&public, true, Severity::Fine, "a password is set"),
            (&["--listen", "0.0.0.0:3000", "--no-auth"], false, Severity::Noted, "everybody"),
        ] {
            let found = finding(&Settings::of_flags(flags), has_password);
            assert!(found.severity == severity && found.says.contains(expect), "{flags:?}: {}", found.says);
        }
    }
}
