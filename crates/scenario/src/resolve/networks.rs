//! Networks: both ends of each, the adapters there, and the wire between them. Those that end at switches: `network_switches`.

use super::computed::Computed;
use super::network_switches::{self, Switches};
use super::workload::place;
use super::{Inputs, Settings, place_in};
use crate::diagnostic::hint_unless_crowded;
use crate::document::shortened;
use crate::file::WrittenWorkload;
use crate::idle::{Caution, Effect};
use crate::nearest::{did_you_mean, listing};
use crate::parameter::{Output, Provenance};
use crate::parameters::{
    HostParameters, NetworkKindChoice, NetworkParameters, RdmaParameters, VerbsParameters,
};
use crate::problem::Problem;
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::topology::InstanceName;
use crate::value::{Auto, ParameterType};
use lanewise_fabric::workload::DeviceId;
use lanewise_network::NetworkWire;
use lanewise_network::infiniband::InfinibandRate;
use lanewise_units::{Bytes, Rate, Span};
use lanewise_workload::device::rdma::{NicPort, RdmaLinkConfig, RdmaNetworkConfig, RdmaNicConfig};
use lanewise_workload::host::VerbsHostConfig;
use std::collections::{BTreeMap, BTreeSet};

/// Payload of a TCP segment: 1,500 B less 20 B of IP and 32 B of TCP with time stamps.
const SEGMENT: Bytes = Bytes::new(1448);
/// Data rate of Ethernet whose adapters do not say theirs: 100 Gb/s.
pub(super) const UNSTATED: Rate = Rate::from_bytes_per_second(12_500_000_000);

/// The networks of a scenario.
#[derive(Default)]
pub(crate) struct Networks {
    pub config: RdmaNetworkConfig,
    /// Index of the link, by component.
    links: BTreeMap<usize, usize>,
    /// Index of each adapter, by instance.
    nics: BTreeMap<usize, usize>,
    /// What RoCE adds to each of its latencies, by adapter.
    roce_latencies: Vec<Span>,
    /// Data rate of a port on Ethernet, by adapter, where it is said.
    port_rates: Vec<Option<Rate>>,
    /// Adapters that are asked for it.
    asked_for_rates: BTreeSet<usize>,
    /// Ports that have a wire: index of the adapter, and port.
    pub(super) wired: BTreeSet<(usize, u32)>,
    /// Ports of adapters that a network joins to switches, by component.
    pub(super) members: BTreeMap<usize, Vec<NicPort>>,
    /// Of each port at a switch: one of the switches that reach each other, the same for all of them.
    pub(super) islands: BTreeMap<NicPort, usize>,
    /// Whether something is wrong with a network, which is reported: what it joins is not known.
    pub(super) is_partial: bool,
}

/// Every adapter that a network ends at, and every network.
pub(crate) fn all(inputs: &Inputs<'_>, computed: &mut Computed, output: &mut Output) -> Networks {
    let mut networks = Networks {
        config: RdmaNetworkConfig::default(),
        links: BTreeMap::new(),
        nics: BTreeMap::new(),
        roce_latencies: Vec::new(),
        port_rates: Vec::new(),
        asked_for_rates: BTreeSet::new(),
        wired: BTreeSet::new(),
        members: BTreeMap::new(),
        islands: BTreeMap::new(),
        is_partial: false,
    };
    let problems = output.diagnostics.len();
    let mut switches = Switches::read(inputs);
    for (component, settings) in inputs.settings.iter().enumerate() {
        let Some(Settings::Network(network)) = settings else { continue };
        let Some((names, place)) = names_of_ends(inputs, component, output) else { continue };
        check_lanes(inputs, component, network, output);
        if names.iter().any(|name| switches.has(inputs, name)) {
            network_switches::join(
                inputs,
                (component, network),
                (&names, place),
                &mut networks,
                &mut switches,
                computed,
                output,
            );
            continue;
        }
        let Some(ends) = ends(inputs, component, (&names, place), &mut networks, output) else { continue };
        for (key, reason) in [("wires", "an adapter's port has one wire"), ("layout", "there is no switch")] {
            output.idle.because(format!("{}.{key}", inputs.file.components[component].name), reason);
        }
        check_mtu(inputs, component, network, &ends, &networks, output);
        let rate = ethernet_rate(inputs, (component, network), &ends, &mut networks, computed, output);
        networks.links.insert(component, networks.config.links.len());
        networks.config.links.push(RdmaLinkConfig {
            name: inputs.file.components[component].name.clone(),
            ends,
            wire: wire(network, rate),
            mtu: if network.kind == NetworkKindChoice::Ethernet { SEGMENT } else { network.mtu.0 },
            latency: network.propagation + network.switch_latency + encapsulation(network, &ends, &networks),
        });
    }
    switches.finish(inputs, &mut networks, computed, output);
    networks.say_who_is_not_asked(inputs, output);
    networks.is_partial = output.diagnostics.len() > problems;
    networks
}

