//! Ethernet: from flows between named ports to adapters, the operating system between them, and SmartFlow.

use super::kinds::{WorkloadKind, kind};
use super::workload::{parameters, place, unknown};
use super::{Inputs, Settings};
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::nearest::did_you_mean;
use crate::parameter::Output;
use crate::parameter::ParameterTable;
use crate::parameters::{
    EthernetAdapterParameters, EthernetRateChoice, ServiceChoice, SmartFlowParameters, SmartFlowTestChoice,
    SystemParameters, TrafficFlowParameters,
};
use crate::problem::Problem;
use crate::structure::ComponentKind;
use crate::topology::InstanceName;
use crate::value::Fraction;
use lanewise_fabric::workload::DeviceId;
use lanewise_network::ethernet::{EthernetRate, LARGEST_JUMBO_FRAME, SMALLEST_FRAME};
use lanewise_workload::device::ethernet::NicConfig;
use lanewise_workload::host::bridge::{Service, StackConfig};
use lanewise_workload::load::smartflow::{
    EthernetConfig, Load, Resolution, SmartFlowConfig, SmartFlowTest, TrafficFlow,
};
use std::collections::{BTreeMap, HashSet};

/// SmartFlow over Ethernet adapters.
pub(super) const SMARTFLOW: WorkloadKind = kind(
    "smartflow",
    &SmartFlowParameters::SCHEMA,
    &[("A flow of `flows`", &TrafficFlowParameters::SCHEMA)],
    |reading, workload| {
        let read = smartflow(reading.inputs, workload, &reading.systems, reading.output);
        reading.add(read);
    },
);

/// A port of an adapter in use: the adapter's index among those in use, and the port.
type PortPlace = (usize, usize);

/// What SmartFlow's flows use, as far as it is read.
#[derive(Default)]
struct Used {
    nics: Vec<NicConfig>,
    /// Index of each adapter, by instance.
    by_instance: BTreeMap<usize, usize>,
    host: Option<usize>,
}

/// The instrument of one SmartFlow workload. Nothing when it cannot be made; then there are problems.
pub(crate) fn smartflow(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    systems: &Systems<'_>,
    output: &mut Output,
) -> Option<EthernetConfig> {
    let parameters = &parameters::<SmartFlowParameters>(workload, output)?;
    let problems = output.diagnostics.len();
    check_lists(workload, parameters, output);
    let mut used = Used::default();
    let mut flows = Vec::new();
    for flow in &parameters.flows {
        let from = used.port(inputs, workload, &flow.from, output);
        let to = used.port(inputs, workload, &flow.to, output);
        let (Some(from), Some(to)) = (from, to) else { continue };
        flows.push(traffic(flow, from, to));
        if parameters.bidirectional {
            let back = TrafficFlowParameters { from: flow.to.clone(), to: flow.from.clone(), ..flow.clone() };
            flows.push(traffic(&back, to, from));
        }
    }
    check_bridge(inputs, workload, &used, &flows, output);
    let stack = system(inputs, workload, (systems, used.host), output);
    if output.diagnostics.len() > problems {
        return None;
    }
    Some(EthernetConfig {
        name: workload.load_name(),
        nics: used.nics,
        stack: stack?,
        smartflow: SmartFlowConfig {
            test: test(parameters.test),
            flows,
            sizes: parameters.frame_sizes.clone(),
            loads: parameters.loads.iter().map(|load| Load(millionths(*load))).collect(),
            resolution: Resolution(millionths(parameters.resolution)),
            trial: parameters.trial,
            buckets: parameters.buckets.clone(),
            snapshot_frames: parameters.snapshot_frames,
        },
    })
}

fn traffic(flow: &TrafficFlowParameters, from: PortPlace, to: PortPlace) -> TrafficFlow {
    TrafficFlow {
        name: format!("{} > {}", flow.from, flow.to),
        group: flow.group.clone(),
        priority: flow.priority,
        from,
        to,
    }
}

fn millionths(fraction: Fraction) -> u32 {
    (fraction.0 * 1e6).round() as u32
}

fn test(choice: SmartFlowTestChoice) -> SmartFlowTest {
    match choice {
        SmartFlowTestChoice::Throughput => SmartFlowTest::Throughput,
        SmartFlowTestChoice::FrameLoss => SmartFlowTest::FrameLoss,
        SmartFlowTestChoice::Latency => SmartFlowTest::Latency,
        SmartFlowTestChoice::LatencyDistribution => SmartFlowTest::LatencyDistribution,
        SmartFlowTestChoice::LatencySnapshot => SmartFlowTest::LatencySnapshot,
        SmartFlowTestChoice::SmartTracker => SmartFlowTest::SmartTracker,
    }
}

