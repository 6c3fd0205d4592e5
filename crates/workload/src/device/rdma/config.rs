//! Settings of adapters and of the wires between them.

use lanewise_fabric::workload::DeviceId;
use lanewise_network::NetworkWire;
use lanewise_network::routing::Choice;
use lanewise_network::switch::{FlowControl, PAUSE_FRAME, space};
use lanewise_network::transport::PacketKind;
use lanewise_units::{Bytes, Rate, Span};

/// Settings of an RDMA adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaNicConfig {
    /// Name in the scenario.
    pub name: String,
    /// The endpoint that it is.
    pub device: DeviceId,
    /// Network ports; at least one.
    pub ports: u32,
    /// Bytes of the CPU's write that announces a work request which the adapter then fetches.
    pub doorbell: Bytes,
    /// Bytes of a work request without inline data.
    pub work_request: Bytes,
    /// Largest work request that the CPU pushes into the adapter together with the doorbell; zero for none.
    pub push_max: Bytes,
    /// Whether it also pushes writes and sends whose data stay in memory; reads are pushed either way.
    pub push_without_data: bool,
    /// Largest payload that can travel inside the work request.
    pub inline_max: Bytes,
    /// Bytes of a completion entry.
    pub completion_entry: Bytes,
    /// Time after which the adapter's pipeline takes the next message, out and in each.
    pub message_interval: Span,
    /// Time after which it takes the next work request of the same queue pair.
    pub queue_pair_interval: Span,
    /// Rate at which one queue pair takes in what it reads; none for no limit but the port's.
    pub queue_pair_read_bandwidth: Option<Rate>,
    /// From a work request in the adapter to its first packet or payload fetch, without waiting.
    pub send_latency: Span,
    /// From the last byte of a packet at the port until its payload is handed to DMA, without waiting.
    pub receive_latency: Span,
    /// From the end of a packet on the wire to the earliest start of the next of the same port.
    pub packet_gap: Span,
    /// Payload of each port that may be on its way from memory or waiting for the wire; at least an MTU.
    pub send_buffer: Bytes,
    /// Payload of each port that may be in the adapter before DMA; at least an MTU.
    pub receive_buffer: Bytes,
    /// Rate of the internal path of each port on the way out; none for no limit.
    pub send_bandwidth: Option<Rate>,
    /// Rate of the internal path of each port on the way in; none for no limit.
    pub receive_bandwidth: Option<Rate>,
    /// Rate of the internal path of all ports and both directions together; none for no limit.
    pub shared_bandwidth: Option<Rate>,
    /// RDMA reads that a queue pair may have outstanding; at least one.
    pub outstanding_reads: u32,
    /// Time for registering memory with a work request, one after another, before the next request of the queue may go.
    pub registration_time: Span,
}

/// A port of an adapter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NicPort {
    /// Index of the adapter.
    pub nic: usize,
    /// Its port, from 0.
    pub port: u32,
}

/// A wire between two ports, with the switches on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaLinkConfig {
    /// Name in the scenario.
    pub name: String,
    /// Its ends.
    pub ends: [NicPort; 2],
    /// Kind and speed.
    pub wire: NetworkWire,
    /// Payload of a full packet.
    pub mtu: Bytes,
    /// From the last byte at one end to the last byte at the other: cable and switches.
    pub latency: Span,
}

/// Settings of a network switch.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSwitchConfig {
    /// Name in the scenario.
    pub name: String,
    /// From the first byte of a packet at an ingress until it may leave, from the last byte where it is stored first.
    pub latency: Span,
    /// Whether a packet may leave before all of it is there.
    pub cut_through: bool,
    /// How it chooses among ways that are as short.
    pub choice: Choice,
    /// Buffer of each port for what comes in.
    pub buffer: Bytes,
    /// What keeps that buffer from overflowing.
    pub flow_control: FlowControl,
    /// From the end of a pause frame at a transmitter until it is heeded.
    pub pause_response: Span,
}

/// An end of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CableEnd {
    /// A port of an adapter.
    Adapter(NicPort),
    /// A port of a switch: index of the switch, and port, from 0.
    Switch(usize, u32),
}

