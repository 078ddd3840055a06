//! A duet: two programs at the same time, on one CPU and alternated by the kernel's scheduler, or as gangs that take turns.

mod gang;

use self::gang::{Gang, GangEnd, can_be_stopped};
use crate::RunError;
use crate::account::AccountCollector;
use crate::daemons::own_pid;
use crate::launch::{Early, ProcessLauncher, last_cgroup, not_started_by, own_use};
use crate::process_time::{ExecutionTimes, PtCollector};
use crate::sample::{Tree, end_held, settle_survivors, steal};
use crate::sampler::DuetRequest;
use std::path::Path;
use tarebench_core::base::name::Name;
use tarebench_core::base::reading::{Absent, Reading};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{Duet, DuetSide, DuetWeight, NoDuet, cgroup_weights, nice_levels};
use tarebench_core::run::plan::{RunPlan, Sched};
use tarebench_core::sample::account::Account;
use tarebench_core::sample::data::{Fate, Outcome, OwnUse, Stamp, Survivor, Usage};
use tarebench_core::sample::process_time::{CpuTime, ProcessTimes, PtSource};
use tarebench_sys::cgroup_limits::CgroupLimitFiles;
use tarebench_sys::cpu_controller::CpuController;
use tarebench_sys::signals::Signals;
use tarebench_sys::spawn::{Child, Launch, spawn};
use tarebench_sys::wait::{ProcessEnd, Reaped, Woken, own_switches, reap, settle, stop_signal, wait_any};
use tarebench_sys::{SysError, clock, process};

/// What observes duets: a cgroup for each side, or wait4 where there are no cgroups. A task-clock would count both programs
/// together.
pub struct DuetCollectors {
    sides: [PtCollector; 2],
    cpu: u32,
    /// Once it was asked for.
    controller: Option<Option<CpuController>>,
    limits: CgroupLimitFiles,
}

impl DuetCollectors {
    /// On the last of the plan's CPUs, or of those that may be used.
    ///
    /// # Errors
    /// If that cannot be read.
    pub fn new(plan: &RunPlan) -> Result<DuetCollectors, RunError> {
        let cpu = match plan.cpus.last() {
            Some(cpu) => *cpu,
            None => tarebench_sys::cpu::allowed()?.last().copied().unwrap_or(0),
        };
        let side = || {
            let best = PtCollector::probe(plan.leave_running, false, None);
            if best.source() == PtSource::Cgroup {
                return best;
            }
            PtCollector::probe(plan.leave_running, false, Some(PtSource::Wait4))
        };
        Ok(DuetCollectors {
            sides: [side(), side()],
            cpu,
            controller: None,
            limits: CgroupLimitFiles::open(Path::new("/")),
        })
    }

    /// Makes the cgroups ready and gives them their shares; where they have no CPU controller, the nice values for the programs
    /// do that.
    fn share(&mut self, plan: &RunPlan, alone: [Nanos; 2]) -> Result<[(DuetWeight, i8); 2], SysError> {
        let base = base_nice(plan);
        let (weights, levels) = (cgroup_weights(alone), nice_levels(alone));
        let mut shares = [(DuetWeight::Nice(base), base); 2];
        for (((side, share), weight), levels) in self.sides.iter_mut().zip(&mut shares).zip(weights).zip(levels) {
            side.make_ready()?;
            let nice = base.saturating_add(levels).min(19);
            let mut weighted = side.leaf().map(|leaf| leaf.set_weight(weight));
            if matches!(weighted, Some(Ok(false))) && self.controller.is_none() {
                // What refuses it is no failure: nice values do the same.
                self.controller = Some(CpuController::enable().ok().flatten());
                weighted = side.leaf().map(|leaf| leaf.set_weight(weight));
            }
            *share = match weighted {
                Some(Ok(true)) => (DuetWeight::Cgroup(weight), base),
                _ => (DuetWeight::Nice(nice), nice),
            };
        }
        Ok(shares)
    }

