//! What NCCL's search makes of a machine: how many rings there are within a host or across the network, how fast each is, and how many channels
//! a pair has.
//!
//! Source of every figure: NVIDIA/nccl 2.30.7, `src/graph/search.cc` (`ncclTopoCompute`, `ncclTopoDupChannels`, `followPath`), `src/graph/topo.cc`
//! and `topo.h` (rates of links) and `src/graph/paths.cc` (`ncclTopoGetNchannels`, `ncclTopoComputeP2pChannels`). There rings are searched for in a
//! graph of links. Here the ring within a host is the devices in their order, as often as its links carry it; a ring across the network takes
//! its rate of one adapter, and of what is within each host once. Leaves out: other orders, of which the search takes that with fewest hops, and
//! rings that differ from each other within a host.

use super::tuning::Hardware;

/// Generations of GPUs whose search differs, by compute capability as NCCL writes it: 89 for 8.9.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Era {
    /// Turing and before.
    Volta,
    /// From Ampere (80) to Ada.
    Ampere,
    /// Hopper (90).
    Hopper,
    /// From Blackwell (100) on.
    Blackwell,
}

impl Era {
    /// That of a compute capability.
    pub const fn of(compute_capability: u32) -> Self {
        match compute_capability {
            ..80 => Self::Volta,
            80..90 => Self::Ampere,
            90..100 => Self::Hopper,
            _ => Self::Blackwell,
        }
    }

    /// GB/s that are tried for a ring within a host, from the highest on: `speedArrayIntra` and those of SM90 and SM100.
    const fn rates_within(self) -> &'static [f64] {
        match self {
            Self::Volta | Self::Ampere => {
                &[40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0]
            }
            Self::Hopper => &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0],
            Self::Blackwell => &[90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0],
        }
    }

    /// The same of a ring over several hosts: `speedArrayInter` and those of SM90 and SM100.
    const fn rates_between(self) -> &'static [f64] {
        match self {
            Self::Volta | Self::Ampere => &[
                48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2,
                0.24, 0.12,
            ],
            Self::Hopper => &[
                48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24,
                0.12,
            ],
            Self::Blackwell => &[
                96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0,
                2.4, 1.2, 0.24, 0.12,
            ],
        }
    }
}

/// Kinds of processors that NCCL tells apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Processor {
    /// AMD's.
    Amd,
    /// Intel's before Skylake-SP.
    IntelBroadwell,
    /// Skylake-SP to Ice Lake-SP: models from 0x55 on.
    IntelSkylake,
    /// Sapphire Rapids: models from 0x8F on.
    IntelSapphireRapids,
    /// Emerald Rapids: models from 0xCF on.
    IntelEmeraldRapids,
    /// POWER9.
    Power,
    /// Arm.
    Arm,
    /// Another maker's.
    Other,
}

impl Processor {
    /// Bytes a second from one socket to another: `ncclTopoGetInterCpuBw`.
    pub const fn between_sockets(self) -> f64 {
        match self {
            Self::Amd => 16e9,
            Self::IntelBroadwell => 6e9,
            Self::IntelSkylake => 10e9,
            Self::IntelSapphireRapids => 22e9,
            Self::IntelEmeraldRapids => 40e9,
            Self::Power => 32e9,
            Self::Arm => 6e9,
            Self::Other => 5e12,
        }
    }

    /// How often what one GPU sends another through the host bridge counts on PCI Express: packets of 64 B of Intel's, `INTEL_P2P_OVERHEAD`.
    pub const fn weight_of_peers(self) -> f64 {
        match self {
            Self::Amd | Self::Power | Self::Arm | Self::Other => 1.0,
            _ => 1.2,
        }
    }
}

/// Bytes a second that NCCL takes of an NVLink of so many: whole links, each by generation. `ncclTopoNVLinkBw`; rates of links each way are
/// those of NVIDIA's white papers: 20 GB/s (P100), 25 (V100, A100, H100), 14.0625 (GA102) and 50 (B200).
pub fn of_side_link(rate: f64, compute_capability: u32) -> f64 {
    let (link, counted) = match compute_capability {
        ..70 => (20e9, 18e9),
        70..86 | 87..90 => (25e9, 20e9),
        86 => (14.0625e9, 12e9),
        90..100 => (25e9, 20.6e9),
        _ => (50e9, 40.1e9),
    };
    (rate / link).round().max(1.0) * counted
}

