//! What NCCL does unless it is told otherwise: latencies, buffers, and which algorithm and protocol it takes.
//!
//! Source of every figure: NVIDIA/nccl 2.30.7, `src/graph/tuning.cc` (`ncclTunerConstantsDefaults`, `ncclTopoTuneModel`,
//! `ncclTopoGetAlgoTime`), `src/init.cc` (sizes of buffers), `src/include/device.h` and `src/include/collectives.h` (steps).
//! Latencies of a hop there are of whole hops: what a line takes from rank to rank, with everything on its way.

use super::config::Operation;
use super::search::Era;
use lanewise_units::{Bytes, Span};

/// In which order ranks send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// Round a ring.
    Ring,
    /// Up a tree and down again.
    Tree,
}

/// How a receiver knows what has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Protocol {
    /// A counter after each slice.
    Simple,
    /// A flag of 4 B with each 4 B of data.
    Ll,
    /// A flag of 8 B with each 120 B of data; lines of 128 B arrive as one.
    Ll128,
}

/// What a hop goes over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hardware {
    /// A side link.
    SideLink,
    /// PCI Express within a host.
    Pci,
    /// Adapters and a wire.
    Network,
}

impl Hardware {
    /// How many there are.
    pub const COUNT: usize = 3;
    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [Self::SideLink, Self::Pci, Self::Network];
}

/// Steps that a receiver's buffer is divided into.
const STEPS: u32 = 8;
/// Threads of a block of Simple, and of rings that are no faster than PCI Express of Gen3 x16.
const SIMPLE_THREADS: u64 = 512;
const SLOW_RING_THREADS: u64 = 256;
/// Bytes a second of Gen3 x16 as NCCL counts it: `PCI_BW`, src/graph/topo.h.
const SLOW_RING: f64 = 12e9;
/// Threads of a block of LL.
const LL_THREADS: u64 = 512;
/// Threads of a block of LL128.
const LL128_THREADS: u64 = 640;

impl Protocol {
    /// All of them, in the order of NCCL's tables.
    pub const ALL: [Self; 3] = [Self::Ll, Self::Ll128, Self::Simple];

    /// Bytes that travel for so much data: whole lines.
    pub fn wire(self, data: Bytes) -> Bytes {
        match self {
            Self::Simple => data,
            Self::Ll => Bytes::new(data.div_ceil(Bytes::new(8)) * 16),
            Self::Ll128 => Bytes::new(data.div_ceil(Bytes::new(120)) * 128),
        }
    }

    /// Data that fit a step of the receiver's buffer: 4 MiB, 512 KiB and 4800 KiB in eight steps, less flags.
    fn step(self) -> Bytes {
        match self {
            Self::Simple => Bytes::from_kib(512),
            Self::Ll => Bytes::from_kib(32),
            Self::Ll128 => Bytes::new(120 * LL128_THREADS * 8 / 128 * 120),
        }
    }

    /// Data that a block of threads moves in one turn, which the receiver sees by their flags; of Simple a 32nd of a slice, which it
    /// goes not below.
    fn turn(self) -> Bytes {
        match self {
            Self::Simple => Bytes::ZERO,
            Self::Ll => Bytes::new(LL_THREADS * 8),
            // Each thread has eight words of 8 B, of which every 16th is a flag.
            Self::Ll128 => Bytes::new(LL128_THREADS * 60),
        }
    }

    /// Least data that are worth a channel.
    fn least_share(self, algorithm: Algorithm, machine: &Machine) -> u64 {
        match (self, algorithm) {
            (Self::Simple, Algorithm::Ring) if machine.bandwidth <= SLOW_RING => 64 * SLOW_RING_THREADS,
            (Self::Simple, _) => 64 * SIMPLE_THREADS,
            (Self::Ll, Algorithm::Ring) => 8 * LL_THREADS * u64::from(machine.ranks),
            (Self::Ll, Algorithm::Tree) => 8 * LL_THREADS,
            (Self::Ll128, _) => 8 * LL128_THREADS,
        }
    }

    const fn column(self) -> usize {
        match self {
            Self::Ll => 0,
            Self::Ll128 => 1,
            Self::Simple => 2,
        }
    }
}

