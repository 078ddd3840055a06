//! Errors of a server, by what they mean for a store.

use postgres::error::SqlState;
use std::error::Error as _;
use tarebench_store::error::{Fault, ServerFault};

/// What an error means for a store.
pub(crate) fn fault(e: postgres::Error) -> Fault {
    let cause = words(&e);
    let kind = match e.code() {
        Some(code) => kind_of(code.code()),
        None if e.is_closed() || e.source().is_some_and(|s| s.is::<std::io::Error>()) => ServerFault::Disconnected,
        // The crate names this case in its words only.
        None if e.to_string().starts_with("error deserializing") => return Fault::Row(cause),
        None => ServerFault::Other,
    };
    Fault::Server(kind, cause)
}

/// The same for an error while a connection is made.
pub(crate) fn connecting(e: &postgres::Error) -> (ServerFault, String) {
    let cause = words(e);
    let kind = match e.code() {
        Some(code) => match kind_of(code.code()) {
            kind @ (ServerFault::LoginRefused | ServerFault::NotPermitted) => kind,
            _ => ServerFault::Unreachable,
        },
        None if e.to_string().starts_with("authentication error") => ServerFault::LoginRefused,
        None if cause.contains("password missing") => {
            return (ServerFault::LoginRefused, "it asks for a password, and none was given".to_owned());
        }
        None => ServerFault::Unreachable,
    };
    // A right to connect, not one within the store.
    let kind = if kind == ServerFault::NotPermitted { ServerFault::LoginRefused } else { kind };
    (kind, cause)
}

/// What a SQLSTATE means (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
fn kind_of(code: &str) -> ServerFault {
    let is = |state: &SqlState| state.code() == code;
    match code {
        // Two at once: the second one finds out when it is tried again.
        "40001" | "40P01" | "23503" | "23505" | "23P01" => ServerFault::Conflict,
        "25006" => ServerFault::ReadOnly,
        "42501" => ServerFault::NotPermitted,
        "53100" => ServerFault::Full,
        "55P03" => ServerFault::Busy,
        "57P01" | "57P02" | "57P05" | "25P03" => ServerFault::Disconnected,
        "57P03" | "53300" => ServerFault::Unreachable,
        "XX001" | "XX002" => ServerFault::Corrupt,
        // Longer than an index or a row may be; a character that the database's encoding does not have.
        "22P05" | "22021" => ServerFault::Unstorable,
        _ if is(&SqlState::INVALID_CATALOG_NAME) => ServerFault::Unreachable,
        _ => match code.get(..2) {
            Some("28") => ServerFault::LoginRefused,
            Some("08") => ServerFault::Disconnected,
            Some("54") => ServerFault::Unstorable,
            _ => ServerFault::Other,
        },
    }
}

/// The words of an error and of its causes, on one line: they may be those of a hostile server.
pub(crate) fn words(e: &postgres::Error) -> String {
    let mut text = match e.as_db_error() {
        Some(db) => {
            let more = [db.detail(), db.hint()].into_iter().flatten();
            more.fold(db.message().to_owned(), |text, more| format!("{text}; {more}"))
        }
        None => {
            let mut text = e.to_string();
            let mut cause = e.source();
            while let Some(inner) = cause {
                text.push_str(": ");
                text.push_str(&inner.to_string());
                cause = inner.source();
            }
            text
        }
    };
    const LONGEST: usize = 500;
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart() {
        for (code, kind) in [
            ("40001", ServerFault::Conflict),
            ("23505", ServerFault::Conflict),
            ("28P01", ServerFault::LoginRefused),
            ("28000", ServerFault::LoginRefused),
            ("42501", ServerFault::NotPermitted),
            ("53100", ServerFault::Full),
            ("57P01", ServerFault::Disconnected),
            ("08006", ServerFault::Disconnected),
            ("54000", ServerFault::Unstorable),
            ("3D000", ServerFault::Unreachable),
            ("25006", ServerFault::ReadOnly),
            ("42P01", ServerFault::Other),
            ("", ServerFault::Other),
        ] {
            assert_eq!(kind_of(code), kind, "{code}");
        }
    }
}
