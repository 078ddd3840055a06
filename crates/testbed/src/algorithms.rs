//! Programs whose time grows in a known way with their size.

use std::hint::black_box;

/// Numbers without an order, the same in each process.
fn shuffled(n: u64) -> Vec<u64> {
    let mut x: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    (0..n).map(|_| next()).collect()
}

fn check_sorted(all: &[u64]) {
    assert!(black_box(all).is_sorted(), "it is not sorted");
}

/// n².
pub fn insertion_sort(n: u64) {
    let mut all = shuffled(n);
    for i in 1..all.len() {
        let value = all[i];
        let mut at = i;
        while at > 0 && all[at - 1] > value {
            all[at] = all[at - 1];
            at -= 1;
        }
        all[at] = value;
    }
    check_sorted(&all);
}

/// n log n.
pub fn heap_sort(n: u64) {
    let mut all = shuffled(n);
    let sift = |all: &mut [u64], mut root: usize, end: usize| {
        while 2 * root + 1 < end {
            let mut child = 2 * root + 1;
            if child + 1 < end && all[child] < all[child + 1] {
                child += 1;
            }
            if all[root] >= all[child] {
                break;
            }
            all.swap(root, child);
            root = child;
        }
    };
    for root in (0..all.len() / 2).rev() {
        let end = all.len();
        sift(&mut all, root, end);
    }
    for end in (1..all.len()).rev() {
        all.swap(0, end);
        sift(&mut all, 0, end);
    }
    check_sorted(&all);
}

/// n³.
pub fn matrix_product(n: u64) {
    let n = n as usize;
    let fill =
        |seed: u64| -> Vec<f64> { shuffled(seed + (n * n) as u64).iter().take(n * n).map(|v| *v as f64).collect() };
    let (a, b) = (fill(0), fill(1));
    let mut c = vec![0.0; n * n];
    for (i, row) in c.chunks_mut(n.max(1)).enumerate() {
        for k in 0..n {
            let factor = a[i * n + k];
            for (sum, value) in row.iter_mut().zip(&b[k * n..(k + 1) * n]) {
                *sum += factor * value;
            }
        }
    }
    black_box(c);
}

/// log n: the same number of searches in the numbers 0, 2, 4, … below 2 n, none of which is in memory.
pub fn binary_search(n: u64) {
    const SEARCHES: u64 = 1_000_000;
    let mut found = 0;
    for i in 0..SEARCHES {
        let wanted = black_box(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (2 * n.max(1)));
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = black_box(low + (high - low) / 2);
            if 2 * middle < wanted { low = middle + 1 } else { high = middle }
        }
        found += low;
    }
    black_box(found);
}

pub fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { black_box(fibonacci(n - 1)) + black_box(fibonacci(n - 2)) }
}
