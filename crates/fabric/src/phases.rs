//! Parts of a run between two changes of the machine: what had been counted when each change happened.

use crate::fabric::Fabric;
use lanewise_units::Time;

/// A change of the machine, and what every flow had counted by then.
#[derive(Clone, Debug)]
pub struct Change {
    /// When.
    pub at: Time,
    /// What the part of the run that begins then is called.
    pub name: String,
    /// Payload bytes and operations of each flow since measuring began.
    pub counts: Vec<(u64, u64)>,
}

/// Changes that were seen, and how many are to come.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    seen: Vec<Change>,
    ahead: usize,
}

impl Changes {
    /// What was counted before is forgotten.
    pub(crate) fn start_measuring(&mut self) {
        self.seen.clear();
    }
}

impl Fabric {
    /// A workload will call [`Self::changed`] so many times: until then the run is not over.
    pub fn expect_changes(&mut self, count: usize) {
        self.changes.ahead += count;
    }

    /// Something about the machine is different from now on: the next part of the run begins, under this name.
    pub fn changed(&mut self, name: String) {
        let at = self.now();
        let counts = self.flow_counts();
        self.changes.ahead = self.changes.ahead.saturating_sub(1);
        self.changes.seen.push(Change { at, name, counts });
    }

    /// The same for a change that nobody expected.
    pub(crate) fn changed_from_outside(&mut self, name: String) {
        let (at, counts) = (self.now(), self.flow_counts());
        self.changes.seen.push(Change { at, name, counts });
    }

    /// Changes that are still to come.
    pub fn changes_ahead(&self) -> usize {
        self.changes.ahead
    }

    /// Changes since measuring began, in order.
    pub fn changes(&self) -> &[Change] {
        &self.changes.seen
    }

    /// Payload bytes and operations of each flow since measuring began.
    pub fn flow_counts(&self) -> Vec<(u64, u64)> {
        let count = |flow: &lanewise_observe::FlowTally| (flow.payload().get(), flow.operations());
        self.observers.flows().iter().map(count).collect()
    }
}