    /// Makes the cgroups ready, with the share that every cgroup has: the programs have the CPUs alternately.
    fn share_alike(&mut self, plan: &RunPlan) -> Result<[(DuetWeight, i8); 2], SysError> {
        for side in &mut self.sides {
            side.make_ready()?;
            // Without the controller no duet on one CPU has changed it.
            let _ = side.leaf().map(|leaf| leaf.set_weight(USUAL_WEIGHT));
        }
        let base = base_nice(plan);
        Ok([(DuetWeight::Nice(base), base); 2])
    }

    /// The two gangs of a request, if their trees can be stopped here.
    fn gang(&self, plan: &RunPlan, request: &DuetRequest<'_>, alone: [Nanos; 2]) -> Result<Option<Gang>, SysError> {
        let [program, reference] = &self.sides;
        let leaves = [program.leaf(), reference.leaf()];
        let series = [request.slot.series, request.slot.reference];
        can_be_stopped(plan, leaves).then(|| Gang::new(plan, leaves, series, alone, request.seq)).transpose()
    }
}

/// `cpu.weight` of a cgroup that nobody has changed.
const USUAL_WEIGHT: u32 = 100;

/// The nice value that programs have alone.
fn base_nice(plan: &RunPlan) -> i8 {
    match plan.sched {
        Some(Sched::Nice(nice)) => nice,
        _ => process::own_nice(),
    }
}

/// One of the two programs while they run.
struct RunningSide {
    start: Stamp,
    /// Its process, also when it has ended.
    pid: Option<i32>,
    child: Option<Child>,
    ended: Option<EndedSide>,
}

/// What is known of one that has ended.
struct EndedSide {
    end: Stamp,
    outcome: Outcome,
    reaped: Option<Reaped>,
    last_cgroup: Reading<Name>,
    survivors: Vec<Survivor>,
}

/// Runs two programs together until both have ended. The second value is the signal that asked tare to end meanwhile.
///
/// They are started one right after the other, alternately the program and the reference first: the time between is some hundred
/// microseconds, in which the first has the CPU to itself. (A child that is born into a frozen cgroup stands still before its exec;
/// as tare waits for that exec, with its memory shared, it would wait for ever.) Of gangs the first waits for the second.
///
/// # Errors
/// Only what makes further measuring pointless.
pub fn take(
    plan: &RunPlan,
    launcher: &ProcessLauncher,
    collectors: &mut DuetCollectors,
    account: &mut Reading<AccountCollector>,
    request: &DuetRequest<'_>,
    signals: &Signals,
) -> Result<(Duet, Option<i32>), RunError> {
    let (shares, gang) = match request.gang {
        None => (collectors.share(plan, request.alone)?, None),
        Some(alone) => {
            let shares = collectors.share_alike(plan)?;
            match collectors.gang(plan, request, alone)? {
                Some(gang) => (shares, Some(gang)),
                None => return Ok((not_made(request, several_cpus(request, alone)), None)),
            }
        }
    };
    // When the guard of gangs is there, which is a child of tare and none of theirs.
    let tree = Tree::before(launcher.helpers());
    let series = [request.slot.series, request.slot.reference];
    let cpu = collectors.cpu;
    let on_one_cpu = |i: usize| gang.is_none().then(|| (cpu, shares[i].1));
    let launch = |i: usize| launcher.together(series[i], request.environments[i], on_one_cpu(i), signals);
    let launches = [launch(0), launch(1)];
    if let Reading::Value(account) = account {
        account.prepare();
    }
    let (steal_before, limits_before) = (steal(), collectors.limits.read());
    for side in &mut collectors.sides {
        side.arm()?;
    }
    settle(signals);
    if let Reading::Value(account) = account {
        account.start_two();
    }
    let (wall_clock, offsets) = (clock::realtime(), clock::offsets());
    let (own_cpu, switches) = (clock::own_cpu(), own_switches());
    let mut orphans: Vec<CpuTime> = Vec::new();
    let mut duet = RunningDuet {
        plan,
        collectors: &mut collectors.sides,
        tree: &tree,
        signals,
        sides: [RunningSide::new(), RunningSide::new()],
        together: [None, None],
        gang,
        interrupted: signals.caught(),
    };
    let first = usize::from(request.slot.index % 2 == 1);
    duet.start(launches, first);
    duet.run(&mut |r| orphans.push(r.cpu));
    let own = own_use(own_cpu, switches);
    let (slices, void) = match duet.gang.take().map(Gang::end) {
        None => (None, None),
        Some(GangEnd { failed: Some(e), .. }) => return Err(e.into()),
        Some(GangEnd { slices, void, .. }) => (Some(slices), void),
    };
    duet.end_escaped(&mut orphans);
    let accounts = accounts(account, [0, 1].map(|i: usize| duet.sides[i].pid), first);
    let (interrupted, sides) = (duet.interrupted, duet.harvest(series, shares.map(|s| s.0), accounts));
    let left = sides.iter().find(|side| times_left(&side.process_times));
    let void = void.or(left.map(|side| NoDuet::LeftCgroup { series: side.series }));
    let duet = Duet {
        seq: request.seq,
        index: request.slot.index,
        cpu,
        wall_clock,
        sides,
        own,
        steal: steal().and_then(|after| Ok(after - steal_before?)).into(),
        cgroup_limits: Reading::Value(collectors.limits.since(&limits_before)),
        clock_shift: offsets.and_then(|before| Ok(before.shift_until(clock::offsets()?))).into(),
        environment_padding: request.padding,
        slices,
        void,
    };
    Ok((duet, interrupted))
}

