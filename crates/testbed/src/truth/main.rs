//! `truth WHO [topology|counters|brief]`: holds the command `tare` against known truths on the machine on which it runs, as root or as an ordinary user.
//!
//! For machines that are booted to try tare there (`make machines`): a kernel, `tare`, `burner` and this program suffice. It prints
//! a line for each check: `CHECK`, the feature, WHO, the standing and a text, with tabs between them. It exits with 1 if one fails.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a program for tests: a panic is the right answer to a failed call"
)]

mod account;
mod commands;
mod counters;
mod process_time;
mod report;
mod topology;
mod tuning;

use report::CheckReport;

fn main() {
    let who = std::env::args().nth(1).unwrap_or_else(|| "root".to_owned());
    let mut report = CheckReport::new(&who);
    match std::env::args().nth(2).as_deref() {
        Some("topology") => topology::check(&mut report),
        Some("counters") => counters::check(&mut report),
        // What breaks with the kernel, in half the time.
        Some("brief") => {
            process_time::check(&mut report);
            account::check(&mut report);
            if report.is_root() {
                commands::trace_alone(&mut report);
                tuning::check(&mut report);
            }
        }
        _ => {
            process_time::check(&mut report);
            account::check(&mut report);
            counters::check(&mut report);
            commands::check(&mut report);
            if report.is_root() {
                tuning::check(&mut report);
            }
        }
    }
    std::process::exit(i32::from(report.has_failures()));
}
