//! The order of devices by their paths, from which ports, hosts, switches and endpoints have their numbers inside a fabric. What
//! happens at one instant is ordered by these numbers ([`crate::event`]), so it does not depend on the order of a configuration.

use crate::config::{DeviceKind, FabricConfig};
use lanewise_units::order::sort_by;

/// Every device, level by level: hosts by their names, then what is below them by the path of ports that leads there, and so on.
///
/// Devices below no host, which assembly refuses, come last.
pub(crate) fn order(config: &FabricConfig) -> Vec<usize> {
    let is_host = |index: &usize| matches!(config.devices[*index].kind, DeviceKind::RootComplex(_));
    let mut order: Vec<usize> = (0..config.devices.len()).filter(is_host).collect();
    sort_by(&mut order, |one, other| config.devices[*one].name.cmp(&config.devices[*other].name));
    let mut below: Vec<Vec<(usize, usize)>> = vec![Vec::new(); config.devices.len()];
    for link in &config.links {
        below[link.upper.0].push((link.upper.1, link.lower.0));
    }
    below.iter_mut().for_each(|devices| sort_by(devices, Ord::cmp));
    let mut is_known = vec![false; config.devices.len()];
    order.iter().for_each(|index| is_known[*index] = true);
    let mut next = 0;
    while next < order.len() {
        for (_, device) in &below[order[next]] {
            if !std::mem::replace(&mut is_known[*device], true) {
                order.push(*device);
            }
        }
        next += 1;
    }
    order.extend((0..config.devices.len()).filter(|index| !is_known[*index]));
    order
}
