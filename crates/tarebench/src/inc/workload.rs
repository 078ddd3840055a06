//! The papers' reference programs: INC (EMP figure 7), insertion sort and matrix products (EMP 5.2, SEDONA figure 1).
//!
//! All do fixed work that depends on their arguments alone.

use std::hint::black_box;

/// Increments of the inner loop, for one of the outer.
pub const INNER: u64 = 1 << 20;

/// Performs `count` increments in two nested loops; returns the counter, which equals `count`.
///
/// The loop is written in assembly so that it is the same machine code in every build: one dependent increment, one
/// decrement and a branch. It touches no memory and makes no system call.
pub fn increments(count: u64) -> u64 {
    let mut counter = 0;
    for _ in 0..count / INNER {
        counter = inner_loop(counter, INNER);
    }
    match count % INNER {
        0 => counter,
        rest => inner_loop(counter, rest),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn inner_loop(counter: u64, times: u64) -> u64 {
    let mut k = counter;
    // SAFETY: registers only; `times` is at least 1.
    unsafe {
        core::arch::asm!(
            ".p2align 6",
            "2:",
            "add {k}, 1",
            "sub {n}, 1",
            "jnz 2b",
            k = inout(reg) k,
            n = inout(reg) times => _,
            options(nomem, nostack),
        );
    }
    k
}

#[cfg(target_arch = "aarch64")]
#[inline(never)]
fn inner_loop(counter: u64, times: u64) -> u64 {
    let mut k = counter;
    // SAFETY: registers only; `times` is at least 1.
    unsafe {
        core::arch::asm!(
            ".p2align 6",
            "2:",
            "add {k}, {k}, 1",
            "subs {n}, {n}, 1",
            "b.ne 2b",
            k = inout(reg) k,
            n = inout(reg) times => _,
            options(nomem, nostack),
        );
    }
    k
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(never)]
fn inner_loop(counter: u64, times: u64) -> u64 {
    (0..times).fold(counter, |k, _| black_box(k + 1))
}

/// Passes a byte back and forth between two threads; each pass takes one or two context switches.
pub fn ping_pong(times: u64) -> std::io::Result<()> {
    use std::io::{Read, Write};
    let (mut there, mut from_here) = std::io::pipe()?;
    let (mut here, mut from_there) = std::io::pipe()?;
    let other = std::thread::spawn(move || -> std::io::Result<()> {
        let mut byte = [0];
        for _ in 0..times {
            there.read_exact(&mut byte)?;
            from_there.write_all(&byte)?;
        }
        Ok(())
    });
    let mut byte = [1];
    for _ in 0..times {
        from_here.write_all(&byte)?;
        here.read_exact(&mut byte)?;
    }
    drop(from_here);
    other.join().unwrap_or_else(|_| Err(std::io::Error::other("the other thread failed")))
}

/// A fixed sequence of numbers (splitmix64), so that every execution sorts and multiplies the same.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Insertion sort of `n` pseudo-random integers (SORT); returns a checksum of the sorted array.
pub fn sort(n: usize) -> u64 {
    let mut a: Vec<u32> = numbers(1).map(|x| x as u32).take(n).collect();
    for i in 1..a.len() {
        let x = a[i];
        let mut j = i;
        while j > 0 && a[j - 1] > x {
            a[j] = a[j - 1];
            j -= 1;
        }
        a[j] = x;
    }
    let a = black_box(a);
    debug_assert!(a.is_sorted());
    a.iter().enumerate().fold(0, |s: u64, (i, x)| s.wrapping_add((i as u64 + 1).wrapping_mul(u64::from(*x))))
}

/// In which order a matrix product walks through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// By columns (MATC): each step of the innermost loop is a whole row apart.
    Columns,
    /// By rows (MATR): each step is the next element.
    Rows,
}

/// Product of two square matrices of pseudo-random integers, `n` by `n`; returns the sum of all elements.
pub fn matrix_product(n: usize, walk: Walk) -> u64 {
    let a: Vec<u32> = numbers(1).map(|x| (x & 0xff) as u32).take(n * n).collect();
    let b: Vec<u32> = numbers(2).map(|x| (x & 0xff) as u32).take(n * n).collect();
    let mut c = vec![0u32; n * n];
    // The same multiplications and additions either way; only the order, and so the walk, differs.
    for x in 0..n {
        for y in 0..n {
            match walk {
                Walk::Columns => {
                    let factor = b[y * n + x];
                    for i in 0..n {
                        c[i * n + x] = c[i * n + x].wrapping_add(a[i * n + y].wrapping_mul(factor));
                    }
                }
                Walk::Rows => {
                    let factor = a[x * n + y];
                    for i in 0..n {
                        c[x * n + i] = c[x * n + i].wrapping_add(factor.wrapping_mul(b[y * n + i]));
                    }
                }
            }
        }
    }
    black_box(c).iter().map(|x| u64::from(*x)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_exactly() {
        for count in [0, 1, INNER - 1, INNER, INNER + 1, 3 * INNER + 7] {
            assert_eq!(increments(count), count);
        }
    }

    #[test]
    fn both_walks_give_the_same_product() {
        for n in [0, 1, 2, 17, 64] {
            assert_eq!(matrix_product(n, Walk::Columns), matrix_product(n, Walk::Rows));
        }
        assert_ne!(matrix_product(8, Walk::Rows), 0);
    }

    #[test]
    fn sort_is_the_same_every_time() {
        assert_eq!(sort(1000), sort(1000));
        let mut a: Vec<u64> = numbers(1).map(|x| x as u32).take(1000).map(u64::from).collect();
        a.sort_unstable();
        let sum = a.iter().enumerate().fold(0u64, |s, (i, x)| s.wrapping_add((i as u64 + 1).wrapping_mul(*x)));
        assert_eq!(sort(1000), sum);
        assert_eq!((sort(0), sort(1)), (0, a_first()));
    }

    fn a_first() -> u64 {
        numbers(1).map(|x| u64::from(x as u32)).next().unwrap()
    }
}
