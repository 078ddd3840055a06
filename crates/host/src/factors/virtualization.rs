//! Limits that no setting on this machine lifts, with what they mean for the figures.

use crate::factors::machine::FactorMachine;
use crate::factors::spec::{Compare, FactorGroup, FactorSpec, FactorValue, FoundFactor, Privilege};
use crate::host::hypervisor as name;
use tarebench_core::base::reading::Absent;
use tarebench_sys::procfs::{flat_keyed, parse_cgroup2_mount, parse_own_cgroup2, parse_steal};

pub(crate) const ROWS: &[FactorSpec] = &[
    FactorSpec {
        name: "hypervisor",
        group: FactorGroup::Virtual,
        step: 0,
        optional: true,
        wanted: "none",
        reason: "A guest shares its CPUs, caches and memory with other guests that it cannot see; the hypervisor \
                 decides the clock speed; interrupts and page faults may cost an exit.",
        source: "proc(5) (/proc/stat, steal); systemd-detect-virt(1)",
        privilege: Privilege::Host,
        reader: hypervisor,
        setter: None,
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "steal",
        group: FactorGroup::Virtual,
        step: 0,
        optional: false,
        wanted: "none over a second",
        reason: "Time in which the hypervisor ran something else on the CPU. The kernel charges it to the running \
                 task, so process time is too long; tare's net time excludes it, as far as the hypervisor reports it.",
        source: "proc(5) (/proc/stat, steal)",
        privilege: Privilege::Host,
        reader: steal,
        setter: None,
        compare: Compare::Count("ms of CPU time were stolen by the hypervisor"),
    },
    FactorSpec {
        name: "hardware-counters",
        group: FactorGroup::Virtual,
        step: 0,
        optional: true,
        wanted: "can be opened",
        reason: "Without them there are no cycles, instructions or cache misses; times are not affected.",
        source: "perf_event_open(2)",
        privilege: Privilege::Host,
        reader: counters,
        setter: None,
        compare: Compare::Exact,
    },
    FactorSpec {
        name: "cpu-quota",
        group: FactorGroup::Virtual,
        step: 0,
        optional: false,
        wanted: "none on tare's cgroup and its parents",
        reason: "A cgroup that has used up its quota is stopped for the rest of each period (often 100 ms): elapsed \
                 times differ by whole periods.",
        source: "kernel doc. admin-guide/cgroup-v2.rst (cpu.max), scheduler/sched-bwc.rst",
        privilege: Privilege::Host,
        reader: quota,
        setter: None,
        compare: Compare::Exact,
    },
];

fn hypervisor(m: &FactorMachine) -> FoundFactor {
    let info = m.text("proc/cpuinfo")?;
    let found = name(&m.root, &info);
    let found = found.as_result().map_err(Clone::clone)?;
    if found == "none" {
        return Ok(FactorValue::held("none: this is a physical machine").value(found));
    }
    let text = format!(
        "{found}: it decides the clock speed and shares CPUs and caches among guests; compare only interleaved \
         measurements"
    );
    Ok(FactorValue::wrong(text).value(found).fix("measure on a physical machine, or on a dedicated one"))
}

fn steal(m: &FactorMachine) -> FoundFactor {
    let total =
        m.text("proc/stat").and_then(|t| parse_steal(t.as_bytes()).map_err(|e| Absent::NotSupported(e.to_string())))?;
    let total = total.millis() as i64;
    if !m.is_virtual() && total == 0 {
        return Ok(FactorValue::held("no hypervisor, and no steal time was counted since boot").value(total));
    }
    let Ok(share) = m.steal.as_result() else {
        let why = m.steal.absent().map(ToString::to_string).unwrap_or_default();
        return Ok(FactorValue::unknown(format!("{:.1} s since boot; over the last second {why}", total as f64 / 1e3))
            .value(total));
    };
    let text = format!("{:.1}% of CPU time in the last second, {:.1} s since boot", share * 100.0, total as f64 / 1e3);
    let known = if total == 0 { "; some hypervisors do not report it" } else { "" };
    Ok(FactorValue::when(*share <= 0.0, format!("{text}{known}"))
        .value(total)
        .fix("use a machine with dedicated CPUs, or measure at another time; compare net time instead of process time"))
}

fn counters(m: &FactorMachine) -> FoundFactor {
    match m.hardware_counters.as_result() {
        Ok(()) => Ok(FactorValue::held("can be opened").value("yes")),
        Err(Absent::NotSupported(_)) if m.is_virtual() => Ok(FactorValue::wrong(
            "the hypervisor gives this guest no PMU: no cycle or cache figures; times are not \
             affected",
        )
        .value("no")
        .fix("ask for a guest type with a virtual PMU")),
        Err(why) => Err(why.clone()),
    }
}

/// A cgroup's quota in CPUs; `None` if it has none.
struct Quota {
    cgroup: String,
    cpus: f64,
    throttled: Option<u64>,
}

