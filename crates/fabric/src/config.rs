//! What a fabric is made of: plain settings with named fields, every one resolved, nothing defaulted later.
//!
//! The scenario layer fills these in (and knows where each value came from); [`crate::Simulation::build`] reads
//! them. Nothing in here is behaviour.

mod cxl;
mod host;

pub use cxl::{CxlConfig, CxlLinkConfig, ExpanderConfig};
pub use host::{
    BankConfig, CacheConfig, IommuConfig, MemoryConfig, RootComplexConfig, SocketsConfig, StackConfig,
};
pub use lanewise_pcie::arbitration::Arbitration;
use lanewise_pcie::encoding::{Clocking, LinkMode};
pub use lanewise_pcie::enumeration::Bar;
use lanewise_pcie::flow_control::{CreditPool, Scale};
pub use lanewise_pcie::ide::Ide;
use lanewise_pcie::tag::TagWidth;
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use lanewise_units::{Bytes, Rate, Span};
use std::sync::Arc;

/// A whole fabric: devices, and the links between their ports.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FabricConfig {
    /// Every device, in the order in which their identifiers are given out.
    pub devices: Vec<DeviceConfig>,
    /// Every link, each between one downstream and one upstream port.
    pub links: Vec<LinkConfig>,
    /// What of it carries CXL.mem.
    pub cxl: CxlConfig,
    /// Names the random streams: same seed, same trajectory.
    pub seed: u64,
}

impl FabricConfig {
    /// What a port is called in results, given the index of its device and its own there: `server.slot1`.
    pub fn port_path(&self, (device, port): (usize, usize)) -> String {
        let device = &self.devices[device];
        format!("{}.{}", device.name, device.port_names[port])
    }
}

/// One device and its name in the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceConfig {
    /// Unique name, as written in the scenario.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Settings of each port. Port 0 of a switch or an endpoint faces upstream.
    pub ports: Vec<PortConfig>,
    /// What each port is called, as written in the scenario; devices of a group share them.
    pub port_names: PortNames,
}

/// Names of the ports of a device.
pub type PortNames = Arc<[String]>;

/// Names of ports for which there are none: `port0` faces upstream, except on a root complex, whose ports are slots.
pub fn usual_port_names(kind: &DeviceKind, ports: usize) -> PortNames {
    let name = |port| match kind {
        DeviceKind::RootComplex(_) => format!("slot{}", port + 1),
        DeviceKind::Switch(_) | DeviceKind::Endpoint(_) => format!("port{port}"),
    };
    (0..ports).map(name).collect()
}

/// What a device is.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceKind {
    /// Root ports, host bridge and memory.
    RootComplex(RootComplexConfig),
    /// One upstream and any number of downstream ports.
    Switch(SwitchConfig),
    /// A requester and completer at a leaf.
    Endpoint(EndpointConfig),
}

/// A link between two ports, after training: both ends agreed on the mode.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Downstream port: device index and port index.
    pub upper: (usize, usize),
    /// Upstream port: device index and port index.
    pub lower: (usize, usize),
    /// Negotiated generation, width and flit mode.
    pub mode: LinkMode,
    /// Reference clock arrangement; decides how often SKP ordered sets are due.
    pub clocking: Clocking,
    /// Time from transmitter pin to receiver pin, retimers included.
    pub propagation: Span,
    /// SKP interval instead of the midpoint of the legal range.
    pub skip_interval: Option<Span>,
    /// Faults on the direction from the upper to the lower port.
    pub faults_downstream: FaultConfig,
    /// Faults on the direction from the lower to the upper port.
    pub faults_upstream: FaultConfig,
    /// Time a retrain through Recovery takes.
    pub recovery_time: Span,
    /// Which virtual channel carries which traffic class. In Flit Mode all are on VC0.
    pub channels: ChannelMap,
    /// Power states that the link enters by itself.
    pub power: LinkPower,
    /// How many times quicker than its mode its wires are; 1, unless `--why` asks what quicker ones would bring.
    pub quicker: u32,
}

/// One power state: how long nothing is sent before it is entered, and how long it takes to leave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SleepConfig {
    /// Silence after which a link goes to sleep.
    pub idle: Span,
    /// Time for which it sleeps at least: what comes earlier waits for that, too. Only L1.2 has such a time (PCIe Base 6.3 §5.5).
    pub stay: Span,
    /// From the decision to send to the first symbol that may carry something: the slower of both ends.
    pub exit: Span,
}

