//! What NCCL's search makes of the adapters of a host: how many rings cross the network, how fast each is, and how many channels a pair has.
//!
//! Source of every figure: NVIDIA/nccl 2.30.7, `src/graph/search.cc` (`ncclTopoCompute`, `ncclTopoDupChannels`) and `src/graph/paths.cc`
//! (`ncclTopoGetNchannels`, `ncclTopoComputeP2pChannels`). There rings are searched for in a graph of links; here a ring takes its rate of
//! one adapter and of what is within a host once. Leaves out: its other tables of rates for Hopper and later, which are the same at the rates
//! of 25, 100, 200 and 400 Gb/s; paths within a host that are narrower than its narrowest link.

use super::tuning::Hardware;

/// GB/s that are tried for a ring over several hosts: `speedArrayInter`.
const RATES: [f64; 19] = [
    48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24, 0.12,
];
/// Most rings: half of `MAXCHANNELS`.
const MOST: u32 = 32;
/// A rate of less than this part of that of the best rings is not tried.
const WORTH: f64 = 0.49;
/// Bytes a second of a ring from which on it is doubled: `ncclTopoDupChannels`.
pub const DOUBLED_FROM: f64 = 25e9;
/// GB/s below which more than so many are not.
const MANY_ARE_NOT: (f64, u32) = (50.0, 4);
/// GB/s of the network for each channel of a pair: `NCCL_P2P_PER_CHANNEL_NET_BW`.
const OF_A_PAIR: u64 = 14;
/// Peers that share a batch of work: `NCCL_MAX_DEV_WORK_P2P_PER_BATCH`.
const BATCH: u32 = 8;
/// Channels of two devices of a host that PCI Express joins.
const OF_PCI_PEERS: u32 = 2;

/// Rings over several hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rings {
    /// How many. NCCL has as many channels again.
    pub count: u32,
    /// How many of them are not doubles of others.
    pub distinct: u32,
    /// Bytes a second of all of them.
    pub bandwidth: f64,
    /// The same of trees between two hosts, within a host.
    pub tree_bandwidth: f64,
}

/// What joins the ranks of a host, and the host to others.
#[derive(Clone, Copy, Debug)]
pub struct Ways<'w> {
    /// What all hops within a host go over.
    pub within: Hardware,
    /// Its bytes a second.
    pub rate: f64,
    /// Whether the devices of each host are at one socket, or hang together by side links.
    pub is_near: bool,
    /// Whether each host has one rank.
    pub is_alone: bool,
    /// Bytes a second of each adapter of a host.
    pub adapters: &'w [f64],
    /// The same of those that a rank has for itself.
    pub of_rank: &'w [f64],
}

/// The rings that have most together, of several rates the highest.
pub fn rings(ways: &Ways<'_>) -> Rings {
    let rate = ways.rate / 1e9;
    let adapters: Vec<f64> = ways.adapters.iter().map(|adapter| adapter / 1e9).collect();
    let quickest = adapters.iter().copied().fold(0.0, f64::max).min(rate);
    let times = |rate: f64, of: f64| (of / rate + 1e-9) as u32;
    let (mut count, mut each) = (0, 0.0);
    for tried in RATES.into_iter().filter(|tried| *tried <= quickest + 1e-9) {
        let found = f64::from(count) * each;
        if count > 0 && (tried / each <= WORTH || found >= rate) {
            break;
        }
        let over_adapters: u32 = adapters.iter().map(|adapter| times(tried, *adapter)).sum();
        let rings = over_adapters.min(times(tried, rate)).min(MOST);
        if f64::from(rings) * tried > found {
            (count, each) = (rings, tried);
        }
    }
    if count == 0 {
        (count, each) = (1, quickest); // Slower than all that is tried.
    }
    let distinct = count;
    let are_many = each < MANY_ARE_NOT.0 && count > MANY_ARE_NOT.1;
    if each * 1e9 >= DOUBLED_FROM && !are_many && ways.is_near {
        (count, each) = (count * 2, each / 2.0);
    }
    let all = |each: f64| f64::from(count) * each * 1e9;
    Rings { count, distinct, bandwidth: all(each), tree_bandwidth: all(tree(ways, count, each)) }
}

/// GB/s of each of so many trees within a host, whose rings have `ring`: more than the network, up to twice as much. The first device of
/// a host sends half of what crosses the network over the same link.
fn tree(ways: &Ways<'_>, count: u32, ring: f64) -> f64 {
    let fits = |rate: f64| {
        let beside = if ways.within == Hardware::Pci { ring / 2.0 } else { 0.0 };
        ways.is_alone || f64::from(count) * (rate + beside) <= ways.rate / 1e9 + 1e-9
    };
    let mut tree = ring;
    for rate in RATES.into_iter().rev().filter(|rate| *rate > ring) {
        if tree >= 2.0 * ring || !fits(rate) {
            break;
        }
        tree = rate;
    }
    tree
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
            is_near: true,
            is_alone,
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
        let far = Ways { is_near: false, ..ways(48.0, &[50e9], true) };
        assert_eq!(rings(&far).count, 1);
        // Eight adapters of 400 Gb/s: rings of less than 50 GB/s are doubled up to four of them.
        let adapters = [50e9; 8];
        let node = Ways { within: Hardware::SideLink, ..ways(450.0, &adapters, false) };
        assert_eq!((rings(&node).count, rings(&node).bandwidth), (8, 384e9));
    }

    /// By hand: 12, 15, 18, 20 and 24 are tried within a host of one device; beside 6 of the network only 18 fit PCI Express of Gen4.
    #[test]
    fn trees_of_two_hosts_have_more_within() {
        let found = |is_alone| rings(&ways(24.0, &[12.5e9], is_alone)).tree_bandwidth / 1e9;
        assert_eq!((found(true), found(false)), (24.0, 18.0));
        let node = Ways { within: Hardware::SideLink, ..ways(450.0, &[50e9], false) };
        assert_eq!(rings(&node).tree_bandwidth, 96e9, "two of 48");
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
