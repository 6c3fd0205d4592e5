//! What the devices at both ends of a workload have between them: the flows of one name, wires beyond adapters, buffers.

use crate::results::{Flow, Resource};
use lanewise_fabric::ResourceKind;
use lanewise_units::order;
use std::collections::{BTreeMap, HashMap};

/// Of the flows of one name.
#[derive(Default)]
pub(super) struct Ends<'a> {
    /// The flows.
    pub(super) flows: Vec<&'a Flow>,
    /// For how much of the time the wires beyond their adapters are in use, added up over them; none where no result says so, as of
    /// Fibre Channel and SAS.
    pub(super) carried: Option<f64>,
    /// Buffers of their adapters.
    pub(super) buffers: Vec<&'a Resource>,
}

/// By the name of flows. `index` has devices by name, `resources` those of each device.
pub(super) fn by_flow<'a>(
    flows: &[&'a Flow],
    index: &HashMap<&str, usize>,
    resources: &[Vec<&'a Resource>],
) -> BTreeMap<&'a str, Ends<'a>> {
    let mut found: BTreeMap<&str, Ends<'_>> = BTreeMap::new();
    for flow in flows {
        found.entry(flow.name.as_str()).or_default().flows.push(flow);
    }
    for ends in found.values_mut() {
        let names = ends.flows.iter().flat_map(|flow| flow.device.split('+'));
        let devices = order::set(names.filter_map(|name| index.get(name).copied()));
        for resource in devices.into_iter().flat_map(|device| &resources[device]) {
            match resource.kind {
                ResourceKind::Wire => {
                    ends.carried = Some(ends.carried.unwrap_or(0.0) + resource.utilisation);
                }
                ResourceKind::AdapterBuffer => ends.buffers.push(resource),
                _ => {}
            }
        }
    }
    found
}
