//! The storage of each host: adapters, drives, and IOmeter's workers over them.

use super::kinds::{WorkloadKind, kind};
use super::workload::parameters;
use super::workload::{TARGET_LIMIT, place, unknown};
use super::{Inputs, Settings};
use crate::diagnostic::hint_unless_crowded;
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::nearest::did_you_mean;
use crate::parameter::Output;
use crate::parameter::ParameterTable;
use crate::parameters::{
    AccessLineParameters, AdapterParameters, AssignmentChoice, IometerParameters, SoftwareParameters,
    StorageParameters, WireChoice,
};
use crate::problem::Problem;
use crate::structure::ComponentKind;
use crate::topology::InstanceName;
use crate::value::Auto;
use lanewise_fabric::workload::DeviceId;
use lanewise_network::WireKind;
use lanewise_units::Bytes;
use lanewise_workload::device::hba::{DriveConfig, DrivePlacement, HbaConfig};
use lanewise_workload::host::HostSoftwareConfig;
use lanewise_workload::load::iometer::{AccessLine, IometerConfig, StorageConfig, TargetAssignment};
use std::collections::{BTreeMap, BTreeSet};

/// IOmeter over adapters with drives.
pub(super) const IOMETER: WorkloadKind = kind(
    "iometer",
    &IometerParameters::SCHEMA,
    &[("A line of `access`", &AccessLineParameters::SCHEMA)],
    |reading, workload| {
        let read = parameters(workload, reading.output);
        reading.groups.extend(read.map(|parameters| (workload, parameters)));
    },
);

/// Most drives of all storage together.
const DRIVE_LIMIT: usize = 65_536;

/// Most worker threads of a group, over all its managers.
const WORKER_LIMIT: u32 = 4096;

/// The subsystems that are being put together, by host.
#[derive(Default)]
struct Systems {
    by_host: BTreeMap<usize, StorageConfig>,
    /// Index of each adapter in its subsystem, by instance.
    adapters: BTreeMap<usize, usize>,
    /// Drives that the groups so far name, each counted as often as it is named.
    targets: usize,
}

/// Where a storage component is: its host, and its drives there.
struct Placed {
    host: usize,
    drives: std::ops::Range<usize>,
}

/// One subsystem for each host that has storage in use.
pub(crate) fn build(
    inputs: &Inputs<'_>,
    groups: &[(&WrittenWorkload, IometerParameters)],
    output: &mut Output,
) -> Vec<StorageConfig> {
    let mut systems = Systems::default();
    let mut placed: BTreeMap<usize, Placed> = BTreeMap::new();
    let mut drives = 0;
    for (component, settings) in inputs.settings.iter().enumerate() {
        let Some(Settings::Storage(storage)) = settings else { continue };
        drives += storage.count as usize;
        if drives > DRIVE_LIMIT {
            let (found, allowed) = (drives.to_string(), DRIVE_LIMIT.to_string());
            let place = inputs.place_of(component, &["count"]);
            output.report(place, Problem::TooManyDevices { found, allowed }, None);
            return Vec::new();
        }
        if let Some(location) = place_drives(inputs, component, storage, &mut systems, output) {
            placed.insert(component, location);
        }
    }
    for (workload, parameters) in groups {
        add_group(inputs, workload, parameters, &placed, &mut systems, output);
    }
    systems.by_host.into_values().filter(|system| !system.groups.is_empty()).collect()
}