/// A folder below a mount and all above it, deepest first, as paths below the root.
fn upwards(mount: &str, own: &str) -> Vec<(String, String)> {
    let mount = mount.trim_matches('/');
    let parts: Vec<&str> = own.split('/').filter(|p| !p.is_empty() && *p != "..").collect();
    (0..=parts.len())
        .rev()
        .map(|n| {
            let below = parts.iter().take(n).copied().collect::<Vec<_>>().join("/");
            (format!("{mount}/{below}").trim_end_matches('/').to_owned(), format!("/{below}"))
        })
        .collect()
}

/// `50000 100000` is half a CPU, `max 100000` no limit.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let mut f = text.split_whitespace();
    let (quota, period): (f64, f64) = (f.next()?.parse().ok()?, f.next().unwrap_or("100000").parse().ok()?);
    (period > 0.0 && quota.is_finite()).then(|| quota / period)
}

fn v2_quotas(m: &FactorMachine, mounts: &str, cgroups: &str) -> Option<Vec<Quota>> {
    let mount = String::from_utf8(parse_cgroup2_mount(mounts.as_bytes())?).ok()?;
    let own = String::from_utf8(parse_own_cgroup2(cgroups.as_bytes())?).ok()?;
    let levels = upwards(&mount, &own);
    // The root has no cpu.max; if the own cgroup has none either, the controller is elsewhere.
    let quotas = levels.into_iter().filter_map(|(folder, cgroup)| {
        let cpus = parse_cpu_max(&m.text(&format!("{folder}/cpu.max")).ok()?)?;
        let stat = m.text(&format!("{folder}/cpu.stat")).unwrap_or_default();
        Some(Quota { cgroup, cpus, throttled: flat_keyed(stat.as_bytes(), "nr_throttled") })
    });
    Some(quotas.collect())
}

/// Mount of the v1 controller `cpu`, by the options of `/proc/self/mountinfo`.
fn v1_mount(mounts: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let is_v1 = right.next()? == "cgroup" && right.nth(1)?.split(',').any(|o| o == "cpu");
        is_v1.then(|| left.split(' ').nth(4).map(str::to_owned))?
    })
}

fn v1_quotas(m: &FactorMachine, mounts: &str, cgroups: &str) -> Option<Vec<Quota>> {
    let mount = v1_mount(mounts)?;
    let own = cgroups.lines().find_map(|l| {
        let mut f = l.splitn(3, ':').skip(1);
        (f.next()?.split(',').any(|c| c == "cpu")).then(|| f.next().map(str::to_owned))?
    })?;
    let quotas = upwards(&mount, &own).into_iter().filter_map(|(folder, cgroup)| {
        let quota = m.number(&format!("{folder}/cpu.cfs_quota_us")).ok().filter(|q| *q > 0)?;
        let period = m.number(&format!("{folder}/cpu.cfs_period_us")).ok().filter(|p| *p > 0)?;
        let stat = m.text(&format!("{folder}/cpu.stat")).unwrap_or_default();
        let throttled = flat_keyed(stat.as_bytes(), "nr_throttled");
        Some(Quota { cgroup, cpus: quota as f64 / period as f64, throttled })
    });
    Some(quotas.collect())
}

fn quota(m: &FactorMachine) -> FoundFactor {
    let (mounts, cgroups) = (m.text("proc/self/mountinfo")?, m.text("proc/self/cgroup")?);
    let (v2, v1) = (v2_quotas(m, &mounts, &cgroups), v1_quotas(m, &mounts, &cgroups));
    if v2.is_none() && v1.is_none() {
        return Err(Absent::NotSupported("no cgroup hierarchy is mounted".into()));
    }
    let all = v2.into_iter().flatten().chain(v1.into_iter().flatten());
    Ok(match all.min_by(|a, b| a.cpus.total_cmp(&b.cpus)) {
        None => FactorValue::held("none on tare's cgroup and its parents").value("none"),
        Some(q) => {
            let times = q.throttled.map(|n| format!("; throttled {n} times so far")).unwrap_or_default();
            FactorValue::wrong(format!("{} CPUs for all of {}{times}", q.cpus, q.cgroup))
                .value(q.cpus)
                .fix("run in a cgroup or container without a CPU limit")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_of_both_hierarchies() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let full = dir.path().join(path);
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            std::fs::write(full, text).unwrap();
        };
        put("proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        put("proc/self/cgroup", "0::/a/b\n");
        put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
        put("sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 4\n");
        let f = quota(&FactorMachine::from_files(dir.path())).unwrap();
        assert_eq!(f.text, "1.5 CPUs for all of /a; throttled 4 times so far");
        put("proc/self/mountinfo", "1 0 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
        put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/y\n");
        put("cg/cpu/x/cpu.cfs_quota_us", "-1\n");
        put("cg/cpu/x/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota(&FactorMachine::from_files(dir.path())).unwrap().value.as_deref(), Some("none"));
        put("cg/cpu/x/cpu.cfs_quota_us", "50000\n");
        assert_eq!(quota(&FactorMachine::from_files(dir.path())).unwrap().text, "0.5 CPUs for all of /x");
    }
}
