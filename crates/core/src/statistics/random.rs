//! Random numbers from a seed, the same on every machine and with every later version.
//!
//! The draws are made here from the raw ChaCha8 key stream, so that no library's choice of sampling algorithm can change the
//! order of a run that is resumed, or an interval that is computed again.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What the numbers are for; different purposes never share a stream.
#[derive(Clone, Copy)]
pub enum RandomPurpose {
    Order = 1,
    Padding = 2,
    Bootstrap = 3,
    Noise = 4,
    Duets = 5,
    Slices = 6,
    Lab = 7,
}

/// The generator for one purpose and one item (round, sample, series) of it.
pub fn generator(seed: u64, purpose: RandomPurpose, item: u64) -> ChaCha8Rng {
    let mut key = [0_u8; 32];
    for (place, byte) in key.iter_mut().zip(seed.to_le_bytes()) {
        *place = byte;
    }
    key[8] = purpose as u8;
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(item);
    rng
}

/// A number from 0 to `n` - 1; 0 if `n` is 0. The bias is below n / 2^32.
pub fn below(rng: &mut ChaCha8Rng, n: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32
}

/// A number between 0 and 1, neither of them.
pub fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0
}

/// A number of the standard normal distribution, by Box and Muller.
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (-2.0 * unit(rng).ln()).sqrt() * (std::f64::consts::TAU * unit(rng)).cos()
}

/// Puts `items` into a random order (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        let other = below(rng, u32::try_from(last + 1).unwrap_or(u32::MAX));
        items.swap(last, other as usize);
    }
}