/// Puts the drives of a component behind their adapter.
fn place_drives(
    inputs: &Inputs<'_>,
    component: usize,
    storage: &StorageParameters,
    systems: &mut Systems,
    output: &mut Output,
) -> Option<Placed> {
    let name = &inputs.file.components[component].name;
    let (instance, adapter) = find_adapter(inputs, component, output)?;
    let host = inputs.topology.path_up(instance).last()?;
    let host_settings = inputs.host(host)?;
    let system = systems.by_host.entry(host).or_insert_with(|| StorageConfig {
        name: inputs.topology.instances[host].name.clone(),
        host: software(host, &host_settings.software),
        hbas: Vec::new(),
        drives: Vec::new(),
        groups: Vec::new(),
    });
    let hba = match systems.adapters.get(&instance) {
        Some(hba) => *hba,
        None => {
            output.loaded.insert(instance);
            system.hbas.push(hba_config(inputs, instance, adapter, output)?);
            systems.adapters.insert(instance, system.hbas.len() - 1);
            system.hbas.len() - 1
        }
    };
    if let Auto::Given(port) = storage.adapter_port
        && port >= adapter.ports
    {
        let (path, high) = (format!("{name}.adapter_port"), (adapter.ports - 1).to_string());
        let (found, low) = (port.to_string(), "0".to_owned());
        let place = inputs.place_of(component, &["adapter_port"]);
        output.report(place, Problem::OutOfRange { path, found, low, high }, None);
        return None;
    }
    check_buffers(inputs, component, storage, system.hbas[hba].wire, output)?;
    let first = system.drives.len();
    for number in 0..storage.count {
        let port = storage.adapter_port.given().unwrap_or(number % adapter.ports);
        let name = format!("{name}[{number}]");
        system.drives.push(DrivePlacement { name, hba, port: port as usize, config: drive(storage) });
    }
    Some(Placed { host, drives: first..system.drives.len() })
}

/// The endpoint that a storage component is attached to, when it is an adapter.
fn find_adapter<'r>(
    inputs: &'r Inputs<'_>,
    component: usize,
    output: &mut Output,
) -> Option<(usize, &'r AdapterParameters)> {
    let written = &inputs.file.components[component];
    let path = written.name.clone();
    let Some((target, place)) = written.structural::<String>("attach", &mut output.diagnostics) else {
        if written.written.get("attach").is_none() {
            let expected = "the adapter that it is behind, such as \"hba0\"".to_owned();
            let problem = Problem::MissingKey { path, key: "attach".to_owned(), expected };
            output.report(written.place, problem, None);
        }
        return None;
    };
    let meant = InstanceName::parse(&target);
    let above = inputs.find(meant.component);
    let refuse = |reason: &str, output: &mut Output| {
        let (target, reason) = (shortened(&target), reason.to_owned());
        let problem = Problem::StorageNeedsAdapter { path: path.clone(), target, reason };
        let hint = "an adapter is an endpoint with a wire, such as `adapter.wire = \"sas-3g\"`";
        output.report(place, problem, Some(hint.to_owned()));
    };
    if inputs.file.is_lost(meant.component) {
        return None;
    }
    if above.is_none()
        && let (device, Some(_)) = InstanceName::split(&target)
        && inputs.find(InstanceName::parse(device).component).is_some()
    {
        refuse("is a slot, but drives are behind an adapter", output);
        return None;
    }
    let Some(above) = above else {
        let problem = Problem::UnknownAttachTarget { path: path.clone(), target: shortened(&target) };
        let hint =
            hint_unless_crowded(&output.diagnostics, || did_you_mean(meant.component, inputs.some_names()));
        output.report(place, problem, hint);
        return None;
    };
    if inputs.file.components[above].kind != ComponentKind::Endpoint {
        refuse("is not an endpoint", output);
        return None;
    }
    let Some(instance) = inputs.one_instance(meant) else {
        refuse("is not one device", output);
        return None;
    };
    let endpoint = inputs.endpoint(instance)?;
    if output.has_problem_in(inputs.place_of(above, &["adapter", "wire"])) {
        return None;
    }
    if endpoint.adapter.wire == WireChoice::None {
        refuse("has no wire", output);
        return None;
    }
    Some((instance, &endpoint.adapter))
}

