//! Units, carried in types.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Sub};

/// A length of time, or a point on a clock, in nanoseconds.
///
/// Signed, as differences may be negative and nothing is clamped; ± 292 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub i64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// From whole microseconds; saturates at the ends of the range.
    pub const fn from_micros(us: i64) -> Nanos {
        Nanos(us.saturating_mul(1_000))
    }

    /// From whole milliseconds; saturates at the ends of the range.
    pub const fn from_millis(ms: i64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// From seconds, rounded to the nearest nanosecond.
    pub fn from_secs_f64(s: f64) -> Nanos {
        Nanos((s * 1e9).round() as i64)
    }

    /// In seconds.
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// As a floating point number of nanoseconds (exact below 104 days).
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        iter.fold(Nanos::ZERO, Add::add)
    }
}

/// A value of the CPU's cycle counter (TSC on x86-64, CNTVCT on aarch64).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cycles(pub u64);
