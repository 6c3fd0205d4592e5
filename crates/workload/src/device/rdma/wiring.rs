//! What is at the ends of wires, and which way leads to each adapter: worked out once, at the start of a run.

use super::config::{CableConfig, CableEnd, NicPort, RdmaNetworkConfig};
use super::port::{Port, PortSettings};
use super::room::{Room, Unit};
use super::switches::SwitchPort;
use crate::server::RateServer;
use lanewise_fabric::ResourceId;
use lanewise_network::NetworkWire;
use lanewise_network::routing::{Choice, FatTree, Graph};
use lanewise_network::switch::FlowControl;
use lanewise_units::{Bytes, Span, order};
use std::collections::BTreeSet;

/// A port at an end of a wire, by its index among those of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WireEnd {
    /// Of an adapter.
    Adapter(u32),
    /// Of a switch.
    Switch(u32),
}

/// Set in the code of a switch's port.
const OF_SWITCH: u32 = 1 << 31;

impl WireEnd {
    /// As the subject of a token.
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Adapter(port) => port,
            Self::Switch(port) => port | OF_SWITCH,
        }
    }

    pub(super) const fn of(code: u32) -> Self {
        match code & OF_SWITCH {
            0 => Self::Adapter(code),
            _ => Self::Switch(code & !OF_SWITCH),
        }
    }
}

/// Ports of adapters and switches with a wire.
#[derive(Debug, Default)]
pub(super) struct Wiring {
    /// Each with the port that it is.
    pub adapters: Vec<(NicPort, Port)>,
    pub switches: Vec<SwitchPort>,
    /// Ports of each switch.
    of_switch: Vec<Vec<u32>>,
    /// By switch and port of an adapter: the switch's ports from which the way there is shortest; one of them where it has a table.
    pub ways: Vec<Vec<Vec<u32>>>,
}

/// What a wire's end is made of.
struct Half {
    wire: NetworkWire,
    mtu: Bytes,
    latency: Span,
    encapsulation: Span,
    room: Room,
}

impl Wiring {
    pub(super) fn of(config: &RdmaNetworkConfig) -> Self {
        let mut wiring = Self { of_switch: vec![Vec::new(); config.switches.len()], ..Self::default() };
        for link in &config.links {
            for (at, end) in link.ends.into_iter().enumerate() {
                let first = wiring.adapters.len() as u32 - at as u32;
                let other = &config.nics[link.ends[1 - at].nic];
                let room = Room::new(Unit::Payload, other.receive_buffer, link.latency);
                let far = WireEnd::Adapter(first + 1 - at as u32);
                let (wire, mtu, latency) = (link.wire, link.mtu, link.latency);
                wiring.add_adapter(
                    config,
                    end,
                    far,
                    Half { wire, mtu, latency, encapsulation: Span::ZERO, room },
                );
            }
        }
        let cables: Vec<[WireEnd; 2]> =
            config.cables.iter().map(|cable| wiring.add_cable(config, cable)).collect();
        wiring.find_ways(config, &cables);
        wiring
    }

    fn add_adapter(&mut self, config: &RdmaNetworkConfig, end: NicPort, far: WireEnd, half: Half) {
        let nic = &config.nics[end.nic];
        let port = Port::new(PortSettings {
            nic: end.nic,
            far,
            wire: half.wire,
            mtu: half.mtu,
            latency: half.latency,
            encapsulation: half.encapsulation,
            packet_gap: nic.packet_gap,
            send_buffer: nic.send_buffer,
            room: half.room,
            outbound_path: RateServer::new(nic.send_bandwidth),
            inbound_path: RateServer::new(nic.receive_bandwidth),
        });
        self.adapters.push((end, port));
    }

