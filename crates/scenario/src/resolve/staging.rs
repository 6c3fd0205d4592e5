//! Where an NVMe over Fabrics target stages data: in host memory, in the drives, or in another device's memory.

use super::Inputs;
use super::nvme::blocks;
use super::peers;
use super::workload::{check_peer_to_peer, place, unfit};
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::parameters::{FioParameters, NvmeParameters};
use crate::problem::Problem;
use lanewise_fabric::workload::DeviceId;
use lanewise_workload::load::fio::Staging;

/// Staging is the business of a target: a job on attached drives has none.
pub(crate) fn none_without_network(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    parameters: &FioParameters,
    output: &mut Output,
) -> bool {
    let none = parameters.staging == "memory";
    if !none {
        let expected =
            "only a job over a `network` has a target that stages data; for attached drives see `iomem`";
        let hint = "leave `staging` out, or name the network that the job goes over: `network = \"…\"`";
        unfit(
            inputs,
            workload,
            ("staging", &parameters.staging),
            expected,
            &|| Some(hint.to_owned()),
            output,
        );
    }
    none
}

/// Where the target behind `adapter` stages data of a job over these drives.
pub(crate) fn read(
    inputs: &Inputs<'_>,
    (workload, parameters): (&WrittenWorkload, &FioParameters),
    adapter: usize,
    drives: &[(usize, &NvmeParameters)],
    output: &mut Output,
) -> Option<Staging> {
    let mut reach = |from, to| check_peer_to_peer(inputs, workload, "staging", (from, to), output);
    match parameters.staging.as_str() {
        "memory" => Some(Staging::HostMemory),
        "drive" => {
            let reachable = drives.iter().all(|(drive, _)| reach(adapter, *drive));
            let fits = drives.iter().all(|drive| holds(inputs, (workload, parameters), drive, output));
            (reachable && fits).then_some(Staging::Drive)
        }
        name => {
            let device = peers::one(inputs, workload, ("staging", name), output)?;
            let mut reach = |from| check_peer_to_peer(inputs, workload, "staging", (from, device), output);
            let reachable = reach(adapter) && drives.iter().all(|(drive, _)| reach(*drive));
            reachable.then_some(Staging::Device(DeviceId(device as u32)))
        }
    }
}

/// Whether the controller memory buffer of a drive holds all that the job may have in flight on it.
fn holds(
    inputs: &Inputs<'_>,
    (workload, parameters): (&WrittenWorkload, &FioParameters),
    (drive, nvme): &(usize, &NvmeParameters),
    output: &mut Output,
) -> bool {
    let name = &inputs.topology.instances[*drive].name;
    let Some(buffer) = nvme.controller_memory_buffer else {
        let expected = format!("`{name}` has no controller memory buffer");
        let hint = "set `nvme.controller_memory_buffer` of the drives, or leave `staging` out";
        unfit(inputs, workload, ("staging", "drive"), &expected, &|| Some(hint.to_owned()), output);
        return false;
    };
    // I/Os take turns over the drives, but nothing keeps all of them from being on one.
    let needed = Staging::room(
        blocks(parameters).largest(),
        u64::from(parameters.iodepth) * u64::from(parameters.numjobs),
    );
    if needed > buffer {
        let path = workload.path_of("staging");
        let problem = Problem::OutOfRange {
            path,
            found: format!("{needed} in flight"),
            low: "0 B".to_owned(),
            high: format!("{buffer}, the controller memory buffer of `{name}`"),
        };
        let hint = "a lower `iodepth`, `numjobs` or `bs`".to_owned();
        output.report(place(workload, "staging"), problem, Some(hint));
        return false;
    }
    true
}
