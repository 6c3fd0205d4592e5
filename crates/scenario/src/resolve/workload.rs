//! Workloads: from names to devices.

use super::computed::Computed;
use super::fabrics::Carrier;
use super::rdma::{self, WrittenTool};
use super::{Rig, Settings, ethernet, nvme, place_in, storage, turnaround};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::parameter::{Output, ParameterTable, Provenance, check_table};
use crate::parameters::{
    DirectionChoice, DmaParameters, FioParameters, FramesParameters, IometerParameters, MmioDirectionChoice,
    MmioParameters, OrderChoice, OsuParameters, PerftestParameters, SmartFlowParameters,
    TransactionsParameters, TurnaroundParameters,
};
use crate::problem::Problem;
use crate::reader::Reader;
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::value::{Auto, quoted_words};
use lanewise_fabric::workload::{DeviceId, Target};
use lanewise_units::Bytes;
use lanewise_workload::dma::{DmaConfig, DmaDirection, OffsetOrder};
use lanewise_workload::ethernet::EthernetConfig;
use lanewise_workload::frames::FramesConfig;
use lanewise_workload::mmio::{MmioConfig, MmioDirection, Pacing};
use lanewise_workload::nvme::NvmeConfig;
use lanewise_workload::rdma::RdmaConfig;
use lanewise_workload::storage::StorageConfig;
use lanewise_workload::turnaround::TurnaroundConfig;

/// Keys of a workload that are structure.
pub(crate) const WORKLOAD_KEYS: [&str; 2] = ["kind", "name"];
/// Kinds of workload.
pub(crate) const WORKLOAD_KINDS: [&str; 10] =
    ["dma", "mmio", "iometer", "fio", "perftest", "osu", "transactions", "smartflow", "frames", "turnaround"];
/// Most instruments that a scenario's workloads may stand for together.
const INSTRUMENT_LIMIT: usize = 65_536;

/// One instrument, ready to be made.
#[derive(Clone, Debug)]
pub enum WorkloadConfig {
    /// Plain DMA of one endpoint.
    Dma(DmaConfig),
    /// CPU accesses to one endpoint.
    Mmio(MmioConfig),
    /// The storage of one host, with every group of IOmeter workers over it.
    Storage(StorageConfig),
    /// Every NVMe drive in use, with all of fio's jobs.
    Nvme(NvmeConfig),
    /// A device and an analyzer on its link.
    Turnaround(TurnaroundConfig),
    /// RDMA adapters and networks, with every tool over them.
    Rdma(RdmaConfig),
    /// A game loop over GPUs.
    Frames(FramesConfig),
    /// Ethernet adapters of one host, the operating system between them, and SmartFlow.
    Ethernet(EthernetConfig),
}

/// Reads every workload.
pub(crate) fn read(rig: &Rig<'_>, computed: &mut Computed, output: &mut Output) -> Vec<WorkloadConfig> {
    let mut configs = Vec::new();
    let mut groups = Vec::new();
    let mut jobs = Vec::new();
    let mut tools = Vec::new();
    for workload in &rig.file.workloads {
        let path = format!("workload.{}", workload.name);
        match workload.kind.as_str() {
            "dma" => configs
                .extend(dma(rig, workload, &path, computed, output).into_iter().map(WorkloadConfig::Dma)),
            "mmio" => {
                configs.extend(mmio(rig, workload, &path, output).into_iter().map(WorkloadConfig::Mmio))
            }
            "iometer" => {
                if let Some(parameters) = parameters::<IometerParameters>(workload, &path, output) {
                    groups.push((workload, parameters));
                }
            }
            "fio" => {
                if let Some(parameters) = parameters::<FioParameters>(workload, &path, output) {
                    jobs.push((workload, parameters));
                }
            }
            "turnaround" => {
                if let Some(parameters) = parameters::<TurnaroundParameters>(workload, &path, output) {
                    let config = turnaround::config(rig, workload, &parameters, output);
                    configs.extend(config.map(WorkloadConfig::Turnaround));
                }
            }
            "perftest" => {
                let read = parameters::<PerftestParameters>(workload, &path, output);
                tools.extend(read.map(|parameters| (workload, WrittenTool::Perftest(parameters))));
            }
            "smartflow" => {
                if let Some(parameters) = parameters::<SmartFlowParameters>(workload, &path, output) {
                    let config = ethernet::smartflow(rig, workload, &parameters, output);
                    configs.extend(config.map(WorkloadConfig::Ethernet));
                }
            }
            "osu" => {
                let read = parameters::<OsuParameters>(workload, &path, output);
                tools.extend(read.map(|parameters| (workload, WrittenTool::Osu(parameters))));
            }
            "transactions" => {
                let read = parameters::<TransactionsParameters>(workload, &path, output);
                tools.extend(read.map(|parameters| (workload, WrittenTool::Transactions(parameters))));
            }
            "frames" => configs.extend(frames(rig, workload, &path, output).map(WorkloadConfig::Frames)),
            other => {
                let (found, allowed) = (shortened(other), quoted_words(&WORKLOAD_KINDS));
                let problem = Problem::UnknownChoice { path: format!("{path}.kind"), found, allowed };
                let hint = did_you_mean(other, WORKLOAD_KINDS);
                output.diagnostics.push(Diagnostic::at(workload.place, problem).maybe_hint(hint));
            }
        }
        if configs.len() > INSTRUMENT_LIMIT {
            let (found, allowed) = (configs.len().to_string(), INSTRUMENT_LIMIT.to_string());
            output.report(workload.place, Problem::TooManyDevices { found, allowed }, None);
            return Vec::new();
        }
    }
    configs.extend(storage::build(rig, &groups, output).into_iter().map(WorkloadConfig::Storage));
    let networks = rdma::networks(rig, output);
    let carrier = Carrier { networks: &networks, has_tools: !tools.is_empty() };
    configs.extend(nvme::build(rig, &jobs, &carrier, output).map(WorkloadConfig::Nvme));
    configs.extend(rdma::build(rig, &tools, networks, computed, output).map(WorkloadConfig::Rdma));
    configs
}