/// From the start of an operation to its first write: `baseLatencies`.
pub fn base_latency(algorithm: Algorithm, protocol: Protocol) -> Span {
    let ns = match algorithm {
        Algorithm::Tree => [6_800, 14_000, 8_400],
        Algorithm::Ring => [6_600, 14_000, 8_400],
    };
    Span::from_ns(ns[protocol.column()])
}

/// Of a whole hop: `hwLatencies`.
pub fn hop_latency(hardware: Hardware, algorithm: Algorithm, protocol: Protocol) -> Span {
    let ns = match (hardware, algorithm) {
        (Hardware::SideLink, Algorithm::Tree) => [600, 1_250, 4_000],
        (Hardware::SideLink, Algorithm::Ring) => [600, 1_900, 3_400],
        (Hardware::Pci, Algorithm::Tree) => [1_000, 1_900, 4_000],
        (Hardware::Pci, Algorithm::Ring) => [1_000, 2_500, 5_700],
        (Hardware::Network, Algorithm::Tree) => [5_000, 8_500, 14_000],
        (Hardware::Network, Algorithm::Ring) => [2_700, 4_000, 14_000],
    };
    Span::from_ns(ns[protocol.column()])
}

/// Of a whole hop of an operation of so many ranks: of two hosts with a rank each nothing hides it, and NCCL takes a tree's.
pub fn hop_latency_of(hardware: Hardware, way: (Algorithm, Protocol), machine: &Machine) -> Span {
    let exposed = hardware == Hardware::Network && machine.ranks == machine.nodes;
    hop_latency(hardware, if exposed { Algorithm::Tree } else { way.0 }, way.1)
}

/// How data are cut, and how much of them a receiver has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Data of a chunk.
    pub chunk: Bytes,
    /// Slices of a full chunk.
    pub slices: u32,
    /// Data of a slice, unless there are fewer.
    pub least_slice: Bytes,
    /// Slices that fit the receiver's buffer.
    pub window: u32,
}

/// How NCCL cuts the data of a channel.
///
/// Leaves out smaller chunks of LL128 on trees over several hosts.
pub fn cut(
    operation: Operation,
    (algorithm, protocol): (Algorithm, Protocol),
    size: Bytes,
    machine: &Machine,
) -> Cut {
    if operation.is_between_pairs() {
        let chunk = machine.chunk_of_pair(operation.of_pair(size, machine.ranks));
        return Cut { chunk, slices: 1, least_slice: chunk, window: STEPS };
    }
    if protocol != Protocol::Simple {
        let (chunk, turn) = (protocol.step(), protocol.turn());
        let slices = chunk.div_ceil(turn) as u32;
        return Cut { chunk, slices, least_slice: turn, window: STEPS * slices };
    }
    let (of_chunk, of_slice) = match (algorithm, operation) {
        (Algorithm::Tree, _) | (_, Operation::Broadcast | Operation::Reduce) => (1, 1),
        _ => (STEPS / 2, STEPS / 4),
    };
    let slice = protocol.step() * u64::from(of_slice);
    Cut {
        chunk: protocol.step() * u64::from(of_chunk),
        slices: of_chunk / of_slice,
        least_slice: Bytes::new(slice.get() / 32),
        window: STEPS / of_slice,
    }
}

/// Channels that data of this size are worth, of those that there are.
pub fn channels_for(operation: Operation, way: (Algorithm, Protocol), size: Bytes, machine: &Machine) -> u32 {
    if operation.is_between_pairs() {
        return machine.channels_of_pair(operation.of_pair(size, machine.ranks));
    }
    // As many as have that much each, in whole channels.
    let worth = size.div_floor(Bytes::new(way.1.least_share(way.0, machine)));
    worth.clamp(1, machine.channels.into()) as u32
}

/// What the choice among algorithms and protocols counts with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Ranks, all in all.
    pub ranks: u32,
    /// Hosts.
    pub nodes: u32,
    /// What all hops within a host go over.
    pub within: Hardware,
    /// Least compute capability of the GPUs, 89 for 8.9.
    pub compute_capability: u32,
    /// Bytes a second that each rank sends, all channels together.
    pub bandwidth: f64,
    /// The same on trees, which on two hosts have more within each than between them.
    pub tree_bandwidth: f64,
    /// Rings or trees side by side, at most.
    pub channels: u32,
    /// Those of them that one rank and another have, at most.
    pub pair_channels: u32,
    /// Of these, those that the search found: half of what NCCL has unless it is told otherwise.
    pub rings: u32,
    /// Whether all hosts are AMD's.
    pub is_amd: bool,
}