impl Networks {
    /// Adapters whose rates on Ethernet nobody asks for: where networks say theirs, or are InfiniBand.
    fn say_who_is_not_asked(&self, inputs: &Inputs<'_>, output: &mut Output) {
        let asked = self.asked_for_rates.iter().map(|nic| self.config.nics[*nic].device.0 as usize);
        let asked: BTreeSet<usize> =
            asked.map(|instance| inputs.topology.instances[instance].component).collect();
        for (component, settings) in inputs.settings.iter().enumerate() {
            let Some(Settings::Endpoint(endpoint)) = settings else { continue };
            if endpoint.rdma.ports > 0 && !asked.contains(&component) {
                let path = format!("{}.rdma.port_rate", inputs.file.components[component].name);
                output.idle.because(path, "only Ethernet or RoCE whose `rate` is \"auto\" asks for it");
            }
        }
    }

    /// The network that a workload names, by component.
    pub(crate) fn named(
        &self,
        inputs: &Inputs<'_>,
        workload: &WrittenWorkload,
        name: &str,
        output: &mut Output,
    ) -> Option<usize> {
        let component = inputs.find(name);
        let kind = component.map(|component| inputs.file.components[component].kind);
        if kind != Some(ComponentKind::Network) {
            refuse_name(inputs, workload, name, output);
            return None;
        }
        component
    }

    /// The wire of a network; none of one with switches, or when what is wrong with it has been reported.
    pub(crate) fn link(&self, component: usize) -> Option<usize> {
        self.links.get(&component).copied()
    }

    /// Instance of the host above an adapter.
    pub(crate) fn host_instance(&self, inputs: &Inputs<'_>, nic: usize) -> Option<usize> {
        inputs.topology.path_up(self.config.nics[nic].device.0 as usize).last()
    }

    /// The ports that a network joins to switches; none of a network that is one wire.
    pub(crate) fn members(&self, component: usize) -> Option<&[NicPort]> {
        self.members.get(&component).map(Vec::as_slice)
    }

    /// Whether packets of one port find the other: over one wire, or over switches.
    pub(crate) fn are_joined(&self, ends: [NicPort; 2]) -> bool {
        let [first, second] = ends.map(|end| self.islands.get(&end));
        let by_wire =
            self.config.links.iter().any(|link| link.ends == ends || link.ends == [ends[1], ends[0]]);
        by_wire || first.is_some() && first == second
    }

    /// Host above an adapter.
    pub(crate) fn host<'r>(&self, inputs: &'r Inputs<'_>, nic: usize) -> Option<&'r HostParameters> {
        inputs.host(self.host_instance(inputs, nic)?)
    }

    /// Drivers of two ports.
    pub(crate) fn drivers(&self, inputs: &Inputs<'_>, ends: [NicPort; 2]) -> Option<[VerbsHostConfig; 2]> {
        let [first, second] = ends.map(|end| self.host(inputs, end.nic));
        Some([verbs(&first?.verbs), verbs(&second?.verbs)])
    }
}

/// Whether a wire is Ethernet without RDMA.
pub(super) fn is_ethernet(wire: &RdmaLinkConfig) -> bool {
    matches!(wire.wire, NetworkWire::Ethernet { .. })
}

/// How to make a network one of another kind.
pub(super) fn kind_hint(network: &str, kind: &str) -> String {
    format!("set `kind = \"{kind}\"` in `[network.{network}]`")
}

