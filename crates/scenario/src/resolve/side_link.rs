//! Which devices side links join.

use super::Inputs;
use lanewise_fabric::config::SideLinkConfig;
use std::collections::BTreeMap;

/// A device's side link, if it has one.
///
/// Of a host, all devices are joined, or as many in a row of one component as its side link says.
pub(super) fn of_device(inputs: &Inputs<'_>, instance: usize) -> Option<SideLinkConfig> {
    let endpoint = inputs.endpoint(instance)?;
    let (written, topology) = (&endpoint.side_link, &inputs.topology);
    let rate = written.rate?;
    let host = topology.path_up(instance).last()? as u32;
    let own = topology.instances[instance].component;
    // A device that is set apart has its place among those of its group.
    let component = inputs.file.components[own].one_of.map_or(own, |one_of| one_of.group);
    let of_component = topology.instances_of(component);
    let first = of_component.clone().find(|other| topology.path_up(*other).last() == Some(host as usize));
    let number = (instance - first?) as u32;
    let row = |joins: u32| [host, component as u32 + 1, number / joins];
    let group = written.joins.given().map_or([host, 0, 0], row);
    Some(SideLinkConfig { rate, latency: written.latency, group })
}

/// Whether a side link of any device of a component joins another device.
pub(super) fn joins_any(inputs: &Inputs<'_>, component: usize) -> bool {
    let mut devices: BTreeMap<[u32; 3], u32> = BTreeMap::new();
    let group = |instance| of_device(inputs, instance).map(|link| link.group);
    for group in (0..inputs.topology.instances.len()).filter_map(group) {
        *devices.entry(group).or_default() += 1;
    }
    // Not `instances_of`: a device that is set apart is its component's only one.
    let instances = inputs.topology.instances.iter().enumerate();
    let own = instances.filter(|(_, instance)| instance.component == component);
    own.filter_map(|(instance, _)| group(instance)).any(|group| devices[&group] > 1)
}

/// Whether a side link joins two devices.
pub(super) fn joins(inputs: &Inputs<'_>, one: usize, other: usize) -> bool {
    let group = |instance| of_device(inputs, instance).map(|link| link.group);
    group(one).is_some() && group(one) == group(other)
}
