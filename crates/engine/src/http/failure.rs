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
            NameError::Forbidden(_) => HttpError::Forbidden(host()),
        };
    }
    if error.is_timeout() {
        return HttpError::TimedOut(host());
    }
    if let Some(tls) = tls_cause(error) {
        return HttpError::Tls { host: host(), reason: in_words(tls).to_owned() };
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

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source()).take(CAUSES_MAX)
}

fn cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    causes(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// TLS errors come wrapped in I/O errors, as their content and not as their cause.
fn tls_cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    causes(error).find_map(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause.downcast_ref::<rustls::Error>().or_else(|| inner?.downcast_ref::<rustls::Error>())
    })
}

/// Why a secure connection failed, for whoever wants to read the feed.
fn in_words(error: &rustls::Error) -> &'static str {
    use rustls::{CertificateError as Certificate, Error as Tls};
    match error {
        Tls::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Tls::InvalidCertificate(Certificate::NotValidYet | Certificate::NotValidYetContext { .. }) => {
            "its certificate is not valid yet"
        }
        Tls::InvalidCertificate(Certificate::NotValidForName | Certificate::NotValidForNameContext { .. }) => {
            "its certificate is for another name"
        }
        Tls::InvalidCertificate(Certificate::UnknownIssuer) => "nobody that this system trusts signed its certificate",
        Tls::InvalidCertificate(Certificate::Revoked) => "its certificate was revoked",
        Tls::InvalidCertificate(_) | Tls::NoCertificatesPresented => "its certificate is not valid",
        Tls::AlertReceived(_) => "it refused the handshake",
        Tls::PeerIncompatible(_) => "it speaks no version of TLS that we do",
        _ => "it does not speak TLS as it should",
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
    fn d8_what_this_machine_lacks_is_not_the_hosts_fault() {
        for (code, is_ours) in [(23, true), (24, true), (105, true), (12, true), (99, true), (111, false), (104, false)]
        {
            assert_eq!(is_of_this_machine(&io::Error::from_raw_os_error(code)), is_ours, "{code}");
        }
    }

    #[test]
    fn f4_a_failed_handshake_is_told_in_words() {
        for (error, expect) in [
            (Tls::InvalidCertificate(CertificateError::Expired), "its certificate has expired"),
            (Tls::InvalidCertificate(CertificateError::NotValidYet), "its certificate is not valid yet"),
            (Tls::InvalidCertificate(CertificateError::NotValidForName), "its certificate is for another name"),
            (
                Tls::InvalidCertificate(CertificateError::UnknownIssuer),
                "nobody that this system trusts signed its certificate",
            ),
            (Tls::InvalidCertificate(CertificateError::Revoked), "its certificate was revoked"),
            (Tls::InvalidCertificate(CertificateError::BadEncoding), "its certificate is not valid"),
            (Tls::AlertReceived(AlertDescription::HandshakeFailure), "it refused the handshake"),
            (Tls::DecryptError, "it does not speak TLS as it should"),
        ] {
            let wrapped = io::Error::other(error);
            assert_eq!(tls_cause(&wrapped).map(in_words), Some(expect));
        }
    }
}
