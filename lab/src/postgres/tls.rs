//! TLS to a server, with the meaning that libpq gives to `sslmode`.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tarebench_store::error::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What is checked of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsCheck {
    /// Nothing: others cannot listen, but may pretend to be the server.
    Nothing,
    /// An authority that is trusted has signed it.
    Authority,
    /// The same, and it is of the host that was named.
    Host,
}

/// The authorities that are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TlsRoots {
    /// Those of the system.
    System,
    /// Those of a file.
    File(PathBuf),
}

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub check: TlsCheck,
    pub roots: TlsRoots,
    /// The client's own certificate and its key.
    pub own: Option<(PathBuf, PathBuf)>,
}

impl TlsSettings {
    /// A connector of these settings; reads the files of certificates.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, StoreError> {
        let provider = Arc::new(ring::default_provider());
        let (roots, known) = match self.check {
            TlsCheck::Nothing => (RootCertStore::empty(), Vec::new()),
            TlsCheck::Authority | TlsCheck::Host => self.roots.load()?,
        };
        let check = ServerCheck { check: self.check, roots, known, provider: provider.clone() };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| bad(format!("TLS cannot be used: {e}")))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(check));
        let config = match &self.own {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let unreadable = |e| bad(format!("cannot read the key of the file {} (sslkey): {e}", key.display()));
                let own = PrivateKeyDer::from_pem_file(key).map_err(unreadable)?;
                let unusable =
                    |e| bad(format!("the certificate {} (sslcert) cannot be used: {e}", certificate.display()));
                config.with_client_auth_cert(chain, own).map_err(unusable)?
            }
        };
        Ok(MakeRustlsConnect::new(config))
    }
}

fn bad(cause: String) -> StoreError {
    StoreError::BadPlace { cause }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let unreadable = |e| bad(format!("cannot read the certificates of the file {}: {e}", path.display()));
    let all = CertificateDer::pem_file_iter(path).map_err(unreadable)?.collect::<Result<Vec<_>, _>>();
    let all = all.map_err(unreadable)?;
    if all.is_empty() { Err(bad(format!("the file {} has no certificate", path.display()))) } else { Ok(all) }
}

impl TlsRoots {
    /// The authorities, and for a file also its certificates as they are.
    fn load(&self) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), StoreError> {
        let mut roots = RootCertStore::empty();
        match self {
            TlsRoots::System => {
                let found = rustls_native_certs::load_native_certs();
                let (added, _) = roots.add_parsable_certificates(found.certs);
                match added {
                    0 => Err(bad(
                        "this system has no certificates of authorities; name a file by sslrootcert".to_owned()
                    )),
                    _ => Ok((roots, Vec::new())),
                }
            }
            TlsRoots::File(path) => {
                let all = certificates(path)?;
                for certificate in &all {
                    let unusable = |e| bad(format!("a certificate of the file {} cannot be used: {e}", path.display()));
                    roots.add(certificate.clone()).map_err(unusable)?;
                }
                Ok((roots, all))
            }
        }
    }
}

/// Checks a server's certificate.
#[derive(Debug)]
struct ServerCheck {
    check: TlsCheck,
    roots: RootCertStore,
    /// Those that are trusted themselves, as a server's own certificate that it has signed itself.
    known: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCheck {
    /// An authority's certificate is no server's for webpki, but a server that has signed its own has only that.
    fn is_known(&self, certificate: &CertificateDer<'_>, error: &rustls::Error) -> bool {
        use CertificateError as C;
        let invalid_in_time = matches!(
            error,
            rustls::Error::InvalidCertificate(
                C::Expired | C::ExpiredContext { .. } | C::NotValidYet | C::NotValidYetContext { .. }
            )
        );
        !invalid_in_time && self.known.iter().any(|known| known == certificate)
    }
}

impl ServerCertVerifier for ServerCheck {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.check == TlsCheck::Nothing {
            return Ok(ServerCertVerified::assertion());
        }
        let parsed = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        match verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, intermediates, now, algorithms) {
            Err(e) if !self.is_known(end_entity, &e) => return Err(e),
            _ => {}
        }
        if self.check == TlsCheck::Host {
            verify_server_name(&parsed, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
