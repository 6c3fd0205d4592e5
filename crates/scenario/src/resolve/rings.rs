//! Frames through descriptor rings: from names to adapters.

use super::Rig;
use super::workload::{check_device, endpoints, parameters};
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::parameters::{FrameDirectionChoice, RingsParameters};
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_workload::rings::RingsConfig;

/// An instrument for each endpoint that the workload names.
pub(crate) fn configs(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    path: &str,
    output: &mut Output,
) -> Vec<RingsConfig> {
    let Some(parameters) = parameters::<RingsParameters>(workload, path, output) else {
        check_device(rig, workload, output);
        return Vec::new();
    };
    let devices = endpoints(rig, workload, "device", &parameters.device, output);
    let many = devices.len() > 1;
    let configs = devices.into_iter().map(|device| {
        let device_name = rig.topology.instances[device].name.clone();
        RingsConfig {
            name: if many { format!("{} {device_name}", workload.name) } else { workload.name.clone() },
            device: DeviceId(device as u32),
            device_name,
            direction: match parameters.direction {
                FrameDirectionChoice::Send => Direction::Read,
                FrameDirectionChoice::Receive => Direction::Write,
            },
            frame: parameters.frame,
            descriptor: parameters.descriptor,
            completion: parameters.completion,
            doorbell: parameters.doorbell,
            batch: parameters.batch,
            completion_batch: parameters.completion_batch,
            outstanding: parameters.outstanding,
        }
    });
    configs.collect()
}
