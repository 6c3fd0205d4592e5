//! Sockets and address translation of a host, where a scenario has them.

use super::computed::Computed;
use super::{Rig, Settings};
use crate::idle::Idle;
use crate::parameter::{Output, Provenance};
use crate::parameters::{EndpointParameters, HostParameters};
use crate::problem::Problem;
use crate::value::Auto;
use lanewise_fabric::config::{IommuConfig, SocketsConfig};
use std::collections::HashSet;

/// Hosts, by instance, where something can cross from one socket to another: slots of several, or a device that names the
/// socket whose memory it uses.
pub(crate) fn crossed_hosts(rig: &Rig<'_>) -> HashSet<usize> {
    let crossed_from = |instance: usize| match rig.settings_of(instance)? {
        Settings::Host(_) => several(rig, instance).then_some(instance),
        Settings::Endpoint(endpoint) if endpoint.memory_socket != Auto::Auto => {
            rig.topology.path_up(instance).last()
        }
        _ => None,
    };
    (0..rig.topology.instances.len()).filter_map(crossed_from).collect()
}

/// The sockets of a host and what is between them.
pub(crate) fn sockets(rig: &Rig<'_>, instance: usize, host: &HostParameters) -> SocketsConfig {
    let slots = &rig.topology.slots[rig.topology.instances[instance].component];
    SocketsConfig {
        of_port: slots.iter().map(|slot| slot.socket as u16).collect(),
        rate: host.interconnect.rate,
        line: host.interconnect.line,
        line_overhead: host.interconnect.line_overhead,
        latency: host.interconnect.latency,
    }
}

/// Whether the slots of a host are of several sockets.
fn several(rig: &Rig<'_>, host: usize) -> bool {
    let slots = &rig.topology.slots[rig.topology.instances[host].component];
    slots.iter().any(|slot| slot.socket != slots[0].socket)
}

/// Address translation, if it is on.
pub(crate) fn iommu(
    rig: &Rig<'_>,
    instance: usize,
    host: &HostParameters,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<IommuConfig> {
    let iommu = &host.iommu;
    if !iommu.enabled {
        return None;
    }
    let path = format!("{}.iommu.ways", rig.component_of(instance).name);
    let ways = iommu.ways.given().unwrap_or(iommu.entries);
    if iommu.ways == Auto::Auto {
        computed.parameter(path.clone(), ways.to_string(), Provenance::Assumed, "fully associative");
    }
    if ways > iommu.entries || !iommu.entries.is_multiple_of(ways) {
        let component = rig.topology.instances[instance].component;
        let high = iommu.entries.to_string();
        let problem = Problem::OutOfRange { path, found: ways.to_string(), low: "1".to_owned(), high };
        let hint = "`entries` is a multiple of it".to_owned();
        output.report(rig.place_of(component, &["iommu", "ways"]), problem, Some(hint));
    }
    Some(IommuConfig {
        entries: iommu.entries,
        ways,
        page: iommu.page,
        walk_steps: iommu.walk_steps,
        walk_step_latency: iommu.walk_step_latency,
        walkers: iommu.walkers,
    })
}

/// The socket whose memory a device uses; none for its own.
pub(crate) fn memory_socket(
    rig: &Rig<'_>,
    instance: usize,
    endpoint: &EndpointParameters,
    computed: &mut Computed,
) -> Option<u16> {
    let given = endpoint.memory_socket.given();
    if given.is_none()
        && let Some(host) = rig.topology.path_up(instance).last()
        && several(rig, host)
        && let Some(port) = rig.port(instance, 0)
        && let Some(own) = own_socket(rig, instance)
    {
        let source = "the socket of its root port";
        computed.port(rig, port, "memory_socket", own.to_string(), Provenance::Assumed, source);
    }
    given.map(|socket| socket as u16)
}

/// The socket of the root port above a device.
fn own_socket(rig: &Rig<'_>, instance: usize) -> Option<u32> {
    let (host, slot) = rig.topology.root_port(instance)?;
    rig.topology.slots[rig.topology.instances[host].component].get(slot).map(|slot| slot.socket)
}

/// Paths of parameters that nothing reads, because no host has several sockets, or none translates.
pub(crate) fn idle(rig: &Rig<'_>, idle: &mut Idle) {
    let crossed = crossed_hosts(rig);
    for instance in 0..rig.topology.instances.len() {
        let Some(Settings::Host(host)) = rig.settings_of(instance) else { continue };
        let name = &rig.component_of(instance).name;
        if !crossed.contains(&instance) {
            idle.because(format!("{name}.interconnect"), "nothing crosses from one socket to another");
        }
        if !host.iommu.enabled {
            idle.because_of(format!("{name}.iommu"), ".enabled", "`iommu.enabled` is off");
        }
    }
    if crossed.is_empty() {
        for component in &rig.file.components {
            idle.quietly(format!("{}.memory_socket", component.name));
        }
    }
}
