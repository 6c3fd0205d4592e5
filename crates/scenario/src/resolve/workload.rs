//! Workloads: every kind, from what is written to an instrument.

use super::computed::Computed;
use super::fabrics::Carrier;
use super::networks::{self, Networks};
use super::rdma::{self, WrittenTool};
use super::{Rig, Settings, copies, ethernet, frames, nvme, place_in, plain, rings, storage, turnaround};
use crate::diagnostic::{Diagnostic, hint_unless_crowded};
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::nearest::{asking, did_you_mean, nearest};
use crate::parameter::{Output, ParameterTable, check_table};
use crate::parameters::{
    FioParameters, IometerParameters, OsuParameters, PerftestParameters, SmartFlowParameters,
    TransactionsParameters, TurnaroundParameters, workload_words,
};
use crate::problem::Problem;
use crate::reader::Reader;
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::topology::InstanceName;
use crate::value::quoted_words;
use lanewise_fabric::workload::{DeviceId, Workload};
use lanewise_workload::copy::{CopyConfig, CopyWorkload};
use lanewise_workload::dma::{DmaConfig, DmaWorkload};
use lanewise_workload::ethernet::{EthernetConfig, EthernetWorkload};
use lanewise_workload::frames::{FramesConfig, FramesWorkload};
use lanewise_workload::mmio::{MmioConfig, MmioWorkload};
use lanewise_workload::nvme::{NvmeConfig, NvmeWorkload};
use lanewise_workload::rdma::{RdmaConfig, RdmaWorkload};
use lanewise_workload::rings::{RingsConfig, RingsWorkload};
use lanewise_workload::storage::{StorageConfig, StorageWorkload};
use lanewise_workload::turnaround::{TurnaroundConfig, TurnaroundWorkload};

/// Keys of a workload that are structure.
pub(crate) const WORKLOAD_KEYS: [&str; 2] = ["kind", "name"];
/// Most instruments that a scenario's workloads may stand for together.
const INSTRUMENT_LIMIT: usize = 65_536;

/// Most drives that all workloads together may name, each counted as often as it is named.
pub(crate) const TARGET_LIMIT: usize = 1 << 20;

/// One instrument, ready to be made.
#[derive(Clone, Debug)]
pub enum WorkloadConfig {
    /// Plain DMA of one endpoint.
    Dma(DmaConfig),
    /// Copies of one device.
    Copy(CopyConfig),
    /// CPU accesses to one endpoint.
    Mmio(MmioConfig),
    /// An adapter with descriptor rings.
    Rings(RingsConfig),
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

impl WorkloadConfig {
    /// The instrument, at rest.
    pub fn build(self) -> Box<dyn Workload> {
        match self {
            Self::Dma(config) => Box::new(DmaWorkload::new(config)),
            Self::Copy(config) => Box::new(CopyWorkload::new(config)),
            Self::Mmio(config) => Box::new(MmioWorkload::new(config)),
            Self::Rings(config) => Box::new(RingsWorkload::new(config)),
            Self::Storage(config) => Box::new(StorageWorkload::new(config)),
            Self::Nvme(config) => Box::new(NvmeWorkload::new(config)),
            Self::Turnaround(config) => Box::new(TurnaroundWorkload::new(config)),
            Self::Rdma(config) => Box::new(RdmaWorkload::new(config)),
            Self::Frames(config) => Box::new(FramesWorkload::new(config)),
            Self::Ethernet(config) => Box::new(EthernetWorkload::new(config)),
        }
    }

