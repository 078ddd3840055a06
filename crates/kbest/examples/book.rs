//! The book's experiment (CS:APP section 9.4.3): an array of 2,048 integers is written and read back r times. What r repetitions
//! should take comes from a line through short ones, T(r) = m r + b; then K-best measures longer ones, and the error is printed.
//!
//! `cargo run --release -p tarebench-kbest --example book`

use std::hint::black_box;
use tarebench_core::statistics::fit::fit;
use tarebench_kbest::{Kbest, Reading, Repetitions};

fn write_and_read(array: &mut [i32; 2048], r: u32) -> i32 {
    let mut sum = 0_i32;
    for _ in 0..r {
        black_box(&mut *array).fill(3);
        sum = black_box(&*array).iter().fold(sum, |s, x| s.wrapping_add(*x));
    }
    sum
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut array = [0; 2048];
    // A hundred single measurements for each; the fastest are undisturbed.
    let once = Kbest::new().repetitions(Repetitions::Fixed(1));
    let once = once.parameters(tarebench_kbest::Parameters::new(3, 0.0, 100, 100)?);
    let mut points = Vec::new();
    for r in 1..=10 {
        let timing = once.measure(|| write_and_read(&mut array, r))?;
        points.extend(timing.outcome().map(|o| (f64::from(r), o.value)));
    }
    let line = fit(&points).ok_or("no line goes through the short measurements")?;
    println!("T(r) = {:.2} r + {:.0} ns, off by {:.2}% at most", line.slope, line.intercept, line.max_error * 100.0);
    println!("{:>8} {:>12} {:>12} {:>8}", "r", "T(r), µs", "K-best, µs", "error");
    for r in [10_u32, 100, 1000, 10_000] {
        let timing = Kbest::new().compensated(true).measure(|| write_and_read(&mut array, r))?;
        let expected = line.at(f64::from(r));
        match timing.value() {
            Reading::Value(ns) => {
                let error = line.error(f64::from(r), ns) * 100.0;
                println!("{r:>8} {:>12.2} {:>12.2} {error:>7.2}%", expected / 1e3, ns / 1e3);
            }
            Reading::Absent(why) => println!("{r:>8} {:>12.2}  {why}", expected / 1e3),
        }
    }
    Ok(())
}
