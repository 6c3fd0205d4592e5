//! What the devices at both ends of a workload have between them: the flows of one name, wires beyond adapters, buffers.

use crate::results::{Flow, Resource};
use lanewise_fabric::{Part, RdmaPart, ResourceId, ResourceKind};
use lanewise_units::order;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Of the flows of one name.
#[derive(Default)]
pub(super) struct Ends<'a> {
    /// The flows.
    pub(super) flows: Vec<&'a Flow>,
    /// Wires beyond their adapters, each way.
    wires: Vec<&'a Resource>,
    /// One message is under way at a time, either way.
    in_turn: bool,
    /// Buffers of their adapters.
    pub(super) buffers: Vec<&'a Resource>,
}

impl Ends<'_> {
    /// For how much of the time something is on the wires beyond their adapters. Where one message follows the other they are in use in
    /// turn. Where many are under way, data and what answers them, or data both ways, go at the same time, for as long as the wire
    /// that is in use most. None where no result has wires.
    pub(super) fn carried(&self) -> Option<f64> {
        let used = self.wires.iter().map(|wire| wire.utilisation);
        if self.in_turn { used.reduce(|all, next| all + next) } else { used.reduce(f64::max) }
    }

    /// The same of the wire that a buffer is for: what is sent goes out of its own port, what is received comes from elsewhere.
    pub(super) fn carried_beside(&self, buffer: &ResourceId) -> f64 {
        let owner = |wire: &&&Resource| wire.id.owner == buffer.owner;
        let found = match buffer.part {
            Part::Rdma(RdmaPart::SendBuffer { port }) => {
                let own = Part::Rdma(RdmaPart::Wire { port });
                self.wires.iter().filter(owner).find(|wire| wire.id.part == own).map(|wire| wire.utilisation)
            }
            Part::Rdma(RdmaPart::ReceiveBuffer { .. } | RdmaPart::OutstandingReads) => {
                let others = self.wires.iter().filter(|wire| !owner(wire));
                others.map(|wire| wire.utilisation).reduce(f64::max)
            }
            _ => None,
        };
        found.unwrap_or(0.0)
    }
}

/// By the name of flows. `in_turn` has those whose messages are under way one at a time, `index` devices by name, `resources` those of each device.
pub(super) fn by_flow<'a>(
    flows: &[&'a Flow],
    in_turn: &HashSet<&str>,
    index: &HashMap<&str, usize>,
    resources: &[Vec<&'a Resource>],
) -> BTreeMap<&'a str, Ends<'a>> {
    let mut found: BTreeMap<&str, Ends<'_>> = BTreeMap::new();
    for flow in flows {
        found.entry(flow.name.as_str()).or_default().flows.push(flow);
    }
    for (name, ends) in &mut found {
        ends.in_turn = in_turn.contains(name);
        let names = ends.flows.iter().flat_map(|flow| &flow.devices);
        let devices = order::set(names.filter_map(|name| index.get(name.as_str()).copied()));
        for resource in devices.into_iter().flat_map(|device| &resources[device]) {
            match resource.kind {
                ResourceKind::Wire => ends.wires.push(resource),
                ResourceKind::AdapterBuffer => ends.buffers.push(resource),
                _ => {}
            }
        }
    }
    found
}
