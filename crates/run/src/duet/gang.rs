//! Two trees that take turns: one is stopped, the other continued, every few milliseconds, so that each has all CPUs while it runs.
//!
//! Tare sleeps in between. Nothing stays stopped when tare is killed: a separate process ends both trees then.

use crate::sample::Tree;
use std::path::PathBuf;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::NoDuet;
use tarebench_core::compare::gang::{GangMeans, GangSlices, SliceLengths, SwitchTimes, next_in_turn};
use tarebench_core::run::plan::{Input, RunPlan};
use tarebench_sys::cgroup::{Freezer, Leaf};
use tarebench_sys::spawn::Child;
use tarebench_sys::tree_guard::{TreeFate, TreeGuard};
use tarebench_sys::{SysError, clock, process, wait};

/// The first pause before it is looked again whether a tree stands still, doubled each time up to the longest. Where tare has no CPU
/// of its own, a task of the tree can stop only while tare sleeps.
const PAUSE: Nanos = Nanos::from_micros(20);
const LONGEST_PAUSE: Nanos = Nanos::from_millis(1);
/// A tree that does not stand still after this time (its tasks wait for a disk) does not hold the other one up any longer.
const PATIENCE: Nanos = Nanos::from_millis(20);
/// How long a program may be stopped by itself or by its own tree while it takes turns: it has half of the time.
const STANDSTILL: Nanos = Nanos::from_millis(2_000);

const SIGSTOP: i32 = 19;
const SIGCONT: i32 = 18;
const EPERM: i32 = 1;
const ESRCH: i32 = 3;

/// By what a tree is stopped and continued.
enum TreeHold {
    Freezer(Freezer),
    /// Its process group, from its start until its main process has been reaped.
    Group(Option<i32>),
}

/// One of the two.
struct GangMember {
    series: u32,
    hold: TreeHold,
    /// Elapsed time that it takes alone.
    alone: Nanos,
    /// How long it has had its turns.
    ran: Nanos,
    /// It has been asked to stop.
    held: bool,
    /// Since when it is stopped by itself.
    standstill: Option<Nanos>,
}

/// Which one runs, since when, and until when.
#[derive(Clone, Copy)]
struct Turn {
    member: usize,
    since: Nanos,
    until: Nanos,
}

/// Both, while they run.
pub(super) struct Gang {
    members: [GangMember; 2],
    guard: TreeGuard,
    lengths: SliceLengths,
    cpus: Vec<u32>,
    /// While they take turns.
    turn: Option<Turn>,
    switches: u32,
    stopping: Vec<Nanos>,
    continuing: Vec<Nanos>,
    late: u32,
    void: Option<NoDuet>,
    failed: Option<SysError>,
}

/// What is known of a gang duet at its end.
pub(super) struct GangEnd {
    pub slices: GangSlices,
    pub void: Option<NoDuet>,
    /// What made the turns end early.
    pub failed: Option<SysError>,
}

/// Whether trees can be stopped here: by their cgroups, or by process groups, which programs that read the terminal do not have.
pub(super) fn can_be_stopped(plan: &RunPlan, leaves: [Option<&Leaf>; 2]) -> bool {
    plan.input != Input::Inherit || leaves.iter().all(|leaf| leaf.is_some_and(|l| l.freezer().is_ok()))
}

impl Gang {
    /// Two programs that are still to be started, which take so long alone, by elapsed time.
    ///
    /// # Errors
    /// If the guard cannot be started: without it nothing is stopped.
    pub fn new(
        plan: &RunPlan,
        leaves: [Option<&Leaf>; 2],
        series: [u32; 2],
        alone: [Nanos; 2],
        seq: u32,
    ) -> Result<Gang, SysError> {
        let cpus = if plan.cpus.is_empty() { tarebench_sys::cpu::allowed()? } else { plan.cpus.clone() };
        let freezers = leaves.map(|leaf| leaf.and_then(|l| l.freezer().ok()));
        let (holds, folders) = match freezers {
            [Some(a), Some(b)] => {
                let folders: Vec<PathBuf> = leaves.iter().flatten().map(|l| l.path().to_owned()).collect();
                ([TreeHold::Freezer(a), TreeHold::Freezer(b)], folders)
            }
            _ => ([TreeHold::Group(None), TreeHold::Group(None)], Vec::new()),
        };
        let fate = if plan.leave_running { TreeFate::Continued } else { TreeFate::Killed };
        let guard = TreeGuard::start(&folders, fate)?;
        let [first, second] = holds;
        let member = |series: u32, hold: TreeHold, alone: Nanos| GangMember {
            series,
            hold,
            alone,
            ran: Nanos::ZERO,
            held: false,
            standstill: None,
        };
        Ok(Gang {
            members: [member(series[0], first, alone[0]), member(series[1], second, alone[1])],
            guard,
            lengths: SliceLengths::new(plan.seed, seq),
            cpus,
            turn: None,
            switches: 0,
            stopping: Vec::new(),
            continuing: Vec::new(),
            late: 0,
            void: None,
            failed: None,
        })
    }