/// The accounts of the program and of the reference, whose trees have ended; `first` was started first.
fn accounts(collector: &mut Reading<AccountCollector>, mains: [Option<i32>; 2], first: usize) -> [Reading<Account>; 2] {
    let turned = |[a, b]: [Option<i32>; 2]| if first == 0 { [a, b] } else { [b, a] };
    match collector {
        Reading::Value(collector) => {
            let [a, b] = collector.stop_two(turned(mains));
            if first == 0 { [a, b] } else { [b, a] }
        }
        Reading::Absent(why) => [Reading::Absent(why.clone()), Reading::Absent(why.clone())],
    }
}

/// Whether a part of the program has left its cgroup, by which its share, its turns and its time are known.
fn times_left(times: &Reading<ProcessTimes>) -> bool {
    let left = |t: &ProcessTimes| matches!(t.check.moved_to, Reading::Value(Some(_))) || t.run_shortfall().is_some();
    times.value().is_some_and(left)
}

/// The program that uses more CPUs.
fn several_cpus(request: &DuetRequest<'_>, elapsed: [Nanos; 2]) -> NoDuet {
    let cpus = |i: usize| request.alone[i].as_f64() / elapsed[i].as_f64().max(1.0);
    match cpus(0) > cpus(1) {
        true => NoDuet::SeveralCpus { series: request.slot.series, cpus: cpus(0) },
        false => NoDuet::SeveralCpus { series: request.slot.reference, cpus: cpus(1) },
    }
}

/// The record of a duet that did not take place, as a hook of one of the programs (0 or 1) had failed.
pub fn not_taken(request: &DuetRequest<'_>, failed: usize, error: &str) -> Duet {
    let outcome = |i: usize| match i == failed {
        true => Outcome::HookFailed { error: error.to_owned() },
        false => Outcome::Interrupted,
    };
    nothing(request, [outcome(0), outcome(1)], None)
}

/// The record of a duet that did not take place, as this machine does not allow it.
pub(crate) fn not_made(request: &DuetRequest<'_>, why: NoDuet) -> Duet {
    nothing(request, [Outcome::Interrupted, Outcome::Interrupted], Some(why))
}