impl Machine {
    /// A step between pairs: NCCL_P2P_NET_CHUNKSIZE, NCCL_P2P_NVL_CHUNKSIZE and NCCL_P2P_PCI_CHUNKSIZE, src/init.cc.
    fn step_of_pair(&self) -> Bytes {
        Bytes::from_kib(if self.nodes == 1 && self.within == Hardware::SideLink { 512 } else { 128 })
    }

    /// Data of a chunk of what one rank sends another: a step, over the network less of little. `addP2pToPlan`, src/enqueue.cc.
    ///
    /// Leaves out that of several hosts with several ranks each the pairs within a host keep whole steps: there all do.
    fn chunk_of_pair(&self, bytes: Bytes) -> Bytes {
        let step = self.step_of_pair();
        match self.nodes > 1 && self.nodes == self.ranks {
            true if bytes < step => Bytes::new(step.get() / 4),
            true if bytes < step * 8 => Bytes::new(step.get() / 2),
            _ => step,
        }
    }

    /// Channels of what one rank sends another: as many as all peers can have at once, then twice as many for as long as each has more
    /// than it should. `scheduleP2pTasksToPlan` and `addP2pToPlan`, src/enqueue.cc.
    fn channels_of_pair(&self, bytes: Bytes) -> u32 {
        let step = self.step_of_pair().get();
        let (least, most) = if self.nodes > 1 { (step / 2, step) } else { (step / 8, step * 32) };
        let mut at_once = self.pair_channels;
        while at_once > 1 && at_once * self.ranks > self.channels.next_power_of_two() {
            at_once /= 2;
        }
        let parts = bytes.div_ceil(Bytes::new(least)).max(1);
        let mut channels = parts.min(at_once.into()) as u32;
        while bytes.div_ceil(Bytes::new(most)) > u64::from(channels) && channels * 2 <= self.pair_channels {
            channels *= 2;
        }
        channels
    }
}

/// Ceilings of a generation of GPUs: of one host, two and more.
struct Ceilings {
    /// Bytes a second of a channel of a ring with LL128.
    ring_ll128: [f64; 3],
    /// The same of a tree.
    tree_ll128: [f64; 3],
    /// Bytes a second of a channel of a tree.
    tree: [f64; 3],
}

/// `perChMaxRingLL128Bws`, `perChMaxTreeLL128Bws` and `perChMaxTreeBws`.
const fn ceilings(era: Era) -> Ceilings {
    match era {
        Era::Volta => Ceilings { ring_ll128: [20e9; 3], tree_ll128: [20e9; 3], tree: [26.5e9, 18.5e9, 10e9] },
        Era::Ampere => {
            Ceilings { ring_ll128: [20e9; 3], tree_ll128: [20e9; 3], tree: [24e9, 23.6e9, 17.8e9] }
        }
        Era::Hopper => Ceilings {
            ring_ll128: [36.7e9; 3],
            tree_ll128: [36.7e9, 36.7e9, 29e9],
            tree: [38.7e9, 41.4e9, 36e9],
        },
        Era::Blackwell => Ceilings {
            ring_ll128: [40e9; 3],
            tree_ll128: [55.6e9, 31.67e9, 20e9],
            tree: [70e9, 42.8e9, 24e9],
        },
    }
}

impl Machine {
    /// Place in the tables of ceilings: one host, two or more.
    fn size_class(&self) -> usize {
        (self.nodes as usize - 1).min(2)
    }

    /// Bytes a second of all channels with LL, at most: of one host by its GPUs, of several by their processors. `llMaxBws`.
    fn ll_ceiling(&self) -> f64 {
        if self.nodes == 1 {
            return match Era::of(self.compute_capability) {
                Era::Volta => 39e9,
                Era::Ampere => 87.7e9,
                Era::Hopper => 141e9,
                Era::Blackwell => 282e9,
            };
        }
        match (self.is_amd, self.nodes) {
            (true, 2) => 22.5e9,
            (true, _) => 19e9,
            (false, 2) => 39e9,
            (false, _) => 20.4e9,
        }
    }

    /// Whether LL128 is taken unasked: over side links, from Volta on.
    ///
    /// Leaves out that over several hosts adapters have to be near devices for it.
    fn has_ll128(&self) -> bool {
        self.within == Hardware::SideLink && self.compute_capability >= 70
    }

