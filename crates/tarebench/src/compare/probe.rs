//! What a first look at two programs says about how to compare them.

use crate::compare::document::{BASE, HEAD};
use tarebench_core::base::units::Nanos;
use tarebench_core::compare::duet::{AloneTimes, DuetForm, NoDuet, duet_form};
use tarebench_core::run::plan::{ALONE_BLOCKS, Order, RunPlan};
use tarebench_core::run::report::data::Measure;

/// How a benchmark is measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProbedBenchmark {
    pub order: Order,
    /// Why there are no duets, if they were wanted.
    pub no_duets: Option<NoDuet>,
    pub measure: Measure,
    /// About what an execution takes, with everything around it.
    pub execution: Nanos,
    programs: u32,
    /// Process time of the shorter one of the two, where one CPU is enough for both.
    on_one_cpu: Option<Nanos>,
}

/// In less time the probes, every 4 ms, see too little of the machine.
const SHORTEST_PROBED: Nanos = Nanos::from_millis(40);

impl ProbedBenchmark {
    /// The plan with the probes that it asks for, where the programs run alone and their process time is compared: there nothing but
    /// probes tells the state of the machine. They are kept to one CPU then, unless the user names some, and paused for no longer
    /// than an execution takes, so that the budget holds. Without the probes elsewhere.
    pub fn with_probes(&self, plan: RunPlan) -> RunPlan {
        let Some(mut probes) = plan.probes.filter(|_| self.is_watched(plan.order)) else {
            return RunPlan { probes: None, ..plan };
        };
        if let Some(gate) = &mut probes.gate {
            gate.limit = gate.limit.min(self.execution);
        }
        let cpus = match plan.cpus.as_slice() {
            [] => tarebench_sys::cpu::allowed().ok().and_then(|all| all.last().copied()).into_iter().collect(),
            named => named.to_vec(),
        };
        RunPlan { probes: Some(probes), cpus, ..plan }
    }

    fn is_watched(&self, order: Order) -> bool {
        let long_enough = self.on_one_cpu.is_some_and(|pt| pt >= SHORTEST_PROBED);
        order == Order::Random && self.measure == Measure::Pt && long_enough
    }

    /// About what a session of so many blocks takes: each holds as many duets as there are pairs, of two executions, or one
    /// execution of each program; beside them there is a warm-up, and with duets the executions alone.
    pub fn expected(&self, blocks: u32) -> Nanos {
        let (blocks, programs) = (f64::from(blocks), f64::from(self.programs));
        let executions = match self.order {
            Order::Duet => 2.0 * (programs - 1.0) * blocks + programs * f64::from(ALONE_AND_WARMUP),
            // With pauses as long as the executions.
            _ if self.is_watched(self.order) => 2.0 * programs * (blocks + 1.0),
            _ => programs * (blocks + 1.0),
        };
        Nanos::from_secs_f64(self.execution.secs() * executions)
    }
}

/// Executions of each program beside its duets.
const ALONE_AND_WARMUP: u32 = ALONE_BLOCKS + 1;