fn nothing(request: &DuetRequest<'_>, outcomes: [Outcome; 2], void: Option<NoDuet>) -> Duet {
    let absent = || Absent::NotAsked("the program was not started".into());
    let side = |outcome: Outcome, series: u32| DuetSide {
        series,
        weight: DuetWeight::Nice(0),
        start: clock::stamp_before(),
        end: clock::stamp_after(),
        outcome,
        process_times: Reading::Absent(absent()),
        together: Reading::Absent(absent()),
        account: Reading::Absent(absent()),
        usage: Reading::Absent(absent()),
        survivors: Vec::new(),
    };
    let [first, second] = outcomes;
    Duet {
        seq: request.seq,
        index: request.slot.index,
        cpu: 0,
        wall_clock: clock::realtime(),
        sides: [side(first, request.slot.series), side(second, request.slot.reference)],
        own: OwnUse { cpu: Nanos::ZERO, voluntary_switches: 0, involuntary_switches: 0 },
        steal: Reading::Absent(absent()),
        clock_shift: Reading::Absent(absent()),
        cgroup_limits: Reading::Absent(absent()),
        environment_padding: request.padding,
        slices: None,
        void,
    }
}

struct RunningDuet<'a> {
    plan: &'a RunPlan,
    collectors: &'a mut [PtCollector; 2],
    tree: &'a Tree,
    signals: &'a Signals,
    sides: [RunningSide; 2],
    /// What each tree had used when the other ended, if it ran on.
    together: [Option<Reading<Nanos>>; 2],
    gang: Option<Gang>,
    interrupted: Option<i32>,
}

impl RunningSide {
    fn new() -> RunningSide {
        RunningSide { start: clock::stamp_before(), pid: None, child: None, ended: None }
    }

    fn without(&mut self, outcome: Outcome) {
        let end = clock::stamp_after();
        self.ended = Some(EndedSide::without(end, outcome));
    }
}

impl EndedSide {
    /// One that has not run.
    fn without(end: Stamp, outcome: Outcome) -> EndedSide {
        let last_cgroup = Reading::Absent(Absent::NotAsked("the program was not started".into()));
        EndedSide { end, outcome, reaped: None, last_cgroup, survivors: Vec::new() }
    }
}

