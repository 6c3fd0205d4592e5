//! The turn-around test: which host answers, and how.

use super::kinds::{Group, WorkloadKind, kind};
use super::peers::one;
use super::workload::parameters;
use super::{Inputs, Settings};
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::parameter::ParameterTable;
use crate::parameters::{CacheParameters, ReadingChoice, TurnaroundParameters};
use crate::structure::ComponentKind;
use lanewise_fabric::workload::DeviceId;
use lanewise_units::Span;
use lanewise_workload::load::turnaround::{PollingConfig, Reading, TurnaroundConfig};

/// Turn-around of a device and its host.
pub(super) const TURNAROUND: WorkloadKind =
    kind("turnaround", &TurnaroundParameters::SCHEMA, &[], |reading, workload| {
        let read = config(reading.inputs, workload, reading.output);
        reading.add(read);
    })
    .using(&[Group { of: ComponentKind::Host, key: "cache" }]);

/// The instrument that a workload asks for; nothing when its device is none.
pub(crate) fn config(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    output: &mut Output,
) -> Option<TurnaroundConfig> {
    let parameters = parameters::<TurnaroundParameters>(workload, output)?;
    let device = one(inputs, workload, ("device", &parameters.device), output)?;
    let host = inputs.topology.path_up(device).last()?;
    let (Some(Settings::Host(host)), Some(Settings::Endpoint(endpoint))) =
        (inputs.settings_of(host), inputs.settings_of(device))
    else {
        return None;
    };
    let (reading, unseen) = match parameters.reading {
        ReadingChoice::Poll => (Reading::Poll, endpoint.port.receive_latency),
        ReadingChoice::Read => (Reading::Read, endpoint.port.receive_latency + endpoint.completion_latency),
    };
    Some(TurnaroundConfig {
        name: workload.load_name(),
        device: DeviceId(device as u32),
        device_name: inputs.topology.instances[device].name.clone(),
        reading,
        size: parameters.size,
        answer: parameters.answer,
        pause: parameters.pause,
        host: polling(&host.cache),
        unseen,
    })
}

/// Where a device's write lands, and how long a load of it takes.
fn polling(cache: &CacheParameters) -> PollingConfig {
    let (extra, load) = match cache.injection {
        true => (Span::ZERO, cache.load),
        false => (cache.memory_landing_extra, cache.memory_load),
    };
    PollingConfig {
        landing: cache.landing_latency + extra,
        load,
        interval: cache.poll_interval,
        store: cache.store_latency,
        noise: cache.noise,
    }
}
