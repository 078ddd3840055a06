//! A node of several CPUs: its phase ends with the slowest of them (ICS'05, section 2.1: a node is delayed if any process on
//! it is; section 3.1: results of all processors are merged).
//!
//! What delays one CPU of a node often delays the others: a tick at the same moment, a hypervisor that takes the whole
//! machine. So the node's maxima are formed from phases that ran at the same time, before nodes are taken to be independent
//! of each other.

use crate::base::units::Nanos;
use crate::noise::phase::{BadOrder, WorkPhase, count, in_order};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePhases {
    /// Per phase of the node, from the first start to the longest duration of any CPU.
    pub phases: Vec<WorkPhase>,
    /// Phases of a CPU that were omitted because another was still busy with an earlier phase; per CPU.
    pub skipped: Vec<usize>,
}

impl NodePhases {
    /// How long the node's phases took, ns.
    pub fn durations(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.phases.iter().map(|p| count(p.duration))
    }
}

/// Why there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNode {
    #[error("no CPU, expected at least one")]
    NoCpu,
    /// A CPU's phases are in no order.
    #[error("CPU number {cpu} (from 0): {why}")]
    Order {
        /// Which, from 0.
        cpu: usize,
        why: BadOrder,
    },
}

/// The node's phases, from those of its CPUs, measured at once on one clock and each in the order of time.
///
/// One phase of each CPU makes one of the node, as if a barrier were before it: where one CPU is late by more than half a
/// `grain`, the others' phases of that time are omitted, as they would have waited for it. No phase is used twice. (To
/// pair phases by number would compare different times after the first long delay; to take all that overlap would count
/// a long one many times.)
pub fn node_phases(cpus: &[Vec<WorkPhase>], grain: Nanos) -> Result<NodePhases, NoNode> {
    if cpus.is_empty() {
        return Err(NoNode::NoCpu);
    }
    for (cpu, phases) in cpus.iter().enumerate() {
        in_order(phases.iter().copied()).map_err(|why| NoNode::Order { cpu, why })?;
    }
    let slack = Nanos(grain.0.max(0) / 2);
    let mut rest: Vec<&[WorkPhase]> = cpus.iter().map(Vec::as_slice).collect();
    let mut node = NodePhases { phases: Vec::new(), skipped: vec![0; cpus.len()] };
    'phases: loop {
        // Leave out until all begin within the slack of the one that begins last.
        loop {
            let mut latest = Nanos(i64::MIN);
            for phases in &rest {
                match phases.first() {
                    Some(next) => latest = latest.max(next.start),
                    None => break 'phases,
                }
            }
            let mut moved = false;
            for (phases, skipped) in rest.iter_mut().zip(&mut node.skipped) {
                while let Some((next, after)) = phases.split_first()
                    && next.start < latest - slack
                {
                    *phases = after;
                    *skipped += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let now = || rest.iter().filter_map(|phases| phases.first());
        if let (Some(start), Some(duration)) = (now().map(|p| p.start).min(), now().map(|p| p.duration).max()) {
            node.phases.push(WorkPhase { start, duration });
        }
        for phases in &mut rest {
            *phases = phases.get(1..).unwrap_or_default();
        }
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::model::{Probability, delayed};
    use crate::statistics::random::{RandomPurpose, generator, unit};
    use proptest::prelude::*;
    use std::num::NonZeroU64;

    fn cpu(start: i64, durations: &[i64]) -> Vec<WorkPhase> {
        WorkPhase::back_to_back(Nanos(start), durations.iter().map(|d| Nanos(*d)))
    }

    fn durations(node: &NodePhases) -> Vec<i64> {
        node.phases.iter().map(|p| p.duration.0).collect()
    }

    #[test]
    fn the_slowest_counts() {
        let node = node_phases(&[cpu(0, &[10, 11, 10]), cpu(1, &[10, 10, 12])], Nanos(10)).unwrap();
        assert_eq!((durations(&node), node.skipped), (vec![10, 11, 12], vec![0, 0]));
        let one = node_phases(&[cpu(0, &[10, 99, 10])], Nanos(10)).unwrap();
        assert_eq!(durations(&one), [10, 99, 10]);
    }

    /// While the first is delayed by five grains, the second does five phases, the delayed one among them is as good as never.
    #[test]
    fn those_who_would_wait_are_left_out() {
        let node = node_phases(&[cpu(0, &[10, 60, 10, 10]), cpu(0, &[10, 10, 13, 10, 10, 10, 10, 11, 10])], Nanos(10))
            .unwrap();
        assert_eq!((durations(&node), node.skipped.clone()), (vec![10, 60, 11, 10], vec![0, 5]));
        assert_eq!(node.phases[2].start, Nanos(70));
    }

    #[test]
    fn ends_with_the_first_and_names_errors() {
        assert_eq!(node_phases(&[cpu(0, &[10, 10]), vec![]], Nanos(10)).unwrap().phases, []);
        assert_eq!(node_phases(&[cpu(0, &[10]), cpu(1000, &[10])], Nanos(10)).unwrap().skipped, [1, 0]);
        assert_eq!(node_phases(&[], Nanos(10)), Err(NoNode::NoCpu));
        let overlapping = [cpu(0, &[10]), vec![cpu(0, &[10])[0], cpu(5, &[10])[0]]];
        let why = BadOrder::TooEarly { what: "phase", index: 1 };
        assert_eq!(node_phases(&overlapping, Nanos(10)), Err(NoNode::Order { cpu: 1, why }));
        let negative = BadOrder::Negative { what: "phase", index: 0, duration: Nanos(-1) };
        assert_eq!(node_phases(&[cpu(0, &[-1])], Nanos(10)), Err(NoNode::Order { cpu: 0, why: negative }));
    }

    /// Noise that hits both CPUs at once delays the node as often as one of them; noise of each CPU's own, by the noise law
    /// for two.
    #[test]
    fn common_noise_counts_once() {
        let mut rng = generator(1, RandomPurpose::Order, 0);
        let p = 0.02;
        let mut hit = |together: bool| {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for _ in 0..50_000 {
                let first = unit(&mut rng) < p;
                let second = if together { first } else { unit(&mut rng) < p };
                a.push(if first { 400 } else { 100 });
                b.push(if second { 400 } else { 100 });
            }
            let node = node_phases(&[cpu(0, &a), cpu(3, &b)], Nanos(100)).unwrap();
            node.phases.iter().filter(|p| p.duration.0 > 200).count() as f64 / node.phases.len() as f64
        };
        assert!((hit(true) / p - 1.0).abs() < 0.1);
        let two = delayed(Probability::new(p).unwrap(), NonZeroU64::new(2).unwrap()).get();
        assert!((hit(false) / two - 1.0).abs() < 0.1);
    }

    proptest! {
        #[test]
        fn no_phase_is_used_twice(
            cpus in proptest::collection::vec((0..500_i64, proptest::collection::vec(0..1000_i64, 0..50)), 1..4),
            grain in -5..500_i64,
        ) {
            let cpus: Vec<Vec<WorkPhase>> = cpus.iter().map(|(start, d)| cpu(*start, d)).collect();
            let node = node_phases(&cpus, Nanos(grain)).unwrap();
            for (phases, skipped) in cpus.iter().zip(&node.skipped) {
                prop_assert!(node.phases.len() + skipped <= phases.len());
            }
            prop_assert!(node.phases.is_sorted_by(|a, b| a.start <= b.start));
        }
    }
}
