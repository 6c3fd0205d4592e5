//! Flows of one side of an instrument, as results list them.

use crate::load::LoadName;
use crate::ports::Ports;
use crate::token::Kind;
use lanewise_fabric::ports::Tally;
use lanewise_observe::{CONTROL, FlowDevices, FlowId, FlowSpec, LatencyOf};

/// Data by its direction, and what is not data apart from both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flows {
    /// Data that is read, in the words of the instrument.
    pub read: FlowId,
    /// Data that is written.
    pub write: FlowId,
    /// Commands, work requests, completions, interrupts.
    pub control: FlowId,
}

/// Which data of one side another flow counts, too.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Repeats {
    /// What is read.
    pub read: bool,
    /// What is written.
    pub write: bool,
}

impl Repeats {
    /// Of an adapter on a wire: what it reads, the adapter at the other end writes.
    pub(crate) const READ: Self = Self { read: true, write: false };
    /// Of an adapter on the way of data that its load counts.
    pub(crate) const ALL: Self = Self { read: true, write: true };
}

impl Flows {
    /// Declares three flows of a name at a device, or at several.
    pub(crate) fn add<M: Tally, K: Kind>(
        name: &LoadName,
        devices: impl Into<FlowDevices>,
        latency: LatencyOf,
        repeats: Repeats,
        ports: &mut Ports<'_, M, K>,
    ) -> Self {
        let devices = devices.into();
        let mut flow = |direction, repeats| {
            let (name, entry, devices) = (name.to_string(), name.entry(), devices.clone());
            ports.add_flow(FlowSpec { name, entry, devices, direction, latency, repeats })
        };
        Self {
            read: flow("read", repeats.read),
            write: flow("write", repeats.write),
            control: flow(CONTROL, false),
        }
    }
}
