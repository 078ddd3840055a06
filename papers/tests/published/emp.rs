//! The running example of EMP (section 4.5.2) as the project's published tables have it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::daemon;
use tarebench_core::base::units::Nanos;
use tarebench_core::sample::daemons::Daemon;
use tarebench_papers::data::published::{PublishedCell, PublishedTable, by_id};

pub fn table(id: &str) -> &'static PublishedTable {
    by_id(id).unwrap_or_else(|| panic!("no table {id}"))
}

pub fn rows(id: &str) -> &'static [Vec<PublishedCell>] {
    &table(id).rows
}

pub fn number(cell: &PublishedCell) -> f64 {
    cell.number().unwrap_or_else(|| panic!("{cell:?} is no number"))
}

pub fn text(cell: &PublishedCell) -> &str {
    cell.text().unwrap_or_else(|| panic!("{cell:?} is no text"))
}

/// Tables IX and XIII: the number of each L-sample and its daemons.
pub fn l_samples(id: &str) -> Vec<(u32, Vec<Daemon>)> {
    let mut samples: Vec<(u32, Vec<Daemon>)> = Vec::new();
    for row in rows(id) {
        let sample = number(&row[0]) as u32;
        let execution = daemon(text(&row[1]), Nanos::from_millis(number(&row[2]) as i64));
        match samples.last_mut() {
            Some((last, daemons)) if *last == sample => daemons.push(execution),
            _ => samples.push((sample, vec![execution])),
        }
    }
    samples
}

/// What tables VIII, XI, XII, XV and XVI say of an infrequent daemon, in ms; the period in hours.
pub struct InfrequentDaemon {
    pub name: &'static str,
    /// Of INC128: maximum in the central cluster, minimum among the L-samples.
    pub short: (Option<f64>, f64),
    /// Of INC16384's central cluster: maximum, standard deviation.
    pub long_cluster: Option<(f64, f64)>,
    /// Minimum among INC16384's L-samples.
    pub long_min: Option<f64>,
    pub period: Option<f64>,
    /// The cutoffs as printed, below the limit of the task time and from it on; the same twice without a period.
    pub printed: (f64, f64),
}

fn cell(id: &str, name: &str, column: usize) -> Option<f64> {
    table(id).row(name).and_then(|row| row[column].number())
}

/// The daemons of table XI, in its order.
pub fn infrequent_daemons() -> Vec<InfrequentDaemon> {
    let daemon_of = |row: &'static Vec<PublishedCell>| {
        let name = text(&row[0]);
        let printed: Vec<f64> =
            rows("emp-table-16").iter().filter(|r| text(&r[0]) == name).map(|r| number(&r[4])).collect();
        InfrequentDaemon {
            name,
            // Table XI leaves out the maximum of md0_raid1, which table VIII has.
            short: (row[1].number().or(cell("emp-table-8", name, 1)), number(&row[2])),
            long_cluster: cell("emp-table-12", name, 1).zip(cell("emp-table-12", name, 2)),
            long_min: cell("emp-table-15", name, 2),
            period: row[3].number(),
            printed: (printed[0], *printed.last().unwrap()),
        }
    };
    rows("emp-table-11").iter().map(daemon_of).collect()
}
