//! EMPv4: an up-to-date kernel.

use crate::factors::machine::FactorMachine;
use crate::factors::spec::{Compare, FactorGroup, FactorSpec, FactorValue, FoundFactor, Privilege};
use tarebench_core::base::reading::Absent;

/// Kernels with a fault that shows in timings.
struct Known {
    /// First release that has it.
    from: &'static [u64],
    /// First release that has it no more.
    until: &'static [u64],
    /// Part of the release's name, where only a distribution's kernel is meant.
    mark: &'static str,
    what: &'static str,
    source: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        from: &[2, 6, 32, 131],
        until: &[2, 6, 32, 358],
        mark: ".el6",
        what: "periodic samples below the central band, gone with RHEL 6.4",
        source: "EMP 4.4, figure 12",
    },
    Known {
        from: &[4, 18],
        until: &[5, 4],
        mark: "",
        what: "cgroups with a CPU quota are throttled before they have used it up",
        source: "Linux commit de53fd7aedb1",
    },
];

/// A kernel that was built longer ago than this is old, days.
const OLD: i64 = 365;

pub(crate) const ROWS: &[FactorSpec] = &[
    FactorSpec {
        name: "kernel",
        group: FactorGroup::Kernel,
        step: 4,
        optional: false,
        wanted: "the newest installed kernel runs",
        reason: "The paper's spread halved with a newer release of its distribution; an update has no effect before \
                 the reboot.",
        source: "EMP 4.4",
        privilege: Privilege::Reboot,
        reader: current,
        setter: None,
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "kernel-age",
        group: FactorGroup::Kernel,
        step: 0,
        optional: false,
        wanted: "built within the last year",
        reason: "The newest installed kernel may still be old.",
        source: "EMP 4.4; uname(1) -v",
        privilege: Privilege::Reboot,
        reader: age,
        setter: None,
        compare: Compare::Never,
    },
    FactorSpec {
        name: "kernel-faults",
        group: FactorGroup::Kernel,
        step: 4,
        optional: false,
        wanted: "a kernel without a known fault in timing",
        reason: "Some releases have faults that affect measured times; tare's table lists those with a source.",
        source: "EMP 4.4; Linux commit de53fd7aedb1",
        privilege: Privilege::Reboot,
        reader: faults,
        setter: None,
        compare: Compare::Never,
    },
];

/// Numbers of a kernel release, for comparing: `6.1.0-23-amd64` is 6, 1, 0, 23.
fn version(release: &str) -> Vec<u64> {
    release.split(['.', '-', '_', '+', '~']).map_while(|p| p.parse().ok()).collect()
}

fn running(m: &FactorMachine) -> Result<&String, Absent> {
    m.kernel.as_result().map_err(Clone::clone)
}

fn current(m: &FactorMachine) -> FoundFactor {
    let running = running(m)?;
    let mut installed = m.names("lib/modules");
    installed.extend(m.names("usr/lib/modules"));
    installed.extend(m.names("boot").iter().filter_map(|n| Some(n.strip_prefix("vmlinuz-")?.to_owned())));
    // Without numbers, or as a rescue image (`0-rescue-…`), there is nothing to compare.
    installed.retain(|i| version(i).first().is_some_and(|v| *v > 0));
    let Some(newest) = installed.into_iter().max_by_key(|i| version(i)) else {
        return Err(Absent::Failed(format!(
            "whether {running} is current: no installed kernel to compare it with (container, or direct boot)"
        )));
    };
    let finding = if version(&newest) > version(running) {
        FactorValue::wrong(format!("running {running}, but {newest} is installed")).fix(format!("reboot into {newest}"))
    } else {
        FactorValue::held(format!(
            "running {running}, the newest installed; whether a newer one is published is not known"
        ))
    };
    Ok(finding.value(running))
}