    /// The first of them has been started: it waits until the other one is there, too.
    pub fn first_started(&mut self, i: usize, child: &Child) {
        self.note_group(i, child);
        if let Err(e) = self.hold(i, child) {
            self.give_up(i, e);
        }
    }

    /// The second has been started: it has the first turn.
    pub fn second_started(&mut self, i: usize, child: &Child) {
        self.note_group(i, child);
        if self.failed.is_none() && self.void.is_none() {
            self.begin_slice(i);
        } else {
            self.release();
        }
    }

    fn note_group(&mut self, i: usize, child: &Child) {
        if let TreeHold::Group(group) = &mut self.members[i].hold {
            // It is the leader of its group (or session).
            *group = Some(child.pid);
            if let Err(e) = self.guard.hold(child.pid) {
                self.failed = Some(e);
            }
        }
    }

    /// When the present slice ends; `None` while they do not take turns.
    pub fn slice_end(&self) -> Option<Nanos> {
        self.turn.map(|turn| turn.until)
    }

    /// The slice is over: the one that is behind runs next. Both have been started and not reaped.
    pub fn take_turn(&mut self, children: [&Child; 2], tree: &Tree) {
        let Some(turn) = self.turn else { return };
        self.note_time();
        let (ran, alone) = ([0, 1].map(|i: usize| self.members[i].ran), [0, 1].map(|i: usize| self.members[i].alone));
        let next = next_in_turn(ran, alone, turn.member);
        if next != turn.member {
            if self.by() == GangMeans::Signals && wait::is_stopped(children[turn.member]) {
                // Continuing it at its next turn would be wrong.
                return self.say_nothing(NoDuet::StoppedItself { series: self.members[turn.member].series });
            }
            if let Err((i, e)) = self.switch(turn.member, next, children[turn.member]) {
                return self.give_up(i, e);
            }
            self.switches = self.switches.saturating_add(1);
            // The look takes a while: often at the beginning, where trees come into being, then ever more seldom.
            if self.by() == GangMeans::Signals && self.switches.is_power_of_two() {
                self.look_for_strays(tree);
            }
        }
        if self.turn.is_some() {
            self.begin_slice(next);
        }
    }

    /// A program that has been stopped, but not by this, for too long; which one, and by which signal.
    pub fn standing_still(&mut self, children: [&Child; 2]) -> Option<(usize, i32)> {
        if self.by() == GangMeans::Signals {
            return None;
        }
        let now = clock::monotonic();
        for (i, (member, child)) in self.members.iter_mut().zip(children).enumerate() {
            match wait::stop_signal(child) {
                None => member.standstill = None,
                Some(signal) => {
                    let since = *member.standstill.get_or_insert(now);
                    if now - since >= STANDSTILL {
                        return Some((i, signal));
                    }
                }
            }
        }
        None
    }

    /// Ends the turns: whatever is stopped continues for good.
    pub fn release(&mut self) {
        self.note_time();
        self.turn = None;
        for i in [0, 1] {
            // Where it is known that a tree cannot be reached, that is no failure.
            if self.members[i].held
                && let Err(e) = self.let_go(i)
                && self.void.is_none()
            {
                self.failed.get_or_insert(e);
            }
        }
    }

    /// A main process has been reaped: its number may be given to another process.
    pub fn reaped(&mut self, i: usize) {
        if let TreeHold::Group(group) = &mut self.members[i].hold
            && let Some(group) = group.take()
        {
            let _ = self.guard.release(group);
        }
    }

    /// When both have ended.
    pub fn end(mut self) -> GangEnd {
        self.release();
        let by = self.by();
        let Gang { members, guard, cpus, switches, stopping, continuing, late, void, failed, .. } = self;
        guard.dismiss();
        let slices = GangSlices {
            by,
            cpus,
            ran: members.map(|m| m.ran),
            switches,
            stopping: SwitchTimes::new(stopping),
            continuing: SwitchTimes::new(continuing),
            late,
        };
        GangEnd { slices, void, failed }
    }