/// Reports a name that is none of a network, with those that are.
fn refuse_name(inputs: &Inputs<'_>, workload: &WrittenWorkload, name: &str, output: &mut Output) {
    if inputs.file.is_lost(name) {
        return;
    }
    let networks = || {
        let components = inputs.file.components.iter().take(1_000);
        components.filter(|other| other.kind == ComponentKind::Network).map(|other| other.name.as_str())
    };
    let hint = hint_unless_crowded(&output.diagnostics, || {
        let none = || Some("the file has no `[network.NAME]`".to_owned());
        did_you_mean(name, networks()).or_else(|| listing("networks", networks())).or_else(none)
    });
    let is_written = |key: &str| place_in(&workload.layers(), &[key]).is_some();
    let key = if is_written("networks") { "networks" } else { "network" };
    let (path, found) = (workload.path_of(key), shortened(name));
    let expected = "there is no network of this name".to_owned();
    output.report(place(workload, key), Problem::UnknownDevice { path, found, expected }, hint);
}

/// What both ends of a network are called.
fn names_of_ends(inputs: &Inputs<'_>, component: usize, output: &mut Output) -> Option<([String; 2], Place)> {
    let written = &inputs.file.components[component];
    let expected = "two ports, such as [\"nic0.port1\", \"nic1.port1\"]";
    let Some((names, place)) = written.structural::<Vec<String>>("ends", &mut output.diagnostics) else {
        if written.written.get("ends").is_none() {
            let (path, expected) = (written.name.clone(), expected.to_owned());
            let problem = Problem::MissingKey { path, key: "ends".to_owned(), expected };
            output.report(written.place, problem, None);
        }
        return None;
    };
    let found = names.len().to_string();
    let Ok(names) = <[String; 2]>::try_from(names) else {
        let path = format!("{}.ends", written.name);
        output.report(place, Problem::WrongLength { path, found, expected: "2".to_owned() }, None);
        return None;
    };
    Some((names, place))
}

/// Both ends of a wire between two adapters.
fn ends(
    inputs: &Inputs<'_>,
    component: usize,
    (names, place): (&[String; 2], Place),
    networks: &mut Networks,
    output: &mut Output,
) -> Option<[NicPort; 2]> {
    // Both are looked at, so that every mistake is reported.
    let first = end(inputs, component, &names[0], place, networks, output);
    let second = end(inputs, component, &names[1], place, networks, output);
    let ends = [first?, second?];
    if ends[0] == ends[1] {
        let reason = "is its other end, too: what an adapter sends to itself goes over a wire between two of its ports";
        return refuse(inputs, component, &names[0], reason, place, output);
    }
    for (end, name) in ends.iter().zip(names) {
        if !networks.wired.insert((end.nic, end.port)) {
            return refuse(inputs, component, name, "already has a wire", place, output);
        }
    }
    Some(ends)
}

/// The port that `nic0.port1` or `nic[3].port1` means; its adapter is added when it is new.
pub(super) fn end(
    inputs: &Inputs<'_>,
    component: usize,
    name: &str,
    place: Place,
    networks: &mut Networks,
    output: &mut Output,
) -> Option<NicPort> {
    let (device, port) = InstanceName::split(name);
    let port = port.unwrap_or("port1");
    let meant = InstanceName::parse(device);
    if inputs.file.is_lost(meant.component) {
        return None;
    }
    if inputs.find(meant.component).is_none() {
        let path = inputs.file.components[component].name.clone();
        let problem =
            Problem::BadNetworkEnd { path, target: shortened(name), reason: "does not exist".into() };
        let hint =
            hint_unless_crowded(&output.diagnostics, || did_you_mean(meant.component, inputs.some_names()));
        output.report(place, problem, hint);
        return None;
    }
    let Some(instance) = inputs.one_instance(meant) else {
        return refuse(inputs, component, name, "is not one device", place, output);
    };
    let Some(endpoint) = inputs.endpoint(instance) else {
        return refuse(inputs, component, name, "is not an endpoint", place, output);
    };
    let component_of_end = inputs.topology.instances[instance].component;
    if output.has_problem_in(inputs.place_of(component_of_end, &["rdma", "ports"])) {
        return None;
    }
    if endpoint.rdma.ports == 0 {
        return refuse(inputs, component, name, "is not an RDMA adapter", place, output);
    }
    let number = port.strip_prefix("port").and_then(|port| port.parse::<u32>().ok());
    let Some(number) = number.filter(|number| (1..=endpoint.rdma.ports).contains(number)) else {
        let reason = format!("is not among its ports, port1 to port{}", endpoint.rdma.ports);
        return refuse(inputs, component, name, &reason, place, output);
    };
    output.loaded.insert(instance);
    let nics = &mut networks.config.nics;
    let nic = *networks.nics.entry(instance).or_insert_with(|| {
        nics.push(nic_config(inputs.topology.instances[instance].name.clone(), instance, &endpoint.rdma));
        networks.roce_latencies.push(endpoint.rdma.roce_latency);
        networks.port_rates.push(endpoint.rdma.port_rate);
        nics.len() - 1
    });
    Some(NicPort { nic, port: number - 1 })
}

