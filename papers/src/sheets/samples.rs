//! The tables and figures of every study of samples.

use crate::data::samples::SampleStudyReport;
use crate::sheets::conditions::{CLOCK_SPEED, NTP, comparison_sheet};
use crate::sheets::{
    clocks, daemons, dual, et_pt, evolution, histogram, outliers, programs, sample_size, scaling, successive, suite,
    variance, worst,
};
use tarebench_report::sheet::Sheet;

/// Tables and figures of a report.
pub fn sheet(report: &SampleStudyReport) -> Sheet {
    match report {
        SampleStudyReport::EtPt(r) => et_pt::sheet(r),
        SampleStudyReport::Ntp(r) => comparison_sheet(&r.comparison, &NTP),
        SampleStudyReport::ClockSpeed(r) => comparison_sheet(&r.comparison, &CLOCK_SPEED),
        SampleStudyReport::Scaling(r) => scaling::sheet(r),
        SampleStudyReport::Outliers(r) => outliers::sheet(r),
        SampleStudyReport::SampleSize(r) => sample_size::sheet(r),
        SampleStudyReport::Evolution(r) => evolution::sheet(r),
        SampleStudyReport::Clocks(r) => clocks::sheet(r),
        SampleStudyReport::Programs(r) => programs::sheet(r),
        SampleStudyReport::Suite(r) => suite::sheet(r),
        SampleStudyReport::Histogram(r) => histogram::sheet(r),
        SampleStudyReport::Dual(r) => dual::sheet(r),
        SampleStudyReport::Successive(r) => successive::sheet(r),
        SampleStudyReport::Daemons(r) => daemons::sheet(r),
        SampleStudyReport::Worst(r) => worst::sheet(r),
        SampleStudyReport::Variance(r) => variance::sheet(r),
    }
}