impl SleepConfig {
    /// A state that can be left as soon as it is entered.
    pub const fn new(idle: Span, exit: Span) -> Self {
        Self { idle, stay: Span::ZERO, exit }
    }

    /// Whether it is L1 with its clock and common mode off, which alone has to last.
    pub fn is_l1_2(&self) -> bool {
        !self.stay.is_zero()
    }
}

/// Power states that a link uses by itself; none by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkPower {
    /// Each direction on its own.
    pub l0s: Option<SleepConfig>,
    /// Both directions together.
    pub l1: Option<SleepConfig>,
}

/// Bit errors on one link direction.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FaultConfig {
    /// Probability that a bit arrives wrong.
    pub bit_error_rate: f64,
    /// Ordinals (0 is the first) of TLP transmissions, replays counted, that arrive with a bad LCRC. In Flit
    /// Mode, ordinals of flits that carry TLP bytes.
    pub corrupt_tlps: Vec<u64>,
}

/// Data link and transaction layer settings of one port.
#[derive(Clone, Debug, PartialEq)]
pub struct PortConfig {
    /// Maximum Payload Size programmed into the device.
    pub mps: Bytes,
    /// Capacity of the retry buffer, in TLP bytes with sequence number and LCRC.
    pub retry_buffer: Bytes,
    /// Credits advertised for posted, non-posted and completion, in this order.
    pub credits: [CreditPool; 3],
    /// The same for VC1, VC2 and so on: as many as its link has.
    pub more_credits: Vec<[CreditPool; 3]>,
    /// How the virtual channels of its link compete for the wire.
    pub channel_arbitration: ChannelArbitration,
    /// Scaled flow control: in which steps the peer is told of the credits above, for posted, non-posted and completion. The
    /// receiver of TLPs chooses it (PCIe Base 6.3 §3.4.2), so the two ends of a link may differ.
    pub scale: [Scale; 3],
    /// When acknowledgements are sent.
    pub ack: AckPolicy,
    /// When flow control updates are sent.
    pub update_flow_control: UpdatePolicy,
    /// Time from the last byte of a TLP or DLLP at the pins until the data link layer has acted on it.
    pub receive_latency: Span,
    /// Which replay timer the transmitter runs.
    pub replay_timer: Span,
}

/// When a receiver sends an Ack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckPolicy {
    /// At the latest after so many unacknowledged TLPs.
    pub every_tlps: u32,
    /// At the latest this long after the oldest unacknowledged TLP arrived.
    pub latency: Span,
}

/// When a receiver sends an UpdateFC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdatePolicy {
    /// At the latest after the credits of so many TLPs were freed.
    pub every_tlps: u32,
    /// At the latest this long after a credit was freed.
    pub latency: Span,
    /// Repeated this often even when nothing changed (30 us, PCIe Base 6.3 §2.6.1.2).
    pub period: Span,
}

/// What goes wrong at a device, and what it does when something goes wrong elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorConfig {
    /// Ordinals (0 is the first) of read requests that it gets and never answers.
    pub unanswered_reads: Vec<u64>,
    /// Ordinals of read requests that it answers late. Root complexes only.
    pub late_reads: Vec<u64>,
    /// How late.
    pub late_by: Span,
    /// Ordinals of packets with data that it sends poisoned: completions, and an endpoint's writes.
    pub poisoned: Vec<u64>,
    /// From when a read request has left until it is given up; none when the timeout is disabled. Endpoints only.
    pub completion_timeout: Option<Span>,
    /// How often an endpoint asks again for data that did not come, or came poisoned.
    pub retries: u32,
}

impl ErrorConfig {
    /// Whether nothing ever comes of it.
    pub fn is_none(&self) -> bool {
        let injected = [&self.unanswered_reads, &self.late_reads, &self.poisoned];
        injected.iter().all(|ordinals| ordinals.is_empty()) && self.completion_timeout.is_none()
    }
}

