//! Where the data of a job on NVMe drives goes to: memory of its host, of an endpoint, or of GPUs.

use super::copies::mover;
use super::nvme::Job;
use super::workload::{check_peer_to_peer, endpoints, place, unfit};
use super::{Inputs, peers};
use crate::parameter::Output;
use crate::parameters::{CudaIoChoice, EngineChoice, IoEngineChoice};
use crate::problem::Problem;
use lanewise_fabric::workload::DeviceId;
use lanewise_workload::load::fio::{DataMemory, GpuConfig, JobTool};

/// The memory of a job over these drives.
pub(crate) fn read(
    inputs: &Inputs<'_>,
    job: &Job<'_>,
    drives: &[usize],
    output: &mut Output,
) -> Option<DataMemory> {
    let Job { workload, parameters, tool } = job;
    // gdsio names its GPUs with a key of its own.
    let key = if *tool == JobTool::Gdsio { "gpu" } else { "gpu_dev_ids" };
    let on_gpus = parameters.ioengine == IoEngineChoice::Libcufile;
    match (on_gpus, parameters.gpu_dev_ids.is_empty(), parameters.iomem.as_str()) {
        (false, true, "memory") => return Some(DataMemory::Host),
        (false, true, name) => {
            let peer = peers::one(inputs, workload, ("iomem", name), output)?;
            return reach(inputs, job, "iomem", (drives, &[peer]), output);
        }
        (false, false, _) => {
            let found = parameters.gpu_dev_ids.join(", ");
            let expected = "only `ioengine = \"libcufile\"` has GPUs";
            let hint = || Some(format!("set `ioengine = \"libcufile\"`, or leave `{key}` out"));
            unfit(inputs, workload, (key, &found), expected, &hint, output);
            return None;
        }
        (true, true, _) => {
            let expected = "GPUs, such as [\"gpu[*]\"]".to_owned();
            let problem = Problem::MissingKey { path: workload.path(), key: key.to_owned(), expected };
            output.report(place(workload, "ioengine"), problem, None);
            return None;
        }
        (true, false, "memory") => {}
        (true, false, name) => {
            let expected = "the data of `libcufile` is in its GPUs";
            let hint = || Some("leave `iomem` out".to_owned());
            unfit(inputs, workload, ("iomem", name), expected, &hint, output);
            return None;
        }
    }
    if parameters.network != "none" {
        let expected = "`libcufile` over a network is not modelled: drives are attached";
        let hint = || Some("leave `network` out, or `gpu_dev_ids` and `ioengine`".to_owned());
        unfit(inputs, workload, ("network", &parameters.network), expected, &hint, output);
        return None;
    }
    let known = output.diagnostics.len();
    let named = parameters.gpu_dev_ids.iter();
    let gpus: Vec<usize> = named.flat_map(|name| endpoints(inputs, workload, key, name, output)).collect();
    if output.diagnostics.len() > known {
        return None;
    }
    match parameters.cuda_io {
        CudaIoChoice::Cufile => reach(inputs, job, key, (drives, &gpus), output),
        CudaIoChoice::Posix => {
            let copied = gpus.iter().map(|gpu| copied(inputs, *gpu));
            copied.collect::<Option<_>>().map(DataMemory::Copied)
        }
    }
}

/// Memory of endpoints, if every drive can reach it.
fn reach(
    inputs: &Inputs<'_>,
    job: &Job<'_>,
    key: &str,
    (drives, memories): (&[usize], &[usize]),
    output: &mut Output,
) -> Option<DataMemory> {
    let mut pairs = drives.iter().flat_map(|drive| memories.iter().map(move |memory| (*drive, *memory)));
    let reachable = pairs.all(|pair| check_peer_to_peer(inputs, job.workload, key, pair, output));
    reachable.then(|| DataMemory::Devices(memories.iter().map(|it| DeviceId(*it as u32)).collect()))
}

/// A GPU whose copy engines move the data from or to pageable memory of its host.
fn copied(inputs: &Inputs<'_>, gpu: usize) -> Option<GpuConfig> {
    let endpoint = inputs.endpoint(gpu)?;
    let mover = mover(EngineChoice::CopyEngine, endpoint, inputs.host_above(gpu));
    Some(GpuConfig {
        device: DeviceId(gpu as u32),
        name: inputs.topology.instances[gpu].name.clone(),
        engine: mover.engine,
        engines: mover.engines,
        costs: mover.costs,
    })
}
