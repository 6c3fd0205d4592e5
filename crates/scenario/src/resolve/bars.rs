//! Base address registers: of memory where a workload has others use it, and whether all fit below 4 GiB.

use super::Inputs;
use super::computed::Computed;
use crate::parameter::{Output, Provenance};
use crate::problem::Problem;
use lanewise_fabric::config::{DeviceKind, FabricConfig};
use lanewise_fabric::{AssemblyError, Machines};
use lanewise_units::Bytes;
use lanewise_workload::LoadConfig;
use std::collections::BTreeMap;

/// BAR of memory where a scenario gives none: as large as that of many a GPU. Assumed.
const MEMORY_BAR: Bytes = Bytes::from_kib(64 << 20);

/// As large as a BAR of at least so many bytes is.
pub(crate) fn power_of_two(size: Bytes) -> Bytes {
    Bytes::new(size.get().next_power_of_two())
}

/// The fabric with a BAR for the memory of each endpoint that others use. Reports BARs that are too small, or too many.
pub(crate) fn of_memory(
    inputs: &Inputs<'_>,
    mut fabric: FabricConfig,
    workloads: &[Box<dyn LoadConfig>],
    computed: &mut Computed,
    output: &mut Output,
) -> FabricConfig {
    if !output.diagnostics.is_empty() {
        return fabric; // Devices may be missing.
    }
    let mut longest: BTreeMap<usize, Bytes> = BTreeMap::new();
    for (device, bytes) in workloads.iter().flat_map(|load| load.peer_memory()) {
        let known = longest.entry(device.0 as usize).or_default();
        *known = bytes.max(*known);
    }
    for (instance, config) in fabric.devices.iter_mut().enumerate() {
        let DeviceKind::Endpoint(endpoint) = &mut config.kind else { continue };
        let used = longest.get(&instance).copied();
        match (endpoint.memory_bar, used) {
            (Some(size), Some(used)) if size < used => too_small(inputs, instance, size, used, output),
            (None, Some(used)) => {
                let size = power_of_two(used.max(MEMORY_BAR));
                endpoint.memory_bar = Some(size);
                if let Some(port) = inputs.port(instance, 0) {
                    let source = "64 GiB, as data-center GPUs have, or the longest transfer there";
                    computed.port(inputs, port, "memory_bar", size.to_string(), Provenance::Assumed, source);
                }
            }
            (Some(_), _) | (None, None) => {}
        }
    }
    if let Err(AssemblyError::NoRoomBelow4Gib { device, no_room }) = Machines::of(&fabric)
        && let Some(host) = inputs.topology.instances.iter().find(|instance| instance.name == device)
    {
        let problem = Problem::NoAddressSpace { path: device, reason: no_room.to_string() };
        let hint = "give fewer devices `bar = \"32-bit\"`, which those of Gen1 and Gen2 have by default, or smaller ones: `register_bar`";
        output.report(inputs.place_of(host.component, &[]), problem, Some(hint.to_owned()));
    }
    fabric
}

fn too_small(inputs: &Inputs<'_>, instance: usize, size: Bytes, used: Bytes, output: &mut Output) {
    let component = inputs.topology.instances[instance].component;
    let path = format!("{}.memory_bar", inputs.file.components[component].name);
    let problem = Problem::OutOfRange {
        path,
        found: size.to_string(),
        low: power_of_two(used).to_string(),
        high: "1024 GiB".to_owned(),
    };
    let hint = "it holds the longest transfer that a workload makes there".to_owned();
    output.report(inputs.place_of(component, &["memory_bar"]), problem, Some(hint));
}
