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
    /// So many are to come.
    pub(crate) fn expect(&mut self, count: usize) {
        self.ahead += count;
    }

    /// One of those that were to come.
    pub(crate) fn saw(&mut self, change: Change) {
        self.ahead = self.ahead.saturating_sub(1);
        self.seen.push(change);
    }

    /// What was counted before is forgotten.
    pub(crate) fn start_measuring(&mut self) {
        self.seen.clear();
    }
}

impl Fabric {
    /// The same for a change that no schedule announced.
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