/// Most rings: half of `MAXCHANNELS`.
const MOST: u32 = 32;
/// A rate of less than this part of that of the best rings is not tried.
const WORTH: f64 = 0.49;
/// GB/s of a ring from which on it is doubled: `ncclTopoDupChannels`.
const DOUBLED_FROM: f64 = 25.0;
/// GB/s below which more than so many are not, of GPUs after the first Ampere.
const MANY_ARE_NOT: (f64, u32) = (50.0, 4);
/// Compute capability of the first Ampere.
const FIRST_AMPERE: u32 = 80;
/// Bytes a second of a ring above which fewer channels than so many are doubled over several hosts, from Hopper on.
const FEW_ARE_DOUBLED: (f64, u32) = (45e9, 16);
/// GB/s that it counts with where it finds no ring.
const NO_RING: f64 = 0.1;
/// GB/s of the network for each channel of a pair: `NCCL_P2P_PER_CHANNEL_NET_BW`.
const OF_A_PAIR: u64 = 14;
/// Peers that share a batch of work: `NCCL_MAX_DEV_WORK_P2P_PER_BATCH`.
const BATCH: u32 = 8;
/// Channels of two devices of a host that PCI Express joins.
const OF_PCI_PEERS: u32 = 2;

/// Rings within a host or over several.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rings {
    /// How many. NCCL has as many channels again.
    pub count: u32,
    /// How many of them are not doubles of others.
    pub distinct: u32,
    /// Bytes a second of all of them.
    pub bandwidth: f64,
    /// The same of trees, which between two hosts have more within each.
    pub tree_bandwidth: f64,
}

/// What joins the ranks of a host, and the host to others.
#[derive(Clone, Copy, Debug)]
pub struct Ways<'w> {
    /// What all hops within a host go over.
    pub within: Hardware,
    /// Bytes a second of one ring within a host, by what it uses of each link: a link that it passes twice has half of its own.
    pub rate: f64,
    /// Bytes a second of all links of the device that has most.
    pub most: f64,
    /// Whether each host has one rank.
    pub is_alone: bool,
    /// Least compute capability of the GPUs.
    pub compute_capability: u32,
    /// Bytes a second of each adapter of a host; none of a single host.
    pub adapters: &'w [f64],
    /// The same of those that a rank has for itself.
    pub of_rank: &'w [f64],
}

/// The rings that have most together, of several rates the highest.
///
/// Where there is none within a host it counts with one of 0.1 GB/s: GPUs from Blackwell on have none of less than 18 GB/s.
pub fn rings(ways: &Ways<'_>) -> Rings {
    let era = Era::of(ways.compute_capability);
    let (rate, most) = (ways.rate / 1e9, ways.most / 1e9);
    let adapters: Vec<f64> = ways.adapters.iter().map(|adapter| adapter / 1e9).collect();
    let is_within = adapters.is_empty();
    let rates = if is_within { era.rates_within() } else { era.rates_between() };
    let times = |rate: f64, of: f64| (of / rate + 1e-6) as u32;
    let fit = |tried: f64| {
        let over_adapters: u32 = adapters.iter().map(|adapter| times(tried, *adapter)).sum();
        times(tried, rate).min(if is_within { MOST } else { over_adapters }).min(MOST)
    };
    let (mut count, mut each) = (0, 0.0);
    for tried in rates {
        let found = f64::from(count) * each;
        if count > 0 && (tried / each <= WORTH || found >= most || count == MOST) {
            break;
        }
        let rings = fit(*tried);
        if f64::from(rings) * tried > found {
            (count, each) = (rings, *tried);
        }
    }
    if count == 0 {
        let slow = if is_within { NO_RING } else { adapters.iter().copied().fold(0.0, f64::max).min(rate) };
        let bandwidth = slow * 1e9; // Slower than all that is tried.
        return Rings { count: 1, distinct: 1, bandwidth, tree_bandwidth: bandwidth };
    }
    let distinct = count;
    let are_many = ways.compute_capability > FIRST_AMPERE && each < MANY_ARE_NOT.0 && count > MANY_ARE_NOT.1;
    if each >= DOUBLED_FROM && !are_many {
        let doubled = (count * 2).min(MOST);
        (count, each) = (doubled, each / f64::from(doubled.div_ceil(count)));
    }
    // As many rings may be faster.
    let faster = rates.iter().copied().find(|tried| *tried > each && fit(*tried) >= count);
    let each = faster.unwrap_or(each);
    let all = |each: f64| f64::from(count) * each * 1e9;
    let tree_bandwidth = if is_within { all(each) } else { all(tree(ways, (count, each), rates)) };
    Rings { count, distinct, bandwidth: all(each), tree_bandwidth }
}

/// GB/s of each of so many trees within a host, whose rings have `ring`: more than the network, up to twice as much. The first device of
/// a host sends half of what crosses the network over the same link.
fn tree(ways: &Ways<'_>, (count, ring): (u32, f64), rates: &[f64]) -> f64 {
    let fits = |rate: f64| {
        let beside = if ways.within == Hardware::Pci { ring / 2.0 } else { 0.0 };
        ways.is_alone || f64::from(count) * (rate + beside) <= ways.rate / 1e9 + 1e-9
    };
    let mut tree = ring;
    for rate in rates.iter().rev().filter(|rate| **rate > ring) {
        if tree >= 2.0 * ring || !fits(*rate) {
            break;
        }
        tree = *rate;
    }
    tree
}

