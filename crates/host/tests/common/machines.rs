//! Machines that are not at hand, laid out as the files that their kernels show below `/proc` and `/sys`.
//!
//! Forms: Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate,cpuidle}.rst, Documentation/admin-guide/sysctl,
//! Documentation/ABI/{stable,testing}/sysfs-devices-system-cpu, sysfs-class-power and proc(5).
#![allow(dead_code, reason = "each test uses some of them")]
#![allow(clippy::unwrap_used, reason = "a test that cannot write its files has failed")]

use std::path::Path;

/// A folder that plays the root of a machine.
pub struct Root<'a>(pub &'a Path);

impl Root<'_> {
    /// Writes a file, with the line end that kernel files have.
    pub fn put(&self, path: &str, text: &str) {
        let full = self.0.join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        std::fs::write(full, format!("{text}{end}")).unwrap();
    }

    /// Writes several files below one folder.
    pub fn put_all(&self, below: &str, files: &[(&str, &str)]) {
        for (path, text) in files {
            self.put(&format!("{below}/{path}"), text);
        }
    }

    /// A process with its name, its user and the kernel-thread flag.
    pub fn process(&self, pid: u32, comm: &str, uid: u32, kernel: bool) {
        let flags = if kernel { 0x0020_8040 } else { 0x0040_0100 };
        let (ppid, start) = (if kernel { 2 } else { 1 }, 100 + pid);
        let stat = format!(
            "{pid} ({comm}) S {ppid} {pid} {pid} 0 -1 {flags} 151 0 2 0 12 7 0 0 20 0 1 0 {start} 8241152 1212 \
             18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0"
        );
        self.put(&format!("proc/{pid}/stat"), &stat);
        self.put(&format!("proc/{pid}/comm"), comm);
        let status = format!("Name:\t{comm}\nState:\tS (sleeping)\nPid:\t{pid}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
        self.put(&format!("proc/{pid}/status"), &status);
        self.put(&format!("proc/{pid}/task/{pid}/schedstat"), "190000000 4000000 1200");
    }

    /// User processes, numbered from 400 on.
    pub fn processes(&self, comms: &[&str]) {
        for (pid, comm) in (400..).zip(comms) {
            self.process(pid, comm, 0, false);
        }
        self.process(1, "systemd", 0, false);
        self.process(2, "kthreadd", 0, true);
        self.process(14, "ksoftirqd/0", 0, true);
        self.process(45, "kswapd0", 0, true);
    }

    /// One cpufreq policy for each CPU, with the link that leads from the CPU to it.
    pub fn policy(&self, cpu: u32, files: &[(&str, &str)]) {
        let folder = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
        self.put(&format!("{folder}/affected_cpus"), &cpu.to_string());
        self.put(&format!("{folder}/related_cpus"), &cpu.to_string());
        self.put_all(&folder, files);
        let of_cpu = self.0.join(format!("sys/devices/system/cpu/cpu{cpu}"));
        std::fs::create_dir_all(&of_cpu).unwrap();
        std::os::unix::fs::symlink(format!("../cpufreq/policy{cpu}"), of_cpu.join("cpufreq")).unwrap();
    }

    /// Idle states of a CPU: name, exit latency in µs, disabled.
    pub fn idle(&self, cpu: u32, states: &[(&str, u32, bool)]) {
        for (i, (name, latency, disabled)) in states.iter().enumerate() {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{i}");
            self.put(&format!("{folder}/name"), name);
            self.put(&format!("{folder}/latency"), &latency.to_string());
            self.put(&format!("{folder}/disable"), if *disabled { "1" } else { "0" });
        }
    }

    /// An interrupt with the CPUs it may go to, and what it is.
    pub fn irq(&self, number: u32, cpus: &str, action: &str) {
        self.put(&format!("proc/irq/{number}/smp_affinity_list"), cpus);
        self.put(&format!("proc/irq/{number}/effective_affinity_list"), cpus.split(['-', ',']).next().unwrap());
        std::fs::create_dir_all(self.0.join(format!("proc/irq/{number}/{action}"))).unwrap();
    }

    /// Kernel release, build line and command line.
    pub fn kernel(&self, release: &str, version: &str, cmdline: &str) {
        self.put("proc/sys/kernel/osrelease", release);
        self.put("proc/sys/kernel/version", version);
        self.put("proc/cmdline", cmdline);
        self.put("proc/sys/kernel/random/boot_id", "5d3a7f0e-4a8b-4c59-9d0e-0e7a5b8f1c22");
    }

    /// `/proc/cpuinfo` of an x86 machine.
    pub fn cpuinfo_x86(&self, cpus: u32, vendor: &str, model: &str, flags: &str) {
        let cpu_text = |n| {
            format!(
                "processor\t: {n}\nvendor_id\t: {vendor}\ncpu family\t: 6\nmodel name\t: {model}\ncpu MHz\t\t: \
                 2100.000\nflags\t\t: fpu vme de pse tsc msr pae mce cx8 apic {flags}\nbogomips\t: 4199.88\n\n"
            )
        };
        self.put("proc/cpuinfo", &(0..cpus).map(cpu_text).collect::<String>());
    }

    /// What all of them have.
    pub fn common(&self, cpus: u32) {
        let last = cpus - 1;
        self.put_all(
            "sys/devices/system/cpu",
            &[
                ("online", &format!("0-{last}")),
                ("possible", &format!("0-{last}")),
                ("present", &format!("0-{last}")),
                ("isolated", "\n"),
                ("nohz_full", "(null)"),
            ],
        );
        self.put_all(
            "proc/sys/kernel",
            &[
                ("perf_event_max_sample_rate", "100000"),
                ("perf_cpu_time_max_percent", "25"),
                ("perf_event_paranoid", "2"),
                ("sched_rt_runtime_us", "950000"),
                ("sched_rt_period_us", "1000000"),
                ("timer_migration", "1"),
                ("watchdog", "1"),
                ("nmi_watchdog", "1"),
                ("watchdog_thresh", "10"),
                ("randomize_va_space", "2"),
                ("numa_balancing", "0"),
            ],
        );
        self.put_all(
            "proc/sys/vm",
            &[("swappiness", "60"), ("compaction_proactiveness", "20"), ("vfs_cache_pressure", "100")],
        );
        self.put_all(
            "sys/kernel/mm",
            &[
                ("transparent_hugepage/enabled", "always [madvise] never"),
                ("transparent_hugepage/defrag", "always defer defer+madvise [madvise] never"),
                ("ksm/run", "0"),
                ("ksm/pages_shared", "0"),
            ],
        );
        self.put("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
        self.put(
            "proc/meminfo",
            "MemTotal:       16247516 kB\nMemFree:         9003232 kB\nMemAvailable:   12895116 kB\nCached:          \
             3401188 kB\n",
        );
        self.put("proc/vmstat", "nr_free_pages 2250808\npswpin 0\npswpout 0\n");
        self.put("proc/loadavg", "0.03 0.05 0.01 1/402 2210");
        for kind in ["cpu", "memory", "io"] {
            let psi = "some avg10=0.00 avg60=0.02 avg300=0.00 total=1189051\nfull avg10=0.00 avg60=0.00 avg300=0.00 \
                       total=0\n";
            self.put(&format!("proc/pressure/{kind}"), psi);
        }
        let cpu = |name: String| format!("{name} 58210 112 20331 9411230 3021 0 881 0 0 0\n");
        let each: String = (0..cpus).map(|n| cpu(format!("cpu{n}"))).collect();
        let total = cpu("cpu ".to_owned());
        self.put(
            "proc/stat",
            &format!(
                "{total}{each}ctxt 80112332\nbtime 1718000000\nprocesses 22110\nprocs_running 1\nprocs_blocked 0\n"
            ),
        );
        self.put("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-2.scope");
        self.put(
            "proc/self/mountinfo",
            "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        );
        for folder in ["user.slice", "user.slice/user-1000.slice", "user.slice/user-1000.slice/session-2.scope"] {
            self.put(&format!("sys/fs/cgroup/{folder}/cpu.max"), "max 100000");
        }
    }

    /// The clock source and the others to choose from.
    pub fn clock_source(&self, current: &str, available: &str) {
        self.put_all(
            "sys/devices/system/clocksource/clocksource0",
            &[("current_clocksource", current), ("available_clocksource", available)],
        );
    }
}

const TSC: &str = "constant_tsc nonstop_tsc";
const INTEL_IDLE: &[(&str, u32, bool)] = &[
    ("POLL", 0, false),
    ("C1", 2, false),
    ("C1E", 10, false),
    ("C6", 85, false),
    ("C8", 200, false),
    ("C10", 890, false),
];

/// ThinkPad with a Core i7-8650U, Debian 12, as it comes: intel_pstate with hardware P-states, turbo on, on battery.
pub fn intel_laptop(dir: &Path) {
    let r = Root(dir);
    r.common(8);
    r.kernel(
        "6.1.0-18-amd64",
        "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)",
        "BOOT_IMAGE=/boot/vmlinuz-6.1.0-18-amd64 root=/dev/mapper/vg-root ro quiet",
    );
    r.put("boot/vmlinuz-6.1.0-18-amd64", "");
    r.put("boot/vmlinuz-6.1.0-21-amd64", "");
    r.put("lib/modules/6.1.0-21-amd64/modules.dep", "");
    r.cpuinfo_x86(8, "GenuineIntel", "Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz", &format!("ht {TSC} art hwp hwp_epp"));
    r.clock_source("tsc", "tsc hpet acpi_pm");
    r.put_all("sys/devices/system/cpu/smt", &[("active", "1"), ("control", "on")]);
    r.put_all(
        "sys/devices/system/cpu/intel_pstate",
        &[
            ("status", "active"),
            ("no_turbo", "0"),
            ("turbo_pct", "60"),
            ("min_perf_pct", "9"),
            ("max_perf_pct", "100"),
            ("num_pstates", "39"),
            ("hwp_dynamic_boost", "0"),
        ],
    );
    for cpu in 0..8 {
        r.policy(
            cpu,
            &[
                ("scaling_driver", "intel_pstate"),
                ("scaling_governor", "powersave"),
                ("scaling_available_governors", "performance powersave"),
                ("scaling_min_freq", "400000"),
                ("scaling_max_freq", "4200000"),
                ("cpuinfo_min_freq", "400000"),
                ("cpuinfo_max_freq", "4200000"),
                ("scaling_cur_freq", "800012"),
                ("base_frequency", "2100000"),
                ("energy_performance_preference", "balance_performance"),
                (
                    "energy_performance_available_preferences",
                    "default performance balance_performance balance_power power",
                ),
            ],
        );
        r.idle(cpu, INTEL_IDLE);
        r.put_all(
            &format!("sys/devices/system/cpu/cpu{cpu}"),
            &[
                ("thermal_throttle/core_throttle_count", if cpu % 4 == 0 { "12" } else { "0" }),
                ("thermal_throttle/package_throttle_count", "31"),
                ("topology/thread_siblings_list", &format!("{},{}", cpu % 4, cpu % 4 + 4)),
            ],
        );
    }
    r.put_all("sys/devices/system/cpu/cpuidle", &[("current_driver", "intel_idle"), ("current_governor", "menu")]);
    r.put_all("sys/class/power_supply/AC", &[("type", "Mains"), ("online", "0")]);
    r.put_all("sys/class/power_supply/BAT0", &[("type", "Battery"), ("status", "Discharging"), ("capacity", "71")]);
    r.put(
        "proc/swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/dm-2                               \
         partition\t999420\t\t52480\t\t-2\n",
    );
    r.processes(&["systemd-journal", "systemd-timesyn", "cron", "cupsd", "avahi-daemon", "ModemManager", "fwupd"]);
    r.put("proc/loadavg", "1.72 1.10 0.64 3/1102 22114");
    r.irq(1, "0-7", "i8042");
    r.irq(125, "0-7", "nvme0q1");
    r.irq(131, "0-7", "iwlwifi");
    std::fs::create_dir_all(dir.join("sys/bus/event_source/devices/cpu")).unwrap();
    r.put_all("sys/class/dmi/id", &[("sys_vendor", "LENOVO"), ("product_name", "20L7CTO1WW")]);
}

/// Desktop with a Ryzen 5 7600X, Fedora 41: amd-pstate in active mode with boost, chronyd.
pub fn amd_desktop(dir: &Path) {
    let r = Root(dir);
    r.common(12);
    r.kernel(
        "6.12.7-200.fc41.x86_64",
        "#1 SMP PREEMPT_DYNAMIC Fri Dec 27 17:05:33 UTC 2024",
        "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.12.7-200.fc41.x86_64 root=UUID=7c2b ro rhgb quiet",
    );
    r.put("boot/vmlinuz-6.12.7-200.fc41.x86_64", "");
    r.put("boot/vmlinuz-6.11.4-301.fc41.x86_64", "");
    r.put("boot/vmlinuz-0-rescue-3f1d2a", "");
    r.cpuinfo_x86(12, "AuthenticAMD", "AMD Ryzen 5 7600X 6-Core Processor", &format!("ht {TSC} cpb cppc"));
    r.clock_source("tsc", "tsc hpet acpi_pm");
    r.put_all("sys/devices/system/cpu/smt", &[("active", "1"), ("control", "on")]);
    r.put_all("sys/devices/system/cpu/amd_pstate", &[("status", "active"), ("prefcore", "enabled")]);
    r.put("sys/devices/system/cpu/cpufreq/boost", "1");
    for cpu in 0..12 {
        r.policy(
            cpu,
            &[
                ("scaling_driver", "amd-pstate-epp"),
                ("scaling_governor", "powersave"),
                ("scaling_available_governors", "performance powersave"),
                ("scaling_min_freq", "545000"),
                ("scaling_max_freq", "5453000"),
                ("cpuinfo_min_freq", "545000"),
                ("cpuinfo_max_freq", "5453000"),
                ("amd_pstate_max_freq", "5453000"),
                ("boost", "1"),
                ("energy_performance_preference", "balance_performance"),
                (
                    "energy_performance_available_preferences",
                    "default performance balance_performance balance_power power",
                ),
            ],
        );
        r.idle(cpu, &[("POLL", 0, false), ("C1", 1, false), ("C2", 18, false), ("C3", 350, false)]);
        let cppc = format!("sys/devices/system/cpu/cpu{cpu}/acpi_cppc");
        r.put_all(&cppc, &[("highest_perf", "196"), ("nominal_perf", "145"), ("nominal_freq", "4700")]);
        r.put(
            &format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"),
            &format!("{},{}", cpu % 6, cpu % 6 + 6),
        );
    }
    r.put_all("sys/devices/system/cpu/cpuidle", &[("current_driver", "acpi_idle"), ("current_governor", "menu")]);
    fair_server(&r, 12);
    r.put(
        "proc/swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/zram0                              \
         partition\t8388604\t\t0\t\t100\n",
    );
    r.processes(&[
        "systemd-journal",
        "chronyd",
        "packagekitd",
        "tracker-miner-f",
        "bluetoothd",
        "tuned",
        "gnome-shell",
    ]);
    r.irq(9, "0-11", "acpi");
    r.irq(60, "3", "nvme0q4");
    std::fs::create_dir_all(dir.join("sys/bus/event_source/devices/cpu")).unwrap();
    r.put_all("sys/class/dmi/id", &[("sys_vendor", "ASUS"), ("product_name", "System Product Name")]);
}

/// Server with two Xeons E5-2609 v2, Debian 11, kernel 5.10: acpi-cpufreq with its boost switch, two NUMA nodes,
/// CPUs 4-7 isolated, ntpd, irqbalance, the TSC given up for the HPET.
pub fn old_server(dir: &Path) {
    let r = Root(dir);
    r.common(8);
    r.kernel(
        "5.10.0-28-amd64",
        "#1 SMP Debian 5.10.209-2 (2024-01-31)",
        "BOOT_IMAGE=/vmlinuz-5.10.0-28-amd64 root=/dev/md0 ro intel_pstate=disable isolcpus=4-7 nohz_full=4-7 \
         rcu_nocbs=4-7",
    );
    r.put("boot/vmlinuz-5.10.0-28-amd64", "");
    r.put("boot/vmlinuz-5.10.0-9-amd64", "");
    r.cpuinfo_x86(8, "GenuineIntel", "Intel(R) Xeon(R) CPU E5-2609 v2 @ 2.50GHz", TSC);
    r.clock_source("hpet", "hpet acpi_pm");
    r.put_all("sys/devices/system/cpu/smt", &[("active", "0"), ("control", "notsupported")]);
    r.put_all("sys/devices/system/cpu", &[("isolated", "4-7"), ("nohz_full", "4-7"), ("cpufreq/boost", "1")]);
    for cpu in 0..8 {
        let isolated = cpu >= 4;
        r.policy(
            cpu,
            &[
                ("scaling_driver", "acpi-cpufreq"),
                ("scaling_governor", if isolated { "performance" } else { "ondemand" }),
                ("scaling_available_governors", "conservative ondemand userspace powersave performance schedutil"),
                ("scaling_available_frequencies", "2500000 2400000 2000000 1600000 1200000"),
                ("scaling_min_freq", "1200000"),
                ("scaling_max_freq", "2500000"),
                ("cpuinfo_min_freq", "1200000"),
                ("cpuinfo_max_freq", "2500000"),
            ],
        );
        r.idle(cpu, &[("POLL", 0, false), ("C1", 1, isolated), ("C3", 59, isolated), ("C6", 80, isolated)]);
        r.put_all(
            &format!("sys/devices/system/cpu/cpu{cpu}"),
            &[
                ("thermal_throttle/core_throttle_count", "0"),
                ("thermal_throttle/package_throttle_count", "0"),
                ("topology/thread_siblings_list", &cpu.to_string()),
            ],
        );
    }
    r.put_all("sys/devices/system/cpu/cpuidle", &[("current_driver", "acpi_idle"), ("current_governor", "menu")]);
    r.put_all("sys/devices/system/node", &[("online", "0-1"), ("node0/cpulist", "0-3"), ("node1/cpulist", "4-7")]);
    r.put("proc/sys/kernel/numa_balancing", "1");
    r.put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
    r.put_all("sys/kernel/mm/ksm", &[("run", "1"), ("pages_shared", "2110")]);
    r.processes(&["systemd-journal", "ntpd", "irqbalance", "crond", "atd", "acpid", "master", "auditd", "sshd"]);
    r.irq(26, "0-3", "eth0");
    r.irq(27, "0-7", "megasas");
    std::fs::create_dir_all(dir.join("sys/bus/event_source/devices/cpu")).unwrap();
    r.put_all("sys/class/dmi/id", &[("sys_vendor", "Dell Inc."), ("product_name", "PowerEdge R620")]);
}

/// Server with an Ampere Altra, Ubuntu 24.04, shown with 16 of its CPUs: cppc_cpufreq, no SMT, the architected counter.
pub fn arm_server(dir: &Path) {
    let r = Root(dir);
    r.common(16);
    r.kernel(
        "6.8.0-35-generic",
        "#35-Ubuntu SMP PREEMPT_DYNAMIC Mon May 20 16:10:33 UTC 2024",
        "BOOT_IMAGE=/vmlinuz-6.8.0-35-generic root=/dev/mapper/ubuntu--vg-ubuntu--lv ro",
    );
    r.put("boot/vmlinuz-6.8.0-35-generic", "");
    let cpu_text = |n: u32| {
        format!(
            "processor\t: {n}\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics cpuid\n\
             CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n"
        )
    };
    r.put("proc/cpuinfo", &(0..16).map(cpu_text).collect::<String>());
    r.clock_source("arch_sys_counter", "arch_sys_counter");
    r.put_all("sys/devices/system/cpu/smt", &[("active", "0"), ("control", "notimplemented")]);
    for cpu in 0..16 {
        r.policy(
            cpu,
            &[
                ("scaling_driver", "cppc_cpufreq"),
                ("scaling_governor", "performance"),
                ("scaling_available_governors", "conservative ondemand userspace powersave performance schedutil"),
                ("scaling_min_freq", "1000000"),
                ("scaling_max_freq", "3000000"),
                ("cpuinfo_min_freq", "1000000"),
                ("cpuinfo_max_freq", "3000000"),
            ],
        );
        r.idle(cpu, &[("LPI-0", 1, false), ("LPI-1", 110, false)]);
        let cppc = format!("sys/devices/system/cpu/cpu{cpu}/acpi_cppc");
        r.put_all(&cppc, &[("highest_perf", "300"), ("nominal_perf", "300"), ("nominal_freq", "3000")]);
        r.put(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), &cpu.to_string());
    }
    r.put_all("sys/devices/system/cpu/cpuidle", &[("current_driver", "acpi_idle"), ("current_governor", "menu")]);
    r.put("sys/devices/system/node/online", "0");
    r.put("proc/sys/kernel/nmi_watchdog", "0");
    r.processes(&[
        "systemd-journal",
        "systemd-timesyn",
        "snapd",
        "unattended-upgr",
        "irqbalance",
        "multipathd",
        "sshd",
    ]);
    r.irq(70, "0-15", "mlx5_async0");
    std::fs::create_dir_all(dir.join("sys/bus/event_source/devices/armv8_pmuv3_0")).unwrap();
    r.put_all("sys/class/dmi/id", &[("sys_vendor", "GIGABYTE"), ("product_name", "R272-P30-JG")]);
}

/// Desktop with a Core i5-12600K, six P cores with two threads each and four E cores, Arch Linux, already quieted:
/// turbo off, governor `performance`, no known daemon but ntpd.
pub fn hybrid_desktop(dir: &Path) {
    let r = Root(dir);
    r.common(16);
    r.kernel(
        "6.12.4-arch1-1",
        "#1 SMP PREEMPT_DYNAMIC Mon, 09 Dec 2024 14:31:57 +0000",
        "root=/dev/nvme0n1p2 rw nowatchdog transparent_hugepage=never",
    );
    r.put("usr/lib/modules/6.12.4-arch1-1/vmlinuz", "");
    r.cpuinfo_x86(16, "GenuineIntel", "12th Gen Intel(R) Core(TM) i5-12600K", &format!("ht {TSC} hwp hwp_epp"));
    r.clock_source("tsc", "tsc acpi_pm");
    r.put_all("sys/devices/system/cpu/smt", &[("active", "1"), ("control", "on")]);
    r.put_all(
        "sys/devices/system/cpu/intel_pstate",
        &[("status", "active"), ("no_turbo", "1"), ("min_perf_pct", "16"), ("max_perf_pct", "100")],
    );
    r.put("sys/devices/cpu_core/cpus", "0-11");
    r.put("sys/devices/cpu_atom/cpus", "12-15");
    for cpu in 0..16 {
        let (max, base) = if cpu < 12 { ("3700000", "3700000") } else { ("2800000", "2800000") };
        r.policy(
            cpu,
            &[
                ("scaling_driver", "intel_pstate"),
                ("scaling_governor", "performance"),
                ("scaling_available_governors", "performance powersave"),
                ("scaling_min_freq", max),
                ("scaling_max_freq", max),
                ("cpuinfo_min_freq", "800000"),
                ("cpuinfo_max_freq", max),
                ("base_frequency", base),
                ("energy_performance_preference", "performance"),
                ("energy_performance_available_preferences", "performance"),
            ],
        );
        r.idle(cpu, INTEL_IDLE);
        let siblings = if cpu < 12 { format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1) } else { cpu.to_string() };
        r.put_all(
            &format!("sys/devices/system/cpu/cpu{cpu}"),
            &[
                ("thermal_throttle/core_throttle_count", "0"),
                ("thermal_throttle/package_throttle_count", "0"),
                ("topology/thread_siblings_list", &siblings),
                ("cpu_capacity", if cpu < 12 { "1024" } else { "611" }),
            ],
        );
    }
    r.put_all("sys/devices/system/cpu/cpuidle", &[("current_driver", "intel_idle"), ("current_governor", "menu")]);
    fair_server(&r, 16);
    r.put_all(
        "proc/sys/kernel",
        &[("watchdog", "0"), ("nmi_watchdog", "0"), ("timer_migration", "0"), ("perf_event_max_sample_rate", "1")],
    );
    r.put_all("proc/sys/vm", &[("swappiness", "1"), ("compaction_proactiveness", "0")]);
    r.put("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
    r.processes(&["systemd-journal", "ntpd", "sway"]);
    r.irq(9, "0-15", "acpi");
    r.irq(140, "0-1", "nvme0q0");
    std::fs::create_dir_all(dir.join("sys/bus/event_source/devices/cpu_core")).unwrap();
    std::fs::create_dir_all(dir.join("sys/bus/event_source/devices/cpu_atom")).unwrap();
    r.put_all("sys/class/dmi/id", &[("sys_vendor", "Micro-Star"), ("product_name", "MS-7D25")]);
}

/// The deadline server for fair tasks, since Linux 6.12: 50 ms in every second, per CPU.
fn fair_server(r: &Root<'_>, cpus: u32) {
    for cpu in 0..cpus {
        let folder = format!("sys/kernel/debug/sched/fair_server/cpu{cpu}");
        r.put_all(&folder, &[("runtime", "50000000"), ("period", "1000000000")]);
    }
}