/// A wire with a switch at one end at least.
#[derive(Clone, Debug, PartialEq)]
pub struct CableConfig {
    /// Name of the network in the scenario.
    pub name: String,
    /// Its ends.
    pub ends: [CableEnd; 2],
    /// Kind and speed.
    pub wire: NetworkWire,
    /// Payload of a full packet.
    pub mtu: Bytes,
    /// Along the cable.
    pub latency: Span,
    /// What UDP and IP add in the adapter at its end, out and in each.
    pub encapsulation: Span,
}

impl CableConfig {
    /// Whether there is a switch at both ends.
    pub(crate) fn joins_switches(&self) -> bool {
        self.ends.iter().all(|end| matches!(end, CableEnd::Switch(..)))
    }

    /// Most that comes into a switch's buffer after it asked for a pause: while the pause frame waits for a packet on its lane and is
    /// on its way, until it is heeded, what was on the cable, and the packets in the middle of which either happens. Packets
    /// take whole blocks: half as much again where they are small.
    pub fn headroom(&self, response: Span) -> Bytes {
        let full = self.wire.packet_bytes(PacketKind::WriteFirst, self.mtu);
        let frames = self.wire.byte_span(full) + self.wire.byte_span(PAUSE_FRAME);
        let meanwhile = frames + self.latency * 2 + self.encapsulation + response;
        let mebibyte = self.wire.byte_span(Bytes::new(1 << 20));
        let bytes = (u128::from(meanwhile.ticks()) << 20).div_ceil(u128::from(mebibyte.ticks()));
        let sum = bytes as u64 + 2 * full.get();
        space(Bytes::new(sum + sum.div_ceil(2)))
    }
}

/// Adapters, the wires between them, and the switches there.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RdmaNetworkConfig {
    /// Adapters.
    pub nics: Vec<RdmaNicConfig>,
    /// Wires from adapter to adapter; at most one at each port.
    pub links: Vec<RdmaLinkConfig>,
    /// Switches.
    pub switches: Vec<NetworkSwitchConfig>,
    /// Wires with a switch at one end at least; at most one at each port.
    pub cables: Vec<CableConfig>,
}

impl RdmaNetworkConfig {
    /// # Panics
    /// When a port does not exist or has two wires, or a buffer holds no packet.
    pub(super) fn check(&self) {
        let mut wired = Vec::new();
        for link in &self.links {
            for end in link.ends {
                let nic = &self.nics[end.nic];
                assert!(end.port < nic.ports, "{}: {} has {} ports", link.name, nic.name, nic.ports);
                assert!(!wired.contains(&end), "{}: a port of {} has two wires", link.name, nic.name);
                assert!(nic.send_buffer >= link.mtu, "{}: a packet fits the send buffer", nic.name);
                assert!(nic.receive_buffer >= link.mtu, "{}: a packet fits the receive buffer", nic.name);
                wired.push(end);
            }
        }
        for cable in &self.cables {
            for end in cable.ends {
                match end {
                    CableEnd::Switch(switch, _) => {
                        let switch = &self.switches[switch];
                        let full = space(cable.wire.packet_bytes(PacketKind::WriteFirst, cable.mtu));
                        assert!(switch.buffer >= full, "{}: a packet fits the buffer", switch.name);
                    }
                    CableEnd::Adapter(end) => {
                        let nic = &self.nics[end.nic];
                        let least = nic.send_buffer.min(nic.receive_buffer);
                        assert!(end.port < nic.ports, "{}: {} has {} ports", cable.name, nic.name, nic.ports);
                        assert!(
                            !wired.contains(&end),
                            "{}: a port of {} has two wires",
                            cable.name,
                            nic.name
                        );
                        assert!(least >= cable.mtu, "{}: a packet fits the buffers", nic.name);
                        wired.push(end);
                    }
                }
            }
        }
        for nic in &self.nics {
            assert!(nic.outstanding_reads > 0, "{}: reads are possible", nic.name);
        }
    }
}