    /// Name and kind of each tool that the instrument stands for, in the order of its reports.
    pub fn tools(&self) -> Vec<(String, &'static str)> {
        match self {
            Self::Dma(config) => vec![(config.name.clone(), "dma")],
            Self::Copy(config) => vec![(config.name.clone(), "copy")],
            Self::Mmio(config) => vec![(config.name.clone(), "mmio")],
            Self::Rings(config) => vec![(config.name.clone(), "rings")],
            Self::Storage(_) => vec![("storage".to_owned(), "iometer")],
            Self::Nvme(_) => vec![("nvme".to_owned(), "fio")],
            Self::Turnaround(config) => vec![(config.name.clone(), "turnaround")],
            Self::Frames(config) => vec![(config.name.clone(), "frames")],
            Self::Ethernet(config) => vec![(config.name.clone(), "smartflow")],
            Self::Rdma(config) => {
                config.tools.iter().map(|tool| (tool.name().to_owned(), tool.kind())).collect()
            }
        }
    }
}

/// Reads every workload.
pub(crate) fn read(rig: &Rig<'_>, computed: &mut Computed, output: &mut Output) -> Vec<WorkloadConfig> {
    let mut configs = Vec::new();
    let mut groups = Vec::new();
    let mut jobs = Vec::new();
    let mut tools = Vec::new();
    let mut unread = Vec::new();
    let systems = ethernet::systems(rig, output);
    for workload in &rig.file.workloads {
        let path = format!("workload.{}", workload.name);
        let known = output.diagnostics.len();
        let so_far = [configs.len(), groups.len(), jobs.len(), tools.len()].iter().sum::<usize>();
        match workload.kind.as_str() {
            "dma" => configs.extend(
                plain::dma(rig, workload, &path, computed, output).into_iter().map(WorkloadConfig::Dma),
            ),
            "copy" => configs.extend(
                copies::configs(rig, workload, &path, computed, output).into_iter().map(WorkloadConfig::Copy),
            ),
            "mmio" => configs
                .extend(plain::mmio(rig, workload, &path, output).into_iter().map(WorkloadConfig::Mmio)),
            "rings" => configs
                .extend(rings::configs(rig, workload, &path, output).into_iter().map(WorkloadConfig::Rings)),
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
            // Read before the tree was complete.
            "reassign" => {}
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
                    let config = ethernet::smartflow(rig, workload, &parameters, &systems, output);
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
            "frames" => {
                configs.extend(frames::config(rig, workload, &path, output).map(WorkloadConfig::Frames))
            }
            other => {
                let (found, allowed) = (shortened(other), quoted_words(&workload_words()));
                let problem = Problem::UnknownChoice { path: format!("{path}.kind"), found, allowed };
                let hint = kind_of_tool(other).or_else(|| did_you_mean(other, workload_words()));
                output.diagnostics.push(Diagnostic::at(workload.place, problem).maybe_hint(hint));
            }
        }
        if output.diagnostics.len() > known {
            unread.push(workload);
        }
        let read = [configs.len(), groups.len(), jobs.len(), tools.len()].iter().sum::<usize>();
        let is_move = workload.kind == "reassign";
        assert!(
            read > so_far || is_move || !output.diagnostics.is_empty(),
            "`{path}` vanished without a word"
        );
        if configs.len() > INSTRUMENT_LIMIT {
            let (found, allowed) = (configs.len().to_string(), INSTRUMENT_LIMIT.to_string());
            output.report(workload.place, Problem::TooManyDevices { found, allowed }, None);
            return Vec::new();
        }
    }
    configs.extend(storage::build(rig, &groups, output).into_iter().map(WorkloadConfig::Storage));
    let networks = networks::all(rig, output);
    check_networks(rig, &unread, &tools, &networks, output);
    let carrier = Carrier { networks: &networks, has_tools: !tools.is_empty() };
    configs.extend(nvme::build(rig, &jobs, &carrier, computed, output).map(WorkloadConfig::Nvme));
    configs.extend(rdma::build(rig, &tools, networks, computed, output).map(WorkloadConfig::Rdma));
    configs
}

/// The kind that a tool belongs to whose name is written in place of a kind.
fn kind_of_tool(word: &str) -> Option<String> {
    let word = word.to_ascii_lowercase();
    let starts = |with: &str| word.starts_with(with);
    Some(match word.as_str() {
        _ if starts("ib_") => format!("write `kind = \"perftest\"` and `tool = \"{word}\"`"),
        _ if starts("osu_") => format!("write `kind = \"osu\"` and `test = \"{}\"`", &word[4..]),
        "nvbandwidth" | "bandwidthtest" | "memcpy" => asking("copy"),
        "read" | "write" => format!("write `kind = \"dma\"` and `direction = \"{word}\"`"),
        "nvme" => asking("fio"),
        "rdma" => asking("perftest"),
        _ => return None,
    })
}

/// Looks up the networks of workloads that are wrong elsewhere, so that a wrong name is reported with the rest.
fn check_networks(
    rig: &Rig<'_>,
    unread: &[&WrittenWorkload],
    tools: &[(&WrittenWorkload, WrittenTool)],
    networks: &Networks,
    output: &mut Output,
) {
    for workload in unread {
        let is_looked_up = tools.iter().any(|(other, _)| std::ptr::eq(*other, *workload));
        let written = workload.layers().into_iter().find_map(|layer| layer.table.get("network"));
        let takes_one = matches!(workload.kind.as_str(), "perftest" | "osu" | "transactions");
        if let Some(name) = written.and_then(|node| node.as_str()).filter(|_| takes_one && !is_looked_up) {
            networks.find(rig, workload, name, output);
        }
    }
}

/// The parameters of a workload, of one of its kinds.
pub(crate) fn parameters<P: ParameterTable>(
    workload: &WrittenWorkload,
    path: &str,
    output: &mut Output,
) -> Option<P> {
    for layer in workload.layers() {
        check_table(layer.table, path, &P::SCHEMA, &WORKLOAD_KEYS, &mut output.diagnostics);
    }
    P::read(&mut Reader::new(path, workload.layers(), output).at(workload.place))
}

/// The place of a workload's key, or of its kind.
pub(crate) fn place(workload: &WrittenWorkload, key: &str) -> Place {
    place_in(&workload.layers(), &[key]).unwrap_or(workload.place)
}

/// How many devices a key is about: what is suggested depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    One,
    Any,
}

/// Instances that a name means: `nic0`, `nic[3]`, or all of `nic[*]`.
pub(crate) fn endpoints(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    key: &str,
    name: &str,
    output: &mut Output,
) -> Vec<usize> {
    named(rig, workload, (key, name), Wanted::Any, output)
}

