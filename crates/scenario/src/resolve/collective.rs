//! Collective operations over a ring of devices: their parameters, and from names to a ring.

use super::Inputs;
use super::kinds::{WorkloadKind, kind};
use super::workload::{check_peer_to_peer, endpoints, parameters, place, unknown};
use crate::file::WrittenWorkload;
use crate::parameter::{Output, ParameterTable, parameters};
use crate::problem::Problem;
use crate::value::choices;
use lanewise_fabric::workload::DeviceId;
use lanewise_units::{Bytes, Span};
use lanewise_workload::load::collective::{Collective, CollectiveConfig};
use std::collections::BTreeSet;

/// Collective operations, as nccl-tests time them.
pub(super) const COLLECTIVE: WorkloadKind =
    kind("collective", &CollectiveParameters::SCHEMA, &[], |reading, workload, path| {
        let read = config(reading.inputs, workload, path, reading.output);
        reading.add(read);
    });

choices! {
    /// What is done with the data of all devices.
    OperationChoice, "what is done with the data" {
        /// Every device gets the sum of all data.
        AllReduce = "all-reduce",
        /// Every device gets its part of the sum.
        ReduceScatter = "reduce-scatter",
        /// Every device gets the parts of all.
        AllGather = "all-gather",
    }
}

parameters! {
    /// Collective operations over a ring of devices that write to each other, one operation after another.
    CollectiveParameters, Choice "workload kind \"collective\"" {
        /// The devices, in the order of the ring, such as ["gpu[*]"]; at least two, each once.
        devices: Vec<String> = required,
        Assumed "a choice";
        /// What is done with the data.
        operation: OperationChoice = "all-reduce",
        Assumed "what training of models does most";
        /// Bytes of the data, of which each device has a part as large as the others'.
        size: Bytes = "1 MiB" in "1 KiB" to "64 GiB",
        Assumed "a choice";
        /// From the start of an operation to its first write.
        launch: Span = "5 us" in "0 ns" to "10 s",
        Assumed "start of a kernel: a few microseconds";
        /// From a part that has arrived to the write of the next: the kernel sees it, and adds its own where the operation reduces.
        step_time: Span = "1 us" in "0 ns" to "10 s",
        Assumed "a flag polled in memory of the device, and its fence";
    }
}

/// The instrument that a workload asks for; nothing when its ring is none.
fn config(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    path: &str,
    output: &mut Output,
) -> Option<CollectiveConfig> {
    let parameters = parameters::<CollectiveParameters>(workload, path, output)?;
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
        let named = parameters.devices.first().map_or("[]", String::as_str);
        unknown(inputs, workload, "devices", named, "a ring is of two devices at least".to_owned(), output);
        return None;
    }
    let neighbours = ring.iter().zip(ring.iter().cycle().skip(1));
    // Every pair that cannot is reported.
    let cut = neighbours
        .filter(|(from, to)| !check_peer_to_peer(inputs, workload, path, "devices", (**from, **to), output))
        .count();
    let named =
        |instance: &usize| (DeviceId(*instance as u32), inputs.topology.instances[*instance].name.clone());
    (cut == 0).then(|| CollectiveConfig {
        name: workload.name.clone(),
        devices: ring.iter().map(named).collect(),
        operation: match parameters.operation {
            OperationChoice::AllReduce => Collective::AllReduce,
            OperationChoice::ReduceScatter => Collective::ReduceScatter,
            OperationChoice::AllGather => Collective::AllGather,
        },
        size: parameters.size,
        launch: parameters.launch,
        step_time: parameters.step_time,
    })
}