pub(super) fn refuse<T>(
    inputs: &Inputs<'_>,
    component: usize,
    target: &str,
    reason: &str,
    place: Place,
    output: &mut Output,
) -> Option<T> {
    let path = inputs.file.components[component].name.clone();
    let problem = Problem::BadNetworkEnd { path, target: shortened(target), reason: reason.to_owned() };
    let hint = "an end is a port of an endpoint whose `rdma.ports` is at least 1, such as \"nic0.port1\"";
    output.report(place, problem, Some(hint.to_owned()));
    None
}

/// A full packet fits the buffers at both ends.
pub(super) fn check_mtu(
    inputs: &Inputs<'_>,
    component: usize,
    network: &NetworkParameters,
    ends: &[NicPort],
    networks: &Networks,
    output: &mut Output,
) {
    let buffers = ends.iter().map(|end| &networks.config.nics[end.nic]);
    let least = buffers.map(|nic| nic.send_buffer.min(nic.receive_buffer)).min();
    if let Some(least) = least.filter(|least| *least < network.mtu.0) {
        let path = format!("{}.mtu", inputs.file.components[component].name);
        let (found, low) = (network.mtu.0.to_string(), Bytes::new(256).to_string());
        let hint = "a packet fits the buffers of both adapters".to_owned();
        let place = inputs.place_of(component, &["mtu"]);
        output.report(place, Problem::OutOfRange { path, found, low, high: least.to_string() }, Some(hint));
    }
}

/// What UDP and IP take in the adapters at these ends. It is part of the way of each packet, and so of its latency.
pub(super) fn encapsulation(network: &NetworkParameters, ends: &[NicPort], networks: &Networks) -> Span {
    match network.kind {
        NetworkKindChoice::Roce => ends.iter().map(|end| networks.roce_latencies[end.nic]).sum(),
        _ => Span::ZERO,
    }
}

/// InfiniBand links are 1, 2, 4, 8 or 12 lanes wide (InfiniBand Architecture Specification, volume 2, chapter 5).
fn check_lanes(inputs: &Inputs<'_>, component: usize, network: &NetworkParameters, output: &mut Output) {
    if [1, 2, 4, 8, 12].contains(&network.lanes) {
        return;
    }
    let path = format!("{}.lanes", inputs.file.components[component].name);
    let (found, allowed) = (network.lanes.to_string(), "1, 2, 4, 8 or 12".to_owned());
    let place = inputs.place_of(component, &["lanes"]);
    output.report(place, Problem::UnknownChoice { path, found, allowed }, None);
}

/// Data rate of a network that is Ethernet, with these ports of adapters.
pub(super) fn ethernet_rate(
    inputs: &Inputs<'_>,
    (component, network): (usize, &NetworkParameters),
    ends: &[NicPort],
    networks: &mut Networks,
    computed: &mut Computed,
    output: &mut Output,
) -> Rate {
    if let Auto::Given(rate) = network.rate {
        warn_of_slow_port(inputs, (component, network), rate, ends, networks, output);
        return rate;
    }
    let is_ethernet = matches!(network.kind, NetworkKindChoice::Roce | NetworkKindChoice::Ethernet);
    let ends = if is_ethernet { ends } else { &[] };
    networks.asked_for_rates.extend(ends.iter().map(|end| end.nic));
    let slowest = ends.iter().filter_map(|end| networks.port_rates[end.nic]).min();
    let (rate, source) = match slowest {
        Some(rate) => (rate, "`rdma.port_rate` of the slower adapter"),
        None => (UNSTATED, "100 Gb/s"),
    };
    say_rate(inputs, component, (rate, source), computed);
    rate
}

