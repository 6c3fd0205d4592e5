//! Settings of adapters, of the host's software, and of SmartFlow.

use lanewise_fabric::workload::DeviceId;
use lanewise_network::ethernet::EthernetRate;
use lanewise_units::{Bytes, Span};

/// Settings of an Ethernet adapter.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Its name.
    pub name: String,
    /// The endpoint that it is.
    pub device: DeviceId,
    /// Ports, all alike.
    pub ports: u32,
    /// Rate of each line.
    pub rate: EthernetRate,
    /// Bytes of a descriptor.
    pub descriptor: Bytes,
    /// Receive descriptors of a port.
    pub receive_ring: u32,
    /// Transmit descriptors of a port.
    pub transmit_ring: u32,
    /// Descriptors that are fetched with one read at most, and that a port holds on chip.
    pub descriptor_prefetch: u32,
    /// Descriptors that are written back together at most.
    pub write_back_batch: u32,
    /// Room for frames between line and DMA, of a port.
    pub receive_fifo: Bytes,
    /// Room for frames between DMA and line, of a port.
    pub transmit_fifo: Bytes,
    /// Frames that are read from memory at a time, over all ports.
    pub transmit_frames: u32,
    /// Time of the transmit engine for each frame, beside reading it.
    pub frame_time: Span,
    /// Least time between two interrupts of a port.
    pub interrupt_interval: Span,
    /// Bytes of a register.
    pub register: Bytes,
}

/// CPU costs of an operating system that bridges, and the cores that pay them.
#[derive(Clone, Debug)]
pub struct StackConfig {
    /// Cores; port n interrupts core n, counted round.
    pub cores: u32,
    /// Interrupt service, for each interrupt.
    pub interrupt_cost: Span,
    /// Register reads of an interrupt; the core waits for each.
    pub interrupt_reads: u32,
    /// For a frame of the smallest size.
    pub packet_cost: Span,
    /// For each byte beyond the smallest size.
    pub byte_cost: Span,
    /// Bytes of a frame beyond which none cost anything; none for no such limit.
    pub byte_limit: Option<Bytes>,
    /// Register reads for each frame; the core waits for each.
    pub packet_reads: u32,
    /// Posted register writes for each frame, beside the doorbell.
    pub packet_writes: u32,
    /// Frames of a port that are worked on before another port has its turn.
    pub budget: u32,
    /// Receive descriptors that are given back to the adapter together.
    pub replenish: u32,
    /// Who goes first where frames wait.
    pub service: Service,
}

/// Which of the frames that wait in a host goes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Whichever came first; ports have turns.
    Fifo,
    /// The one of the highest priority.
    StrictPriority,
}

/// Parts per million of the line rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Load(pub u32);

impl Load {
    /// The line full.
    pub const FULL: Self = Self(1_000_000);

    /// In percent, for a reader.
    pub fn as_percent(self) -> f64 {
        f64::from(self.0) / 1e4
    }
}

/// Distance of two loads at which a search ends, in parts per million of the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resolution(pub u32);

/// Frames from one port to another.
#[derive(Clone, Debug)]
pub struct TrafficFlow {
    /// Name in results.
    pub name: String,
    /// Group that it is summed in; flows without a name of their own share one.
    pub group: String,
    /// Class of service of its frames, 0 to 7 (IEEE 802.1p).
    pub priority: u8,
    /// Adapter and port at which its frames enter the host.
    pub from: (usize, usize),
    /// Adapter and port at which they leave it.
    pub to: (usize, usize),
}

/// What SmartFlow measures.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SmartFlowTest {
    /// The highest load without loss, by search (RFC 2544 §26.1).
    Throughput,
    /// Share of frames lost at each load (RFC 2544 §26.3).
    FrameLoss,
    /// Least, mean and largest latency at each load (RFC 2544 §26.2).
    Latency,
    /// How many frames had a latency within each bucket.
    LatencyDistribution,
    /// Latency of single frames, one after another.
    LatencySnapshot,
    /// Each flow on its own: sent, received, lost, latency.
    SmartTracker,
}

/// Settings of SmartFlow.
#[derive(Clone, Debug)]
pub struct SmartFlowConfig {
    /// What is measured.
    pub test: SmartFlowTest,
    /// The flows, all at the same load.
    pub flows: Vec<TrafficFlow>,
    /// Sizes of frames, one after another, frame check sequence included.
    pub sizes: Vec<Bytes>,
    /// Loads to test; a search starts at the first and goes no higher.
    pub loads: Vec<Load>,
    /// When a search ends.
    pub resolution: Resolution,
    /// How long frames are sent in a trial.
    pub trial: Span,
    /// Upper ends of the buckets of a latency distribution, ascending; one more is for everything above.
    pub buckets: Vec<Span>,
    /// Frames of each flow in a latency snapshot.
    pub snapshot_frames: u32,
}

/// Adapters of one host, the operating system between them, and SmartFlow.
#[derive(Clone, Debug)]
pub struct EthernetConfig {
    /// Name of the instrument.
    pub name: String,
    /// The adapters.
    pub nics: Vec<NicConfig>,
    /// The host's software.
    pub stack: StackConfig,
    /// What the lines are connected to.
    pub smartflow: SmartFlowConfig,
}