fn check_buffers(
    inputs: &Inputs<'_>,
    component: usize,
    storage: &StorageParameters,
    wire: WireKind,
    output: &mut Output,
) -> Option<()> {
    let (low, high) = (wire.frame_payload(), storage.buffer);
    if (low..=high).contains(&storage.write_burst) {
        return Some(());
    }
    let path = format!("{}.write_burst", inputs.file.components[component].name);
    let (found, low, high) = (storage.write_burst.to_string(), low.to_string(), high.to_string());
    let hint = "a burst is at least a frame of the wire and fits in the drive's buffer".to_owned();
    let place = inputs.place_of(component, &["write_burst"]);
    output.report(place, Problem::OutOfRange { path, found, low, high }, Some(hint));
    None
}

fn software(instance: usize, software: &SoftwareParameters) -> HostSoftwareConfig {
    HostSoftwareConfig {
        device: DeviceId(instance as u32),
        cores: software.cores,
        worker_cost: software.worker_cost,
        submit_cost: software.submit_cost,
        interrupt_cost: software.interrupt_cost,
        completion_cost: software.completion_cost,
    }
}

fn hba_config(
    inputs: &Inputs<'_>,
    instance: usize,
    adapter: &AdapterParameters,
    output: &mut Output,
) -> Option<HbaConfig> {
    let wire = match adapter.wire {
        WireChoice::None => return None,
        WireChoice::FibreChannel4g => WireKind::FibreChannel4g,
        WireChoice::Sas3g => WireKind::Sas3g,
    };
    let buffers = [
        ("read_buffer", adapter.read_buffer, wire.frame_payload(), "it holds at least a frame of the wire"),
        ("write_buffer", adapter.write_buffer, adapter.read_request, "it holds at least a `read_request`"),
    ];
    for (key, size, least, hint) in buffers {
        if size < least {
            let component = inputs.topology.instances[instance].component;
            let path = format!("{}.adapter.{key}", inputs.file.components[component].name);
            let (found, low, high) = (size.to_string(), least.to_string(), "1 GiB".to_owned());
            let place = inputs.place_of(component, &["adapter", key]);
            output.report(place, Problem::OutOfRange { path, found, low, high }, Some(hint.to_owned()));
            return None;
        }
    }
    Some(HbaConfig {
        name: inputs.topology.instances[instance].name.clone(),
        device: DeviceId(instance as u32),
        wire,
        ports: adapter.ports,
        doorbell: adapter.doorbell,
        command: adapter.command,
        scatter_gather_inline: adapter.scatter_gather_inline,
        scatter_gather_entry: adapter.scatter_gather_entry,
        status: adapter.status,
        command_time: adapter.command_time,
        read_buffer: adapter.read_buffer,
        write_buffer: adapter.write_buffer,
        read_request: adapter.read_request,
        internal_read_bandwidth: adapter.internal_read_bandwidth,
        internal_write_bandwidth: adapter.internal_write_bandwidth,
        internal_bandwidth: adapter.internal_bandwidth,
        interrupt_completions: adapter.interrupt_completions,
        interrupt_delay: adapter.interrupt_delay,
    })
}

fn drive(storage: &StorageParameters) -> DriveConfig {
    DriveConfig {
        capacity: storage.capacity,
        read_rate: storage.read_rate,
        write_rate: storage.write_rate,
        read_overhead: storage.read_overhead,
        write_overhead: storage.write_overhead,
        overhead_variation: storage.overhead_variation,
        turnaround: storage.turnaround,
        positioning: storage.positioning,
        positioning_variation: storage.positioning_variation,
        buffer: storage.buffer,
        read_ahead: storage.read_ahead,
        write_burst: storage.write_burst,
        write_cache: storage.write_cache,
        streams: storage.streams,
        cache_window: storage.cache_window,
    }
}