    /// Both ends of a cable: which port each will be is known before the other is made.
    fn add_cable(&mut self, config: &RdmaNetworkConfig, cable: &CableConfig) -> [WireEnd; 2] {
        let (mut adapters, mut switches) = (self.adapters.len() as u32, self.switches.len() as u32);
        let ends = cable.ends.map(|end| match end {
            CableEnd::Adapter(_) => {
                adapters += 1;
                WireEnd::Adapter(adapters - 1)
            }
            CableEnd::Switch(..) => {
                switches += 1;
                WireEnd::Switch(switches - 1)
            }
        });
        for (at, end) in cable.ends.into_iter().enumerate() {
            let room = match cable.ends[1 - at] {
                CableEnd::Adapter(port) => {
                    Room::new(Unit::Payload, config.nics[port.nic].receive_buffer, cable.latency)
                }
                CableEnd::Switch(switch, _) => {
                    let switch = &config.switches[switch];
                    let unit = match switch.flow_control {
                        FlowControl::Credits => Unit::Space,
                        FlowControl::Pause { .. } => Unit::Pause,
                    };
                    Room::new(unit, switch.buffer, cable.latency)
                }
            };
            let CableConfig { wire, mtu, latency, encapsulation, .. } = *cable;
            match end {
                CableEnd::Adapter(port) => {
                    self.add_adapter(
                        config,
                        port,
                        ends[1 - at],
                        Half { wire, mtu, latency, encapsulation, room },
                    );
                }
                CableEnd::Switch(switch, number) => {
                    self.of_switch[switch].push(self.switches.len() as u32);
                    let place = self.of_switch[switch].len() as u32 - 1;
                    let port = SwitchPort::new(
                        (switch, number, place),
                        ends[1 - at],
                        (wire, latency),
                        room,
                        &config.switches[switch],
                    );
                    self.switches.push(port);
                }
            }
        }
        ends
    }

    /// Ports of switches that packets from one port of an adapter to another leave by, whichever way is chosen.
    fn passed(&self, source: usize, destination: usize) -> BTreeSet<u32> {
        let mut passed = BTreeSet::new();
        let mut ends = vec![self.adapters[source].1.far];
        while let Some(end) = ends.pop() {
            let WireEnd::Switch(ingress) = end else { continue };
            let switch = self.switches[ingress as usize].switch;
            for port in &self.ways[switch][destination] {
                if passed.insert(*port) {
                    ends.push(self.switches[*port as usize].far);
                }
            }
        }
        passed
    }

    fn find_ways(&mut self, config: &RdmaNetworkConfig, cables: &[[WireEnd; 2]]) {
        let switches = config.switches.len();
        let mut graph = Graph::new(switches + self.adapters.len());
        for ends in cables {
            graph.join(ends.map(|end| match end {
                WireEnd::Adapter(port) => switches + port as usize,
                WireEnd::Switch(port) => self.switches[port as usize].switch,
            }));
        }
        for ports in &self.of_switch {
            for port in ports {
                self.switches[*port as usize].ready(ports.len());
            }
        }
        self.ways = vec![vec![Vec::new(); self.adapters.len()]; switches];
        let tree = FatTree::of(&graph, switches);
        let switched = self.adapters.iter().enumerate();
        let switched = switched.filter(|(_, (_, port))| matches!(port.far, WireEnd::Switch(_)));
        for (destination, _) in switched {
            let ways = graph.ways_to(switches + destination, |node| node < switches);
            let table = tree.table(&graph, switches + destination, &ways);
            for (switch, places) in ways.into_iter().take(switches).enumerate() {
                let ports = &self.of_switch[switch];
                let places = match config.switches[switch].choice {
                    Choice::Destination => table[switch].into_iter().collect(),
                    Choice::Flow => places,
                };
                self.ways[switch][destination] =
                    places.into_iter().map(|place| ports[place as usize]).collect();
            }
        }
    }
}

impl RdmaNetworkConfig {
    /// Of each pair of ports, the resources of switches that its packets may use, either way: the wires out of a switch, and the
    /// buffers that they come in by.
    pub(crate) fn resources_between(&self, pairs: &[[NicPort; 2]]) -> Vec<Vec<ResourceId>> {
        if self.switches.is_empty() {
            return vec![Vec::new(); pairs.len()];
        }
        let wiring = Wiring::of(self);
        let indexes = order::map(wiring.adapters.iter().zip(0..).map(|((port, _), index)| (*port, index)));
        let at = |port: u32| {
            let port = &wiring.switches[port as usize];
            (port, &self.switches[port.switch])
        };
        let of_pair = |pair: &[NicPort; 2]| {
            let [first, second] = pair.map(|port| indexes[&port]);
            let mut used = Vec::new();
            for (source, destination) in [(first, second), (second, first)] {
                let far = wiring.adapters[source].1.far;
                let passed = wiring.passed(source, destination);
                let ends = passed.iter().map(|port| wiring.switches[*port as usize].far);
                let entered = ends.chain([far]).filter_map(|end| match end {
                    WireEnd::Switch(port) => Some(port),
                    WireEnd::Adapter(_) => None,
                });
                used.extend(entered.map(|port| at(port).0.buffer_id(at(port).1)));
                used.extend(passed.iter().map(|port| at(*port).0.wire_id(at(*port).1)));
            }
            used
        };
        pairs.iter().map(of_pair).collect()
    }
}
