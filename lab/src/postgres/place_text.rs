//! The texts that name a server: URLs and lists of parameters, as libpq has them
//! (<https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING>).

use std::collections::BTreeMap;

/// Parameters by their names.
pub(crate) type PlaceParameters = BTreeMap<String, String>;

/// The parameters that a place may have.
const KNOWN: &[&str] = &[
    "application_name",
    "connect_timeout",
    "dbname",
    "host",
    "options",
    "passfile",
    "password",
    "port",
    "service",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "user",
];

/// Parameters of libpq that have no effect here.
const WITHOUT_EFFECT: &[&str] = &["client_encoding", "fallback_application_name", "gssencmode", "keepalives"];

/// Whether a text is a URL of a server.
pub(crate) fn is_url(text: &str) -> bool {
    after_scheme(text).is_some() || text.starts_with("service=")
}

fn after_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgresql://").or_else(|| text.strip_prefix("postgres://"))
}

/// The parameters of a text. An error never repeats the text, as it may have a password.
pub(crate) fn parse(text: &str) -> Result<PlaceParameters, String> {
    match after_scheme(text) {
        Some(rest) => parse_url(rest),
        None => parse_list(text),
    }
}

pub(crate) fn keep(into: &mut PlaceParameters, key: &str, value: String) -> Result<(), String> {
    if WITHOUT_EFFECT.contains(&key) {
        return Ok(());
    }
    if !KNOWN.contains(&key) {
        return Err(format!("its parameter {key:?} is not known, expected one of {}", KNOWN.join(", ")));
    }
    if value.contains('\0') {
        return Err(format!("its parameter {key} has a NUL character"));
    }
    into.insert(key.to_owned(), value);
    Ok(())
}

/// `[user[:password]@][host][:port][,…][/dbname][?key=value&…]`
fn parse_url(rest: &str) -> Result<PlaceParameters, String> {
    let mut out = PlaceParameters::new();
    let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    let (authority, database) =
        before.split_once('/').map_or((before, ""), |(authority, database)| (authority, database));
    // An `@` within a password is written as %40, but the last one is clearly meant.
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let (user, password) = user.split_once(':').map_or((user, None), |(user, password)| (user, Some(password)));
    if !user.is_empty() {
        keep(&mut out, "user", decoded(user, "user")?)?;
    }
    if let Some(password) = password {
        keep(&mut out, "password", decoded(password, "password")?)?;
    }
    parse_hosts(hosts, &mut out)?;
    if !database.is_empty() {
        keep(&mut out, "dbname", decoded(database, "dbname")?)?;
    }
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or("a parameter after its `?` has no `=`")?;
        let key = decoded(key, "parameter's name")?;
        let value = decoded(value, &key)?;
        match (key.as_str(), value.as_str()) {
            // That of JDBC, which libpq takes, too.
            ("ssl", "true") => keep(&mut out, "sslmode", "require".to_owned())?,
            _ => keep(&mut out, &key, value)?,
        }
    }
    Ok(out)
}

fn parse_hosts(hosts: &str, out: &mut PlaceParameters) -> Result<(), String> {
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for host in hosts.split(',') {
        let (name, port) = match host.strip_prefix('[') {
            Some(rest) => {
                let (name, rest) = rest.split_once(']').ok_or("the `]` of its IPv6 address is missing")?;
                let port = match rest.strip_prefix(':') {
                    Some(port) => port,
                    None if rest.is_empty() => "",
                    None => return Err("its IPv6 address is followed by something else than a port".to_owned()),
                };
                (name, port)
            }
            None => host.split_once(':').unwrap_or((host, "")),
        };
        names.push(decoded(name, "host")?);
        ports.push(decoded(port, "port")?);
    }
    if names.iter().any(|name| !name.is_empty()) {
        keep(out, "host", names.join(","))?;
    }
    if ports.iter().any(|port| !port.is_empty()) {
        keep(out, "port", ports.join(","))?;
    }
    Ok(())
}

/// Takes the percent-encoding away.
fn decoded(text: &str, what: &str) -> Result<String, String> {
    let bad = || format!("the percent-encoding of its {what} is not valid");
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else { return Err(bad()) };
        let digit = |b: &u8| char::from(*b).to_digit(16);
        let (Some(high), Some(low)) = (digit(high), digit(low)) else { return Err(bad()) };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| bad())?);
        rest = after;
    }
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    if text.contains('\0') { Err(bad()) } else { Ok(text) }
}