    /// What a proxy thread takes for a step over the network, in us: `getNetOverhead`.
    const fn net_overhead(&self) -> f64 {
        if self.is_amd { 2.0 } else { 1.0 }
    }
}

/// Time of an operation as NCCL estimates it, in us.
///
/// Leaves out latencies of adapters, and of trees of hosts with several ranks those whose two halves go the same way; that hosts of several
/// makers count as AMD's for LL.
pub fn estimate(operation: Operation, way: (Algorithm, Protocol), size: Bytes, machine: &Machine) -> f64 {
    let (algorithm, protocol) = way;
    let (ranks, nodes) = (f64::from(machine.ranks), f64::from(machine.nodes));
    let us = |hardware| hop_latency_of(hardware, way, machine).as_ns() / 1e3;
    let (within, between) = (us(machine.within), us(Hardware::Network));
    let rounds = if operation == Operation::AllReduce { 2.0 } else { 1.0 };
    let steps = match operation {
        Operation::Broadcast | Operation::Reduce => ranks,
        _ => rounds * (ranks - 1.0),
    };
    let base = base_latency(algorithm, protocol).as_ns() / 1e3;
    let (ceilings, class) = (ceilings(Era::of(machine.compute_capability)), machine.size_class());
    let (bandwidth, latency) = match algorithm {
        Algorithm::Ring => {
            let channels = f64::from(machine.rings);
            let most = match protocol {
                Protocol::Ll => machine.ll_ceiling(),
                Protocol::Ll128 => channels * ceilings.ring_ll128[class],
                Protocol::Simple => f64::MAX,
            };
            let all = (machine.bandwidth * [0.5, 0.92, 1.0][protocol.column()]).min(most);
            (all * ranks / steps, ring_latency(operation, (within, between), size, (protocol, machine)))
        }
        Algorithm::Tree => {
            let several = if machine.nodes == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
            let channels = f64::from(machine.rings);
            let all = (machine.tree_bandwidth * 0.92).min(channels * ceilings.tree[class]);
            let all = match protocol {
                Protocol::Ll => (all / 3.8).min(machine.ll_ceiling()),
                Protocol::Ll128 => (all * several).min(channels * ceilings.tree_ll128[class]),
                Protocol::Simple => all,
            };
            // Of hosts with a rank each both halves go the same way.
            let alike = if machine.nodes > 1 && machine.ranks == machine.nodes { 0.85 } else { 1.0 };
            let corrected = all * alike / 2.0 * tree_correction(protocol, size);
            let hops = 2.0 * ((ranks / nodes - 1.0) * within + nodes.log2().floor() * between);
            (corrected, base + hops)
        }
    };
    latency + size.get() as f64 / (bandwidth / 1e6)
}

/// Of a ring, in us.
///
/// A broadcast or a reduction has one hop, whose others its chunks hide. With several hosts a hop within one takes no less than a proxy
/// thread needs for a step, and of Simple the larger operations 1.4 times as long, 1.9 before Ampere: "plateau effect of ring".
fn ring_latency(
    operation: Operation,
    (within, between): (f64, f64),
    size: Bytes,
    (protocol, machine): (Protocol, &Machine),
) -> f64 {
    let is_alone = machine.nodes == 1;
    let base = base_latency(Algorithm::Ring, protocol).as_ns() / 1e3;
    if matches!(operation, Operation::Broadcast | Operation::Reduce) {
        let hardware = if is_alone { machine.within } else { Hardware::Network };
        return base + hop_latency(hardware, Algorithm::Ring, protocol).as_ns() / 1e3;
    }
    let (ranks, nodes) = (f64::from(machine.ranks), f64::from(machine.nodes));
    let rounds = if operation == Operation::AllReduce { 2.0 } else { 1.0 };
    let posts = if protocol == Protocol::Simple { 3.0 } else { 1.0 };
    let within = if is_alone { within } else { within.max(posts * machine.net_overhead()) };
    let crossings = rounds * (nodes - 1.0);
    let latency = base + (rounds * (ranks - 1.0) - crossings) * within + crossings * between;
    let each = size.get() / u64::from(machine.channels * machine.ranks);
    let is_plateau =
        protocol == Protocol::Simple && !is_alone && operation == Operation::AllReduce && each >= 64;
    let plateau = if machine.compute_capability < 80 { 1.9 } else { 1.4 };
    latency * if is_plateau { plateau } else { 1.0 }
}

