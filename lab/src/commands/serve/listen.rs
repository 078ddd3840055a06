//! Where the application listens.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use tarebench_cli::exit::Failure;
use tokio::net::{TcpListener, UnixListener};

/// An address and port, or a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl ListenAddress {
    /// As the user writes it: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, `unix:/run/tare.sock`.
    pub fn parse(text: &str) -> Result<ListenAddress, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.is_empty() {
                true => Err("expected the path of a socket after unix:".to_owned()),
                false => Ok(ListenAddress::Unix(PathBuf::from(path))),
            };
        }
        let expected = |e: &dyn fmt::Display| format!("expected ADDRESS:PORT or unix:PATH: {e}");
        let mut found = text.to_socket_addrs().map_err(|e| expected(&e))?;
        found.next().map(ListenAddress::Tcp).ok_or_else(|| expected(&"the name has no address"))
    }

    /// The address that browsers ask, for messages: where the system has chosen the port, the one that it chose.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            ListenAddress::Tcp(at) => Some(at.ip()),
            ListenAddress::Unix(_) => None,
        }
    }

    /// Whether other machines can connect.
    pub fn is_public(&self) -> bool {
        self.ip().is_some_and(|ip| !ip.to_canonical().is_loopback())
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Tcp(at) => write!(f, "http://{at}/"),
            ListenAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A socket that connections come from.
pub enum ServeSocket {
    Tcp(TcpListener),
    /// Its file is removed at the end.
    Unix {
        listener: UnixListener,
        _file: SocketFile,
    },
}

/// The file of a Unix socket.
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Listens; returns the address with the port that the system has chosen, if it was 0.
///
/// # Errors
/// The system's, as where the port is in use.
pub async fn listen(at: &ListenAddress) -> Result<(ServeSocket, ListenAddress), Failure> {
    let failed = |e: std::io::Error| {
        let hint = match e.kind() {
            std::io::ErrorKind::AddrInUse => {
                "another process listens there: choose another port with --listen, or 0 for any"
            }
            std::io::ErrorKind::PermissionDenied => {
                "ports below 1024 and system folders need root: choose another with --listen"
            }
            _ => "choose another address with --listen",
        };
        Failure::system(format!("listen on {at}: {e}")).hint(hint)
    };
    match at {
        ListenAddress::Tcp(address) => {
            let socket = TcpListener::bind(address).await.map_err(failed)?;
            let address = socket.local_addr().map_err(failed)?;
            Ok((ServeSocket::Tcp(socket), ListenAddress::Tcp(address)))
        }
        ListenAddress::Unix(path) => {
            remove_stale(path);
            let listener = UnixListener::bind(path).map_err(failed)?;
            Ok((ServeSocket::Unix { listener, _file: SocketFile(path.clone()) }, at.clone()))
        }
    }
}

/// Removes the socket of a process that was killed; any other file stays, and is an error when it is bound.
fn remove_stale(path: &Path) {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    let refused = |e: std::io::Error| e.kind() == std::io::ErrorKind::ConnectionRefused;
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err_and(refused) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let parsed = |text| ListenAddress::parse(text).unwrap();
        assert_eq!(parsed("127.0.0.1:8080").to_string(), "http://127.0.0.1:8080/");
        assert_eq!(parsed("[::1]:80").to_string(), "http://[::1]:80/");
        assert_eq!(parsed("unix:/run/t.sock"), ListenAddress::Unix(PathBuf::from("/run/t.sock")));
        assert!(
            parsed("0.0.0.0:80").is_public() && !parsed("127.0.0.1:80").is_public() && !parsed("unix:/a").is_public()
        );
        for bad in ["", "unix:", "8080", "127.0.0.1", "127.0.0.1:65536"] {
            assert!(ListenAddress::parse(bad).unwrap_err().starts_with("expected "), "{bad}");
        }
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = ListenAddress::Unix(folder.path().join("tare.sock"));
        let path = folder.path().join("tare.sock");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
            assert!(path.exists(), "as after a crash");
            let (socket, _) = listen(&at).await.unwrap();
            assert!(listen(&at).await.is_err());
            drop(socket);
            assert!(!path.exists());
            std::fs::write(&path, "a file of the user").unwrap();
            assert!(listen(&at).await.is_err());
            assert!(path.exists());
        });
    }
}