/// Days since 1970 of a civil date (Howard Hinnant's days_from_civil).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let of_era = y.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day in a build line: `(2024-02-01)`, `Fri Dec 27 17:05:33 UTC 2024` or `Mon, 09 Dec 2024 14:31:57 +0000`.
fn build_day(version: &str) -> Option<(i64, String)> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = version.split([' ', ',', '(', ')']).filter(|w| !w.is_empty()).collect();
    let valid = |y: i64, m: i64, d: i64| {
        let ok = (1991..3000).contains(&y) && (1..=12).contains(&m) && (1..=31).contains(&d);
        ok.then(|| (days(y, m, d), format!("{y:04}-{m:02}-{d:02}")))
    };
    let iso = |w: &&str| {
        let parts: Vec<i64> = w.split('-').map_while(|p| p.parse().ok()).collect();
        if let [y, m, d] = parts[..] { valid(y, m, d) } else { None }
    };
    if let Some(found) = words.iter().find_map(iso) {
        return Some(found);
    }
    let at = words.iter().position(|w| MONTHS.contains(w))?;
    let month = MONTHS.iter().position(|m| words.get(at) == Some(m))? as i64 + 1;
    let number = |w: Option<&&str>| w.and_then(|w| w.parse::<i64>().ok());
    let is_year = |n: &i64| (1991..3000).contains(n);
    let year = words.iter().skip(at + 1).filter_map(|w| w.parse().ok()).find(is_year)?;
    let before = at.checked_sub(1).and_then(|b| number(words.get(b)));
    let day = number(words.get(at + 1)).filter(|d| !is_year(d)).or(before)?;
    valid(year, month, day)
}

fn age(m: &FactorMachine) -> FoundFactor {
    let version = m.kernel_version.as_result().map_err(Clone::clone)?;
    let now = m.now.as_result().map_err(Clone::clone)?;
    let Some((day, date)) = build_day(version) else {
        return Err(Absent::NotSupported(format!("the kernel's build line has no date: {version}")));
    };
    let days = now.0.div_euclid(86_400_000_000_000) - day;
    let old = if days < 60 { format!("{days} days") } else { format!("{} months", days / 30) };
    let fix = "update the system, and reboot";
    Ok(FactorValue::when(days <= OLD, format!("built on {date}, {old} ago")).value(date).fix(fix))
}

fn faults(m: &FactorMachine) -> FoundFactor {
    let release = running(m)?;
    let numbers = version(release);
    if numbers.is_empty() {
        return Err(Absent::Failed(format!("the kernel release {release} has no numbers")));
    }
    let hit = |k: &&Known| release.contains(k.mark) && numbers[..] >= *k.from && numbers[..] < *k.until;
    Ok(match KNOWN.iter().find(hit) {
        Some(k) => FactorValue::wrong(format!("{}: {}", k.what, k.source)).fix("update the kernel"),
        None => FactorValue::held(format!("none of the {} in tare's table", KNOWN.len())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_lines_of_distributions() {
        let day = |v| build_day(v).map(|d| d.1);
        assert_eq!(day("#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)").as_deref(), Some("2024-02-01"));
        assert_eq!(day("#1 SMP PREEMPT_DYNAMIC Fri Dec 27 17:05:33 UTC 2024").as_deref(), Some("2024-12-27"));
        assert_eq!(day("#1 SMP PREEMPT_DYNAMIC Mon, 09 Dec 2024 14:31:57 +0000").as_deref(), Some("2024-12-09"));
        assert_eq!(day("#35-Ubuntu SMP Mon May 20 16:10:33 UTC 2024").as_deref(), Some("2024-05-20"));
        assert_eq!(day("#1 SMP PREEMPT_DYNAMIC @0"), None);
        assert_eq!(day("#1 SMP Jan"), None);
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2024, 2, 29), 19_782);
    }

    #[test]
    fn releases_are_compared_by_number() {
        assert!(version("5.10.0-28-amd64") > version("5.10.0-9-amd64"));
        assert_eq!(version("rescue"), Vec::<u64>::new());
    }
}