    fn by(&self) -> GangMeans {
        match self.members[0].hold {
            TreeHold::Freezer(_) => GangMeans::Freezer,
            TreeHold::Group(_) => GangMeans::Signals,
        }
    }

    fn begin_slice(&mut self, member: usize) {
        let since = clock::monotonic();
        self.turn = Some(Turn { member, since, until: since + self.lengths.draw() });
    }

    /// Adds what the one that runs has had so far.
    fn note_time(&mut self) {
        if let Some(turn) = &mut self.turn {
            let now = clock::monotonic();
            self.members[turn.member].ran += now - turn.since;
            turn.since = now;
        }
    }

    /// # Errors
    /// The system's, and which one it was about.
    fn switch(&mut self, from: usize, to: usize, child: &Child) -> Result<(), (usize, SysError)> {
        self.hold(from, child).map_err(|e| (from, e))?;
        self.let_go(to).map_err(|e| (to, e))
    }

    /// Stops a tree and waits until it stands still.
    fn hold(&mut self, i: usize, child: &Child) -> Result<(), SysError> {
        let began = clock::monotonic();
        let member = &mut self.members[i];
        member.held = true;
        match &member.hold {
            TreeHold::Freezer(freezer) => freezer.freeze()?,
            TreeHold::Group(group) => signal_group(*group, SIGSTOP)?,
        }
        let mut pause = PAUSE;
        while !stands_still(&member.hold, child)? {
            if clock::monotonic() - began > PATIENCE {
                self.late = self.late.saturating_add(1);
                return Ok(());
            }
            process::sleep(std::time::Duration::from_nanos(pause.0.unsigned_abs()));
            pause = LONGEST_PAUSE.min(pause + pause);
        }
        self.stopping.push(clock::monotonic() - began);
        Ok(())
    }

    /// Lets a tree continue.
    fn let_go(&mut self, i: usize) -> Result<(), SysError> {
        let began = clock::monotonic();
        let member = &mut self.members[i];
        match &member.hold {
            TreeHold::Freezer(freezer) => freezer.thaw()?,
            TreeHold::Group(group) => signal_group(*group, SIGCONT)?,
        }
        member.held = false;
        self.continuing.push(clock::monotonic() - began);
        Ok(())
    }

    /// Ends the turns for good, as a tree cannot be stopped.
    fn give_up(&mut self, i: usize, e: SysError) {
        if self.by() == GangMeans::Signals && e.errno() == Some(EPERM) {
            // It has become another user's.
            return self.say_nothing(NoDuet::LeftGroup { series: self.members[i].series });
        }
        self.failed.get_or_insert(e);
        self.release();
    }

    fn say_nothing(&mut self, why: NoDuet) {
        self.void.get_or_insert(why);
        self.release();
    }

    /// Looks for processes of the trees that are in neither group, which signals to the groups do not reach.
    fn look_for_strays(&mut self, tree: &Tree) {
        let mut groups = [None; 2];
        for (group, member) in groups.iter_mut().zip(&self.members) {
            if let TreeHold::Group(Some(number)) = member.hold {
                *group = Some(number);
            }
        }
        let stray = |pid: &i32| process::stat(*pid).is_some_and(|s| !groups.contains(&Some(s.pgrp)));
        let Some(pid) = tree.descendants(None).into_iter().find(stray) else { return };
        // An orphan may be of either.
        let of_second = groups[1].is_some_and(|main| process::descends(pid, main));
        let series = self.members[usize::from(of_second)].series;
        self.say_nothing(NoDuet::LeftGroup { series });
    }
}

fn stands_still(hold: &TreeHold, child: &Child) -> Result<bool, SysError> {
    match hold {
        TreeHold::Freezer(freezer) => freezer.is_frozen(),
        TreeHold::Group(_) => Ok(wait::is_stopped(child) || wait::has_ended(child)),
    }
}

/// Nothing happens if there is no such group any more.
fn signal_group(group: Option<i32>, signal: i32) -> Result<(), SysError> {
    match group.map(|g| process::kill(-g, signal)) {
        Some(Err(e)) if e.errno() != Some(ESRCH) => Err(e),
        _ => Ok(()),
    }
}