impl RunningDuet<'_> {
    /// Starts both, or none: what has been started when the other fails is ended.
    fn start(&mut self, launches: [Result<Launch, SysError>; 2], first: usize) {
        if self.interrupted.is_some() {
            self.sides.iter_mut().for_each(|s| s.without(Outcome::Interrupted));
            return;
        }
        for (n, i) in [first, 1 - first].into_iter().enumerate() {
            let folder = self.collectors[i].folder();
            let started = launches[i].as_ref().map_err(not_started_by).and_then(|l| {
                self.sides[i].start = clock::stamp_before();
                spawn(l, folder, self.signals).map_err(|e| not_started_by(&e))
            });
            match started {
                Ok(child) => {
                    match &mut self.gang {
                        Some(gang) if n == 0 => gang.first_started(i, &child),
                        Some(gang) => gang.second_started(i, &child),
                        None => {}
                    }
                    self.sides[i].pid = Some(child.pid);
                    self.sides[i].child = Some(child);
                }
                Err(outcome) => {
                    self.sides[i].without(outcome);
                    let other = &mut self.sides[1 - i];
                    if let Some(child) = &other.child {
                        kill(&self.collectors[1 - i], self.tree, child);
                    }
                    // Interrupted, as it has not failed: its series goes on.
                    other.without(Outcome::Interrupted);
                    return;
                }
            }
        }
    }

    /// Waits until both have ended.
    fn run(&mut self, orphan: &mut dyn FnMut(Reaped)) {
        // Each has a part of the CPU only: together they may take as long as one after the other.
        let began = self.sides.iter().map(|s| s.start.monotonic).min().unwrap_or_default();
        let limit = self.plan.timeout.map(|t| Nanos(t.0.saturating_mul(2)));
        loop {
            let running: Vec<usize> = (0..2).filter(|i| self.sides[*i].ended.is_none()).collect();
            if running.is_empty() {
                return;
            }
            let (at, woken) = self.wait(&running, limit.map(|l| began + l), orphan);
            let stamp = clock::stamp_after();
            // One has ended, or must: the other one, or both, run on.
            self.gang.iter_mut().for_each(Gang::release);
            let concerned = match woken {
                Woken::Ended | Woken::Stopped(_) => running.get(at..=at).unwrap_or_default().to_vec(),
                Woken::TimedOut | Woken::Signal(_) => running,
            };
            for i in concerned {
                self.finish(i, woken, stamp, began, orphan);
            }
        }
    }

    /// Waits until something happens to one of these, and returns its place among them; meanwhile gangs take turns.
    fn wait(&mut self, running: &[usize], deadline: Option<Nanos>, orphan: &mut dyn FnMut(Reaped)) -> (usize, Woken) {
        let RunningDuet { sides, gang, tree, signals, .. } = self;
        let children: Vec<&Child> = running.iter().filter_map(|i| sides[*i].child.as_ref()).collect();
        loop {
            let slice = gang.as_ref().and_then(Gang::slice_end);
            // What stopped itself while there were turns does not wake the wait again.
            if gang.is_some()
                && slice.is_none()
                && let Some((at, signal)) = children.iter().enumerate().find_map(|(i, c)| Some((i, stop_signal(c)?)))
            {
                return (at, Woken::Stopped(signal));
            }
            let until = [deadline, slice].into_iter().flatten().min();
            let (at, woken) = wait_any(&children, &[], until, signals, orphan);
            let (Some(gang), Some(_), [a, b]) = (gang.as_mut(), slice, children.as_slice()) else {
                return (at, woken);
            };
            match woken {
                Woken::TimedOut if deadline.is_none_or(|d| clock::monotonic() < d) => gang.take_turn([*a, *b], tree),
                // By itself, or by the signal of its turn's end.
                Woken::Stopped(_) => {}
                _ => return (at, woken),
            }
            if let Some((at, signal)) = gang.standing_still([*a, *b]) {
                return (at, Woken::Stopped(signal));
            }
        }
    }

    /// One has ended, or must; what is left of its tree is ended, too, as it would go on beside the other one.
    fn finish(&mut self, i: usize, woken: Woken, stamp: Stamp, began: Nanos, orphan: &mut dyn FnMut(Reaped)) {
        let other: Vec<i32> = self.sides[1 - i].unreaped().into_iter().collect();
        let Some(child) = self.sides[i].child.take() else { return };
        let mut end = stamp;
        let mut outcome = None;
        if woken != Woken::Ended {
            let limit = self.plan.timeout.map(|t| Nanos(t.0.saturating_mul(2)));
            let early = Early { child: &child, others: &other, start: began, limit, signals: self.signals };
            let (collector, tree) = (&self.collectors[i], self.tree);
            let mut end_tree = |main: i32, force: bool| match collector.leaf() {
                Some(leaf) => end_held(leaf, main, force),
                // The tree by parents would hold the other program, too.
                None if other.is_empty() => tree.signal(main, force),
                None => drop(process::kill(main, if force { 9 } else { 15 })),
            };
            let (early, signal) = early.end(woken, &mut end_tree, orphan);
            (outcome, end) = (early, clock::stamp_after());
            self.interrupted = self.interrupted.or(signal);
        }
        if self.sides[1 - i].ended.is_none() {
            let used = self.collectors[1 - i].so_far();
            self.together[1 - i] = Some(used);
        }
        let last_cgroup = last_cgroup(child.pid, self.collectors[i].leaf().is_some());
        let reaped = reap(child.pid, true).ok().flatten();
        self.gang.iter_mut().for_each(|gang| gang.reaped(i));
        let survivors = self.end_leftovers(i);
        let outcome = outcome.unwrap_or(match reaped.map(|r| r.ended) {
            Some(ProcessEnd::Signaled(signal)) => Outcome::Signaled { signal },
            Some(ProcessEnd::Exited(code)) => Outcome::Exited { code },
            None => Outcome::NotStarted { error: "another process has reaped the program".to_owned(), by_limit: false },
        });
        self.sides[i].ended = Some(EndedSide { end, outcome, reaped, last_cgroup, survivors });
    }

    fn end_leftovers(&self, i: usize) -> Vec<Survivor> {
        let Some(leaf) = self.collectors[i].leaf() else { return Vec::new() };
        let alive = named(leaf.processes().unwrap_or_default());
        if alive.is_empty() {
            return Vec::new();
        }
        let fate = match self.plan.leave_running {
            true => Fate::Left,
            false => leaf.kill_all().map_or_else(|e| Fate::CouldNotEnd(e.to_string()), |()| Fate::Ended),
        };
        alive.into_iter().map(|(pid, name)| Survivor { pid, name, fate: fate.clone() }).collect()
    }

    /// Ends what has left its cgroup, or was in none.
    fn end_escaped(&mut self, orphans: &mut Vec<CpuTime>) {
        let kept: Vec<i32> = self.collectors.iter().filter_map(|c| c.leaf()?.processes().ok()).flatten().collect();
        let left = self.tree.descendants(None).into_iter().filter(|pid| !kept.contains(pid));
        let alive = named(left.collect());
        let survivors = settle_survivors(None, self.tree, alive, self.plan.leave_running, orphans);
        self.tree.reap(orphans);
        // Which of the two it belongs to is not known.
        if let Some(ended) = &mut self.sides[0].ended {
            ended.survivors.extend(survivors);
        }
    }

    fn harvest(self, series: [u32; 2], weights: [DuetWeight; 2], accounts: [Reading<Account>; 2]) -> [DuetSide; 2] {
        let RunningDuet { collectors, sides, together, .. } = self;
        let [program, reference] = sides;
        let [with_program, with_reference] = together;
        let [at_program, at_reference] = collectors;
        let [series_program, series_reference] = series;
        let [weight_program, weight_reference] = weights;
        let [account_program, account_reference] = accounts;
        let program = program.side(series_program, weight_program, with_program, at_program);
        let reference = reference.side(series_reference, weight_reference, with_reference, at_reference);
        [DuetSide { account: account_program, ..program }, DuetSide { account: account_reference, ..reference }]
    }
}

