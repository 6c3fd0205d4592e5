//! NVMe over Fabrics: which end of a network a fio job is at, and the software at both.

use super::networks::{Networks, verbs};
use super::workload::unknown;
use super::{Inputs, Settings, staging};
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::parameters::{FioParameters, NvmeParameters, TargetCompletionsChoice};
use lanewise_network::NetworkWire;
use lanewise_workload::host::NvmeTargetConfig;
use lanewise_workload::load::fio::FabricsConfig;

/// The networks of a scenario, and whether RDMA tools are on them.
pub(crate) struct Carrier<'n> {
    pub networks: &'n Networks,
    pub has_tools: bool,
}

/// Settings of a way over a network; the target's index among the hosts in use is filled in later.
pub(crate) struct Reach {
    /// Instance of the initiator.
    pub initiator: usize,
    /// The way, with a target that is not yet known.
    pub fabrics: FabricsConfig,
}

/// How a job reaches drives of the host `target`: none of the outer option for a mistake, of the inner one for drives
/// that are attached.
pub(crate) fn reach(
    inputs: &Inputs<'_>,
    (workload, parameters): (&WrittenWorkload, &FioParameters),
    carrier: &Carrier<'_>,
    (target, drives): (usize, &[(usize, &NvmeParameters)]),
    output: &mut Output,
) -> Option<Option<Reach>> {
    let name = &parameters.network;
    if name == "none" {
        return staging::none_without_network(inputs, workload, parameters, output).then_some(None);
    }
    let networks = carrier.networks;
    let network = networks.named(inputs, workload, name, output)?;
    let mut refuse = |key: &str, found: &str, expected: &str| {
        unknown(inputs, workload, key, found, expected.to_owned(), output);
        None
    };
    if networks.members(network).is_some() {
        return refuse("network", name, "it has switches, and fio needs a wire from adapter to adapter");
    }
    let config = &networks.config.links[networks.link(network)?];
    if matches!(config.wire, NetworkWire::Ethernet { .. }) {
        return refuse("network", name, "it is plain Ethernet, and RDMA needs InfiniBand or RoCE");
    }
    if carrier.has_tools {
        return refuse(
            "network",
            name,
            "networks carry either fio's commands or RDMA tools, not both at once",
        );
    }
    if parameters.iomem != "memory" {
        return refuse("iomem", &parameters.iomem, "data passes through the memory of both hosts");
    }
    let hosts = config.ends.map(|end| networks.host_instance(inputs, end.nic));
    let at = match hosts.map(|host| host == Some(target)) {
        [false, true] => 0,
        [true, false] => 1,
        _ => {
            return refuse(
                "network",
                name,
                "the drives' host is at one of its ends, another host at the other",
            );
        }
    };
    let (initiator, ends) = (hosts[at]?, [config.ends[at], config.ends[1 - at]]);
    let adapter = networks.config.nics[ends[1].nic].device.0 as usize;
    let staging = staging::read(inputs, (workload, parameters), adapter, drives, output)?;
    let (Some(Settings::Host(near)), Some(Settings::Host(far))) =
        (inputs.settings_of(initiator), inputs.settings_of(target))
    else {
        return None;
    };
    let software = &far.nvme_target;
    Some(Some(Reach {
        initiator,
        fabrics: FabricsConfig {
            ports: ends,
            drivers: [verbs(&near.verbs), verbs(&far.verbs)],
            target: 0,
            software: NvmeTargetConfig {
                cores: software.cores,
                polls: software.completions == TargetCompletionsChoice::Polling,
                core_speed: software.core_speed,
                command_cost: software.command_cost,
                page_cost: software.page_cost,
                response_cost: software.response_cost,
                in_capsule: software.in_capsule_bytes,
            },
            staging,
        },
    }))
}