/// What trees keep of their rate in tenths, by size from 64 B on in powers of two: `treeCorrectionFactor`.
fn tree_correction(protocol: Protocol, size: Bytes) -> f64 {
    const TENTHS: [[u8; 24]; 3] = [
        [10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 10],
        [10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10, 10],
        [9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9, 9],
    ];
    let power = (size.get() >> 6).checked_ilog2().filter(|power| *power < 23);
    power.map_or(1.0, |power| f64::from(TENTHS[protocol.column()][power as usize]) / 10.0)
}

/// The way that NCCL's estimate finds fastest among those that are allowed; Ring and Simple where there is only one.
///
/// LL128 needs lines of 128 B that arrive whole, which PCI Express between two devices does not promise: it is for those who ask for it,
/// except over side links. Between pairs NCCL has Simple, and LL for very little.
pub fn choose(
    operation: Operation,
    size: Bytes,
    machine: &Machine,
    allowed: (Option<Algorithm>, Option<Protocol>),
) -> (Algorithm, Protocol) {
    let protocols: Vec<Protocol> = match allowed.1 {
        Some(protocol) => vec![protocol],
        None if operation.is_between_pairs() => vec![Protocol::Simple],
        None => Protocol::ALL
            .into_iter()
            .filter(|protocol| *protocol != Protocol::Ll128 || machine.has_ll128())
            .collect(),
    };
    let algorithms = match allowed.0 {
        Some(algorithm) => vec![algorithm],
        None if operation == Operation::AllReduce => vec![Algorithm::Tree, Algorithm::Ring],
        None => vec![Algorithm::Ring],
    };
    let ways =
        algorithms.iter().flat_map(|algorithm| protocols.iter().map(|protocol| (*algorithm, *protocol)));
    let time = |way: &(Algorithm, Protocol)| estimate(operation, *way, size, machine);
    ways.min_by(|one, other| time(one).total_cmp(&time(other))).unwrap_or((Algorithm::Ring, Protocol::Simple))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            ranks: 2,
            nodes: 1,
            within: Hardware::Pci,
            bandwidth: 24e9,
            tree_bandwidth: 24e9,
            channels: 2,
            pair_channels: 2,
            compute_capability: 80,
            rings: 1,
            is_amd: false,
        }
    }

    /// By hand, from `ncclTopoTuneModel`: four hosts of two ranks, and four of one.
    #[test]
    fn several_hosts_have_what_proxies_take_and_no_hop_hidden() {
        let hosts = Machine { ranks: 8, nodes: 4, within: Hardware::SideLink, ..machine() };
        let time = |machine: &Machine, protocol, size| {
            let way = (Algorithm::Ring, protocol);
            estimate(Operation::AllReduce, way, Bytes::new(size), machine)
        };
        let sent = |protocol_share: f64, size: f64| size * 1.75 / 24e3 / protocol_share;
        // LL: eight hops within hosts of 0.6 us, which a proxy makes 1 us or 2 us; six across of 2.7 us.
        let ll = |machine: &Machine| time(machine, Protocol::Ll, 1024) - 6.6 - sent(0.5, 1024.0);
        assert!((ll(&hosts) - (8.0 + 6.0 * 2.7)).abs() < 1e-9);
        assert!((ll(&Machine { is_amd: true, ..hosts }) - (16.0 + 6.0 * 2.7)).abs() < 1e-9);
        // Simple: 3.4 us are more than 3 us, not than 6 us; a plateau of all of it from 64 B of a rank and channel on.
        let simple = |size: u64| {
            let amd = Machine { is_amd: true, ..hosts };
            time(&amd, Protocol::Simple, size) - sent(1.0, size as f64)
        };
        assert!((simple(1023) - (8.4 + 8.0 * 6.0 + 6.0 * 14.0)).abs() < 1e-9);
        assert!((simple(1024) - 1.4 * (8.4 + 8.0 * 6.0 + 6.0 * 14.0)).abs() < 1e-9);
        let alone = Machine { ranks: 4, nodes: 4, ..machine() };
        let found = time(&alone, Protocol::Ll, 1024) - 6.6 - 1024.0 * 1.5 / 12e3;
        assert!((found - 6.0 * 5.0).abs() < 1e-9, "{found}: a tree's hop of 5 us");
    }

    /// By hand, from `ncclTopoTuneModel`: on two hosts of one rank a tree has twice the network within, of which it uses 0.92, half each way,
    /// and 0.85, as both halves go the same way.
    #[test]
    fn trees_of_two_hosts_count_with_what_is_within() {
        let machine = Machine { nodes: 2, bandwidth: 12e9, ..machine() };
        let way = (Algorithm::Tree, Protocol::Simple);
        let found = estimate(Operation::AllReduce, way, Bytes::new(1 << 30), &machine);
        let sent = f64::from(1 << 30) / (24e3 * 0.92 / 2.0 * 0.85);
        assert!((found - (8.4 + 2.0 * 14.0 + sent)).abs() < 1e-6, "{found}");
        assert_eq!(
            choose(Operation::AllReduce, Bytes::new(1 << 30), &machine, (None, Some(Protocol::Simple))).0,
            Algorithm::Ring
        );
    }

    /// By hand, from `ncclTopoTuneModel`: with LL no more than 22.5 GB/s between two hosts of AMD, 39 of Intel; trees of an A100 within a host have
    /// 24 GB/s a channel, of which LL has one of 3.8.
    #[test]
    fn generations_and_processors_have_ceilings() {
        let sent = |machine: &Machine, way: (Algorithm, Protocol)| {
            let time = |size| estimate(Operation::AllReduce, way, Bytes::new(size), machine);
            let (large, larger) = (1u64 << 40, 1u64 << 41);
            (larger - large) as f64 / (time(larger) - time(large)) / 1e3
        };
        let fast = Machine { bandwidth: 400e9, tree_bandwidth: 400e9, rings: 8, ..machine() };
        let ring = (Algorithm::Ring, Protocol::Ll);
        assert!((sent(&fast, ring) - 87.7).abs() < 1e-6, "two ranks have all of it");
        let hosts = Machine { nodes: 2, ..fast };
        assert!((sent(&hosts, ring) - 39.0).abs() < 1e-6);
        assert!((sent(&Machine { is_amd: true, ..hosts }, ring) - 22.5).abs() < 1e-6);
        let tree = |protocol| sent(&fast, (Algorithm::Tree, protocol));
        assert!((tree(Protocol::Simple) - 8.0 * 24.0 / 2.0).abs() < 1e-6);
        assert!((tree(Protocol::Ll) - 8.0 * 24.0 / 3.8 / 2.0).abs() < 1e-6);
        assert!((tree(Protocol::Ll128) - 8.0 * 24.0 * 7.0 / 9.0 / 2.0).abs() < 1e-6);
    }

    #[test]
    fn lines_carry_flags_beside_data() {
        let wire = |protocol: Protocol, data: u64| protocol.wire(Bytes::new(data)).get();
        assert_eq!([1, 8, 9, 4096].map(|data| wire(Protocol::Ll, data)), [16, 16, 32, 8192]);
        assert_eq!([1, 120, 121, 1200].map(|data| wire(Protocol::Ll128, data)), [128, 128, 256, 1280]);
        assert_eq!(wire(Protocol::Simple, 4097), 4097);
    }

    /// 4 MiB, 512 KiB and 4,915,200 B in eight steps; LL carries half, LL128 120 of 128 B.
    #[test]
    fn buffers_are_those_of_nccl() {
        let cut = |protocol| {
            cut(Operation::AllReduce, (Algorithm::Ring, protocol), Bytes::from_kib(1 << 20), &machine())
        };
        let simple = cut(Protocol::Simple);
        assert_eq!((simple.chunk, simple.slices, simple.window), (Bytes::from_kib(2048), 2, 4));
        for (protocol, buffer) in [(Protocol::Ll, 1 << 19), (Protocol::Ll128, 4_915_200)] {
            let cut = cut(protocol);
            assert_eq!(protocol.wire(cut.chunk).get() * 8, buffer, "{protocol:?}");
            assert_eq!(cut.chunk, cut.least_slice * u64::from(cut.slices), "{protocol:?}: whole turns");
        }
        assert_eq!(Protocol::Simple.step().get() * 8, 1 << 22);
    }

    /// By hand, from the tables: 2 (n - 1) hops of 1 us after 6.6 us for LL; 5.7 us after 8.4 us for Simple.
    #[test]
    fn little_goes_by_ll_and_much_by_simple() {
        let machine = Machine { ranks: 4, ..machine() };
        let time = |protocol, size| {
            estimate(Operation::AllReduce, (Algorithm::Ring, protocol), Bytes::new(size), &machine)
        };
        let bytes = 1 << 20;
        let sent = bytes as f64 * 1.5 / 24e3;
        assert!((time(Protocol::Ll, bytes) - (6.6 + 6.0 + 2.0 * sent)).abs() < 1e-9);
        assert!((time(Protocol::Simple, bytes) - (8.4 + 6.0 * 5.7 + sent)).abs() < 1e-9);
        let ring = (Some(Algorithm::Ring), None);
        let chosen = |size| choose(Operation::AllReduce, Bytes::new(size), &machine, ring).1;
        assert_eq!((chosen(1 << 10), chosen(1 << 26)), (Protocol::Ll, Protocol::Simple));
    }

    /// By hand, from `topoGetAlgoInfo`: 64 B of each of 512 threads, of 256 where the ring is no faster than Gen3 x16.
    #[test]
    fn a_channel_has_so_much_for_each_of_its_threads() {
        let channels = |algorithm, kib, bandwidth| {
            let machine = Machine { bandwidth, ..machine() };
            let way = (algorithm, Protocol::Simple);
            channels_for(Operation::AllReduce, way, Bytes::from_kib(kib), &machine)
        };
        assert_eq!([63, 64].map(|kib| channels(Algorithm::Ring, kib, 24e9)), [1, 2]);
        assert_eq!([31, 32].map(|kib| channels(Algorithm::Ring, kib, 12e9)), [1, 2]);
        assert_eq!([63, 64].map(|kib| channels(Algorithm::Tree, kib, 12e9)), [1, 2]);
    }

    /// By hand, from `addP2pToPlan`. Two ranks of four channels have two each; a channel has 32 steps of 128 KiB at most.
    #[test]
    fn copies_between_pairs_have_channels_by_their_bytes() {
        let channels = |machine: &Machine, kib| {
            let way = (Algorithm::Ring, Protocol::Simple);
            channels_for(Operation::SendReceive, way, Bytes::from_kib(kib), machine)
        };
        let one = Machine { channels: 4, pair_channels: 4, ..machine() };
        assert_eq!([16, 17, 8 << 10, (8 << 10) + 1].map(|kib| channels(&one, kib)), [1, 2, 2, 4]);
        // Of two channels each has one, unless that is too little.
        assert_eq!([17, 4 << 10, (4 << 10) + 1].map(|kib| channels(&machine(), kib)), [1, 1, 2]);
        let two = Machine { nodes: 2, ..one };
        assert_eq!([64, 65, 256, 257].map(|kib| channels(&two, kib)), [1, 2, 2, 4]);
        assert_eq!(channels(&Machine { channels: 1, pair_channels: 1, ..one }, 1 << 20), 1);
        // Each of four ranks has a quarter of the data of an all-to-all.
        let way = (Algorithm::Ring, Protocol::Simple);
        let four = Machine { ranks: 4, channels: 8, pair_channels: 8, ..one };
        let all = [64, 65].map(|kib| channels_for(Operation::AllToAll, way, Bytes::from_kib(kib), &four));
        assert_eq!(all, [1, 2]);
    }

    /// By hand, from `computeBuffSizes` and `addP2pToPlan`.
    #[test]
    fn copies_between_pairs_are_cut_by_what_they_go_over() {
        let chunk = |machine: &Machine, kib| {
            let way = (Algorithm::Ring, Protocol::Simple);
            cut(Operation::SendReceive, way, Bytes::from_kib(kib), machine).chunk
        };
        let side_links = Machine { within: Hardware::SideLink, ..machine() };
        assert_eq!(chunk(&machine(), 1), Bytes::from_kib(128));
        assert_eq!(chunk(&side_links, 1), Bytes::from_kib(512));
        let hosts = Machine { nodes: 2, ..side_links };
        let kib = [127, 128, 1023, 1024].map(|kib| chunk(&hosts, kib));
        assert_eq!(kib, [32, 64, 64, 128].map(Bytes::from_kib));
    }
}