fn parameters<P: ParameterTable>(workload: &WrittenWorkload, path: &str, output: &mut Output) -> Option<P> {
    for layer in workload.layers() {
        check_table(layer.table, path, &P::SCHEMA, &WORKLOAD_KEYS, &mut output.diagnostics);
    }
    P::read(&mut Reader::new(path, workload.layers(), output))
}

/// The place of a workload's key, or of its kind.
pub(crate) fn place(workload: &WrittenWorkload, key: &str) -> Place {
    place_in(&workload.layers(), &[key]).unwrap_or(workload.place)
}

fn dma(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    path: &str,
    computed: &mut Computed,
    output: &mut Output,
) -> Vec<DmaConfig> {
    let Some(parameters) = parameters::<DmaParameters>(workload, path, output) else { return Vec::new() };
    let devices = endpoints(rig, workload, "device", &parameters.device, output);
    let target = match parameters.target.as_str() {
        "memory" => None,
        name => match endpoints(rig, workload, "target", name, output)[..] {
            [one] => Some(one),
            _ => return Vec::new(),
        },
    };
    let page = Bytes::from_kib(4);
    let stride = parameters.stride.given().unwrap_or(parameters.size.round_up_to(page));
    let span = parameters.span.given().unwrap_or(Bytes::from_kib(64 * 1024).max(stride * 8));
    if parameters.stride == Auto::Auto {
        let source = "the size, rounded up to a page: a buffer for each operation";
        computed.parameter(format!("{path}.stride"), stride.to_string(), Provenance::Assumed, source);
    }
    if parameters.span == Auto::Auto {
        let source = "64 MiB or eight strides, whichever is more";
        computed.parameter(format!("{path}.span"), span.to_string(), Provenance::Assumed, source);
    }
    if span < stride {
        let (low, high) = (stride.to_string(), "1 PiB".to_owned());
        let problem =
            Problem::OutOfRange { path: format!("{path}.span"), found: span.to_string(), low, high };
        output.report(
            place(workload, "span"),
            problem,
            Some("the span holds at least one stride".to_owned()),
        );
        return Vec::new();
    }
    let many = devices.len() > 1;
    let mut configs = Vec::new();
    for device in devices {
        if let Some(target) = target
            && !check_peer_to_peer(rig, workload, path, "target", (device, target), output)
        {
            break;
        }
        let device_name = rig.topology.instances[device].name.clone();
        configs.push(DmaConfig {
            // Each instance draws its own random numbers, which are named by the workload.
            name: if many { format!("{} {device_name}", workload.name) } else { workload.name.clone() },
            device: DeviceId(device as u32),
            device_name,
            direction: match parameters.direction {
                DirectionChoice::Read => DmaDirection::Read,
                DirectionChoice::Write => DmaDirection::Write,
                DirectionChoice::Both => DmaDirection::Both,
            },
            target: target.map_or(Target::HostMemory, |target| Target::Endpoint(DeviceId(target as u32))),
            size: parameters.size,
            outstanding: parameters.outstanding,
            offset: parameters.offset.get(),
            stride,
            span,
            order: match parameters.order {
                OrderChoice::Sequential => OffsetOrder::Sequential,
                OrderChoice::Random => OffsetOrder::Random,
            },
        });
    }
    configs
}

