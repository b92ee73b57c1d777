//! What went wrong with a request, in words: from the libraries' errors to the port's. Their own texts hold the URL,
//! and with it whatever is secret in it, so none of them goes any further.

use std::{error::Error, io};

use domain::ports::HttpError;

use super::resolver::NameError;

/// How many causes of an error are looked at.
const CAUSES_MAX: usize = 16;

/// Where a request stood when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before there was an answer.
    Asking,
    /// In the middle of the answer.
    Reading,
}

/// Says what happened.
pub(crate) fn describe(error: &reqwest::Error, stage: Stage, host: &str) -> HttpError {
    let host = || host.to_owned();
    if let Some(name_error) = cause::<NameError>(error) {
        return match name_error {
            NameError::NotFound => HttpError::NotFound(host()),
            NameError::Forbidden => HttpError::Forbidden(host()),
        };
    }
    if error.is_timeout() {
        return HttpError::TimedOut(host());
    }
    if let Some(tls) = tls_cause(error) {
        return HttpError::Tls { host: host(), reason: tls };
    }
    match io_cause(error) {
        Some(code) if stage == Stage::Asking => HttpError::Connect { host: host(), code },
        _ if error.is_connect() => HttpError::Connect { host: host(), code: "the connection failed".to_owned() },
        _ => HttpError::BrokenOff(host()),
    }
}

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source()).take(CAUSES_MAX)
}

fn cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    causes(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// TLS errors come wrapped in I/O errors, as their content and not as their cause.
fn tls_cause(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).find_map(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let tls = cause.downcast_ref::<rustls::Error>().or_else(|| inner?.downcast_ref::<rustls::Error>())?;
        Some(tls.to_string())
    })
}

fn io_cause(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).find_map(code)
}

/// The name that the system has for an error.
fn code(error: &io::Error) -> Option<String> {
    use io::ErrorKind as Kind;
    let name = match error.kind() {
        Kind::ConnectionRefused => "ECONNREFUSED",
        Kind::ConnectionReset => "ECONNRESET",
        Kind::ConnectionAborted => "ECONNABORTED",
        Kind::HostUnreachable => "EHOSTUNREACH",
        Kind::NetworkUnreachable => "ENETUNREACH",
        Kind::NetworkDown => "ENETDOWN",
        Kind::AddrNotAvailable => "EADDRNOTAVAIL",
        Kind::BrokenPipe => "EPIPE",
        Kind::TimedOut => "ETIMEDOUT",
        Kind::PermissionDenied => "EACCES",
        _ => return error.raw_os_error().map(|code| format!("system error {code}")),
    };
    Some(name.to_owned())
}
