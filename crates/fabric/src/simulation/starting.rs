//! The start of a run: in which order workloads start, and which flows they have.

use super::Simulation;
use crate::port::PortId;
use crate::workload::WorkloadId;
use lanewise_units::{Time, order};

impl Simulation {
    pub(super) fn order_of_start(&self) -> Vec<usize> {
        match self.start_order.is_empty() {
            true => (0..self.workloads.len()).collect(),
            false => self.start_order.clone(),
        }
    }

    pub(super) fn start(&mut self) {
        let order = self.order_of_start();
        let started = match self.take_crew() {
            None => self.start_workloads(&order),
            Some(mut crew) => {
                let own: Vec<usize> = order.iter().copied().filter(|index| !crew.has(*index)).collect();
                let started = crew.start(&order, || self.start_workloads(&own));
                crew.gather_tallies(self);
                self.crew = Some(crew);
                started
            }
        };
        let added = started.into_iter().flat_map(|(index, flows)| std::iter::repeat_n(index, flows));
        self.added_by = added.collect();
        self.listed = (0..self.added_by.len()).collect();
        let flows = self.fabric.observers().flows();
        order::sort_by_key(&mut self.listed, |flow| (self.added_by[*flow], flows[*flow].spec.entry));
    }

    /// Wakes the ports of this part and starts these workloads. How many flows each has added.
    fn start_workloads(&mut self, order: &[usize]) -> Vec<(usize, usize)> {
        self.started = true;
        for id in (0..self.fabric.ports.len() as u32).map(PortId) {
            if self.fabric.has(id) {
                self.fabric.wake(id, Time::ZERO);
            }
        }
        let start = |index: &usize| {
            let before = self.fabric.observers().flows().len();
            self.fabric.current = WorkloadId(*index as u32);
            self.workloads[*index].start(&mut self.fabric);
            (*index, self.fabric.observers().flows().len() - before)
        };
        let started = order.iter().map(start).collect();
        self.finish_event();
        started
    }

    /// Starts as a part of another simulation.
    pub(crate) fn start_part(&mut self) -> Vec<(usize, usize)> {
        let order = self.order_of_start();
        self.start_workloads(&order)
    }

    /// Has the workloads start in another order than that in which they were added: their numbers, each once. Their flows are listed as
    /// if that were not so.
    ///
    /// # Panics
    /// When that is not every workload once.
    pub fn start_in_order(&mut self, order: Vec<usize>) {
        let mut sorted = order.clone();
        order::sort(&mut sorted);
        assert!(sorted.into_iter().eq(0..self.workloads.len()), "{order:?} is not every workload once");
        self.start_order = order;
    }

    /// The workload that added a flow, by its number.
    ///
    /// # Panics
    /// When it was not added by one, at the start of the run.
    pub fn added_by(&self, flow: usize) -> usize {
        self.added_by[flow]
    }

    /// Numbers of all flows in the order in which people read them: of their workloads as they were added, whichever started first, and
    /// within one of them by their [entries](lanewise_observe::WorkloadEntry).
    pub fn listed_flows(&self) -> impl Iterator<Item = usize> {
        let later = self.listed.len()..self.fabric.observers().flows().len();
        self.listed.iter().copied().chain(later)
    }
}
