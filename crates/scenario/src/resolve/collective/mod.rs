//! Collective operations: from names to ranks, and what is left to NCCL.

mod passes;
mod ways;

use super::Inputs;
use super::copies::KERNELS;
use super::copies::kernel_engine;
use super::kinds::{Group, Reading, WorkloadKind, kind};
use super::networks::verbs;
use super::workload::{endpoints, parameters, place};
use crate::file::WrittenWorkload;
use crate::parameter::{Output, ParameterTable};
use crate::parameters::{CollectiveParameters, OperationChoice};
use crate::problem::Problem;
use crate::structure::ComponentKind;
use lanewise_fabric::workload::DeviceId;
use lanewise_workload::device::rdma::RdmaNetworkConfig;
use lanewise_workload::load::collective::{CollectiveConfig, Layout, Operation, Path, Rank, pairs};
use passes::Done;
use std::collections::BTreeSet;

/// Collective operations, as nccl-tests time them.
pub(super) const COLLECTIVE: WorkloadKind =
    kind("collective", &CollectiveParameters::SCHEMA, &[], |reading, workload| {
        let read = config(reading, workload);
        reading.add(read);
    })
    .using(&[KERNELS, Group { of: ComponentKind::Host, key: "processor" }]);

/// The instrument that a workload asks for; nothing when its devices make none.
fn config<'f>(reading: &mut Reading<'_, 'f>, workload: &'f WrittenWorkload) -> Option<CollectiveConfig> {
    let inputs = reading.inputs;
    let parameters = parameters::<CollectiveParameters>(workload, reading.output)?;
    let instances = devices(inputs, workload, &parameters, reading.output)?;
    let hosts = hosts(inputs, &instances);
    check_root(workload, &parameters, instances.len(), reading.output)?;
    let rank = |instance: &usize| {
        let endpoint = inputs.endpoint(*instance)?;
        let host = inputs.topology.path_up(*instance).last()?;
        Some(Rank {
            device: DeviceId(*instance as u32),
            name: inputs.topology.instances[*instance].name.clone(),
            node: hosts.iter().position(|other| *other == host)? as u32,
            engine: kernel_engine(endpoint),
        })
    };
    let ranks: Vec<Rank> = instances.iter().map(rank).collect::<Option<_>>()?;
    let operation = operation(parameters.operation);
    let around = ways::Around { inputs, workload, parameters: &parameters, ranks: &ranks };
    let Done { passes, operations, entries } = passes::all(&around, operation, reading)?;
    let sent: Vec<_> = passes.iter().map(|pass| (pass.algorithm, pass.channels)).collect();
    let layout = Layout { nodes: ranks.iter().map(|rank| rank.node).collect(), entries };
    let sent = pairs(operation, parameters.root, &sent, &layout);
    let ways = around.ways(sent, reading)?;
    let crosses = ways.iter().any(|way| matches!(way.path, Path::Network(_)));
    let mut proxies = Vec::new();
    for host in hosts.iter().filter(|_| crosses) {
        let host = inputs.host(*host)?;
        proxies.push(verbs(&host.verbs));
    }
    if crosses {
        reading.over_network.push(workload);
    }
    Some(CollectiveConfig {
        name: workload.load_name(),
        ranks,
        layout,
        operation,
        root: parameters.root,
        passes,
        operations,
        warm_up: parameters.warm_up,
        ways,
        network: if crosses { reading.networks.config.clone() } else { RdmaNetworkConfig::default() },
        proxies,
    })
}

/// Instances of the devices, each once, two at least.
fn devices(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    parameters: &CollectiveParameters,
    output: &mut Output,
) -> Option<Vec<usize>> {
    let path = workload.path();
    let known = output.diagnostics.len();
    let found = |name: &String, output: &mut Output| endpoints(inputs, workload, "devices", name, output);
    let ring: Vec<usize> = parameters.devices.iter().flat_map(|name| found(name, output)).collect();
    let mut named = BTreeSet::new();
    for instance in ring.iter().filter(|instance| !named.insert(**instance)) {
        let name = inputs.topology.instances[*instance].name.clone();
        output.report(place(workload, "devices"), Problem::DuplicateName { name }, None);
    }
    if output.diagnostics.len() > known {
        return None;
    }
    if ring.len() < 2 {
        let found = parameters.devices.first().map_or("[]", String::as_str).to_owned();
        let (path, reason) = (format!("{path}.devices"), "and a ring needs at least two devices".to_owned());
        let hint = "name each device, or all of a component, such as [\"gpu[*]\"]".to_owned();
        output.report(place(workload, "devices"), Problem::DeviceCount { path, found, reason }, Some(hint));
        return None;
    }
    // What is not plugged in anywhere is reported where it is.
    ring.iter().all(|instance| inputs.is_placed(*instance)).then_some(ring)
}

/// Hosts above the devices, each once, in their order.
fn hosts(inputs: &Inputs<'_>, instances: &[usize]) -> Vec<usize> {
    let mut hosts = Vec::new();
    for host in instances.iter().filter_map(|instance| inputs.topology.path_up(*instance).last()) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

fn check_root(
    workload: &WrittenWorkload,
    parameters: &CollectiveParameters,
    ranks: usize,
    output: &mut Output,
) -> Option<()> {
    let path = workload.path();
    if (parameters.root as usize) < ranks {
        return Some(());
    }
    let (path, found) = (format!("{path}.root"), parameters.root.to_string());
    let problem = Problem::OutOfRange { path, found, low: "0".to_owned(), high: (ranks - 1).to_string() };
    let hint = "a place in `devices`, from 0 on".to_owned();
    output.report(place(workload, "root"), problem, Some(hint));
    None
}

fn operation(choice: OperationChoice) -> Operation {
    match choice {
        OperationChoice::AllReduce => Operation::AllReduce,
        OperationChoice::ReduceScatter => Operation::ReduceScatter,
        OperationChoice::AllGather => Operation::AllGather,
        OperationChoice::Broadcast => Operation::Broadcast,
        OperationChoice::Reduce => Operation::Reduce,
        OperationChoice::AllToAll => Operation::AllToAll,
        OperationChoice::SendReceive => Operation::SendReceive,
    }
}
