//! What a host is made of: root complexes, and what lies behind their ports.

use super::ErrorConfig;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;

/// Root complex: what lies between the root ports and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct RootComplexConfig {
    /// From a core to a root port, and back: what loads and stores of the CPU take on their way, each way.
    pub core_latency: Span,
    /// Stack of each root port, counted from 0: ports beyond the end of the list have one of their own each.
    pub stack_of_port: Vec<u16>,
    /// Settings of every stack.
    pub stack: StackConfig,
    /// Memory of every socket.
    pub memory: MemoryConfig,
    /// Memory of sockets that have more of it than the others.
    pub more_memory: BTreeMap<u16, MemoryConfig>,
    /// Last-level cache of every socket, as devices see it; none where every access goes to memory.
    pub cache: Option<CacheConfig>,
    /// From the last byte of a read request to the first byte of data at the egress queue.
    pub memory_latency: Span,
    /// Additional exponentially distributed latency of a read, mean; zero for none.
    pub memory_latency_jitter: Span,
    /// Rate at which data for completions can be read, over all root ports.
    pub read_bandwidth: Rate,
    /// Rate at which posted data can be written, over all root ports.
    pub write_bandwidth: Rate,
    /// Fixed cost of each posted write on the way to memory, on top of its bytes at `write_bandwidth`.
    pub write_overhead: Span,
    /// Read Completion Boundary.
    pub rcb: Bytes,
    /// Largest completion the completer combines to; never above MPS.
    pub completion_combine_max: Bytes,
    /// Whether that goes for reads of more than the Maximum Payload Size, too; otherwise theirs end at every boundary.
    pub combine_long_reads: bool,
    /// Packets of completions in a root port's queue for the wire: lines that come while it is full are joined. None to join
    /// whatever may be joined.
    pub completion_queue: Option<u32>,
    /// From the last byte of a posted write until its buffer space is free.
    pub write_latency: Span,
    /// One outbound queue of so many TLPs shared by all root ports; none for a queue per port.
    pub shared_outbound_queue: Option<u32>,
    /// Packets that a root port takes over from the shared queue ahead of the wire; at least one.
    pub root_port_queue: u32,
    /// The same of the processor's requests, counted apart from completions; none to count both together. At least one.
    pub root_port_request_queue: Option<u32>,
    /// Whether requests between root ports are forwarded.
    pub peer_to_peer: bool,
    /// Time for a TLP from one root port to another.
    pub forward_latency: Span,
    /// Largest payload that it forwards between root ports: it cuts what is larger (PCIe Base 6.3 §1.3.1). None to leave packets
    /// as they are.
    pub largest_forwarded: Option<Bytes>,
    /// Start of the host memory that devices address; below 4 GiB gives 3 DW headers.
    pub memory_base: u64,
    /// Which socket each root port belongs to, and the links between sockets; none where there is one socket, or where
    /// every device uses the memory of its own and no peer.
    pub sockets: Option<SocketsConfig>,
    /// Start of the addresses above 4 GiB that devices have. Host memory that does not fit below goes on behind them.
    pub mmio_base: u64,
    /// Translation of the addresses that devices use; none where it is off or passes everything through.
    pub iommu: Option<IommuConfig>,
    /// ECRC on every TLP it sends: completions, and the processor's loads and stores.
    pub ecrc: bool,
    /// What goes wrong with the reads it answers.
    pub errors: ErrorConfig,
}

impl RootComplexConfig {
    /// Stack of each root port: as it is given, and one of its own for each of those that the list does not reach.
    pub fn stacks(&self, ports: usize) -> Vec<u16> {
        let mut stacks: Vec<u16> = self.stack_of_port.iter().copied().take(ports).collect();
        let mut next = stacks.iter().max().map_or(0, |last| last + 1);
        stacks.resize_with(ports, || {
            next += 1;
            next - 1
        });
        stacks
    }

    /// Socket of a root port.
    pub fn socket(&self, port: usize) -> u16 {
        self.sockets.as_ref().and_then(|sockets| sockets.of_port.get(port).copied()).unwrap_or(0)
    }

