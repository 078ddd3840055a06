//! Paging, and what the kernel does to memory by itself.

use crate::factors::machine::FactorMachine;
use crate::factors::spec::{
    Compare, FactorGroup, FactorReader, FactorSpec, FactorValue, FoundFactor, Privilege, Setter,
};
use crate::setting::Setting;
use tarebench_core::base::reading::Absent;

const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const KSM: &str = "sys/kernel/mm/ksm/run";
const SWAPPINESS: &str = "proc/sys/vm/swappiness";
const COMPACTION: &str = "proc/sys/vm/compaction_proactiveness";
const ASLR: &str = "proc/sys/kernel/randomize_va_space";

/// With this swappiness or less, pages of programs are swapped only when there is hardly anything else.
const LOW_SWAPPINESS: i64 = 10;

/// A row of this group.
const fn row(name: &'static str, reader: FactorReader, setter: Option<Setter>) -> FactorSpec {
    FactorSpec::of(FactorGroup::Memory, name, reader, setter)
}

pub(crate) const ROWS: &[FactorSpec] = &[
    FactorSpec {
        wanted: "no swap is in use, and nothing is swapped while measuring",
        reason: "Reading a page from disk takes a million times as long as from memory.",
        source: "proc(5) (/proc/swaps, /proc/vmstat); BenchExec compares the counts",
        compare: Compare::Count("pages were swapped"),
        ..row("swap", swap, None)
    },
    FactorSpec {
        wanted: "10 or less, if there is swap",
        reason: "Sets how early the kernel swaps programs out to keep more of the page cache.",
        source: "kernel doc. admin-guide/sysctl/vm.rst (swappiness)",
        ..row("swappiness", swappiness, Some(set_swappiness))
    },
    FactorSpec {
        wanted: "madvise or never",
        reason: "With `always`, whether a program gets huge pages depends on how fragmented memory is at the moment, \
                 and a kernel thread merges its pages while it runs. With `madvise`, programs that request huge pages \
                 still get them.",
        source: "kernel doc. admin-guide/mm/transhuge.rst",
        ..row("huge-pages", huge_pages, Some(set_huge_pages))
    },
    FactorSpec {
        wanted: "0",
        reason: "A kernel thread scans programs' memory for equal pages; writing to a merged page is a fault. (0 stops \
                 the thread; 2 would also undo all merging, which cannot be restored.)",
        source: "kernel doc. admin-guide/mm/ksm.rst",
        ..row("ksm", ksm, Some(set_ksm))
    },
    FactorSpec {
        wanted: "0",
        reason: "The kernel moves pages in the background to make room for huge ones: page faults, TLB flushes.",
        source: "kernel doc. admin-guide/sysctl/vm.rst (compaction_proactiveness)",
        ..row("compaction", compaction, Some(|m| m.one_file("compaction", COMPACTION, 0)))
    },
    FactorSpec {
        optional: true,
        wanted: "2, so that every sample has a different layout",
        reason: "The layout of memory changes a program's speed. A fixed layout gives a smaller spread, but measures \
                 only that layout: pyperf fixes it, tare averages over many.",
        source: "kernel doc. admin-guide/sysctl/kernel.rst (randomize_va_space); Mytkowicz et al., ASPLOS 2009",
        ..row("aslr", aslr, Some(|m| m.one_file("aslr", ASLR, 2)))
    },
    FactorSpec {
        wanted: "a tenth of memory is available, or more",
        reason: "With less, the kernel reclaims pages while programs run, and evicts files from the page cache that \
                 the next sample needs. For cold caches drop them before every sample: --prepare 'sync; echo 3 > \
                 /proc/sys/vm/drop_caches'.",
        source: "proc(5) (MemAvailable); kernel doc. admin-guide/sysctl/vm.rst (drop_caches)",
        privilege: Privilege::None,
        compare: Compare::Never,
        ..row("page-cache", page_cache, None)
    },
];

struct Swap {
    device: String,
    size: u64,
    used: u64,
}

/// Lines of `/proc/swaps`: name, type, size, used (KiB), priority.
fn swaps(m: &FactorMachine) -> Result<Vec<Swap>, Absent> {
    let text = m.text("proc/swaps")?;
    let swap_area = |line: &str| {
        // A name may hold spaces only as `\040`.
        let f: Vec<&str> = line.split_whitespace().collect();
        Some(Swap { device: (*f.first()?).to_owned(), size: f.get(2)?.parse().ok()?, used: f.get(3)?.parse().ok()? })
    };
    Ok(text.lines().skip(1).filter_map(swap_area).collect())
}

fn keyed(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
}

fn size(kib: u64) -> String {
    match kib {
        k if k >= 1 << 20 => format!("{:.1} GiB", k as f64 / f64::from(1 << 20)),
        k if k >= 1 << 10 => format!("{:.0} MiB", k as f64 / 1024.0),
        k => format!("{k} KiB"),
    }
}