/// Adds a group of workers to the subsystem that its targets are in.
fn add_group(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    parameters: &IometerParameters,
    placed: &BTreeMap<usize, Placed>,
    systems: &mut Systems,
    output: &mut Output,
) {
    let path = workload.path_of("access");
    let sum: u64 = parameters.access.iter().map(|line| u64::from(line.percent)).sum();
    if sum != 100 {
        let problem = Problem::AccessPercentages { path: path.clone(), found: sum.to_string() };
        output.report(place(workload, "access"), problem, None);
    }
    let Some((host, targets)) = find_targets(inputs, workload, parameters, placed, systems, output) else {
        return;
    };
    let workers = parameters.managers.saturating_mul(parameters.workers);
    if workers > WORKER_LIMIT {
        let path = workload.path_of("workers");
        let (low, high) = ("1".to_owned(), WORKER_LIMIT.to_string());
        let problem = Problem::OutOfRange { path, found: workers.to_string(), low, high };
        output.report(place(workload, "workers"), problem, Some("of all managers together".to_owned()));
    }
    let Some(system) = host.and_then(|host| systems.by_host.get_mut(&host)) else { return };
    system.groups.push(IometerConfig {
        name: workload.load_name(),
        managers: parameters.managers,
        workers,
        targets,
        assignment: match parameters.assignment {
            AssignmentChoice::Split => TargetAssignment::Split,
            AssignmentChoice::Shared => TargetAssignment::Shared,
        },
        outstanding: parameters.outstanding,
        access: parameters.access.iter().map(access_line).collect(),
    });
}

/// The host of the storage that a group names, and its drives; `None` when there are too many of them.
fn find_targets(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    parameters: &IometerParameters,
    placed: &BTreeMap<usize, Placed>,
    systems: &mut Systems,
    output: &mut Output,
) -> Option<(Option<usize>, Vec<usize>)> {
    let mut host = None;
    let mut named = BTreeSet::new();
    let mut targets = Vec::new();
    for name in &parameters.targets {
        let component = inputs.find(name);
        let Some(component) =
            component.filter(|at| inputs.file.components[*at].kind == ComponentKind::Storage)
        else {
            let expected = match inputs.find(name).map(|component| inputs.file.components[component].kind) {
                Some(kind) => format!("that is {}, and storage is needed", kind.noun()),
                None => "there is no storage of this name".to_owned(),
            };
            unknown(inputs, workload, "targets", name, expected, output);
            continue;
        };
        let Some(location) = placed.get(&component) else { continue };
        if host.is_some_and(|host| host != location.host) {
            let expected = "all targets of a group are on one host".to_owned();
            unknown(inputs, workload, "targets", name, expected, output);
            continue;
        }
        host = Some(location.host);
        if !named.insert(component) {
            output.report(place(workload, "targets"), Problem::DuplicateName { name: shortened(name) }, None);
            continue;
        }
        systems.targets += location.drives.len();
        if systems.targets > TARGET_LIMIT {
            let found = format!("{} targets of all workloads", systems.targets);
            let problem = Problem::TooManyDevices { found, allowed: TARGET_LIMIT.to_string() };
            output.report(place(workload, "targets"), problem, None);
            return None;
        }
        targets.extend(location.drives.clone());
        check_capacity(inputs, workload, parameters, component, output);
    }
    if targets.is_empty() && parameters.targets.is_empty() {
        unknown(inputs, workload, "targets", "[]", "at least one storage is needed".to_owned(), output);
    }
    Some((host, targets))
}

/// A request fits on a drive.
fn check_capacity(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    parameters: &IometerParameters,
    component: usize,
    output: &mut Output,
) {
    let Some(Settings::Storage(storage)) = &inputs.settings[component] else { return };
    let largest = parameters.access.iter().map(|line| line.size.max(line.reply)).max();
    if let Some(largest) = largest.filter(|largest| *largest > storage.capacity) {
        let path = workload.path_of("access");
        let (found, low) = (largest.to_string(), Bytes::new(1).to_string());
        let problem = Problem::OutOfRange { path, found, low, high: storage.capacity.to_string() };
        output.report(place(workload, "access"), problem, Some("a request fits on the drive".to_owned()));
    }
}

fn access_line(line: &AccessLineParameters) -> AccessLine {
    AccessLine {
        size: line.size,
        percent: line.percent,
        read_percent: line.read,
        random_percent: line.random,
        delay: line.delay,
        burst_length: line.burst,
        alignment: line.alignment,
        reply: line.reply,
    }
}
