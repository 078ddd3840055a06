//! Which CPUs are chosen on a machine with several sockets, hyper-threads or isolated CPUs, and what is said of them.

use crate::report::{CheckReport, Found, Instead, Works, json, number, said, tare};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Output;

pub fn check(report: &mut CheckReport) {
    let machine = CpuLayout::read();
    report.check("doctor: cores", || doctor_cores(&machine));
    report.check("doctor: isolated CPUs", || doctor_isolated(&machine));
    report.check("a CPU by name", || by_name(&machine));
    report.check("hyper-threads are named", || shared(&machine));
    report.check("duets on one CPU", || duets(&machine));
    report.check("gangs", gangs);
    report.check("probes", || probes(&machine));
    report.check("noise", || noise(&machine));
}

/// What the kernel says of the machine's CPUs.
struct CpuLayout {
    online: Vec<u32>,
    isolated: Vec<u32>,
    cores: BTreeSet<Vec<u32>>,
}

fn list(path: &str) -> Vec<u32> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let ranges = text.trim().split(',').filter(|part| !part.is_empty());
    let number = |text: &str| text.parse::<u32>().expect("a CPU");
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(first)..number(last) + 1,
        None => number(part)..number(part) + 1,
    };
    ranges.flat_map(range).collect()
}

impl CpuLayout {
    fn read() -> CpuLayout {
        let cpu = "/sys/devices/system/cpu";
        let online = list(&format!("{cpu}/online"));
        let core = |c: &u32| list(&format!("{cpu}/cpu{c}/topology/thread_siblings_list"));
        let cores = online.iter().map(core).collect();
        CpuLayout { isolated: list(&format!("{cpu}/isolated")), online, cores }
    }

    /// The last one that the kernel gives to whoever asks for none.
    fn last(&self) -> u32 {
        self.online.iter().copied().filter(|c| !self.isolated.contains(c)).max().expect("a CPU")
    }

    fn pair(&self) -> Option<&Vec<u32>> {
        self.cores.iter().find(|core| core.len() > 1)
    }
}

fn output(words: &[&str]) -> Result<Output, String> {
    let out = tare(words).output().map_err(|e| e.to_string())?;
    match out.status.success() {
        true => Ok(out),
        false => Err(format!("{words:?}: {}: {}", out.status, String::from_utf8_lossy(&out.stderr))),
    }
}

fn factor(name: &str) -> Result<String, String> {
    let mut c = tare(&["doctor", "--json"]);
    let text = said(&mut c, 1).or_else(|_| said(&mut c, 0))?;
    let document: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let factors = document["factors"].as_array().ok_or("no factors")?;
    let found = factors.iter().find(|f| f["name"] == name).ok_or_else(|| format!("no factor {name}"))?;
    Ok(found["finding"].as_str().unwrap_or_default().to_owned())
}

fn expect(found: String, wanted: &str) -> Found {
    if found.contains(wanted) { Ok(Works(found)) } else { Err(format!("`{found}` should say `{wanted}`")) }
}

fn doctor_cores(machine: &CpuLayout) -> Found {
    let found = factor("smt")?;
    match machine.pair() {
        Some(_) => {
            let (cpus, cores) = (machine.online.len(), machine.cores.len());
            expect(found, &format!("{cpus} CPUs are threads of {cores} cores"))
        }
        None => expect(found, "one thread on each core"),
    }
}

fn doctor_isolated(machine: &CpuLayout) -> Found {
    let found = factor("isolated-cpus")?;
    match machine.isolated.is_empty() {
        true => expect(found, "isolated: none"),
        false => expect(found, "measure there: --cpus "),
    }
}

/// The program is confined to the CPU that is asked for, an isolated one where there is one.
fn by_name(machine: &CpuLayout) -> Found {
    let cpu = machine.isolated.last().copied().unwrap_or_else(|| machine.last()).to_string();
    let program = format!("grep -q 'Cpus_allowed_list:.{cpu}$' /proc/self/status");
    output(&["run", "-r2", "--cpus", &cpu, "-N", &program])?;
    Ok(Works(format!("CPU {cpu}")))
}

fn shared(machine: &CpuLayout) -> Found {
    let Some(core) = machine.pair() else { return Ok(Instead("no core has two threads".to_owned())) };
    let named = core.iter().map(u32::to_string).collect::<Vec<_>>();
    let out = output(&["run", "-r2", "--cpus", &named.join(","), "burner burn-self 20"])?;
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    expect(text, &format!("CPUs {} are hyper-threads of one core", named.join(" and ")))
}

fn duets(machine: &CpuLayout) -> Found {
    let [a, b] = ["burner burn-self 100", "burner burn-self 110"];
    let document = json(&mut tare(&["run", "--json", "--order", "duet", "-r6", a, b]))?;
    let comparison = &document["report"]["comparisons"][0];
    let (ratio, cpu) = (number(comparison, "/ratio")?, machine.last());
    let on: BTreeSet<u64> =
        document["duets"].as_array().into_iter().flatten().filter_map(|d| d["cpu"].as_u64()).collect();
    let text = format!("ratio {ratio:.2} of 1.1 on CPUs {on:?}");
    match comparison["basis"] == "duets" && (ratio - 1.1).abs() < 0.06 && on == BTreeSet::from([u64::from(cpu)]) {
        true => Ok(Works(text)),
        false => Err(format!("{text}; the last CPU is {cpu}")),
    }
}

/// Programs of several threads have all CPUs alternately.
fn gangs() -> Found {
    let [a, b] = ["burner threads 2 200", "burner threads 2 240"];
    let document = json(&mut tare(&["run", "--json", "--order", "duet", "-r6", a, b]))?;
    let comparison = &document["report"]["comparisons"][0];
    let ratio = number(comparison, "/ratio")?;
    let text = format!("ratio {ratio:.2} of 1.2, by {}", comparison["basis"]);
    if (ratio - 1.2).abs() < 0.15 { Ok(Works(text)) } else { Err(text) }
}

fn probes(machine: &CpuLayout) -> Found {
    let out = output(&["run", "-r3", "--correct", "burner burn-self 100"])?;
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    expect(text, &format!("kept to CPU {}", machine.last()))
}

fn noise(machine: &CpuLayout) -> Found {
    let words =
        ["noise", "--calibrations", "30", "--grain", "1ms", "--phases", "100", "--style", "none", "--cpus", "all"];
    let out = output(&words)?;
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let shares = text.contains("hyper-threads of one core");
    let usable = |core: &&Vec<u32>| core.iter().filter(|c| !machine.isolated.contains(c)).count() > 1;
    match shares == machine.cores.iter().any(|core| usable(&core)) {
        true => Ok(Works(text.lines().next().unwrap_or("no core is shared").to_owned())),
        false => Err(format!("cores {:?}: `{text}`", machine.cores)),
    }
}
