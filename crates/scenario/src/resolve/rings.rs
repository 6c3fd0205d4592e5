//! Frames through descriptor rings: from names to adapters.

use super::Inputs;
use super::kinds::{WorkloadKind, kind};
use super::workload::seats;
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::parameter::ParameterTable;
use crate::parameters::{FrameDirectionChoice, RingsParameters};
use lanewise_fabric::workload::Direction;
use lanewise_workload::load::rings::RingsConfig;

/// Frames through descriptor rings.
pub(super) const RINGS: WorkloadKind = kind("rings", &RingsParameters::SCHEMA, &[], |reading, workload| {
    let read = configs(reading.inputs, workload, reading.output);
    reading.add(read);
});

/// An instrument for each endpoint that the workload names.
pub(crate) fn configs(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    output: &mut Output,
) -> Vec<RingsConfig> {
    let Some((parameters, seats)) = seats(inputs, workload, |read: &RingsParameters| &read.device, output)
    else {
        return Vec::new();
    };
    let configs = seats.into_iter().map(|seat| RingsConfig {
        device: seat.device(),
        name: seat.name,
        device_name: seat.device_name,
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
    });
    configs.collect()
}
