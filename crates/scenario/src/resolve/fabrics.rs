//! NVMe over Fabrics: which end of a network a fio job is at, and the software at both.

use super::networks::{Networks, is_ethernet, kind_hint, verbs};
use super::workload::unfit;
use super::{Inputs, Settings, staging};
use crate::file::WrittenWorkload;
use crate::nearest::listing;
use crate::parameter::Output;
use crate::parameters::{FioParameters, NvmeParameters, TargetCompletionsChoice};
use lanewise_workload::device::rdma::RdmaLinkConfig;
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
    let mut refuse = |key: &str, found: &str, expected: &str, hint: &dyn Fn() -> Option<String>| {
        unfit(inputs, workload, (key, found), expected, hint, output);
        None
    };
    if networks.members(network).is_some() {
        let expected = "it has switches, and fio needs a wire from adapter to adapter";
        return refuse("network", name, expected, &|| wire_hint(inputs, networks, (network, target)));
    }
    let config = &networks.config.links[networks.link(network)?];
    if is_ethernet(config) {
        let expected = "it is plain Ethernet, and RDMA needs InfiniBand or RoCE";
        let hint = || wires(inputs, networks, target).or_else(|| Some(kind_hint(name, "roce")));
        return refuse("network", name, expected, &hint);
    }
    if carrier.has_tools {
        let expected = "networks carry either fio's commands or RDMA tools, not both at once";
        let hint = "move the workloads of other kinds that name a network to a file of their own";
        return refuse("network", name, expected, &|| Some(hint.to_owned()));
    }
    if parameters.iomem != "memory" {
        let expected = "data passes through the memory of both hosts";
        let hint = "leave `iomem` out; `staging` says whose memory it passes at the target";
        return refuse("iomem", &parameters.iomem, expected, &|| Some(hint.to_owned()));
    }
    let Some(at) = initiator_end(inputs, networks, config, target) else {
        let expected = "the drives' host is at one of its ends, another host at the other";
        return refuse("network", name, expected, &|| wire_hint(inputs, networks, (network, target)));
    };
    let ends = [config.ends[at], config.ends[1 - at]];
    let initiator = networks.host_instance(inputs, ends[0].nic)?;
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

/// The end of a wire where the initiator is: the other one is at the target.
fn initiator_end(
    inputs: &Inputs<'_>,
    networks: &Networks,
    wire: &RdmaLinkConfig,
    target: usize,
) -> Option<usize> {
    match wire.ends.map(|end| networks.host_instance(inputs, end.nic) == Some(target)) {
        [false, true] => Some(0),
        [true, false] => Some(1),
        _ => None,
    }
}

/// The wires of a scenario that a job can reach drives of the host `target` over.
fn wires(inputs: &Inputs<'_>, networks: &Networks, target: usize) -> Option<String> {
    let reaches = |wire: &&RdmaLinkConfig| {
        !is_ethernet(wire) && initiator_end(inputs, networks, wire, target).is_some()
    };
    let wires = networks.config.links.iter().filter(reaches);
    listing(
        &format!("wires of RDMA to `{}`", inputs.topology.instances[target].name),
        wires.map(|wire| wire.name.as_str()),
    )
}

/// The same, or how to make one of `network`.
fn wire_hint(inputs: &Inputs<'_>, networks: &Networks, (network, target): (usize, usize)) -> Option<String> {
    wires(inputs, networks, target).or_else(|| {
        let adapter = |is_its| inputs.endpoints_of(target, is_its, |endpoint| endpoint.rdma.ports > 0).next();
        let name = |at: usize| inputs.topology.instances[at].name.as_str();
        let (network, host) = (&inputs.file.components[network].name, name(target));
        Some(match (adapter(false), adapter(true)) {
            (Some(near), Some(far)) => format!(
                "`ends = [\"{}.port1\", \"{}.port1\"]` make `[network.{network}]` one; no other network has these ports then",
                name(near),
                name(far),
            ),
            (_, None) => format!("put an adapter with `rdma.ports` below `{host}`, and make it an end of `{network}`"),
            (None, _) => format!("put an adapter with `rdma.ports` below another host than `{host}`, and make it an end of `{network}`"),
        })
    })
}
