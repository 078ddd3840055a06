//! The sampler that measures on this machine.

use crate::RunError;
use crate::duet::{DuetCollectors, not_made};
use crate::hooks::{self, HookError};
use crate::launch::ProcessLauncher;
use crate::sample::{Collectors, take};
use crate::sampler::{DuetRequest, Hook, SampleRequest, Sampler};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{Duet, NoDuet};
use tarebench_core::run::plan::{Output, RunPlan};
use tarebench_core::sample::data::Sample;
use tarebench_sys::signals::Signals;
use tarebench_sys::{clock, guard, memory};

/// Takes samples of real programs.
pub struct MachineSampler<'a> {
    pub plan: &'a RunPlan,
    pub launcher: &'a mut ProcessLauncher,
    pub collectors: &'a mut Collectors,
    /// The process's signals.
    pub signals: &'a Signals,
    /// What observes programs that run together, once there were any.
    duets: Option<DuetCollectors>,
}

impl<'a> MachineSampler<'a> {
    pub fn new(
        plan: &'a RunPlan,
        launcher: &'a mut ProcessLauncher,
        collectors: &'a mut Collectors,
        signals: &'a Signals,
    ) -> MachineSampler<'a> {
        MachineSampler { plan, launcher, collectors, signals, duets: None }
    }
}

impl Sampler for MachineSampler<'_> {
    fn take(&mut self, request: &SampleRequest<'_>) -> Result<(Sample, Option<i32>), RunError> {
        self.launcher.listen(request.slot.series as usize, request.slot.phase);
        // Frozen processes may stay frozen as long as the sample lasts.
        let sample = guard::SampleMark::begin();
        let mut taken = take(self.launcher, self.collectors, request, self.plan.leave_running, self.signals);
        drop(sample);
        self.launcher.heard(matches!(&taken, Ok((sample, None)) if !sample.outcome.success()));
        if let Ok((sample, _)) = &mut taken {
            sample.metrics = self.launcher.metrics();
        }
        taken
    }

    fn has_room_for_padding(&self) -> bool {
        self.launcher.has_room_for_padding()
    }

    fn take_duet(&mut self, request: &DuetRequest<'_>) -> Result<(Duet, Option<i32>), RunError> {
        // Where both would not fit, what they measured would be the disk.
        if let Some(needed) = request.memory
            && let Some(available) = memory::available(Path::new("/")).filter(|bytes| needed > *bytes)
        {
            return Ok((not_made(request, NoDuet::Memory { needed, available }), None));
        }
        let collectors = match &mut self.duets {
            Some(collectors) => collectors,
            none => none.insert(DuetCollectors::new(self.plan)?),
        };
        let duet = guard::SampleMark::begin();
        let account = &mut self.collectors.account;
        let taken = crate::duet::take(self.plan, self.launcher, collectors, account, request, self.signals);
        drop(duet);
        taken
    }

    fn last_words(&mut self) -> Option<String> {
        self.launcher.last_words()
    }

    fn hook(&mut self, hook: &Hook<'_>) -> Result<(), HookError> {
        let pair = |k: &[u8], v: &[u8]| [k, b"=", v].concat();
        let set: Vec<&[u8]> = self.plan.env.iter().map(|(k, _)| k.as_bytes()).collect();
        let inherited = std::env::vars_os().filter(|(k, _)| !set.contains(&k.as_bytes()));
        let mut env: Vec<Vec<u8>> = inherited.map(|(k, v)| pair(k.as_bytes(), v.as_bytes())).collect();
        env.extend(self.plan.env.iter().map(|(k, v)| pair(k.as_bytes(), v.as_bytes())));
        env.extend_from_slice(hook.environment);
        let program = self.plan.programs.get(hook.series as usize);
        let output = program.map_or(&self.plan.output, |p| self.plan.output_of(p));
        let place = hooks::HookContext {
            shell: &self.plan.hook_shell,
            cwd: program.map_or(&self.plan.cwd, |p| self.plan.cwd_of(p)).as_bytes(),
            env: &env,
            show: *output == Output::Inherit,
        };
        hooks::run(hook.kind.name(), hook.script, &place, self.signals)
    }

    fn now(&self) -> Nanos {
        clock::monotonic()
    }

    fn interrupted(&self) -> Option<i32> {
        self.signals.caught()
    }
}
