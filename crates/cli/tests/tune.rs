//! `tare tune` and `tare restore`: whatever happens in between, every value is as it was.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "../../host/tests/common/machines.rs"]
mod machines;
#[path = "common/tuning.rs"]
mod tuning;

use common::{NOBODY, is_root, run, skip, text, until};
use machines::{amd_desktop, arm_server, hybrid_desktop, intel_laptop, old_server};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tuning::{Machine, Saved, real_value};

type LayOut = fn(&Path);

const MACHINES: [(&str, LayOut); 5] = [
    ("Intel laptop", intel_laptop),
    ("AMD desktop", amd_desktop),
    ("old server", old_server),
    ("Arm server", arm_server),
    ("hybrid desktop", hybrid_desktop),
];

const SWAPPINESS: &str = "proc/sys/vm/swappiness";
const MIGRATION: &str = "proc/sys/kernel/timer_migration";
const SAMPLING: &str = "proc/sys/kernel/perf_event_max_sample_rate";
const THREE: &[(&str, &str)] = &[(SWAPPINESS, "1"), (MIGRATION, "0"), (SAMPLING, "1")];

const LOUD: &[(&str, &str)] = &[
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"),
    ("sys/devices/system/cpu/cpu12/cpufreq/scaling_governor", "powersave"),
    ("sys/devices/system/cpu/cpu12/cpufreq/scaling_min_freq", "800000"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always"),
    (SWAPPINESS, "60"),
];

/// What the issue names, as far as this kernel has it; with values that differ from the usual ones.
fn real_settings() -> Vec<(&'static str, &'static str)> {
    let all = [
        ("proc/sys/kernel/randomize_va_space", "0"),
        (SAMPLING, "1"),
        ("proc/sys/kernel/numa_balancing", "0"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "never"),
        (SWAPPINESS, "1"),
        ("proc/sys/kernel/sched_rt_runtime_us", "-1"),
        (MIGRATION, "0"),
        ("proc/sys/kernel/watchdog", "0"),
        ("sys/kernel/mm/ksm/run", "1"),
        ("proc/sys/vm/compaction_proactiveness", "0"),
    ];
    let there = all.into_iter().filter(|(name, _)| real_value(name).is_some());
    there.chain(real_irq()).collect()
}

/// An interrupt whose CPUs may be chosen: one to which its own value can be written.
fn real_irq() -> Option<(&'static str, &'static str)> {
    for entry in std::fs::read_dir("/proc/irq").ok()?.flatten() {
        let name = format!("proc/irq/{}/smp_affinity_list", entry.file_name().to_string_lossy());
        let Some(value) = real_value(&name) else { continue };
        if value != "0" && std::fs::write(Path::new("/").join(&name), &value).is_ok() {
            return Some((name.leak(), "0"));
        }
    }
    None
}

#[test]
fn each_machine_value_by_value() {
    for (name, lay_out) in MACHINES {
        let m = Machine::fake(lay_out);
        let before = m.values();
        let plan = m.json(&["tune", "--dry-run"], 0);
        assert_eq!(m.values(), before, "{name}: a dry run changes nothing");
        assert!(!m.journal().exists());
        let report = m.json(&["tune"], 0);
        let mut expected = before.clone();
        for (item, planned) in report["items"].as_array().unwrap().iter().zip(plan["items"].as_array().unwrap()) {
            assert_eq!(item["target"], planned["target"]);
            assert_eq!(item["state"] == "set", planned["state"] == "planned", "{name}: {item}");
            let (wanted, old) = (item["wanted"].as_str().unwrap(), item["old"].as_str().unwrap());
            let path = m.root().join(item["target"]["name"].as_str().unwrap());
            let path = std::fs::canonicalize(path).unwrap();
            assert_eq!(before[&path], old, "{name}: {item}");
            assert!(item["state"] == "set" || old == wanted, "{name}: {item}");
            expected.insert(path, wanted.to_owned());
        }
        assert_eq!(m.values(), expected, "{name}: exactly what was planned, and nothing else");
        assert_eq!(m.journal().exists(), before != expected, "{name}");
        m.tare(&["restore"], 0);
        assert_eq!(m.values(), before, "{name}");
        assert!(!m.journal().exists());
    }
}

/// Kills tune after each of its steps, then restore after each of its steps; always restores, and compares.
fn kill_at_every_step(name: &str, m: &Machine, same: &dyn Fn(&str)) -> u64 {
    let mut steps = 0;
    for n in 1.. {
        let killed = m.killed(&["tune"], n);
        m.tare(&["restore"], 0);
        same(&format!("{name}: tune killed at step {n}"));
        assert!(!m.journal().exists(), "{name}: step {n}");
        steps += 1;
        if !killed {
            break;
        }
    }
    for n in 1.. {
        m.tare(&["tune"], 0);
        let killed = m.killed(&["restore"], n);
        let pending = m.journal().exists();
        m.tare(&["restore"], 0);
        same(&format!("{name}: restore killed at step {n}, journal there: {pending}"));
        steps += 1;
        if !killed {
            break;
        }
    }
    steps
}

#[test]
#[ignore = "slow: a kill at each of hundreds of steps (make slow)"]
fn killed_at_every_step_on_each_machine() {
    let each = |(name, lay_out): (&'static str, LayOut)| {
        move || {
            let m = Machine::fake(lay_out);
            // This one is quiet already: the other way round, then.
            let m = if name == "hybrid desktop" { m.set(LOUD) } else { m };
            let before = m.values();
            let steps = kill_at_every_step(name, &m, &|when| assert_eq!(m.values(), before, "{when}"));
            assert!(steps > 10, "{name}: {steps} steps");
        }
    };
    std::thread::scope(|s| MACHINES.map(each).into_iter().for_each(|test| drop(s.spawn(test))));
}

#[test]
fn killed_at_every_step_on_this_machine() {
    if !is_root() {
        return skip("needs root to change settings");
    }
    let _alone = common::alone();
    let settings = real_settings();
    assert!(settings.len() >= 5, "{settings:?}");
    let saved = Saved::of(&settings);
    let m = Machine::real().set(&settings);
    let steps = kill_at_every_step("this machine", &m, &|when| saved.check(when));
    assert!(steps > 20, "{steps}");
}

/// Kills at a random time, tune or restore; the machine may be anything then, but restore makes it whole.
fn kill_at_random(m: &Machine, times: u64, same: &dyn Fn(&str)) {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let began = std::time::Instant::now();
    m.tare(&["tune"], 0);
    let span = began.elapsed().as_micros() as u64;
    m.tare(&["restore"], 0);
    let mut pending = 0;
    for round in 0..times {
        for command in ["tune", "restore"] {
            let mut child = m.command(&[command]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_micros(next(span)));
            let _ = child.kill();
            child.wait().unwrap();
            pending += u64::from(m.journal().exists());
            if next(2) == 0 {
                break;
            }
        }
        m.tare(&["restore"], 0);
        same(&format!("round {round}"));
        assert!(!m.journal().exists());
    }
    assert!(pending > 0, "no kill came in between");
}

#[test]
#[ignore = "slow: two hundred kills (make slow)"]
fn killed_at_two_hundred_random_times() {
    let m = Machine::fake(intel_laptop);
    let before = m.values();
    kill_at_random(&m, 200, &|when| assert_eq!(m.values(), before, "{when}"));
}

#[test]
fn killed_at_random_times_on_this_machine() {
    if !is_root() {
        return skip("needs root to change settings");
    }
    let _alone = common::alone();
    let settings = real_settings();
    let saved = Saved::of(&settings);
    let m = Machine::real().set(&settings);
    kill_at_random(&m, 50, &|when| saved.check(when));
}

#[test]
fn what_others_change_is_kept_until_forced_or_forgotten() {
    for (last, end) in [("--force", "60"), ("--forget", "30")] {
        let m = Machine::fake(intel_laptop).set(THREE);
        m.tare(&["tune"], 0);
        m.put(SWAPPINESS, "30");
        let out = m.tare(&["restore"], 1);
        assert!(text(&out.stdout).contains("kept at 30"), "{}", text(&out.stdout));
        assert_eq!(
            (m.value(SWAPPINESS), m.value(MIGRATION), m.value(SAMPLING)),
            ("30".into(), "1".into(), "100000".into())
        );
        // It is still known, and said.
        let out = m.tare(&["tune"], 4);
        assert!(text(&out.stderr).contains("tuned before and not restored"), "{}", text(&out.stderr));
        m.tare(&["restore"], 1);
        m.tare(&["restore", last], i32::from(last == "--forget"));
        assert_eq!(m.value(SWAPPINESS), end);
        assert!(!m.journal().exists());
        m.tare(&["restore"], 0);
    }
    // Between a kill and the restore, too; and one that was restored by hand is as before.
    let m = Machine::fake(intel_laptop).set(THREE);
    assert!(m.killed(&["tune"], 6), "after the first value");
    assert_eq!((m.value(SWAPPINESS), m.value(MIGRATION)), ("1".into(), "1".into()));
    m.put(SWAPPINESS, "60");
    m.put(MIGRATION, "7");
    let report = m.json(&["restore"], 1);
    let states: Vec<_> = report["items"].as_array().unwrap().iter().map(|i| i["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["as_before", "changed", "as_before"]);
    assert_eq!((m.value(SWAPPINESS), m.value(MIGRATION)), ("60".into(), "7".into()));
}

#[test]
fn what_changes_along_with_another_value_is_put_back() {
    // The kernel turns the NMI watchdog off together with the watchdog; here the test plays the kernel.
    let (watchdog, nmi) = ("proc/sys/kernel/watchdog", "proc/sys/kernel/nmi_watchdog");
    let m = Machine::fake(intel_laptop).set(&[(watchdog, "0")]);
    let before = m.values();
    assert!(m.killed(&["tune"], 6), "after the value, before tune could look around");
    assert_eq!(m.value(watchdog), "0");
    m.put(nmi, "0");
    m.tare(&["restore"], 0);
    assert_eq!(m.values(), before);
    // A restore that was killed in between has its side effects, too.
    m.tare(&["tune"], 0);
    assert!(m.killed(&["restore"], 3), "after the value");
    assert_eq!(m.value(watchdog), "1");
    m.put(nmi, "0");
    m.tare(&["restore"], 0);
    assert_eq!(m.values(), before);
    // After tune has read the values, a change was made by another process.
    m.tare(&["tune"], 0);
    m.put(nmi, "0");
    m.tare(&["restore"], 1);
    assert_eq!((m.value(watchdog), m.value(nmi)), ("1".into(), "0".into()));
}

#[test]
fn refusals_are_reported_one_by_one_and_the_rest_goes_on() {
    if !is_root() {
        return skip("needs root to change settings");
    }
    let _alone = common::alone();
    let settings = [
        (SWAPPINESS, "1"),
        ("proc/sys/kernel/ostype", "x"),
        (SAMPLING, "-5"),
        ("proc/sys/none", "1"),
        (MIGRATION, "0"),
    ];
    let saved = Saved::of(&[(SWAPPINESS, ""), (MIGRATION, ""), (SAMPLING, "")]);
    let m = Machine::real().set(&settings);
    let report = m.json(&["tune"], 1);
    let states: Vec<_> = report["items"].as_array().unwrap().iter().map(|i| i["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["set", "refused", "refused", "not_here", "set"], "{report:#}");
    assert_eq!((real_value(SWAPPINESS), real_value(MIGRATION)), (Some("1".into()), Some("0".into())));
    m.tare(&["restore"], 0);
    saved.check("after restore");

    // A plain user may change none of it.
    let folder = common::folder();
    let readable = folder.path().join("settings.json");
    std::fs::copy(m.dir.path().join("settings.json"), &readable).unwrap();
    let mut c = common::via(&folder, NOBODY);
    c.args(["tune", "--settings"]).arg(&readable).env("TARE_STATE", folder.path().join("state"));
    let out = run(&mut c, 1);
    assert!(text(&out.stdout).contains("Permission denied"), "{}", text(&out.stdout));
    assert!(!folder.path().join("state/journal").exists());
    saved.check("after a plain user");
}

/// A `tare run --tune` whose program sleeps: it holds the lock.
fn running(m: &Machine, program: &[&str]) -> std::process::Child {
    let mut c = m.command(&["run", "--tune", "-r", "1", "-w", "0", "--style", "none"]);
    let child = c.arg("--").args(program).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("the machine is tuned", || m.value(SAMPLING) == "1" && m.journal().exists());
    child
}

#[test]
fn two_at_once_and_a_dead_holder() {
    let m = Machine::fake(intel_laptop).set(THREE);
    let before = m.values();
    let mut first = running(&m, &["sleep", "60"]);
    for command in ["tune", "restore"] {
        let out = m.tare(&[command], 4);
        let said = text(&out.stderr);
        assert!(
            said.contains("another tare") && said.contains(&format!("process {} (tare tune)", first.id())),
            "{said}"
        );
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let out = m.tare(&["tune"], 4);
    assert!(text(&out.stderr).contains("restore the machine with: `tare restore`"), "{}", text(&out.stderr));
    m.tare(&["restore"], 0);
    assert_eq!(m.values(), before);
    m.tare(&["tune"], 0);
    m.tare(&["restore"], 0);
}

#[test]
fn every_command_warns_of_a_machine_that_was_not_put_back() {
    let m = Machine::fake(intel_laptop).set(THREE);
    let warning = |args: &[&str]| {
        let mut c = common::tare(&m.dir);
        let out = c.args(args).env("TARE_STATE", m.state()).output().unwrap();
        text(&out.stderr)
    };
    let commands: [&[&str]; 4] =
        [&["list"], &["show"], &["run", "-r1", "-w0", "--style", "none", "--", "true"], &["rm", "99"]];
    for args in commands {
        assert!(!warning(args).contains("the machine is not restored"), "{args:?}");
    }
    assert!(m.killed(&["tune"], 6));
    for args in commands {
        let said = warning(args);
        assert_eq!(said.matches("tare: warning: the machine is not restored").count(), 1, "{args:?}: {said}");
        assert!(said.contains("killed") && said.contains("restore it with: `tare restore`"), "{said}");
    }
    m.tare(&["restore"], 0);
    assert!(!warning(&["list"]).contains("warning"));
}

#[test]
fn a_run_is_tuned_and_put_back_however_it_ends() {
    let m = Machine::fake(intel_laptop).set(THREE);
    let before = m.values();
    let wait_out = |child: std::process::Child, code: i32| {
        let out = child.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(code), "{}", text(&out.stderr));
        assert!(text(&out.stderr).contains("restored: values: 3 restored"), "{}", text(&out.stderr));
        assert_eq!(m.values(), before);
        assert!(!m.journal().exists());
    };
    wait_out(running(&m, &["sleep", "0.3"]), 0);
    wait_out(running(&m, &["sh", "-c", "sleep 0.3; exit 3"]), 1);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let child = running(&m, &["sleep", "60"]);
        std::thread::sleep(Duration::from_millis(100));
        common::signal(child.id(), signal);
        wait_out(child, 130);
    }
    // An error before the first sample.
    let mut c = m.command(&["run", "--tune", "--profile", "none-such"]);
    let out = run(c.args(["--", "true"]), 2);
    assert!(text(&out.stderr).contains("restored"), "{}", text(&out.stderr));
    assert_eq!(m.values(), before);
    // The run says so.
    let mut c = m.command(&["run", "--tune", "-r", "2", "--json"]);
    let document = common::json(c.args(["--", "true"]), 0);
    let all = document.to_string();
    assert!(all.contains("The machine was tuned for this run: 3 values set"), "{all}");
    let note = &document["report"]["run"]["notes"][0];
    assert_eq!((&note["kind"], note["values"].as_array().map(Vec::len)), (&"tuned".into(), Some(3)), "{all}");
    assert!(note["values"].as_array().unwrap().iter().any(|v| v["old"] == "60" && v["new"] == "1"), "{all}");
    // After SIGKILL the next one helps, and after an abort, as when memory is exhausted.
    for signal in [libc::SIGKILL, libc::SIGABRT] {
        let mut child = running(&m, &["sleep", "60"]);
        common::signal(child.id(), signal);
        child.wait().unwrap();
        assert_eq!(m.value(SWAPPINESS), "1");
        let mut list = common::tare(&m.dir);
        let out = list.arg("list").env("TARE_STATE", m.state()).output().unwrap();
        let said = text(&out.stderr);
        assert!(said.contains("the machine is not restored") && said.contains("`tare restore`"), "{said}");
        m.tare(&["restore"], 0);
        assert_eq!(m.values(), before);
    }
}

#[test]
fn damaged_journals() {
    let tuned = || {
        let m = Machine::fake(intel_laptop).set(THREE);
        m.tare(&["tune"], 0);
        let text = std::fs::read_to_string(m.journal()).unwrap();
        (m, text)
    };
    let aside = |m: &Machine| {
        let names = std::fs::read_dir(m.state()).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
        names.filter(|n| n.starts_with("journal.damaged")).count()
    };
    // A changed byte in one line: the others are restored, and the change is reported.
    let (m, journal) = tuned();
    std::fs::write(m.journal(), journal.replace("\"old\":\"60\"", "\"old\":\"61\"")).unwrap();
    let out = m.tare(&["restore"], 1);
    assert!(text(&out.stdout).contains("damaged (line 2)"), "{}", text(&out.stdout));
    assert_eq!((m.value(SWAPPINESS), m.value(MIGRATION), m.value(SAMPLING)), ("1".into(), "1".into(), "100000".into()));
    assert!(!m.journal().exists() && aside(&m) == 1);
    // The first line is not readable, or nothing is.
    for rest in [true, false] {
        let (m, journal) = tuned();
        let lines = journal.split_once('\n').unwrap().1;
        std::fs::write(m.journal(), format!("\0\0\u{1}\n{}", if rest { lines } else { "garbage\n" })).unwrap();
        let out = m.tare(&["restore"], 1);
        assert!(text(&out.stdout).contains("damaged"), "{}", text(&out.stdout));
        assert_eq!(m.value(MIGRATION), if rest { "1" } else { "0" });
        assert!(!m.journal().exists() && aside(&m) == 1);
    }
    // An empty file does not contain the old values.
    let (m, _) = tuned();
    std::fs::write(m.journal(), "").unwrap();
    m.tare(&["restore"], 1);
    assert_eq!(aside(&m), 1);
    // A last line that was cut off had no consequence.
    let (m, journal) = tuned();
    std::fs::write(m.journal(), format!("{journal}{{\"sum\":\"0123")).unwrap();
    m.tare(&["restore"], 0);
    assert_eq!((m.value(SWAPPINESS), aside(&m)), ("60".into(), 0));
    // No file at all.
    let (m, _) = tuned();
    std::fs::remove_file(m.journal()).unwrap();
    std::fs::create_dir(m.journal()).unwrap();
    let out = m.tare(&["restore"], 4);
    assert!(text(&out.stderr).contains("cannot be read"), "{}", text(&out.stderr));
}

#[test]
fn a_journal_of_a_newer_version_or_another_boot() {
    let m = Machine::fake(intel_laptop).set(THREE);
    m.tare(&["tune"], 0);
    let journal = std::fs::read_to_string(m.journal()).unwrap();
    std::fs::write(m.journal(), journal.replace("\"version\":1", "\"version\":2")).unwrap();
    for command in ["restore", "tune"] {
        let out = m.tare(&[command], 4);
        assert!(text(&out.stderr).contains("version 2, expected at most 1"), "{}", text(&out.stderr));
    }
    assert_eq!(m.value(SWAPPINESS), "1", "left as it is");
    std::fs::write(m.journal(), &journal).unwrap();

    // After a restart the kernel's own values hold, even where one happens to be what tune had set.
    m.put("proc/sys/kernel/random/boot_id", "00000000-0000-0000-0000-000000000000");
    m.put(SAMPLING, "100000");
    let out = m.tare(&["restore"], 0);
    assert!(text(&out.stdout).contains("was rebooted"), "{}", text(&out.stdout));
    assert_eq!((m.value(SWAPPINESS), m.value(SAMPLING)), ("1".into(), "100000".into()));
    assert!(!m.journal().exists());
}

/// Runs a script in a separate mount namespace, where `$1` is a small file system in memory.
fn in_small_file_system(m: &Machine, script: &str) -> std::process::Output {
    std::fs::create_dir_all(m.state()).unwrap();
    let command = |what: &str| {
        let c = m.command(&[what]);
        let words = std::iter::once(c.get_program()).chain(c.get_args());
        words.map(|w| shell_words::quote(&w.to_string_lossy()).into_owned()).collect::<Vec<_>>().join(" ")
    };
    let (tune, restore) = (command("tune"), command("restore"));
    let script = format!(
        "set -u; mount -t tmpfs -o mode=755,size=64k tmpfs \"$1\" || exit 99; tune() {{ {tune}; }}; restore() {{ {restore}; }}; \
         fill() {{ dd if=/dev/zero of=\"$1/fill\" bs=4096 2>/dev/null; true; }}; {script}"
    );
    let mut c = Command::new("unshare");
    c.args(["--mount", "sh", "-c", &script, "sh"]).arg(m.state()).env("TARE_STATE", m.state());
    c.output().unwrap()
}

#[test]
fn full_and_read_only_disks() {
    if !is_root() {
        return skip("needs root to mount");
    }
    let m = Machine::fake(intel_laptop).set(THREE);
    let before = m.values();
    let check = |script: &str, said: &[&str]| {
        let out = in_small_file_system(&m, script);
        let all = text(&out.stdout) + &text(&out.stderr);
        assert!(out.status.success(), "{script}: {:?} {all}", out.status);
        for word in said {
            assert!(all.contains(word), "{script}: {word} in {all}");
        }
        assert_eq!(m.values(), before, "{script}: {all}");
    };
    check("fill \"$1\"; tune; [ $? = 4 ]", &["cannot be written, so nothing was changed", "No space left"]);
    check("tune && fill \"$1\" && restore && [ ! -e \"$1/journal\" ]", &["3 restored"]);
    check("mount -o remount,ro \"$1\"; tune; [ $? = 4 ]", &["so nothing was changed", "Read-only file system"]);
    check(
        "tune && mount -o remount,ro \"$1\"; restore; [ $? = 4 ]",
        &["values: 3 restored, but the journal", "Read-only file system"],
    );
    // A folder of another user.
    let folder = tempfile::tempdir().unwrap();
    let mut c = common::via(&m.dir, NOBODY);
    c.args(["tune", "--settings", "/dev/null", "--state"]).arg(folder.path().join("state"));
    assert_eq!(c.output().unwrap().status.code(), Some(2), "an empty list of settings is no JSON");
    let list = common::folder();
    std::fs::copy(m.dir.path().join("settings.json"), list.path().join("s")).unwrap();
    let mut c = common::via(&list, NOBODY);
    c.args(["tune", "--settings"]).arg(list.path().join("s")).arg("--state").arg(folder.path().join("state"));
    let out = run(&mut c, 4);
    assert!(text(&out.stderr).contains("Permission denied"), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("--state FOLDER"), "{}", text(&out.stderr));
}

#[test]
fn a_journal_that_cannot_be_continued_ends_tuning_and_puts_back() {
    let files = [
        (SWAPPINESS, "1"),
        (MIGRATION, "0"),
        (SAMPLING, "1"),
        ("proc/sys/vm/compaction_proactiveness", "0"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "never"),
        ("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "performance"),
    ];
    let mut stopped = 0;
    for n in 1..=files.len() {
        let m = Machine::fake(intel_laptop).set(&files[..n]);
        let before = m.values();
        for blocks in 1..=4 {
            // Like a full disk: no file may become longer than `blocks` blocks.
            let tune = m.command(&["tune"]);
            let mut c = Command::new("sh");
            c.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), "sh"]);
            c.arg(tune.get_program()).args(tune.get_args()).env("TARE_STATE", m.state());
            let out = c.output().unwrap();
            match out.status.code() {
                Some(0) => drop(m.tare(&["restore"], 0)),
                code => {
                    assert_eq!(code, Some(4), "{}", text(&out.stderr));
                    stopped += usize::from(text(&out.stderr).contains("could not be continued"));
                }
            }
            assert_eq!(m.values(), before, "{n} values, {blocks} blocks: {}", text(&out.stderr));
            assert!(!m.journal().exists());
        }
    }
    assert!(stopped > 0, "no journal was cut in between");
}

#[test]
fn wrong_names_and_unknown_folders() {
    let m = Machine::fake(intel_laptop);
    let out = m.tare(&["tune", "--only", "nonsense"], 2);
    assert!(text(&out.stderr).contains("no factor is called `nonsense`"), "{}", text(&out.stderr));
    let out = m.tare(&["restore"], 0);
    assert!(text(&out.stdout).contains("nothing to restore"));
    assert!(!m.state().exists(), "looking leaves no trace");
    let out = m.tare(&["tune", "--dry-run", "--only", "turbo"], 0);
    let said = text(&out.stdout);
    assert!(
        said.contains("0 → 1") && said.contains("echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"),
        "{said}"
    );
}