impl RunningSide {
    /// Its process, if it has not been reaped.
    fn unreaped(&self) -> Option<i32> {
        self.child.as_ref().map(|c| c.pid)
    }

    fn side(
        self,
        series: u32,
        weight: DuetWeight,
        together: Option<Reading<Nanos>>,
        collector: &mut PtCollector,
    ) -> DuetSide {
        let absent = || Absent::NotAsked("the program was not started".into());
        let not_started = || Outcome::NotStarted { error: String::new(), by_limit: false };
        let ended = self.ended.unwrap_or_else(|| EndedSide::without(clock::stamp_after(), not_started()));
        let process_times = match ended.reaped {
            None => Reading::Absent(absent()),
            Some(r) => {
                let exits = Reading::Absent(Absent::NotAsked("exit records are not read in duets".into()));
                Reading::Value(collector.harvest(ExecutionTimes {
                    series,
                    counted: true,
                    exit_records: exits,
                    wait4: Reading::Value(r.cpu),
                    orphans: Nanos::ZERO,
                    switches: Usage::switches(&r.usage),
                    until_exec: Nanos::ZERO,
                    last_cgroup: ended.last_cgroup,
                }))
            }
        };
        let all = || match &process_times {
            Reading::Value(times) => times.total().into(),
            Reading::Absent(why) => Reading::Absent(why.clone()),
        };
        DuetSide {
            series,
            weight,
            start: self.start,
            end: ended.end,
            together: together.filter(|_| !times_left(&process_times)).unwrap_or_else(all),
            account: Reading::Absent(absent()),
            outcome: ended.outcome,
            usage: ended.reaped.map(|r| r.usage).ok_or_else(absent).into(),
            survivors: ended.survivors,
            process_times,
        }
    }
}

/// Ends what was started when the other program could not be.
fn kill(collector: &PtCollector, tree: &Tree, child: &Child) {
    match collector.leaf() {
        Some(leaf) => end_held(leaf, child.pid, true),
        None => tree.signal(child.pid, true),
    }
    let _ = reap(child.pid, true);
}

fn named(pids: Vec<i32>) -> Vec<(i32, Name)> {
    let named = |pid: i32| Some((pid, Name::new(process::stat(pid)?.comm.as_bytes())));
    pids.into_iter().filter(|pid| *pid != own_pid()).filter_map(named).collect()
}
