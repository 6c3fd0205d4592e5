//! Network switches, and the networks that end at them: which port each wire gets, and how much of a buffer is headroom.

use super::computed::Computed;
use super::networks::{self, Networks};
use super::{Inputs, Settings};
use crate::parameter::Output;
use crate::parameters::{
    ForwardingChoice, LayoutChoice, NetworkKindChoice, NetworkParameters, NetworkSwitchParameters, WaysChoice,
};
use crate::problem::Problem;
use crate::source::Place;
use crate::structure::ComponentKind;
use crate::topology::{InstanceName, count_of};
use crate::value::Auto;
use lanewise_network::NetworkWire;
use lanewise_network::routing::Choice;
use lanewise_network::switch::{FlowControl, space};
use lanewise_network::transport::PacketKind;
use lanewise_units::{Bytes, Rate, order};
use lanewise_workload::device::rdma::{CableConfig, CableEnd, NetworkSwitchConfig, NicPort};
use std::collections::BTreeMap;
use std::ops::Range;

/// The switches of a scenario while networks are joined to them.
pub(super) struct Switches<'s> {
    /// Switches of each component.
    ranges: BTreeMap<usize, Range<usize>>,
    all: Vec<Switch<'s>>,
    /// Networks between switches whose rate is that of the adapters there: component, and its cables.
    undecided: Vec<(usize, Range<usize>)>,
}

struct Switch<'s> {
    name: String,
    component: usize,
    parameters: &'s NetworkSwitchParameters,
    /// Ports in use.
    used: u32,
    /// Kind and MTU of its wires, as the first of them has them.
    wires: Option<(&'static str, Bytes)>,
    /// Headroom that the wire needs which needs most.
    headroom: Bytes,
    full: Bytes,
}

/// One side of a network.
enum Side {
    Adapters(Vec<NicPort>),
    Switches(Range<usize>),
}

impl<'s> Switches<'s> {
    pub(super) fn read(inputs: &'s Inputs<'_>) -> Self {
        let mut switches = Self { ranges: BTreeMap::new(), all: Vec::new(), undecided: Vec::new() };
        for (component, settings) in inputs.settings.iter().enumerate() {
            let Some(Settings::NetworkSwitch(parameters)) = settings else { continue };
            let written = &inputs.file.components[component];
            let count = count_of(written).map(|(count, _)| count);
            let first = switches.all.len();
            for number in 0..count.unwrap_or(1) {
                let name = match count {
                    Some(_) => format!("{}[{number}]", written.name),
                    None => written.name.clone(),
                };
                let (headroom, full) = (Bytes::ZERO, Bytes::ZERO);
                switches.all.push(Switch {
                    name,
                    component,
                    parameters,
                    used: 0,
                    wires: None,
                    headroom,
                    full,
                });
            }
            switches.ranges.insert(component, first..switches.all.len());
        }
        switches
    }

    /// Whether a name at an end of a network is one of a switch.
    pub(super) fn has(&self, inputs: &Inputs<'_>, name: &str) -> bool {
        let (device, _) = InstanceName::split(name);
        inputs
            .find(InstanceName::parse(device).component)
            .is_some_and(|component| inputs.file.components[component].kind == ComponentKind::NetworkSwitch)
    }

    /// Rates between switches, buffers and thresholds, once every wire is known.
    pub(super) fn finish(
        mut self,
        inputs: &Inputs<'_>,
        networks: &mut Networks,
        computed: &mut Computed,
        output: &mut Output,
    ) {
        let islands = Islands::of(&networks.config.cables);
        networks.islands = islands.of_ports(&networks.config.cables);
        self.decide_rates(inputs, &islands, &mut networks.config.cables, computed);
        for cable in &networks.config.cables {
            for end in cable.ends {
                let CableEnd::Switch(switch, _) = end else { continue };
                let switch = &mut self.all[switch];
                switch.headroom = switch.headroom.max(cable.headroom(switch.parameters.pause_response));
            }
        }
        for switch in self.all {
            let config = switch.config(inputs, output);
            networks.config.switches.extend(config);
        }
    }