/// The percent-encoding of a text, in a URL that is shown.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// `key=value key='a value'`, with `\` before a quote or a backslash.
fn parse_list(text: &str) -> Result<PlaceParameters, String> {
    let mut out = PlaceParameters::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(out);
        }
        let mut key = String::new();
        while let Some(c) = chars.next_if(|c| *c != '=') {
            key.push(c);
        }
        let key = key.trim();
        if chars.next().is_none() {
            // It could be a password.
            return Err("a parameter has no `=`".to_owned());
        }
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let quoted = chars.next_if_eq(&'\'').is_some();
        let mut value = String::new();
        loop {
            match chars.next() {
                Some('\\') => value.extend(chars.next()),
                Some('\'') if quoted => break,
                Some(c) if !quoted && c.is_whitespace() => break,
                Some(c) => value.push(c),
                None if quoted => return Err(format!("the quote of its parameter {key:?} has no end")),
                None => break,
            }
        }
        keep(&mut out, key, value)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> PlaceParameters {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn urls_of_all_forms() {
        let all = [
            ("postgresql://", given(&[])),
            ("postgres://localhost", given(&[("host", "localhost")])),
            ("postgresql://localhost:5433", given(&[("host", "localhost"), ("port", "5433")])),
            ("postgresql:///mydb", given(&[("dbname", "mydb")])),
            ("postgresql://u@localhost", given(&[("host", "localhost"), ("user", "u")])),
            (
                "postgresql://u:secret@localhost/d?connect_timeout=10&application_name=me",
                given(&[
                    ("host", "localhost"),
                    ("user", "u"),
                    ("password", "secret"),
                    ("dbname", "d"),
                    ("connect_timeout", "10"),
                    ("application_name", "me"),
                ]),
            ),
            ("postgresql://[2001:db8::1]:6/d", given(&[("host", "2001:db8::1"), ("port", "6"), ("dbname", "d")])),
            ("postgresql://[::1]", given(&[("host", "::1")])),
            ("postgresql://a:1,b/d", given(&[("host", "a,b"), ("port", "1,"), ("dbname", "d")])),
            ("postgresql:///d?host=/run/postgresql", given(&[("host", "/run/postgresql"), ("dbname", "d")])),
            ("postgresql://%2Frun%2Fpg/d", given(&[("host", "/run/pg"), ("dbname", "d")])),
            (
                "postgresql://u%40x:p%3a%2f%40%25@h/a%20b",
                given(&[("user", "u@x"), ("password", "p:/@%"), ("host", "h"), ("dbname", "a b")]),
            ),
            ("postgresql://u:@h", given(&[("user", "u"), ("password", ""), ("host", "h")])),
            ("postgresql://h?ssl=true", given(&[("host", "h"), ("sslmode", "require")])),
            (
                "postgresql://h?keepalives=1&options=-c%20search_path%3dlab",
                given(&[("host", "h"), ("options", "-c search_path=lab")]),
            ),
            (
                "service=lab dbname = 'a b\\'c' user=x\\ y",
                given(&[("service", "lab"), ("dbname", "a b'c"), ("user", "x y")]),
            ),
            ("service=", given(&[("service", "")])),
        ];
        for (text, expected) in all {
            assert_eq!(parse(text).as_ref(), Ok(&expected), "{text}");
            assert!(is_url(text));
        }
        for text in ["", "tare.db", "/x/postgresql://", "POSTGRESQL://h", "postgresql:/h", "sqlite://h"] {
            assert!(!is_url(text), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, words) in [
            ("postgresql://u:hunter2@h/d?x=1", "\"x\" is not known"),
            ("postgresql://u:hunter2@h/d?sslmode", "no `=`"),
            ("postgresql://u:hunter2%@h", "percent-encoding of its password"),
            ("postgresql://u:hunter2%zz@h", "percent-encoding of its password"),
            ("postgresql://u:hunter2%00@h", "percent-encoding of its password"),
            ("postgresql://u:hunter2%ff@h", "percent-encoding of its password"),
            ("postgresql://u:hunter2@[::1/d", "`]`"),
            ("postgresql://u:hunter2@[::1]x/d", "IPv6"),
            ("service=x password='hunter2", "\"password\" has no end"),
            ("service=x hunter2", "no `=`"),
        ] {
            let e = parse(text).unwrap_err();
            assert!(e.contains(words) && !e.contains("hunter2"), "{text}: {e}");
        }
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in ["", "a", "a b", "ü/?#&=%@:[]'\\", "\u{1b}[31m"] {
            assert_eq!(decoded(&encoded(text), "x").as_deref(), Ok(text));
            assert!(!encoded(text).contains('\u{1b}'));
        }
    }
}
