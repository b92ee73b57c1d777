//! Encrypted connections to the database. What is asked for is verified; what is not asked for is not tried.
//!
//! libpq's `sslmode=require` encrypts without looking at the certificate, which keeps nobody out who can answer for the
//! server. Here it is verified like `verify-full`; a server with a certificate of its own is trusted by `sslrootcert`.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::OpenError;

/// What a database URL says about TLS, and the URL without it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TlsMode {
    /// The URL, as the driver understands it.
    pub(crate) url: String,
    /// Whether TLS is demanded.
    pub(crate) is_required: bool,
    /// The file of certificates to trust instead of the system's.
    pub(crate) roots: Option<String>,
}

impl TlsMode {
    /// Takes `sslmode` and `sslrootcert` out of a URL.
    pub(crate) fn of(url: &str) -> Result<Self, OpenError> {
        let Some((base, query)) = url.split_once('?') else {
            return Ok(Self { url: url.to_owned(), is_required: false, roots: None });
        };
        let mut parsed = Self { url: base.to_owned(), is_required: false, roots: None };
        let mut kept = Vec::new();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => parsed.is_required = is_required(mode)?,
                Some(("sslrootcert", "system")) => parsed.roots = None,
                Some(("sslrootcert", file)) => parsed.roots = Some(file.replace("%2F", "/").replace("%2f", "/")),
                _ => kept.push(pair),
            }
        }
        let mode = if parsed.is_required { "sslmode=require" } else { "sslmode=disable" };
        kept.push(mode);
        parsed.url = format!("{base}?{}", kept.join("&"));
        Ok(parsed)
    }
}

fn is_required(mode: &str) -> Result<bool, OpenError> {
    match mode {
        "disable" | "allow" | "prefer" => Ok(false),
        "require" | "verify-ca" | "verify-full" => Ok(true),
        other => Err(OpenError::BadUrl(format!("sslmode={other} is not known; use disable, prefer or verify-full"))),
    }
}

/// Makes connections that are encrypted and verified.
pub(crate) fn connector(roots: Option<&str>) -> Result<MakeRustlsConnect, OpenError> {
    let roots = match roots {
        Some(file) => roots_of_file(file)?,
        None => roots_of_system(),
    };
    if roots.is_empty() {
        return Err(OpenError::BadUrl("no certificates to verify TLS with: name a file by sslrootcert=".to_owned()));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenError::Unsuitable(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn roots_of_file(file: &str) -> Result<RootCertStore, OpenError> {
    let bad = |error: &dyn std::fmt::Display| OpenError::BadUrl(format!("sslrootcert={file}: {error}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| bad(&error))? {
        roots.add(certificate.map_err(|error| bad(&error))?).map_err(|error| bad(&error))?;
    }
    Ok(roots)
}

/// Those that cannot be read are left out: a system may have any number of odd ones.
fn roots_of_system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_whether_tls_is_wanted() {
        fn check(query: &str, expect: &str, is_required: bool, roots: Option<&str>) {
            let mode = TlsMode::of(&format!("postgres://u:p@h/d{query}")).unwrap();
            let roots = roots.map(str::to_owned);
            assert_eq!(mode, TlsMode { url: format!("postgres://u:p@h/d{expect}"), is_required, roots });
        }
        check("", "", false, None);
        check("?sslmode=prefer", "?sslmode=disable", false, None);
        check("?connect_timeout=3&sslmode=require", "?connect_timeout=3&sslmode=require", true, None);
        check("?sslmode=verify-full&sslrootcert=%2Fca.pem", "?sslmode=require", true, Some("/ca.pem"));
        check("?sslrootcert=system&sslmode=verify-ca", "?sslmode=require", true, None);
        assert!(TlsMode::of("postgres://h/d?sslmode=maybe").is_err());
    }
}