/// Switch: how packets get from ingress to egress.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// How the ports are joined.
    pub core: SwitchCore,
    /// When forwarding starts.
    pub forwarding: Forwarding,
    /// First bit in to first bit out, unloaded, cut-through; from the last bit in when store-and-forward.
    pub latency: Span,
    /// How ingress ports that compete for an egress port are served.
    pub arbitration: Arbitration,
    /// Peer-to-peer requests and completions between downstream ports are redirected upstream (ACS).
    pub acs_redirect: bool,
    /// Request metering, of every port: data of each completion that it expects. None where it is off.
    pub request_metering: Option<Bytes>,
    /// Room behind the credits of its ports, at each egress, for packets of each class; none where it is zero.
    pub storage: [Bytes; 3],
    /// Packets that it damages.
    pub corruption: CorruptionConfig,
}

/// Packets whose data change inside a switch, where no LCRC covers them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CorruptionConfig {
    /// Probability that a packet is damaged.
    pub probability: f64,
    /// Ordinals (0 is the first) of packets that enter the switch, at any port, and are damaged.
    pub tlps: Vec<u64>,
}

impl CorruptionConfig {
    /// Whether nothing is ever damaged.
    pub fn is_none(&self) -> bool {
        self.probability <= 0.0 && self.tlps.is_empty()
    }
}

/// How the ports of a switch are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchCore {
    /// Non-conflicting pairs transfer at the same time. Each ingress feeds the core at `port_rate`.
    Crossbar {
        /// Rate of one core port, speedup included.
        port_rate: Rate,
    },
    /// One transfer at a time on each bus: one bus that all ports share, or groups of ports that a crossbar joins.
    Buses {
        /// Rate of each bus, and of the crossbar between them.
        rate: Rate,
        /// Bus of each port, counted from 0; ports that it does not reach are on bus 0.
        of_port: Box<[u16]>,
    },
    /// Every packet is written to and read from one memory.
    SharedMemory {
        /// Write and read bandwidth together.
        rate: Rate,
    },
}

impl SwitchCore {
    /// One bus that all ports share.
    pub fn shared_bus(rate: Rate) -> Self {
        Self::Buses { rate, of_port: Box::default() }
    }
}

/// When a switch starts to forward a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// While it is being received, as early as the egress cannot run dry.
    CutThrough,
    /// Once it is received in full and its LCRC is good.
    StoreAndForward,
}

/// Endpoint: a requester with DMA engines, and a completer of MMIO.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointConfig {
    /// Maximum Read Request Size programmed into the device.
    pub mrrs: Bytes,
    /// Tags it may have outstanding, within `tag_width`.
    pub tags: u32,
    /// Width of the tag field in use.
    pub tag_width: TagWidth,
    /// Whether requests carry Relaxed Ordering.
    pub relaxed_ordering: bool,
    /// Whether requests and completions carry ID-based Ordering.
    pub id_based_ordering: bool,
    /// Traffic class of what it asks for, where a channel of its DMA says nothing else.
    pub traffic_class: u8,
    /// ECRC on every TLP it sends.
    pub ecrc: bool,
    /// End-to-end prefixes, the first of them a PASID, on every request it sends.
    pub tlp_prefixes: u8,
    /// The BAR of its registers.
    pub registers: Bar,
    /// Size of the BAR of its memory, a power of two, above 4 GiB; none where no other device addresses it.
    pub memory_bar: Option<Bytes>,
    /// From an MMIO read's arrival to its completion entering the egress queue.
    pub mmio_read_latency: Span,
    /// From the arrival of another device's read of its memory to the data entering the egress queue.
    pub memory_read_latency: Span,
    /// Rate at which its memory answers such reads, one after another; none for no limit.
    pub memory_read_rate: Option<Rate>,
    /// Smallest time between two requests leaving the DMA engines, whatever their directions.
    pub request_interval: Span,
    /// Units, paces and the data path of its DMA.
    pub dma: DmaConfig,
    /// From the arrival of the last completion to the requester's use of the data.
    pub completion_latency: Span,
    /// Rate at which the device's internal path drains posted writes that arrive (peer-to-peer, MMIO).
    pub write_drain: Rate,
    /// From the arrival of any packet until its buffer space is free, on top of draining.
    pub buffer_hold: Span,
    /// Socket whose memory its buffers are in; none for the socket of the root port above it.
    pub memory_socket: Option<u16>,
    /// Whether the processor has used its buffers, so that they are in the last-level cache as far as they fit.
    pub warm_buffers: bool,
    /// What joins it to other devices beside PCI Express.
    pub side_link: Option<SideLinkConfig>,
    /// What goes wrong at it, and what it does about what goes wrong elsewhere.
    pub errors: ErrorConfig,
    /// What it is one side of, if it is no device but a bridge to another machine.
    pub bridge: Option<BridgeConfig>,
}