/// Chooses order and measure for the base and the head, given what each takes alone.
///
/// The measure is the requested one; else process time, as duets compare; else elapsed time for programs that sleep or use several
/// CPUs, as their process time is not what a user waits for. Where elapsed time was requested there are no duets, as each program
/// holds the other up. Programs that would have no duets only because they are long have them if the first look fits into the
/// budget.
pub(crate) fn choose(
    plan: &RunPlan,
    requested: Option<Measure>,
    times: [Option<AloneTimes>; 2],
    execution: Nanos,
    first_look: u32,
    budget: Option<Nanos>,
) -> ProbedBenchmark {
    let programs = u32::try_from(plan.programs.len()).unwrap_or(u32::MAX);
    let alone = times.iter().map(|t| t.map(|t| t.pt)).collect::<Option<Vec<_>>>();
    let on_one_cpu = alone.and_then(|pt| pt.into_iter().min()).filter(|_| duet_form(times) == DuetForm::OneCpu);
    let probed =
        |order, no_duets, measure| ProbedBenchmark { order, no_duets, measure, execution, programs, on_one_cpu };
    if let Some(measure @ (Measure::Et | Measure::Net)) = requested {
        return probed(Order::Random, None, measure);
    }
    // What `auto` makes of them: `duet` would ask for what is possible only.
    let suited = RunPlan { order: Order::Auto, ..plan.clone() };
    let [base, head] = times;
    let duets = probed(Order::Duet, None, Measure::Pt);
    let no_duets = match suited.duets([(BASE, base), (HEAD, head)]) {
        Ok(_) => return duets,
        Err(NoDuet::TooLong { .. }) if budget.is_none_or(|left| duets.expected(first_look) <= left) => return duets,
        Err(why) => why,
    };
    let waits = matches!(no_duets, NoDuet::Asleep { .. } | NoDuet::NotKnown { .. });
    let by_elapsed = waits || duet_form(times) == DuetForm::Gangs;
    let measure = requested.unwrap_or(if by_elapsed { Measure::Et } else { Measure::Pt });
    probed(Order::Random, Some(no_duets), measure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::document::tests::run_plan;
    use tarebench_core::quiet::data::{PROBE_PERIOD, ProbePlan, QUIET_LIMIT};
    use tarebench_core::sample::probes::GateRule;

    const LOOK: u32 = 10;

    fn alone(pt: i64, elapsed: i64, asleep: f64) -> Option<AloneTimes> {
        let ms = Nanos::from_millis;
        Some(AloneTimes { pt: ms(pt), elapsed: ms(elapsed), asleep: Some(asleep), memory: None })
    }

    fn chosen(requested: Option<Measure>, head: Option<AloneTimes>, budget: Option<Nanos>) -> ProbedBenchmark {
        let plan = run_plan("sort", ["/base", "/head"], true);
        choose(&plan, requested, [alone(100, 102, 0.0), head], Nanos::from_millis(110), LOOK, budget)
    }

    #[test]
    fn duets_where_they_make_sense() {
        let good = alone(101, 103, 0.0);
        let probed = chosen(None, good, None);
        assert_eq!((probed.order, &probed.no_duets, probed.measure), (Order::Duet, &None, Measure::Pt));
        assert_eq!(chosen(Some(Measure::Pt), good, None).order, Order::Duet);
        // Together, elapsed time says nothing.
        let elapsed = chosen(Some(Measure::Et), good, None);
        assert_eq!((elapsed.order, &elapsed.no_duets, elapsed.measure), (Order::Random, &None, Measure::Et));
        // Short, asleep, unknown, and too short for gangs.
        let cases = [
            (alone(5, 6, 0.0), Measure::Pt),
            (alone(100, 300, 0.6), Measure::Et),
            (None, Measure::Et),
            (alone(100, 50, 0.0), Measure::Et),
        ];
        for (head, measure) in cases {
            let probed = chosen(None, head, None);
            assert_eq!((probed.order, probed.measure), (Order::Random, measure), "{head:?}");
            assert!(probed.no_duets.is_some());
            assert_eq!(chosen(Some(Measure::Pt), head, None).measure, Measure::Pt);
        }
    }

    #[test]
    fn long_programs_have_duets_if_there_is_time() {
        let long = alone(6_000, 6_100, 0.0);
        assert_eq!(chosen(None, long, None).order, Order::Duet);
        let duets = chosen(None, long, None).expected(LOOK);
        assert_eq!(chosen(None, long, Some(duets)).order, Order::Duet);
        let probed = chosen(None, long, Some(duets - Nanos(1)));
        assert_eq!((probed.order, probed.measure), (Order::Random, Measure::Pt));
        assert!(matches!(probed.no_duets, Some(NoDuet::TooLong { series: 1, .. })), "{probed:?}");
    }

    #[test]
    fn probes_where_programs_run_alone() {
        let rule = GateRule::standard(QUIET_LIMIT);
        let asked = ProbePlan { period: PROBE_PERIOD, gate: Some(rule), correct: true };
        let plan = |order| RunPlan { order, probes: Some(asked), ..run_plan("sort", ["/base", "/head"], true) };
        let probed = chosen(None, alone(6_000, 6_100, 0.0), Some(Nanos(1)));
        assert_eq!((probed.order, probed.measure), (Order::Random, Measure::Pt));
        let with = probed.with_probes(plan(Order::Random));
        assert_eq!(with.cpus.len(), 1);
        let limit = probed.execution.min(QUIET_LIMIT);
        assert_eq!(with.probes, Some(ProbePlan { gate: Some(GateRule { limit, ..rule }), ..asked }));
        let named = RunPlan { cpus: vec![3, 4], ..plan(Order::Random) };
        assert_eq!(probed.with_probes(named).cpus, [3, 4]);
        // Not in duets, nor where elapsed times are compared, programs are short or use several CPUs.
        assert_eq!(probed.with_probes(plan(Order::Duet)).probes, None);
        for other in [alone(100, 300, 0.6), alone(5, 6, 0.0), alone(100, 50, 0.0), None] {
            assert_eq!(chosen(None, other, None).with_probes(plan(Order::Random)).probes, None, "{other:?}");
        }
    }

    /// Ten blocks of two duets are forty executions, with twelve alone; ten rounds of three, after a warm-up, thirty-three.
    #[test]
    fn what_a_look_takes() {
        let execution = |n: i64| Nanos::from_millis(110 * n);
        assert_eq!(chosen(None, alone(100, 101, 0.0), None).expected(LOOK), execution(52));
        assert_eq!(chosen(None, alone(1, 1, 0.0), None).expected(LOOK), execution(33));
    }
}