fn mmio(rig: &Rig<'_>, workload: &WrittenWorkload, path: &str, output: &mut Output) -> Vec<MmioConfig> {
    let Some(parameters) = parameters::<MmioParameters>(workload, path, output) else { return Vec::new() };
    let devices = endpoints(rig, workload, "device", &parameters.device, output);
    let many = devices.len() > 1;
    let configs = devices.into_iter().map(|device| {
        let device_name = rig.topology.instances[device].name.clone();
        MmioConfig {
            name: if many { format!("{} {device_name}", workload.name) } else { workload.name.clone() },
            device: DeviceId(device as u32),
            device_name,
            direction: match parameters.direction {
                MmioDirectionChoice::Read => MmioDirection::Read,
                MmioDirectionChoice::Write => MmioDirection::Write,
            },
            size: parameters.size,
            pacing: match parameters.interval {
                Some(interval) => Pacing::Open { interval },
                None => Pacing::Closed { outstanding: parameters.outstanding },
            },
        }
    });
    configs.collect()
}

fn frames(
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

/// Instances that a name means: `nic0`, `nic[3]`, or all of `nic[*]`.
pub(crate) fn endpoints(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    key: &str,
    name: &str,
    output: &mut Output,
) -> Vec<usize> {
    let (base, index) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        Some((base, index)) => (base, Some(index)),
        None => (name, None),
    };
    let component = rig.find(base);
    let kind = component.map(|component| rig.file.components[component].kind);
    let instances: Vec<usize> = match (component, kind) {
        (Some(component), Some(ComponentKind::Endpoint)) => {
            rig.topology.instances_of(component).collect::<Vec<_>>()
        }
        _ => {
            let expected = match kind {
                Some(kind) => format!("that is a {}, and an endpoint is needed", kind.word()),
                None => "there is no endpoint of this name".to_owned(),
            };
            unknown(rig, workload, key, name, expected, output);
            return Vec::new();
        }
    };
    match index {
        Some("*") => instances,
        None if instances.len() == 1 => instances,
        index => {
            let index = index.and_then(|index| index.parse::<usize>().ok());
            match index.and_then(|index| instances.get(index)) {
                Some(instance) => vec![*instance],
                None => {
                    let expected =
                        format!("there are {}: `{base}[0]` and so on, or `{base}[*]`", instances.len());
                    unknown(rig, workload, key, name, expected, output);
                    Vec::new()
                }
            }
        }
    }
}

/// The name means nothing here.
pub(crate) fn unknown(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    key: &str,
    found: &str,
    expected: String,
    output: &mut Output,
) {
    let path = format!("workload.{}.{key}", workload.name);
    let hint = did_you_mean(found, rig.some_names());
    let problem = Problem::UnknownDevice { path, found: shortened(found), expected };
    output.report(place(workload, key), problem, hint);
}

/// Whether traffic between two endpoints finds its way.
pub(crate) fn check_peer_to_peer(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    path: &str,
    key: &str,
    (from, to): (usize, usize),
    output: &mut Output,
) -> bool {
    let up: Vec<usize> = rig.topology.path_up(from).collect();
    let meeting = rig.topology.path_up(to).find(|instance| up.contains(instance));
    match meeting {
        Some(instance) if instance == from => {
            let expected = "a device does not write to itself".to_owned();
            unknown(rig, workload, key, &rig.topology.instances[to].name, expected, output);
            false
        }
        Some(instance) => match rig.settings_of(instance) {
            Some(Settings::Host(host)) if !host.peer_to_peer => {
                let host = rig.component_of(instance).name.clone();
                let hint =
                    format!("set `{host}.peer_to_peer = true` if it does, or put both below one switch");
                let problem = Problem::PeerToPeerBlocked { path: path.to_owned(), host };
                output.report(place(workload, key), problem, Some(hint));
                false
            }
            _ => true,
        },
        None => {
            let expected = "it is below another host".to_owned();
            unknown(rig, workload, key, &rig.topology.instances[to].name, expected, output);
            false
        }
    }
}
