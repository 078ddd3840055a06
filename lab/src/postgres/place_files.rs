//! Files that say how to connect: `pg_service.conf` and `.pgpass`, as libpq reads them.

use crate::postgres::place_text::{PlaceParameters, keep};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where Debian's packages have the services of all users.
const SYSTEM_SERVICES: &str = "/etc/postgresql-common";

/// The parameters of a service: from the user's file, or else from that of the system.
pub(crate) fn service(name: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<PlaceParameters, String> {
    let own =
        environment("PGSERVICEFILE").or_else(|| environment("HOME").map(|home| format!("{home}/.pg_service.conf")));
    let folder = environment("PGSYSCONFDIR").unwrap_or_else(|| SYSTEM_SERVICES.to_owned());
    let files = [own, Some(format!("{folder}/pg_service.conf"))];
    for file in files.iter().flatten() {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(format!("cannot read the services of {file}: {e}")),
        };
        if let Some(found) =
            in_services(&text, name).map_err(|cause| format!("the file of services {file}: {cause}"))?
        {
            return Ok(found);
        }
    }
    let files: Vec<&str> = files.iter().flatten().map(String::as_str).collect();
    Err(format!("the service {name:?} is not defined in {}", files.join(" or ")))
}

/// The section of a service.
fn in_services(text: &str, name: &str) -> Result<Option<PlaceParameters>, String> {
    let (mut found, mut inside) = (None, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            // The first one of this name, as in libpq.
            inside = found.is_none() && section.strip_suffix(']') == Some(name);
            if inside {
                found = Some(PlaceParameters::new());
            }
            continue;
        }
        if !inside {
            continue;
        }
        // The line is not repeated, as it may have a password.
        let (key, value) = line.split_once('=').ok_or_else(|| format!("line {number} has no `=`"))?;
        if key.trim() == "service" {
            return Err(format!("line {number} names another service, which is not allowed"));
        }
        if let Some(into) = &mut found {
            keep(into, key.trim(), value.trim().to_owned()).map_err(|cause| format!("line {number}: {cause}"))?;
        }
    }
    Ok(found)
}

/// What a password is looked for by.
pub(crate) struct PasswordKey<'a> {
    /// `localhost` for the usual Unix socket.
    pub host: &'a str,
    pub port: u16,
    pub dbname: &'a str,
    pub user: &'a str,
}

/// A file of passwords.
pub(crate) enum PasswordFile {
    Text(String),
    Missing,
    /// It is not used, for this reason.
    Refused(String),
}

/// Reads a file of passwords, if only its owner may do so.
pub(crate) fn password_file(path: &Path) -> PasswordFile {
    let refused = |why: &str| PasswordFile::Refused(format!("the password file {} is not used: {why}", path.display()));
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(e) if e.kind() == ErrorKind::NotFound => return PasswordFile::Missing,
        Err(e) => return refused(&e.to_string()),
    };
    if !about.is_file() {
        return refused("it is not a regular file");
    }
    let mode = about.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return refused(&format!("others may read it (its mode is {mode:03o}, expected 600)"));
    }
    match std::fs::read_to_string(path) {
        Ok(text) => PasswordFile::Text(text),
        Err(e) => refused(&e.to_string()),
    }
}

/// The password of the first line `host:port:dbname:user:password` that fits; `*` fits all.
pub(crate) fn password(file: &str, key: &PasswordKey) -> Option<String> {
    let port = key.port.to_string();
    file.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        for wanted in [key.host, &port, key.dbname, key.user] {
            let (field, after) = field(rest)?;
            rest = after?;
            if field.raw != "*" && field.text != wanted {
                return None;
            }
        }
        // What follows the password is not a part of it.
        field(rest).map(|(field, _)| field.text)
    })
}

struct PasswordField<'a> {
    /// As it is written: an escaped `\*` is no wildcard.
    raw: &'a str,
    text: String,
}

/// The first field of a line, and what follows its colon.
fn field(line: &str) -> Option<(PasswordField<'_>, Option<&str>)> {
    let mut text = String::new();
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            ':' => return Some((PasswordField { raw: line.get(..at)?, text }, line.get(at + 1..))),
            '\\' => text.push(chars.next().map_or('\\', |(_, escaped)| escaped)),
            c => text.push(c),
        }
    }
    Some((PasswordField { raw: line, text }, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_sections() {
        let text =
            "# all\n[a]\nhost=h\nport = 6\n\n[b]\nnonsense\n[a]\nhost=second\n[c]\nservice=a\n[d]\nldap=x\n[e]\n";
        let found = in_services(text, "a").unwrap().unwrap();
        assert_eq!(found.into_iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(), ["host=h", "port=6"]);
        assert_eq!(in_services(text, "e"), Ok(Some(PlaceParameters::new())));
        assert_eq!(in_services(text, "z"), Ok(None));
        for (name, words) in
            [("b", "line 7 has no `=`"), ("c", "line 11 names another"), ("d", "\"ldap\" is not known")]
        {
            let e = in_services(text, name).unwrap_err();
            assert!(e.contains(words), "{name}: {e}");
        }
    }

    #[test]
    fn a_password_is_that_of_the_first_line_that_fits() {
        let file = "#h:5432:d:u:comment\nh:5432:d:u:first\nh:5432:*:u:second\n*:*:*:x\\:y:a\\:b\\\\c\n\\*:1:*:*:star\n\
                    [:1:d:u:x\nshort:1\n*:7:*:*:p:rest\n::1:*:*:\n";
        let find = |host, port, dbname, user| password(file, &PasswordKey { host, port, dbname, user });
        assert_eq!(find("h", 5432, "d", "u").as_deref(), Some("first"));
        assert_eq!(find("h", 5432, "e", "u").as_deref(), Some("second"));
        assert_eq!(find("h", 1, "d", "u"), None);
        assert_eq!(find("other", 9, "d", "x:y").as_deref(), Some("a:b\\c"));
        assert_eq!(find("*", 1, "d", "u").as_deref(), Some("star"));
        assert_eq!(find("h", 7, "d", "u").as_deref(), Some("p"));
        assert_eq!(find("short", 1, "d", "u"), None);
    }

    #[test]
    fn a_password_file_that_others_may_read_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        assert!(matches!(password_file(&path), PasswordFile::Missing));
        std::fs::write(&path, "*:*:*:*:secret\n").unwrap();
        for (mode, used) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o610, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match password_file(&path) {
                PasswordFile::Text(text) => assert!(used && text.contains("secret")),
                PasswordFile::Refused(why) => {
                    assert!(!used && why.contains("others may read it") && !why.contains("secret"), "{why}");
                }
                PasswordFile::Missing => panic!("{mode:o}"),
            }
        }
        assert!(matches!(password_file(dir.path()), PasswordFile::Refused(_)));
    }
}
