//! What the library itself takes: an empty function, and the book's experiment (CS:APP section 9.4.3).

use std::hint::black_box;
use std::process::ExitCode;
use tarebench_kbest::Kbest;
use tarebench_kbest::bench::Harness;

/// Writes and reads back an array of 2,048 integers, as the book's does, `r` times.
fn write_and_read(array: &mut [i32; 2048], r: u32) -> i32 {
    let mut sum = 0_i32;
    for _ in 0..r {
        black_box(&mut *array).fill(3);
        sum = black_box(&*array).iter().fold(sum, |s, x| s.wrapping_add(*x));
    }
    sum
}

fn main() -> ExitCode {
    let mut harness = Harness::new("own");
    harness.bench("empty", || ());
    let mut array = [0; 2048];
    for r in [1, 10, 100] {
        harness.bench(&format!("write and read 2048 integers, {r} times"), || write_and_read(&mut array, r));
    }
    let text: Vec<u32> = (0..1000).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
    harness.bench_with("sort 1000", || text.clone(), |t| t.sort_unstable());
    harness
        .settings(Kbest::new().cold_by(8 << 20))
        .bench("sum of 1000, cold", || text.iter().fold(0_u32, |a, b| a ^ b));
    harness.finish()
}
