//! The order of programs, and the control.

use tarebench_core::run::plan::{DependentSetups, Order, Program, Sched, choose_order};

/// Why programs cannot be measured in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Duets of programs with a real-time priority.
    #[error("programs with a real-time priority do not alternate on a CPU, and so cannot be measured in duets")]
    RealTimeDuets,
    /// Duets with probes.
    #[error("in a duet two programs share the CPU that probes would watch")]
    ProbedDuets,
    /// A difference of one program is to be found.
    #[error("a difference is to be found between programs, and there is only one")]
    OneProgram,
    /// A difference is to be found of programs that run one after the other, as was asked for.
    #[error("a difference is found between interleaved programs, not between programs that run one after the other")]
    Sequential,
    /// The same, because their setups differ.
    #[error(
        "a difference is found between interleaved programs, and these run one after the other, because their setup \
         commands differ"
    )]
    SequentialForSetups,
    /// An order in which the last setup would be the one that is measured.
    #[error(transparent)]
    DependentSetups(#[from] DependentSetups),
}

/// What the order of programs depends on, beside the programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderRequest {
    /// The order that is asked for; `None`: what suits the programs.
    pub order: Option<Order>,
    /// No program's setup undoes that of another one.
    pub independent_setups: bool,
    /// Scheduling of the programs.
    pub sched: Option<Sched>,
    /// There are probes beside them.
    pub is_probed: bool,
    /// They are compared until a difference would be seen.
    pub finds_difference: bool,
}

impl OrderRequest {
    /// The order of these programs.
    ///
    /// # Errors
    /// [`OrderError`].
    pub fn choose(&self, programs: &[Program]) -> Result<Order, OrderError> {
        if self.order == Some(Order::Duet) && self.is_real_time() {
            return Err(OrderError::RealTimeDuets);
        }
        if self.order == Some(Order::Duet) && self.is_probed {
            return Err(OrderError::ProbedDuets);
        }
        if self.finds_difference && programs.len() < 2 {
            return Err(OrderError::OneProgram);
        }
        let chosen = choose_order(self.order, programs, self.independent_setups)?;
        let chosen = if self.finds_difference { self.find_difference(chosen)? } else { chosen };
        Ok(match chosen {
            Order::Auto | Order::Duet if self.is_probed => Order::Rounds,
            order => order,
        })
    }

    /// Duets, unless another order was asked for, or the programs have something that doesn't suit duets.
    fn find_difference(&self, chosen: Order) -> Result<Order, OrderError> {
        match (self.order, chosen) {
            (None, Order::Sequential) => Err(OrderError::SequentialForSetups),
            (Some(_), Order::Sequential) => Err(OrderError::Sequential),
            (None, Order::Auto) if !self.is_real_time() => Ok(Order::Duet),
            (_, order) => Ok(order),
        }
    }

    fn is_real_time(&self) -> bool {
        matches!(self.sched, Some(Sched::Fifo(_)))
    }
}

/// The reference program once more, to be the last one: compared with itself.
pub fn control(programs: &[Program]) -> Option<Program> {
    let reference = programs.iter().find(|p| p.reference).or(programs.first())?;
    let label = format!("{} (control)", reference.label);
    Some(Program { label, reference: false, control: true, ..reference.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarebench_core::run::plan::Command;

    fn programs(n: usize) -> Vec<Program> {
        vec![Program::new("p".to_owned(), Command::Argv(Vec::new())); n]
    }

    #[test]
    fn probes_leave_no_duets() {
        let probed = |order| OrderRequest { order, is_probed: true, ..OrderRequest::default() }.choose(&programs(2));
        assert_eq!([None, Some(Order::Auto)].map(probed), [Ok(Order::Rounds); 2]);
        assert_eq!(probed(Some(Order::Random)), Ok(Order::Random));
        assert_eq!(probed(Some(Order::Sequential)), Ok(Order::Sequential));
        assert_eq!(probed(Some(Order::Duet)), Err(OrderError::ProbedDuets));
    }

    #[test]
    fn a_difference_is_found_in_duets_where_that_can_be() {
        let wanted = OrderRequest { finds_difference: true, ..OrderRequest::default() };
        assert_eq!(wanted.choose(&programs(2)), Ok(Order::Duet));
        assert_eq!(wanted.choose(&programs(1)), Err(OrderError::OneProgram));
        let asked = |order| OrderRequest { order: Some(order), ..wanted }.choose(&programs(2));
        assert_eq!(asked(Order::Rounds), Ok(Order::Rounds));
        assert_eq!(asked(Order::Sequential), Err(OrderError::Sequential));
        let real_time = OrderRequest { sched: Some(Sched::Fifo(1)), ..wanted };
        assert_eq!(real_time.choose(&programs(2)), Ok(Order::Auto));
        let mut different = programs(2);
        different[1].setup = Some("make".to_owned());
        assert_eq!(wanted.choose(&different), Err(OrderError::SequentialForSetups));
    }
}