/// Notes what the rate of a network came to that states none.
pub(super) fn say_rate(
    inputs: &Inputs<'_>,
    component: usize,
    (rate, source): (Rate, &'static str),
    computed: &mut Computed,
) {
    let path = format!("{}.rate", inputs.file.components[component].name);
    computed.parameter(path, rate.to_string(), Provenance::Assumed, source);
}

/// Tells of a rate that the port of an adapter does not have.
fn warn_of_slow_port(
    inputs: &Inputs<'_>,
    (component, network): (usize, &NetworkParameters),
    rate: Rate,
    ends: &[NicPort],
    networks: &Networks,
    output: &mut Output,
) {
    if !matches!(network.kind, NetworkKindChoice::Roce | NetworkKindChoice::Ethernet) {
        return;
    }
    let port_rate = |end: &NicPort| Some((networks.port_rates[end.nic]?, end.nic));
    let Some((slowest, nic)) = ends.iter().filter_map(port_rate).min().filter(|(slowest, _)| *slowest < rate)
    else {
        return;
    };
    let adapter = inputs.topology.instances[networks.config.nics[nic].device.0 as usize].component;
    let adapter = &inputs.file.components[adapter].name;
    output.cautions.push(Caution {
        path: format!("{}.rate", inputs.file.components[component].name),
        value: rate.show(),
        place: inputs.place_of(component, &["rate"]),
        effect: Effect::Faster,
        reason: format!("a port of `{adapter}` has {slowest} (`{adapter}.rdma.port_rate`)"),
    });
}

pub(super) fn wire(network: &NetworkParameters, ethernet: Rate) -> NetworkWire {
    let rate = match network.kind {
        NetworkKindChoice::Roce => return NetworkWire::Roce { rate: ethernet },
        NetworkKindChoice::Ethernet => return NetworkWire::Ethernet { rate: ethernet },
        NetworkKindChoice::InfinibandQdr => InfinibandRate::Qdr,
        NetworkKindChoice::InfinibandFdr10 => InfinibandRate::Fdr10,
        NetworkKindChoice::InfinibandFdr => InfinibandRate::Fdr,
        NetworkKindChoice::InfinibandEdr => InfinibandRate::Edr,
        NetworkKindChoice::InfinibandHdr => InfinibandRate::Hdr,
        NetworkKindChoice::InfinibandNdr => InfinibandRate::Ndr,
        NetworkKindChoice::InfinibandXdr => InfinibandRate::Xdr,
    };
    NetworkWire::Infiniband { rate, lanes: network.lanes }
}

fn nic_config(name: String, instance: usize, rdma: &RdmaParameters) -> RdmaNicConfig {
    RdmaNicConfig {
        name,
        device: DeviceId(instance as u32),
        ports: rdma.ports,
        doorbell: rdma.doorbell,
        work_request: rdma.work_request,
        push_max: rdma.push_max,
        push_without_data: rdma.push_without_data,
        inline_max: rdma.inline_max,
        completion_entry: rdma.completion_entry,
        message_interval: rdma.message_interval,
        queue_pair_interval: rdma.queue_pair_interval,
        queue_pair_read_bandwidth: rdma.queue_pair_read_bandwidth,
        send_latency: rdma.send_latency,
        receive_latency: rdma.receive_latency,
        packet_gap: rdma.packet_gap,
        send_buffer: rdma.send_buffer,
        receive_buffer: rdma.receive_buffer,
        send_bandwidth: rdma.send_bandwidth,
        receive_bandwidth: rdma.receive_bandwidth,
        shared_bandwidth: rdma.shared_bandwidth,
        outstanding_reads: rdma.outstanding_reads,
        registration_time: rdma.registration_time,
    }
}

/// The driver of a host.
pub(crate) fn verbs(verbs: &VerbsParameters) -> VerbsHostConfig {
    VerbsHostConfig {
        post_cost: verbs.post_cost,
        doorbell_cost: verbs.doorbell_cost,
        poll_latency: verbs.poll_latency,
        poll_cost: verbs.poll_cost,
        receive_cost: verbs.receive_cost,
    }
}
