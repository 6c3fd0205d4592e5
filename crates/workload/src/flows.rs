//! Flows of one side of an instrument, as results list them.

use crate::ports::Ports;
use crate::token::Kind;
use lanewise_fabric::ports::Tally;
use lanewise_observe::{CONTROL, FlowId, FlowSpec, LatencyOf};

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

impl Flows {
    /// Declares three flows of a name at a device, or at several with their names joined.
    pub(crate) fn add<M: Tally, K: Kind>(
        name: &str,
        device: &str,
        latency: LatencyOf,
        ports: &mut Ports<'_, M, K>,
    ) -> Self {
        let mut flow = |direction| {
            let (name, device) = (name.to_owned(), device.to_owned());
            ports.add_flow(FlowSpec { name, device, direction, latency })
        };
        Self { read: flow("read"), write: flow("write"), control: flow(CONTROL) }
    }
}
