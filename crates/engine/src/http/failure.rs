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

pub(crate) fn describe(error: &reqwest::Error, stage: Stage, host: &str) -> HttpError {
    let host = || host.to_owned();
    if let Some(name_error) = cause::<NameError>(error) {
        return match name_error {
            NameError::NotFound => HttpError::NotFound(host()),
            NameError::NoAnswer => HttpError::NoNameService,
            NameError::Forbidden(_) => HttpError::Forbidden(host()),
            NameError::OwnServer => HttpError::OwnServer(host()),
            NameError::NoWay => no_way(host()),
        };
    }
    if error.is_timeout() {
        return HttpError::TimedOut(host());
    }
    if let Some(tls) = cause::<rustls::Error>(error) {
        return HttpError::Tls { host: host(), reason: in_words(tls) };
    }
    if error.is_connect() && causes(error).any(is_end_of_stream) {
        // Only a handshake reads anything while a connection is being made.
        return HttpError::Tls { host: host(), reason: "the server closed the connection".to_owned() };
    }
    if stage == Stage::Reading && is_of_decompression(error) {
        return HttpError::Compression(host());
    }
    if let Some(error) =
        causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).find(|error| is_of_this_machine(error))
    {
        return HttpError::Exhausted(code(error).unwrap_or_default());
    }
    match io_cause(error) {
        Some(code) if stage == Stage::Asking => HttpError::Connect { host: host(), code },
        _ if error.is_connect() => HttpError::Connect { host: host(), code: "the connection failed".to_owned() },
        _ => HttpError::BrokenOff(host()),
    }
}

/// Of a host to which this machine has no way.
pub(super) fn no_way(host: String) -> HttpError {
    HttpError::Connect { host, code: "ENETUNREACH".to_owned() }
}

/// The error and all its causes.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| next_cause(*error)).take(CAUSES_MAX)
}

/// An I/O error that wraps another gives that one's cause as its own, and leaves the wrapped error itself out: TLS errors
/// come wrapped so, often twice.
fn next_cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

fn cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    causes(error).find_map(|cause| cause.downcast_ref::<E>())
}

fn is_end_of_stream(cause: &(dyn Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
}

/// Why a TLS handshake failed. None of these texts holds a URL.
fn in_words(error: &rustls::Error) -> String {
    use rustls::{CertificateError as Certificate, Error as Tls};
    match error {
        Tls::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "certificate expired".to_owned()
        }
        Tls::InvalidCertificate(Certificate::NotValidYet | Certificate::NotValidYetContext { .. }) => {
            "certificate not valid yet".to_owned()
        }
        Tls::InvalidCertificate(Certificate::NotValidForNameContext { expected, .. }) => {
            format!("certificate not valid for name \"{}\"", expected.to_str())
        }
        Tls::InvalidCertificate(Certificate::NotValidForName) => "certificate not valid for this name".to_owned(),
        Tls::InvalidCertificate(Certificate::Revoked) => "certificate revoked".to_owned(),
        Tls::InvalidCertificate(Certificate::UnknownIssuer) => {
            format!("{error} (no CA that this system trusts has signed it)")
        }
        Tls::InvalidMessage(_) => format!("the server does not speak TLS ({error})"),
        _ => error.to_string(),
    }
}

/// Whether the answer arrived, and could not be unpacked: the decompressor's errors are I/O errors that come right
/// beneath those of the client, while those of a connection come with the HTTP library's in between.
fn is_of_decompression(error: &(dyn Error + 'static)) -> bool {
    causes(error)
        .filter(|cause| cause.is::<reqwest::Error>())
        .any(|cause| cause.source().is_some_and(<dyn Error>::is::<io::Error>))
}

fn io_cause(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).find_map(code)
}

/// Whether it is this machine that has no more files, ports or memory.
fn is_of_this_machine(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const ENOBUFS: i32 = 105;
    let is_code = |code: i32| matches!(code, ENFILE | EMFILE | ENOBUFS);
    matches!(error.kind(), Kind::AddrNotAvailable | Kind::OutOfMemory) || error.raw_os_error().is_some_and(is_code)
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
        Kind::OutOfMemory => "ENOMEM",
        _ => return error.raw_os_error().map(|code| format!("system error {code}")),
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError, Error as Tls};

    use super::*;

    #[test]
    fn d8_own_exhaustion_is_not_blamed_on_host() {
        for (code, is_ours) in [(23, true), (24, true), (105, true), (12, true), (99, true), (111, false), (104, false)]
        {
            assert_eq!(is_of_this_machine(&io::Error::from_raw_os_error(code)), is_ours, "{code}");
        }
    }

    #[test]
    fn f4_d8_failed_handshake_says_why() {
        let invalid = Tls::InvalidCertificate;
        for (error, expect) in [
            (invalid(CertificateError::Expired), "certificate expired"),
            (invalid(CertificateError::NotValidYet), "certificate not valid yet"),
            (invalid(CertificateError::NotValidForName), "certificate not valid for this name"),
            (
                invalid(CertificateError::UnknownIssuer),
                "invalid peer certificate: UnknownIssuer (no CA that this system trusts has signed it)",
            ),
            (invalid(CertificateError::Revoked), "certificate revoked"),
            (invalid(CertificateError::BadEncoding), "invalid peer certificate: BadEncoding"),
            (Tls::AlertReceived(AlertDescription::HandshakeFailure), "received fatal alert: HandshakeFailure"),
            (Tls::DecryptError, "cannot decrypt peer's message"),
        ] {
            let once = io::Error::other(error);
            assert_eq!(cause::<Tls>(&once).map(in_words).as_deref(), Some(expect));
            let twice = io::Error::other(once);
            assert_eq!(cause::<Tls>(&twice).map(in_words).as_deref(), Some(expect));
        }
    }
}