/// Lists that need an entry have one, and buckets ascend.
fn check_lists(workload: &WrittenWorkload, parameters: &SmartFlowParameters, output: &mut Output) {
    let lengths = [
        ("flows", parameters.flows.len()),
        ("frame_sizes", parameters.frame_sizes.len()),
        ("loads", parameters.loads.len()),
    ];
    for (key, length) in lengths {
        if length == 0 {
            let path = workload.path_of(key);
            let (found, expected) = ("no".to_owned(), "at least one".to_owned());
            output.report(place(workload, key), Problem::WrongLength { path, found, expected }, None);
        }
    }
    let (smallest, largest) = (SMALLEST_FRAME, LARGEST_JUMBO_FRAME);
    if let Some(size) = parameters.frame_sizes.iter().find(|size| !(smallest..=largest).contains(*size)) {
        let path = workload.path_of("frame_sizes");
        let (found, low, high) = (size.to_string(), smallest.to_string(), largest.to_string());
        output.report(place(workload, "frame_sizes"), Problem::OutOfRange { path, found, low, high }, None);
    }
    if let Some(pair) = parameters.buckets.windows(2).find(|pair| pair[0] >= pair[1]) {
        let path = workload.path_of("buckets");
        let (found, low) = (pair[1].to_string(), pair[0].to_string());
        let problem = Problem::OutOfRange { path, found, low, high: "the next one".to_owned() };
        output.report(place(workload, "buckets"), problem, Some("buckets ascend".to_owned()));
    }
}

impl Used {
    /// The port that a name such as `nic0.1` or `nic[2].0` means.
    fn port(
        &mut self,
        inputs: &Inputs<'_>,
        workload: &WrittenWorkload,
        name: &str,
        output: &mut Output,
    ) -> Option<PortPlace> {
        let refuse = |expected: String, output: &mut Output| {
            unknown(inputs, workload, "flows", name, expected, output);
        };
        let Some((device, port)) = name.rsplit_once('.') else {
            refuse("a port is an endpoint and a number, such as \"nic0.0\"".to_owned(), output);
            return None;
        };
        let is_endpoint = |instance: &usize| inputs.component_of(*instance).kind == ComponentKind::Endpoint;
        let Some(instance) = inputs.one_instance(InstanceName::parse(device)).filter(is_endpoint) else {
            refuse("there is no endpoint of this name".to_owned(), output);
            return None;
        };
        let endpoint = inputs.endpoint(instance)?;
        let adapter = &endpoint.ethernet;
        let Some(rate) = rate(adapter.rate) else {
            refuse("that is not an Ethernet adapter: it needs `ethernet.rate`".to_owned(), output);
            return None;
        };
        let Some(port) = port.parse::<usize>().ok().filter(|port| *port < adapter.ports as usize) else {
            refuse(format!("its ports are 0 to {}", adapter.ports - 1), output);
            return None;
        };
        let host = inputs.topology.path_up(instance).last()?;
        if self.host.is_some_and(|other| other != host) {
            refuse("all flows go through one host".to_owned(), output);
            return None;
        }
        self.host = Some(host);
        Some((self.nic(inputs, instance, adapter, rate), port))
    }

    /// Index of an adapter in use.
    fn nic(
        &mut self,
        inputs: &Inputs<'_>,
        instance: usize,
        adapter: &EthernetAdapterParameters,
        rate: EthernetRate,
    ) -> usize {
        if let Some(index) = self.by_instance.get(&instance) {
            return *index;
        }
        self.by_instance.insert(instance, self.nics.len());
        self.nics.push(NicConfig {
            name: inputs.topology.instances[instance].name.clone(),
            device: DeviceId(instance as u32),
            ports: adapter.ports,
            rate,
            descriptor: adapter.descriptor,
            receive_ring: adapter.receive_ring,
            transmit_ring: adapter.transmit_ring,
            descriptor_prefetch: adapter.descriptor_prefetch,
            write_back_batch: adapter.write_back_batch,
            receive_fifo: adapter.receive_fifo,
            transmit_fifo: adapter.transmit_fifo,
            transmit_frames: adapter.transmit_frames,
            frame_time: adapter.frame_time,
            interrupt_interval: adapter.interrupt_interval,
            register: adapter.register,
        });
        self.nics.len() - 1
    }
}

