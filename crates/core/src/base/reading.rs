//! A reading is a value, or a typed reason why there is none. Absent is never zero.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", content = "detail", rename_all = "snake_case")]
pub enum Absent {
    /// A privilege is missing; says which one, e.g. `CAP_NET_ADMIN`.
    NoPermission(String),
    /// The kernel, CPU or hypervisor does not offer it.
    NotSupported(String),
    /// It was there, but events were lost; says what.
    Lost(String),
    /// Nobody asked for it, or it does not apply.
    NotAsked(String),
    /// The attempt failed; the system's message.
    Failed(String),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absent::NoPermission(s) => write!(f, "not known: needs {s}"),
            Absent::NotSupported(s) => write!(f, "not available: {s}"),
            Absent::Lost(s) => write!(f, "lost: {s}"),
            Absent::NotAsked(s) => write!(f, "not measured: {s}"),
            Absent::Failed(s) => write!(f, "not known: {s}"),
        }
    }
}

/// A value, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading<T> {
    Value(T),
    Absent(Absent),
}

impl<T> Reading<T> {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Reading::Value(v) => Some(v),
            Reading::Absent(_) => None,
        }
    }

    /// The reason, if there is no value.
    pub fn absent(&self) -> Option<&Absent> {
        match self {
            Reading::Value(_) => None,
            Reading::Absent(a) => Some(a),
        }
    }

    /// Applies `f` to the value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Reading::Value(v) => Reading::Value(f(v)),
            Reading::Absent(a) => Reading::Absent(a),
        }
    }

    /// As a `Result`, by reference.
    pub fn as_result(&self) -> Result<&T, &Absent> {
        match self {
            Reading::Value(v) => Ok(v),
            Reading::Absent(a) => Err(a),
        }
    }
}

impl<T> From<Result<T, Absent>> for Reading<T> {
    fn from(r: Result<T, Absent>) -> Self {
        match r {
            Ok(v) => Reading::Value(v),
            Err(a) => Reading::Absent(a),
        }
    }
}