fn swap(m: &FactorMachine) -> FoundFactor {
    let swaps = swaps(m)?;
    let vmstat = m.text("proc/vmstat").unwrap_or_default();
    let pages = keyed(&vmstat, "pswpin ").zip(keyed(&vmstat, "pswpout ")).map(|(i, o)| i.saturating_add(o));
    let used: Vec<&Swap> = swaps.iter().filter(|s| s.used > 0).collect();
    let finding = if swaps.is_empty() {
        FactorValue::held("none")
    } else if used.is_empty() {
        let total = swaps.iter().fold(0_u64, |t, s| t.saturating_add(s.size));
        FactorValue::held(format!("{} there, none in use", size(total)))
    } else {
        let list: Vec<String> = used.iter().map(|s| format!("{} on {}", size(s.used), s.device)).collect();
        FactorValue::wrong(format!("in use: {}", list.join(", ")))
            .fix("swapoff -a while measuring, if memory suffices; then swapon -a")
    };
    Ok(match pages {
        Some(p) => finding.value(p),
        None => finding,
    })
}

fn swappiness(m: &FactorMachine) -> FoundFactor {
    let value = m.number(SWAPPINESS)?;
    if swaps(m).is_ok_and(|s| s.is_empty()) {
        return Ok(FactorValue::held(format!("{value}; no swap: no effect")).value(value));
    }
    let fix = format!("sysctl -w vm.swappiness={LOW_SWAPPINESS}");
    Ok(FactorValue::when(value <= LOW_SWAPPINESS, value.to_string()).value(value).fix(fix))
}

fn set_swappiness(m: &FactorMachine) -> Vec<Setting> {
    // What is lower already stays, and without swap there is nothing to set.
    let low = m.number(SWAPPINESS).is_ok_and(|v| v <= LOW_SWAPPINESS);
    if low || swaps(m).is_ok_and(|s| s.is_empty()) {
        return Vec::new();
    }
    m.one_file("swappiness", SWAPPINESS, LOW_SWAPPINESS)
}

fn huge_pages(m: &FactorMachine) -> FoundFactor {
    let value = match m.choice(THP) {
        Err(Absent::NotSupported(_)) if m.has("sys/kernel/mm") => {
            return Ok(FactorValue::held("this kernel does not have them"));
        }
        v => v?,
    };
    let fix = format!("echo madvise > /{THP}");
    Ok(FactorValue::when(value != "always", &value).value(value).fix(fix))
}

/// `never` is not loosened.
fn set_huge_pages(m: &FactorMachine) -> Vec<Setting> {
    if m.choice(THP).is_ok_and(|v| v == "always") { m.one_file("huge-pages", THP, "madvise") } else { Vec::new() }
}

/// From 2 there would be no way back.
fn set_ksm(m: &FactorMachine) -> Vec<Setting> {
    if m.number(KSM).is_ok_and(|v| v == 1) { m.one_file("ksm", KSM, 0) } else { Vec::new() }
}

fn ksm(m: &FactorMachine) -> FoundFactor {
    let value = match m.number(KSM) {
        Err(Absent::NotSupported(_)) if m.has("sys/kernel/mm") => {
            return Ok(FactorValue::held("this kernel does not have it"));
        }
        v => v?,
    };
    let text = if value == 1 { "on: memory is scanned for equal pages" } else { "off" };
    Ok(FactorValue::when(value != 1, text).value(value).fix(format!("echo 0 > /{KSM}")))
}

fn compaction(m: &FactorMachine) -> FoundFactor {
    let value = match m.number(COMPACTION) {
        Err(Absent::NotSupported(_)) if m.has("proc/sys/vm") => {
            return Ok(FactorValue::held("this kernel has no proactive compaction"));
        }
        v => v?,
    };
    let text = if value == 0 { "not proactive (0)".to_owned() } else { format!("proactive, at {value} of 100") };
    Ok(FactorValue::when(value == 0, text).value(value).fix("sysctl -w vm.compaction_proactiveness=0"))
}

fn aslr(m: &FactorMachine) -> FoundFactor {
    let value = m.number(ASLR)?;
    let text = match value {
        2 => "every sample gets a different layout",
        1 => "partly: stack and mappings, not the heap",
        _ => "off: all samples get the same layout",
    };
    Ok(FactorValue::when(value == 2, text).value(value).fix("sysctl -w kernel.randomize_va_space=2"))
}

fn page_cache(m: &FactorMachine) -> FoundFactor {
    let info = m.text("proc/meminfo")?;
    let get = |key: &str| {
        keyed(&info, key).ok_or_else(|| Absent::Failed(format!("/proc/meminfo has no {}", key.trim_end_matches(':'))))
    };
    let (total, available) = (get("MemTotal:")?, get("MemAvailable:")?);
    let cached = get("Cached:").map(|c| format!(", {} of files cached", size(c))).unwrap_or_default();
    let pressure = m.number("proc/sys/vm/vfs_cache_pressure").map(|p| format!(", vfs_cache_pressure {p}"));
    let text = format!("{} of {} available{cached}{}", size(available), size(total), pressure.unwrap_or_default());
    let good = available.saturating_mul(10) >= total;
    Ok(FactorValue::when(good, text).fix("stop programs that use much memory (ps aux --sort=-rss)"))
}