fn rate(choice: EthernetRateChoice) -> Option<EthernetRate> {
    Some(match choice {
        EthernetRateChoice::None => return None,
        EthernetRateChoice::Mbit100 => EthernetRate::Mbit100,
        EthernetRateChoice::Gbit1 => EthernetRate::Gbit1,
        EthernetRateChoice::Gbit10 => EthernetRate::Gbit10,
        EthernetRateChoice::Gbit25 => EthernetRate::Gbit25,
        EthernetRateChoice::Gbit40 => EthernetRate::Gbit40,
        EthernetRateChoice::Gbit100 => EthernetRate::Gbit100,
    })
}

/// Frames that enter at one port all leave by one other, and every line has one rate.
fn check_bridge(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    used: &Used,
    flows: &[TrafficFlow],
    output: &mut Output,
) {
    if used.nics.windows(2).any(|pair| pair[0].rate != pair[1].rate) {
        let expected = "every line of a test has the same rate".to_owned();
        let names = used.nics.iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>().join(", ");
        unknown(inputs, workload, "flows", &names, expected, output);
    }
    let mut entered = HashSet::new();
    for flow in flows {
        if flow.from == flow.to {
            let expected = "a bridge does not send a frame back where it came from".to_owned();
            unknown(inputs, workload, "flows", &flow.name, expected, output);
        }
        if !entered.insert(flow.from) {
            let expected = "another flow enters at this port already".to_owned();
            unknown(inputs, workload, "flows", &flow.name, expected, output);
        }
    }
}

/// The operating system of each host that has one, by the host's component.
pub(crate) type Systems<'r> = BTreeMap<usize, (usize, &'r SystemParameters)>;

/// Reads where every operating system runs.
pub(crate) fn systems<'r>(inputs: &'r Inputs<'_>, output: &mut Output) -> Systems<'r> {
    let mut systems = Systems::new();
    for (component, settings) in inputs.settings.iter().enumerate() {
        let Some(Settings::System(system)) = settings else { continue };
        let Some(host) = host_of(inputs, component, output) else { continue };
        let Some((other, _)) = systems.insert(host, (component, system)) else { continue };
        let name = |at: usize| inputs.file.components[at].name.clone();
        let (path, slot, other) = (name(component), name(host), name(other));
        output.report(
            inputs.place_of(component, &["attach"]),
            Problem::SlotOccupied { path, slot, other },
            Some("a host runs one system".to_owned()),
        );
    }
    systems
}

/// The host that a system runs on.
fn host_of(inputs: &Inputs<'_>, component: usize, output: &mut Output) -> Option<usize> {
    let written = &inputs.file.components[component];
    let path = written.name.clone();
    let Some((target, place)) = written.structural::<String>("attach", &mut output.diagnostics) else {
        if written.written.get("attach").is_none() {
            let expected = "the host that it runs on, such as \"server\"".to_owned();
            let problem = Problem::MissingKey { path, key: "attach".to_owned(), expected };
            output.report(written.place, problem, None);
        }
        return None;
    };
    let host = inputs.find(&target).filter(|at| inputs.file.components[*at].kind == ComponentKind::Host);
    if host.is_none() {
        let (path, found) = (format!("{path}.attach"), shortened(&target));
        let problem = Problem::UnknownDevice { path, found, expected: "a system runs on a host".to_owned() };
        let hosts = inputs.file.components.iter().filter(|component| component.kind == ComponentKind::Host);
        let hint = did_you_mean(&target, hosts.take(1_000).map(|component| component.name.as_str()));
        output.report(place, problem, hint);
    }
    host
}

/// The operating system of the host that the flows go through.
fn system(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    (systems, host): (&Systems<'_>, Option<usize>),
    output: &mut Output,
) -> Option<StackConfig> {
    let host = host?;
    let component = inputs.topology.instances[host].component;
    let found = systems.get(&component);
    if found.is_none() {
        let name = &inputs.file.components[component].name;
        let expected = format!(
            "an operating system that bridges, such as [system.os] with part = \"linux-2.6.9\" and attach = \"{name}\""
        );
        let problem = Problem::MissingKey { path: name.clone(), key: "system".to_owned(), expected };
        output.report(workload.place, problem, None);
    }
    let (written, system) = found?;
    Some(StackConfig {
        device: DeviceId(host as u32),
        system: inputs.file.components[*written].name.clone(),
        cores: system.cores,
        interrupt_cost: system.interrupt_cost,
        interrupt_reads: system.interrupt_reads,
        packet_cost: system.packet_cost,
        byte_cost: system.byte_cost,
        byte_limit: system.byte_limit,
        packet_reads: system.packet_reads,
        packet_writes: system.packet_writes,
        budget: system.budget,
        replenish: system.replenish,
        service: match system.service {
            ServiceChoice::Fifo => Service::Fifo,
            ServiceChoice::StrictPriority => Service::StrictPriority,
        },
    })
}