    /// Memory of a socket.
    pub fn memory_of(&self, socket: u16) -> &MemoryConfig {
        self.more_memory.get(&socket).unwrap_or(&self.memory)
    }

    /// Which of a root port's two queues a packet of this class stands in, and how many fit there.
    pub(crate) fn staging(&self, class: FlowClass) -> (usize, u32) {
        match self.root_port_request_queue {
            Some(most) if class != FlowClass::Completion => (1, most),
            _ => (0, self.root_port_queue),
        }
    }
}

/// What root ports share within a stack: a quadrant, an IIO stack, a PHB.
#[derive(Clone, Debug, PartialEq)]
pub struct StackConfig {
    /// Read requests in progress at a time: from when a read starts until the last of its data is queued at the root port.
    pub read_trackers: u32,
    /// Rate at which data for completions can be read; none for no limit of its own.
    pub read_bandwidth: Option<Rate>,
    /// Rate at which posted data can be written; none for no limit of its own.
    pub write_bandwidth: Option<Rate>,
    /// Rate at which packets between root ports enter or leave it; none for no limit of its own.
    pub peer_rate: Option<Rate>,
}

/// The memory of a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryConfig {
    /// Rate of reads and writes together, over all channels.
    pub rate: Rate,
    /// Channels, each with its part of the rate.
    pub channels: u32,
    /// Bytes that lie on one channel before the next has its turn.
    pub interleave: Bytes,
    /// Banks of each channel; none where its rate is the only limit.
    pub banks: Option<BankConfig>,
}

/// Banks of a memory channel.
#[derive(Clone, Debug, PartialEq)]
pub struct BankConfig {
    /// Banks of one channel, all its ranks together.
    pub per_channel: u32,
    /// Time from one row to the next of the same bank: tRC.
    pub cycle: Span,
    /// Bytes that one row holds.
    pub row: Bytes,
}

/// The last-level cache of a socket, as devices see it.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheConfig {
    /// Bytes that it holds.
    pub size: Bytes,
    /// Ways of a set.
    pub ways: u32,
    /// Ways that writes of devices may use; 0 where they go to memory.
    pub device_ways: u32,
    /// Bytes that are kept, and leave, together.
    pub block: Bytes,
    /// From the last byte of a read request to the first byte of data at the egress queue.
    pub latency: Span,
    /// Rate at which it answers reads of devices; none for no limit of its own.
    pub read_bandwidth: Option<Rate>,
}

/// Processors with memory and root ports of their own, each linked to each other: UPI, QPI, Infinity Fabric, X-Bus.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketsConfig {
    /// Socket of each root port.
    pub of_port: Vec<u16>,
    /// Bytes per second from one socket to another, each way, after the link's own coding.
    pub rate: Rate,
    /// Links that have this rate together; packets from one root port to another take one of them.
    pub links: u32,
    /// Which of them packets from each root port to another take, from 0.
    pub link_of_port: Vec<u16>,
    /// Bytes that a line of memory or a packet moves at most at a time.
    pub line: Bytes,
    /// Bytes that go with every line, and that a request for a line takes.
    pub line_overhead: Bytes,
    /// Time from one socket to the other, one way.
    pub latency: Span,
}

/// I/O memory management unit with a finite translation cache.
#[derive(Clone, Debug, PartialEq)]
pub struct IommuConfig {
    /// Translations that the cache (IOTLB) holds.
    pub entries: u32,
    /// Entries in which one page can be; as many as `entries` for a fully associative cache.
    pub ways: u32,
    /// Bytes that one translation covers.
    pub page: Bytes,
    /// Reads of memory that a walk of the page tables takes, one after another.
    pub walk_steps: u32,
    /// Latency of each of these reads.
    pub walk_step_latency: Span,
    /// Walks in progress at a time.
    pub walkers: u32,
    /// Smallest time between the starts of two walks, over all walkers.
    pub walk_interval: Span,
}