/// The same, suggesting all devices of a name only to a key that takes them.
pub(crate) fn named(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    (key, name): (&str, &str),
    wanted: Wanted,
    output: &mut Output,
) -> Vec<usize> {
    let meant = InstanceName::parse(name);
    let component = rig.find(meant.component);
    let kind = component.map(|component| rig.file.components[component].kind);
    let instances = match (component, kind) {
        (Some(component), Some(ComponentKind::Endpoint)) => rig.topology.instances_of(component),
        _ => {
            let expected = match kind {
                Some(kind) => format!("that is {}, and an endpoint is needed", kind.noun()),
                None => "there is no endpoint of this name".to_owned(),
            };
            unknown(rig, workload, key, name, expected, output);
            return Vec::new();
        }
    };
    let count = instances.len();
    let Some(instances) = meant.among(instances) else {
        let path = format!("workload.{}.{key}", workload.name);
        let problem = Problem::UnknownDevice {
            path,
            found: shortened(name),
            expected: meant.choices(count, wanted == Wanted::Any),
        };
        output.report(place(workload, key), problem, None);
        return Vec::new();
    };
    instances.collect()
}

/// One of the devices that a workload is on, and what its instrument there is called.
pub(crate) struct Seat {
    pub instance: usize,
    /// Each instrument draws its own random numbers, which are named by it.
    pub name: String,
    pub device_name: String,
}

impl Seat {
    pub fn device(&self) -> DeviceId {
        DeviceId(self.instance as u32)
    }

    /// The same device, with an instrument for one of several peers.
    pub fn towards(&self, rig: &Rig<'_>, workload: &WrittenWorkload, peer: usize) -> Self {
        let name = format!("{} {}", workload.name, rig.topology.instances[peer].name);
        Self { instance: self.instance, name, device_name: self.device_name.clone() }
    }
}

/// The parameters of a workload that has an instrument on each device that it names, and these devices.
pub(crate) fn seats<P: ParameterTable>(
    rig: &Rig<'_>,
    workload: &WrittenWorkload,
    path: &str,
    device: fn(&P) -> &str,
    output: &mut Output,
) -> Option<(P, Vec<Seat>)> {
    let Some(parameters) = parameters::<P>(workload, path, output) else {
        // A wrong name is reported with the rest.
        let written = workload.layers().into_iter().find_map(|layer| layer.table.get("device"));
        if let Some(name) = written.and_then(|node| node.as_str()) {
            endpoints(rig, workload, "device", name, output);
        }
        return None;
    };
    let instances = endpoints(rig, workload, "device", device(&parameters), output);
    let many = instances.len() > 1;
    let seat = |instance: usize| {
        let device_name = rig.topology.instances[instance].name.clone();
        let name = if many { format!("{} {device_name}", workload.name) } else { workload.name.clone() };
        Seat { instance, name, device_name }
    };
    Some((parameters, instances.into_iter().map(seat).collect()))
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
    if rig.file.is_lost(found) || rig.file.is_lost(InstanceName::parse(found).component) {
        return;
    }
    let path = format!("workload.{}.{key}", workload.name);
    // The name that was found, with or without an index, is not offered again.
    let component = InstanceName::parse(found).component;
    let others = |component| rig.some_names().filter(move |name| *name != component);
    let hint = hint_unless_crowded(&output.diagnostics, || {
        let asked = name_meant(rig, key, found).map(asking);
        asked.or_else(|| did_you_mean(found, others(component))).or_else(|| rig.names_hint(component))
    });
    let problem = Problem::UnknownDevice { path, found: shortened(found), expected };
    output.report(place(workload, key), problem, hint);
}

/// The device that a name stands for which is nearly one: `endpoint.nic[*]`, `nic*` and `nci[*]` for `nic[*]`, `nic0` for `nic[0]`.
fn name_meant(rig: &Rig<'_>, key: &str, found: &str) -> Option<String> {
    if let Some((_, rest)) =
        found.split_once('.').filter(|(kind, _)| ComponentKind::from_word(kind).is_some())
    {
        return rig.find(InstanceName::parse(rest).component).map(|_| rest.to_owned());
    }
    let plain = InstanceName::parse(found).component;
    let kind = rig.find(plain).map(|at| rig.file.components[at].kind);
    if key == "target" && (found.eq_ignore_ascii_case("memory") || kind == Some(ComponentKind::Host)) {
        return Some("memory".to_owned());
    }
    if let Some((component, index)) = found.split_once('[') {
        return nearest(component, rig.some_names().filter(|name| *name != component))
            .map(|name| format!("{name}[{index}"));
    }
    let component = plain.trim_end_matches(|c: char| c.is_ascii_digit() || c == '*');
    let index = &plain[component.len()..];
    let count = rig.topology.instances_of(rig.find(component)?).len();
    (count > 1 && !index.is_empty()).then(|| format!("{component}[{index}]"))
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
    if !rig.is_placed(from) || !rig.is_placed(to) {
        return false;
    }
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