/// A non-transparent bridge, as one of its two sides has it: both say the same of what is between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeConfig {
    /// The other side: its index among the devices.
    pub other: usize,
    /// When forwarding starts.
    pub forwarding: Forwarding,
    /// From side to side, as of a switch.
    pub latency: Span,
    /// Rate at which each side takes packets over to the other.
    pub rate: Rate,
}

impl BridgeConfig {
    /// What is between its sides.
    pub(crate) fn inside(&self) -> SwitchConfig {
        SwitchConfig {
            core: SwitchCore::Crossbar { port_rate: self.rate },
            forwarding: self.forwarding,
            latency: self.latency,
            arbitration: Arbitration::RoundRobin,
            acs_redirect: false,
            request_metering: None,
            storage: [Bytes::ZERO; 3],
            corruption: CorruptionConfig::default(),
        }
    }
}

/// A link of a device beside PCI Express: no more than a rate and a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideLinkConfig {
    /// Of each direction.
    pub rate: Rate,
    /// From the last byte out of a device to the last byte in the other.
    pub latency: Span,
    /// It joins all devices of the same group; the numbers are the caller's.
    pub group: [u32; 3],
}

/// What a device's DMA does beyond cutting at MPS and MRRS; the default is a device that is never the limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DmaConfig {
    /// Largest write request, a power of two; none for the Maximum Payload Size. Never above it.
    pub write_unit: Option<Bytes>,
    /// Largest read request, a power of two; none for the Maximum Read Request Size. Never above it.
    pub read_unit: Option<Bytes>,
    /// Smallest time between the starts of two write requests.
    pub write_interval: Span,
    /// Smallest time between the starts of two read requests.
    pub read_interval: Span,
    /// Time after each TLP that it sends in which no other starts.
    pub tlp_gap: Span,
    /// Rate of its own data path, of each direction; none for no limit.
    pub path_rate: Option<Rate>,
    /// Time that each piece of data takes on that path, beside its bytes.
    pub path_latency: Span,
    /// Whether data of a read pass that path only when all of their transfer have arrived.
    pub collects_reads: bool,
    /// From the arrival of a read's last completion until its tag is free; none until the data can be used.
    pub tag_hold: Option<Span>,
    /// Encryption and integrity of all TLPs between it and its root port, if there is any.
    pub ide: Option<IdeConfig>,
    /// A translation cache of its own, if it has one: then its requests to host memory are translated.
    pub ats: Option<AtsConfig>,
    /// Virtual functions with queues of their own, if it has any.
    pub functions: Option<FunctionsConfig>,
}

/// Virtual functions of a device (SR-IOV).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionsConfig {
    /// How many there are beside the physical function.
    pub count: u8,
    /// Reads that each may have out, within the tags of all; none where they share all tags.
    pub own_tags: Option<u16>,
    /// How functions compete: the physical one is number 0, and each virtual one a number higher than its own.
    pub arbitration: Arbitration,
    /// Distance of the Requester ID of the first from that of the physical function, and of each from the one before.
    pub offset_and_stride: (u16, u16),
}

/// Address translation services of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtsConfig {
    /// Translations that its cache holds.
    pub entries: u32,
    /// Bytes that one covers, a power of two.
    pub page: Bytes,
    /// Pages that a translation request asks for beside the one that is needed; see [`Self::most_prefetch`].
    pub prefetch: u32,
    /// Translation requests that may be out.
    pub requests: u32,
    /// Time between two invalidations by the host, each of which takes a translation; none for no invalidations.
    pub invalidate_interval: Option<Span>,
}

/// An IDE stream between a device and its root port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdeConfig {
    /// What it adds to TLPs.
    pub ide: Ide,
    /// Time that a TLP takes at each end: to be encrypted, and to be checked and decrypted.
    pub latency: Span,
}

/// A DMA engine with settings of its own, for one channel; the default has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineConfig {
    /// Largest write request, a power of two; none for the device's own. Never above the Maximum Payload Size.
    pub write_unit: Option<Bytes>,
    /// Largest read request, a power of two; none for the device's own. Never above the Maximum Read Request Size.
    pub read_unit: Option<Bytes>,
    /// Bytes of reads in flight, of which one request is always let out; none for as many as there are tags.
    pub outstanding: Option<Bytes>,
}