    /// Wires between switches that state no rate have that of the fastest adapter that those switches reach.
    fn decide_rates(
        &self,
        inputs: &Inputs<'_>,
        islands: &Islands,
        cables: &mut [CableConfig],
        computed: &mut Computed,
    ) {
        for (component, undecided) in &self.undecided {
            let Some(CableEnd::Switch(switch, _)) = cables.get(undecided.start).map(|cable| cable.ends[0])
            else {
                continue;
            };
            let island = islands.first(switch);
            let rate_of = |cable: &CableConfig| {
                let (_, switch) = adapter_and_switch(cable)?;
                (islands.first(switch) == island).then(|| ethernet(cable.wire))?
            };
            let fastest = cables.iter().filter_map(rate_of).max();
            let (rate, source) = match fastest {
                Some(rate) => (rate, "the fastest wire from an adapter to the switches that these reach"),
                None => (networks::UNSTATED, "100 Gb/s"),
            };
            for cable in &mut cables[undecided.clone()] {
                cable.wire = NetworkWire::Roce { rate };
            }
            networks::say_rate(inputs, *component, (rate, source), computed);
        }
    }

    /// The next free port of a switch.
    fn take_port(
        &mut self,
        switch: usize,
        (inputs, component, place): (&Inputs<'_>, usize, Place),
        output: &mut Output,
    ) -> Option<CableEnd> {
        let state = &mut self.all[switch];
        if state.used == state.parameters.ports {
            if inputs.file.is_lost(InstanceName::parse(&state.name).component) {
                return None;
            }
            let reason = format!("has no free port of its {}", state.parameters.ports);
            let path = inputs.file.components[component].name.clone();
            let problem = Problem::BadNetworkEnd { path, target: state.name.clone(), reason };
            let switch = InstanceName::parse(&state.name).component;
            let hint =
                format!("set a larger `{switch}.ports` or `{switch}.count`, or join less with fewer `wires`");
            output.report(place, problem, Some(hint));
            return None;
        }
        state.used += 1;
        Some(CableEnd::Switch(switch, state.used - 1))
    }
}

/// Which switches reach each other: of each that is not the first of its island, another of it.
struct Islands(BTreeMap<usize, usize>);

impl Islands {
    fn of(cables: &[CableConfig]) -> Self {
        let mut islands = Self(BTreeMap::new());
        for cable in cables {
            if let [CableEnd::Switch(first, _), CableEnd::Switch(second, _)] = cable.ends {
                let [first, second] = [first, second].map(|switch| islands.first(switch));
                islands.0.insert(first.max(second), first.min(second));
            }
        }
        islands
    }

    /// The first switch of the island of one.
    fn first(&self, mut switch: usize) -> usize {
        while let Some(lesser) = self.0.get(&switch).filter(|lesser| **lesser != switch) {
            switch = *lesser;
        }
        switch
    }

