//! Settings of adapters and of the wires between them.

use lanewise_fabric::workload::DeviceId;
use lanewise_network::NetworkWire;
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

/// Adapters and the wires between them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RdmaNetworkConfig {
    /// Adapters.
    pub nics: Vec<RdmaNicConfig>,
    /// Wires; at most one at each port.
    pub links: Vec<RdmaLinkConfig>,
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
        for nic in &self.nics {
            assert!(nic.outstanding_reads > 0, "{}: reads are possible", nic.name);
        }
    }
}
