//! Settings of a collective workload: who takes part, what is done, and how the data go.

use super::plan::Layout;
use super::tuning::{Algorithm, Hardware, Protocol};
use crate::device::rdma::{NicPort, RdmaNetworkConfig};
use crate::host::VerbsHostConfig;
use crate::load::LoadName;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::DeviceId;
use lanewise_units::{Bytes, Span};

/// What is done with the data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Every rank gets the sum of all data.
    AllReduce,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// Every rank gets the parts of all.
    AllGather,
    /// Every rank gets the data of one, the root.
    Broadcast,
    /// The root gets the sum of all data.
    Reduce,
    /// Every rank gets a part from each of the others.
    AllToAll,
    /// Every rank sends its data to the next and gets those of the one before.
    SendReceive,
}

impl Operation {
    /// Bus bandwidth over algorithm bandwidth with so many ranks.
    ///
    /// Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md.
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let (steps, ranks) = (f64::from(ranks - 1), f64::from(ranks));
        match self {
            Self::AllReduce => 2.0 * steps / ranks,
            Self::ReduceScatter | Self::AllGather | Self::AllToAll => steps / ranks,
            Self::Broadcast | Self::Reduce | Self::SendReceive => 1.0,
        }
    }

    /// Of data of this size, what one rank sends another between pairs.
    pub fn of_pair(self, size: Bytes, ranks: u32) -> Bytes {
        match self {
            Self::AllToAll => Bytes::new(size.get().div_ceil(ranks.into())),
            _ => size,
        }
    }

    /// Whether every rank sends straight to the ranks that get its data.
    pub const fn is_between_pairs(self) -> bool {
        matches!(self, Self::AllToAll | Self::SendReceive)
    }
}

/// One that takes part.
#[derive(Clone, PartialEq, Debug)]
pub struct Rank {
    /// Its device.
    pub device: DeviceId,
    /// Name of the device.
    pub name: String,
    /// Number of its host among those that take part.
    pub node: u32,
    /// How its kernels load and store.
    pub engine: EngineConfig,
}

/// What passes between data in the next rank and the next rank's own write of them, beside the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hop {
    /// From data that have arrived to the next write.
    AfterArrival(Span),
    /// From a write of one line to the next rank's: what the write of a line takes is part of it.
    Whole(Span),
}

/// How one size is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pass {
    /// Bytes of the data, as nccl-tests count them; at least one.
    pub size: Bytes,
    /// In which order ranks send; of no meaning between pairs.
    pub algorithm: Algorithm,
    /// How a receiver knows what has arrived.
    pub protocol: Protocol,
    /// From the start of an operation to its first write.
    pub launch: Span,
    /// By hardware.
    pub hops: [Hop; Hardware::COUNT],
    /// Rings or trees side by side, each with its share; at least one.
    pub channels: u32,
    /// Data of a chunk: what a rank deals with before it turns to other data; not zero.
    pub chunk: Bytes,
    /// Slices of a full chunk, of which each may go on alone; at least one.
    pub slices: u32,
    /// Data of a slice, unless there are fewer.
    pub least_slice: Bytes,
    /// Slices that a receiver has room for; at least one.
    pub window: u32,
    /// Whether threads deal with a slice before they look for the next, as they do with lines that have flags.
    pub in_turn: bool,
}

impl Pass {
    /// Whether a receiver asks a counter which slices have arrived, where it is in memory of the host.
    pub(super) fn counts_slices(&self) -> bool {
        self.protocol == Protocol::Simple && !self.in_turn
    }
}

/// How data come from one rank to another.
#[derive(Clone, PartialEq, Debug)]
pub enum Path {
    /// The sender writes into the receiver's memory, by PCI Express or by a side link.
    Peer(Hardware),
    /// The sender writes into memory of their host, the receiver reads.
    HostMemory,
    /// Through adapters and the wire between them.
    Network(NetworkPath),
}

impl Path {
    /// What latencies are counted with.
    pub(super) const fn hardware(&self) -> Hardware {
        match self {
            Self::Peer(hardware) => *hardware,
            Self::HostMemory => Hardware::Pci,
            Self::Network(_) => Hardware::Network,
        }
    }
}

/// Through adapters: the sender's, the receiver's.
#[derive(Clone, PartialEq, Debug)]
pub struct NetworkPath {
    /// Ports that a wire joins; channels take those of the list in turn.
    pub ports: Vec<[NicPort; 2]>,
    /// Whether the adapter reads the sender's memory, and writes the receiver's; otherwise data pass through memory of the host.
    pub direct: [bool; 2],
}

/// The way from one rank to another.
#[derive(Clone, PartialEq, Debug)]
pub struct Way {
    /// Sender and receiver.
    pub pair: (u32, u32),
    /// How.
    pub path: Path,
}

/// Settings of the instrument.
#[derive(Clone, PartialEq, Debug)]
pub struct CollectiveConfig {
    /// Name of its flows.
    pub name: LoadName,
    /// Who takes part, in the order of the ring; at least two.
    pub ranks: Vec<Rank>,
    /// Their hosts, and where rings enter them.
    pub layout: Layout,
    /// What is done.
    pub operation: Operation,
    /// Where a broadcast starts and a reduction ends.
    pub root: u32,
    /// Sizes, one after another; at least one.
    pub passes: Vec<Pass>,
    /// Operations of each size that are timed, after as many as `warm_up`; none for as many as there is time for, of one size.
    pub operations: Option<u32>,
    /// Operations of each size before those that are timed.
    pub warm_up: u32,
    /// The way of each pair that sends.
    pub ways: Vec<Way>,
    /// Adapters and wires, if any pair needs them.
    pub network: RdmaNetworkConfig,
    /// Drivers of each node's adapters, for its proxy thread; empty without a network.
    pub proxies: Vec<VerbsHostConfig>,
}