    /// The first switch of the island at which each port of an adapter is.
    fn of_ports(&self, cables: &[CableConfig]) -> BTreeMap<NicPort, usize> {
        let port_at = |(port, switch)| (port, self.first(switch));
        order::map(cables.iter().filter_map(adapter_and_switch).map(port_at))
    }
}

/// Both ends of a cable that joins an adapter to a switch.
fn adapter_and_switch(cable: &CableConfig) -> Option<(NicPort, usize)> {
    match cable.ends {
        [CableEnd::Adapter(port), CableEnd::Switch(switch, _)]
        | [CableEnd::Switch(switch, _), CableEnd::Adapter(port)] => Some((port, switch)),
        _ => None,
    }
}

/// Data rate of a wire that is Ethernet.
fn ethernet(wire: NetworkWire) -> Option<Rate> {
    match wire {
        NetworkWire::Roce { rate } | NetworkWire::Ethernet { rate } => Some(rate),
        NetworkWire::Infiniband { .. } => None,
    }
}

/// Joins adapters to switches, or switches to switches.
pub(super) fn join(
    inputs: &Inputs<'_>,
    (component, network): (usize, &NetworkParameters),
    (names, place): (&[String; 2], Place),
    networks: &mut Networks,
    switches: &mut Switches<'_>,
    computed: &mut Computed,
    output: &mut Output,
) -> Option<()> {
    let at = (inputs, component, place);
    let problems = output.diagnostics.len();
    let sides = names.each_ref().map(|name| side(at, name, networks, switches, output));
    if output.diagnostics.len() > problems {
        return None;
    }
    let [first, second] = sides;
    let pairs = match (first?, second?) {
        (Side::Adapters(adapters), Side::Switches(range))
        | (Side::Switches(range), Side::Adapters(adapters)) => {
            networks::check_mtu(inputs, component, network, &adapters, networks, output);
            let pairs = to_adapters(at, network, (&adapters, range), networks, switches, output)?;
            networks.members.insert(component, adapters);
            pairs
        }
        (Side::Switches(lower), Side::Switches(upper)) => {
            between(at, network, (lower, upper), switches, output)?
        }
        (Side::Adapters(_), Side::Adapters(_)) => return None,
    };
    let rate = match networks.members.get(&component).cloned() {
        None if network.kind == NetworkKindChoice::Roce && network.rate == Auto::Auto => {
            let first = networks.config.cables.len();
            switches.undecided.push((component, first..first + pairs.len()));
            networks::UNSTATED
        }
        adapters => {
            let adapters = adapters.unwrap_or_default();
            networks::ethernet_rate(inputs, (component, network), &adapters, networks, computed, output)
        }
    };
    for ends in pairs {
        let cable = cable(at, (network, rate), ends, networks);
        for end in ends {
            let CableEnd::Switch(switch, _) = end else { continue };
            switches.all[switch].accept(at, network, &cable, output)?;
        }
        networks.config.cables.push(cable);
    }
    Some(())
}

/// The place of a network in a file, by which it is reported.
type At<'a, 'i> = (&'a Inputs<'i>, usize, Place);

/// Ends of the cables from each adapter to a switch.
fn to_adapters(
    at: At<'_, '_>,
    network: &NetworkParameters,
    (adapters, range): (&[NicPort], Range<usize>),
    networks: &mut Networks,
    switches: &mut Switches<'_>,
    output: &mut Output,
) -> Option<Vec<[CableEnd; 2]>> {
    let (inputs, component, place) = at;
    let mut pairs = Vec::new();
    for (number, port) in adapters.iter().enumerate() {
        let chosen = match network.layout {
            LayoutChoice::Blocks => number * range.len() / adapters.len(),
            LayoutChoice::Rails => number % range.len(),
        };
        if !networks.wired.insert((port.nic, port.port)) {
            let name = format!("{}.port{}", networks.config.nics[port.nic].name, port.port + 1);
            return networks::refuse(inputs, component, &name, "already has a wire", place, output);
        }
        let end = switches.take_port(range.start + chosen, at, output)?;
        pairs.push([CableEnd::Adapter(*port), end]);
    }
    let path = format!("{}.wires", inputs.file.components[component].name);
    output.idle.because(path, "an adapter's port has one wire");
    Some(pairs)
}

/// Ends of the cables from each switch to each other one.
fn between(
    at: At<'_, '_>,
    network: &NetworkParameters,
    (lower, upper): (Range<usize>, Range<usize>),
    switches: &mut Switches<'_>,
    output: &mut Output,
) -> Option<Vec<[CableEnd; 2]>> {
    let (inputs, component, _) = at;
    let path = format!("{}.layout", inputs.file.components[component].name);
    output.idle.because(path, "there is no adapter at either end");
    let mut pairs = Vec::new();
    let both = |one: usize, other: usize| lower.contains(&other) && upper.contains(&one);
    let each = lower.clone().flat_map(|low| upper.clone().map(move |high| (low, high)));
    // Of switches that are meant by both ends, each two are joined once.
    for (low, high) in each.filter(|(low, high)| low < high || low > high && !both(*low, *high)) {
        for _ in 0..network.wires {
            let low = switches.take_port(low, at, output)?;
            pairs.push([low, switches.take_port(high, at, output)?]);
        }
    }
    Some(pairs)
}

/// A cable of a network.
fn cable(
    (inputs, component, _): At<'_, '_>,
    (network, rate): (&NetworkParameters, Rate),
    ends: [CableEnd; 2],
    networks: &Networks,
) -> CableConfig {
    let adapter = |end: &CableEnd| match end {
        CableEnd::Adapter(port) => Some(*port),
        CableEnd::Switch(..) => None,
    };
    let adapters: Vec<NicPort> = ends.iter().filter_map(adapter).collect();
    CableConfig {
        name: inputs.file.components[component].name.clone(),
        ends,
        wire: networks::wire(network, rate),
        mtu: network.mtu.0,
        latency: network.propagation + network.switch_latency,
        encapsulation: networks::encapsulation(network, &adapters, networks),
    }
}

/// What one end of a network means.
fn side(
    (inputs, component, place): (&Inputs<'_>, usize, Place),
    name: &str,
    networks: &mut Networks,
    switches: &Switches<'_>,
    output: &mut Output,
) -> Option<Side> {
    let (device, port) = InstanceName::split(name);
    let meant = InstanceName::parse(device);
    if switches.has(inputs, name) {
        if port.is_some_and(|port| port != "*") {
            let reason = "is one port of a switch, whose wires take its ports in order";
            return networks::refuse(inputs, component, name, reason, place, output);
        }
        let all = switches.ranges.get(&inputs.find(meant.component)?)?.clone();
        let count = all.len();
        return match meant.among(all) {
            Some(range) => Some(Side::Switches(range)),
            None => networks::refuse(inputs, component, name, &meant.choices(count, true), place, output),
        };
    }
    let Some(group) = inputs.find(meant.component) else {
        networks::end(inputs, component, name, place, networks, output);
        return None;
    };
    let instances = inputs.topology.instances_of(group);
    let Some(meant) = meant.among(instances.clone()) else {
        networks::end(inputs, component, name, place, networks, output);
        return None;
    };
    let single = |instance: usize| {
        let name = &inputs.topology.instances[instance].name;
        port.map_or_else(|| name.clone(), |port| format!("{name}.{port}"))
    };
    let ports: Option<Vec<NicPort>> = meant
        .map(|instance| networks::end(inputs, component, &single(instance), place, networks, output))
        .collect();
    Some(Side::Adapters(ports?))
}

impl Switch<'_> {
    /// A wire of a network ends here.
    fn accept(
        &mut self,
        (inputs, component, place): (&Inputs<'_>, usize, Place),
        network: &NetworkParameters,
        cable: &CableConfig,
        output: &mut Output,
    ) -> Option<()> {
        let kind = match network.kind {
            NetworkKindChoice::Roce => "RoCE",
            NetworkKindChoice::Ethernet => {
                let reason = "is a switch that loses nothing, and plain Ethernet has no flow control";
                return networks::refuse(inputs, component, &self.name, reason, place, output);
            }
            _ => "InfiniBand",
        };
        let (known, mtu) = *self.wires.get_or_insert((kind, cable.mtu));
        if known != kind || mtu != cable.mtu {
            let reason = format!("has wires of {known} with an MTU of {mtu}");
            return networks::refuse(inputs, component, &self.name, &reason, place, output);
        }
        self.full = space(cable.wire.packet_bytes(PacketKind::WriteFirst, cable.mtu));
        Some(())
    }

    /// Its settings, or nothing when its buffer is too small for its wires, which is reported. One without a wire has some, too.
    fn config(self, inputs: &Inputs<'_>, output: &mut Output) -> Option<NetworkSwitchConfig> {
        let NetworkSwitchParameters { latency, forwarding, buffer, pause_response, .. } = *self.parameters;
        let pauses = self.wires.is_some_and(|(kind, _)| kind == "RoCE");
        let most = Bytes::new(buffer.get().saturating_sub(self.headroom.get()));
        if pauses && most < self.full || buffer < self.full {
            let needed = if pauses { self.headroom + self.full } else { self.full };
            let hint =
                "a full packet of its wires and, where it pauses, what comes until the pause is heeded";
            self.refuse(inputs, "buffer", buffer, (needed, Bytes::from_kib(1 << 20)), hint, output);
            return None;
        }
        if !pauses {
            for key in ["xoff", "xon", "pause_response"] {
                let path = format!("{}.{key}", inputs.file.components[self.component].name);
                output.idle.because(path, "InfiniBand has credits instead of pauses");
            }
        }
        let xoff = self.parameters.xoff.given().unwrap_or(most);
        let usual = Bytes::new(xoff.get().saturating_sub(2 * self.full.get()));
        let xon = self.parameters.xon.given().unwrap_or(usual);
        if pauses && xoff > most {
            let hint = "the rest of `buffer` is headroom: what comes until the pause is heeded";
            self.refuse(inputs, "xoff", xoff, (Bytes::from_kib(1), most), hint, output);
            return None;
        }
        if pauses && xon > xoff {
            self.refuse(inputs, "xon", xon, (Bytes::ZERO, xoff), "it is at most `xoff`", output);
            return None;
        }
        let ways = match self.parameters.ways {
            Auto::Given(ways) => ways,
            Auto::Auto if pauses => WaysChoice::Flow,
            Auto::Auto => WaysChoice::Destination,
        };
        Some(NetworkSwitchConfig {
            name: self.name,
            latency,
            cut_through: forwarding == ForwardingChoice::CutThrough,
            choice: match ways {
                WaysChoice::Destination => Choice::Destination,
                WaysChoice::Flow => Choice::Flow,
            },
            buffer,
            flow_control: if pauses { FlowControl::Pause { xoff, xon } } else { FlowControl::Credits },
            pause_response,
        })
    }

    fn refuse(
        &self,
        inputs: &Inputs<'_>,
        key: &str,
        found: Bytes,
        (low, high): (Bytes, Bytes),
        hint: &str,
        output: &mut Output,
    ) {
        let path = format!("{}.{key}", inputs.file.components[self.component].name);
        let place = inputs.place_of(self.component, &[key]);
        let (found, low, high) = (found.to_string(), low.to_string(), high.to_string());
        output.report(place, Problem::OutOfRange { path, found, low, high }, Some(hint.to_owned()));
    }
}
