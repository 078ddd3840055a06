//! By which names the application may be asked.

use std::collections::BTreeSet;
use std::net::IpAddr;

/// Names that a request's Host may have. A page of another site that lets its own name point here (DNS rebinding) has
/// none of them, so that it reads nothing.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    /// In lower case, without a dot at the end.
    names: BTreeSet<String>,
    /// The address that is listened on.
    listen: Option<IpAddr>,
}

impl AllowedHosts {
    /// Those of the user, the address that is listened on, `localhost`, and addresses of the machine itself.
    pub fn new(names: &[String], listen: Option<IpAddr>) -> AllowedHosts {
        let names = names.iter().map(|name| plain(name)).chain(["localhost".to_owned()]).collect();
        AllowedHosts { names, listen }
    }

    /// Whether a Host, or the authority of an address, is one of them; its port does not matter, as it may be that of
    /// a tunnel.
    pub fn allows(&self, host: &str) -> bool {
        let name = plain(without_port(host));
        let literal = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(&name);
        match literal.parse::<IpAddr>() {
            // Who listens on all addresses is asked by any of them: a name can be made to point here, an address
            // cannot.
            Ok(ip) => {
                let ip = ip.to_canonical();
                ip.is_loopback()
                    || self.listen.is_some_and(|at| at.is_unspecified() || at.to_canonical() == ip)
                    || self.names.contains(literal)
            }
            Err(_) => self.names.contains(&name),
        }
    }
}

fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // Of an IPv6 address in brackets, the port stands after them.
        Some((name, port)) if !port.contains(']') && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(listen: &str, names: &[&str], host: &str) -> bool {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        AllowedHosts::new(&names, listen.parse().ok()).allows(host)
    }

    #[test]
    fn only_known_names_are_answered() {
        for host in ["localhost", "localhost:9000", "LOCALHOST.", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080", "[::1]"]
        {
            assert!(allowed("127.0.0.1", &[], host), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "10.0.0.7", "127.0.0.1.evil.example", ":8080", "[::2]"]
        {
            assert!(!allowed("127.0.0.1", &[], host), "{host}");
        }
        assert!(allowed("127.0.0.1", &["Lab.Example"], "lab.example:443"));
        assert!(!allowed("127.0.0.1", &["lab.example"], "x.lab.example"));
        assert!(allowed("10.0.0.7", &[], "10.0.0.7:8080") && !allowed("10.0.0.7", &[], "10.0.0.8:8080"));
        assert!(allowed("0.0.0.0", &[], "10.0.0.8") && !allowed("0.0.0.0", &[], "evil.example"));
        // A Unix socket has no address.
        assert!(!allowed("unix", &[], "10.0.0.7") && allowed("unix", &["10.0.0.7"], "10.0.0.7"));
    }
}