/// Channels of so many rings: twice as many, and twice that over several hosts where few are faster than 45 GB/s: `ncclTopoPostset`,
/// src/graph/connect.cc.
pub fn channels(rings: &Rings, compute_capability: u32, nodes: u32) -> u32 {
    let channels = 2 * rings.count;
    let is_fast = rings.bandwidth / f64::from(rings.count) > FEW_ARE_DOUBLED.0;
    if nodes > 1 && Era::of(compute_capability) >= Era::Hopper && is_fast && channels < FEW_ARE_DOUBLED.1 {
        return 2 * channels;
    }
    channels
}

/// Channels of what one rank sends another, of so many channels and ranks: as many as the pair that has fewest.
pub fn of_pair(ways: &Ways<'_>, channels: u32, (ranks, nodes): (u32, u32)) -> u32 {
    let all = channels.next_power_of_two();
    let of_host = if ways.within == Hardware::Pci && !ways.is_alone { OF_PCI_PEERS } else { all };
    if nodes == 1 {
        return of_host.min(all);
    }
    let rate = ways.of_rank.iter().sum::<f64>() / 1e9;
    let of_network = (ways.of_rank.len() as u32).max((rate as u64).div_ceil(OF_A_PAIR) as u32).max(1);
    let mut each = of_host.min(of_network).next_power_of_two().min(all);
    while each > 1 && each * ranks.div_ceil(BATCH) > all {
        each /= 2;
    }
    each
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(rate_gb: f64, adapters: &[f64], is_alone: bool) -> Ways<'_> {
        Ways {
            within: Hardware::Pci,
            rate: rate_gb * 1e9,
            most: rate_gb * 1e9,
            is_alone,
            compute_capability: 80,
            adapters,
            of_rank: adapters,
        }
    }

    /// By hand, from `ncclTopoCompute`: 12 of 12.5 GB/s at 100 Gb/s, 24 and 48 at 200 and 400, of which the latter is doubled; four rings
    /// of 12 over two adapters of 200 Gb/s at PCI Express of Gen5 are no more than two of 24.
    #[test]
    fn rings_have_what_the_network_has() {
        let found = |rate, adapters: &[f64]| {
            let rings = rings(&ways(rate, adapters, true));
            (rings.count, rings.bandwidth / 1e9)
        };
        assert_eq!(found(24.0, &[12.5e9]), (1, 12.0));
        assert_eq!(found(48.0, &[12.5e9]), (1, 12.0));
        assert_eq!(found(24.0, &[25e9]), (1, 24.0));
        assert_eq!(found(12.0, &[25e9]), (1, 12.0));
        assert_eq!(found(48.0, &[50e9]), (2, 48.0));
        assert_eq!(found(48.0, &[25e9, 25e9]), (2, 48.0));
        assert_eq!(found(24.0, &[12.5e9, 12.5e9]), (2, 24.0));
        assert_eq!(found(24.0, &[3.125e9]), (1, 3.0));
        assert_eq!(found(24.0, &[0.125e9]), (1, 0.12));
        assert_eq!(found(24.0, &[0.1e9]), (1, 0.1));
        // Two rings of 3 are no more than one of 6.
        assert_eq!(found(24.0, &[6.9e9]), (1, 6.0));
        // A ring of 16 GB/s between sockets has 15 of them, and a Hopper's as many.
        let far = |compute_capability| {
            let ways = Ways { rate: 16e9, compute_capability, ..ways(48.0, &[50e9], true) };
            (rings(&ways).count, rings(&ways).bandwidth)
        };
        assert_eq!([80, 90].map(far), [(1, 15e9); 2]);
        // Eight adapters of 400 Gb/s. NVLink of an H100 carries seven rings of 48 GB/s and eight of 45, which are not doubled, as more than
        // four of less than 50; eight of an A100's that might, would be.
        let adapters = [50e9; 8];
        let node = |compute_capability, rate| {
            let ways = Ways { compute_capability, ..ways(rate, &adapters, false) };
            let rings = rings(&Ways { within: Hardware::SideLink, ..ways });
            (rings.count, rings.distinct, rings.bandwidth / 1e9)
        };
        assert_eq!([node(90, 370.8), node(80, 450.0)], [(8, 8, 360.0), (16, 8, 384.0)]);
    }

    /// By hand, from `ncclTopoCompute`. Within a host: two rings of 12 GB/s have all of Gen4 x16, one of 20 where packets of peers count six
    /// fifths; one of 10 of Gen3 x16 there. Of Gen5 x16 two of 24. Six rings of an A100's NVLink are doubled, as are six of an H100's.
    #[test]
    fn rings_within_a_host_have_what_its_links_have() {
        let found = |compute_capability, most: f64, rate: f64| {
            let ways = Ways { rate: rate * 1e9, compute_capability, ..ways(most, &[], false) };
            let rings = rings(&ways);
            assert_eq!(rings.bandwidth, rings.tree_bandwidth);
            (rings.count, rings.bandwidth / 1e9)
        };
        let intel = Processor::IntelSkylake.weight_of_peers();
        assert_eq!(found(80, 24.0, 24.0), (2, 24.0));
        assert_eq!(found(80, 24.0, 24.0 / intel), (1, 20.0));
        assert_eq!(found(70, 12.0, 12.0), (1, 12.0));
        assert_eq!(found(70, 12.0, 12.0 / intel), (1, 10.0));
        assert_eq!([90, 120].map(|compute_capability| found(compute_capability, 48.0, 48.0)), [(2, 48.0); 2]);
        assert_eq!(found(80, 240.0, 240.0), (12, 240.0));
        assert_eq!(found(90, 370.8, 370.8), (12, 360.0));
        // Across the sockets: 16 GB/s of AMD's, and 10 and 22 of Intel's, which a Blackwell has rings of 20 on, or none.
        let across = |compute_capability, processor: Processor| {
            found(compute_capability, 48.0, processor.between_sockets() / 1e9)
        };
        assert_eq!(across(89, Processor::Amd), (1, 15.0));
        assert_eq!(across(80, Processor::IntelSkylake), (1, 10.0));
        assert_eq!(across(120, Processor::IntelSapphireRapids), (1, 20.0));
        assert_eq!(across(120, Processor::Amd), (1, 0.1));
    }

    /// 12 of 25 GB/s, 18 of 25, 18 of 50 and four of 14.06, as `ncclTopoNVLinkBw` counts them.
    #[test]
    fn side_links_are_counted_as_nccl_counts_nvlink() {
        let counted = |rate, compute_capability| of_side_link(rate, compute_capability) / 1e9;
        assert_eq!(counted(300e9, 80), 240.0);
        assert!((counted(450e9, 90) - 370.8).abs() < 1e-9);
        assert!((counted(900e9, 100) - 721.8).abs() < 1e-9);
        assert_eq!(counted(56.25e9, 86), 48.0);
        assert_eq!(counted(150e9, 70), 120.0);
    }

    /// By hand: 12, 15, 18, 20 and 24 are tried within a host of one device; beside 6 of the network only 18 fit PCI Express of Gen4.
    #[test]
    fn trees_of_two_hosts_have_more_within() {
        let found = |is_alone| rings(&ways(24.0, &[12.5e9], is_alone)).tree_bandwidth / 1e9;
        assert_eq!((found(true), found(false)), (24.0, 18.0));
        let node = Ways { within: Hardware::SideLink, ..ways(450.0, &[50e9], false) };
        assert_eq!(rings(&node).tree_bandwidth, 96e9, "two of 48");
    }

    /// By hand, from `ncclTopoPostset`: a Blackwell's ring of 96 GB/s over 800 Gb/s is two of 48, and eight channels; a Hopper's of 48 is two of
    /// 24, and four. Within a host nothing more is doubled.
    #[test]
    fn few_fast_rings_between_hosts_have_more_channels() {
        let found = |compute_capability, adapter: f64| {
            let adapters = [adapter];
            let ways = Ways { compute_capability, ..ways(721.8, &adapters, false) };
            let rings = rings(&ways);
            [1, 2].map(|nodes| channels(&rings, compute_capability, nodes))
        };
        assert_eq!(found(100, 100e9), [4, 8]);
        assert_eq!(found(90, 50e9), [4, 4]);
    }

    /// By hand, from `ncclTopoComputeP2pChannels`.
    #[test]
    fn pairs_have_channels_by_what_joins_them() {
        let alone = |adapters: &[f64], channels| of_pair(&ways(48.0, adapters, true), channels, (2, 2));
        assert_eq!([12.5e9, 25e9, 50e9].map(|adapter| alone(&[adapter], 16)), [1, 2, 4]);
        assert_eq!(alone(&[50e9], 2), 2);
        assert_eq!(alone(&[12.5e9; 3], 16), 4, "the next power of two");
        let several = |channels, nodes| of_pair(&ways(48.0, &[50e9], false), channels, (16, nodes));
        assert_eq!((several(8, 1), several(8, 2)), (2, 2));
        assert_eq!(several(3, 2), 2, "three channels are four of pairs");
        assert_eq!(several(2, 2), 1, "two batches of eight peers share two");
        let linked = Ways { within: Hardware::SideLink, ..ways(450.0, &[], false) };
        assert_eq!(of_pair(&linked, 6, (8, 1)), 8);
    }
}
