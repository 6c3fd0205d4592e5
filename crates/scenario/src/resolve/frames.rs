//! A game loop: which GPUs render it.

use super::Rig;
use super::workload::{endpoints, parameters, unknown};
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::parameters::FramesParameters;
use lanewise_fabric::workload::DeviceId;
use lanewise_workload::frames::FramesConfig;

/// The instrument that a workload asks for; nothing when it names no GPU.
pub(crate) fn config(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    path: &str,
    output: &mut Output,
) -> Option<FramesConfig> {
    let parameters = parameters::<FramesParameters>(workload, path, output)?;
    let found = |name: &String, output: &mut Output| endpoints(rig, workload, "gpus", name, output);
    let instances: Vec<usize> = parameters.gpus.iter().flat_map(|name| found(name, output)).collect();
    if parameters.gpus.is_empty() {
        unknown(rig, workload, "gpus", "[]", "at least one GPU is needed".to_owned(), output);
    }
    if instances.is_empty() {
        return None;
    }
    let named =
        |instance: &usize| (DeviceId(*instance as u32), rig.topology.instances[*instance].name.clone());
    Some(FramesConfig {
        name: workload.name.clone(),
        gpus: instances.iter().map(named).collect(),
        frames: parameters.frames,
        cpu_time: parameters.cpu_time,
        batches: parameters.batches,
        gpu_time: parameters.gpu_time,
        commands: parameters.commands,
        image: parameters.image,
    })
}
