//! What lies between root ports and memory besides the host bridge: stacks, caches, memory itself, other root ports, links
//! between sockets, address translation.

use super::host::PayloadSizeOrRcb;
use crate::parameter::parameters;
use crate::value::Auto;
use lanewise_units::{Bytes, Rate, Span};

parameters! {
    /// What root ports of one stack share: an IIO stack of a Xeon, a quadrant of an AMD I/O die, a PHB of POWER. Slots say which
    /// stack they belong to.
    StackParameters, Claim "stack" {
        /// Read requests in progress at a time, from when a read starts until the last of its data is queued at the root port.
        read_trackers: Auto<u32> = "auto" in "1" to "1048576" stays Table,
        Assumed away "twice what its links can ask for in reads of 64 B during `memory_latency` and 1 us of queues: never the limit";
        /// Rate at which data for completions can be read; "none" for no limit but that of the host.
        read_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s"
        live "reads that begin from then on; what is booked stays" needs "a rate at the start",
        Assumed "a stack keeps up with its links";
        /// Rate at which posted data can be written; "none" for no limit but that of the host.
        write_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s"
        live "writes that arrive from then on; what is booked stays" needs "a rate at the start",
        Assumed "a stack keeps up with its links";
    }
}

parameters! {
    /// Memory of one socket, beside its `memory_bandwidth` and `memory_latency`.
    MemoryParameters, Claim "memory" {
        /// Channels, each with its part of `memory_bandwidth`.
        channels: u32 = "1" in "1" to "64" stays Table,
        Assumed away "one rate for all of it, unless the host is known";
        /// Bytes that lie on one channel before the next has its turn.
        interleave: Bytes = "256 B" in "64 B" to "64 KiB",
        Assumed "a few lines: finer than pages, so that every buffer is on all channels";
        /// Banks of each channel, all ranks together; "none" where the rate is the only limit.
        banks: Option<u32> = "none" in "1" to "1024" stays Table,
        Assumed away "no bank is the limit, unless the host is known";
        /// Time from one row to the next of the same bank.
        row_cycle: Span = "46 ns" in "1 ns" to "1 us",
        Spec "tRC of DDR4-2666 to DDR4-3200, JESD79-4, speed bins; that of DDR5 is 48 ns, JESD79-5";
        /// Bytes of a row, over all devices of a rank.
        row: Bytes = "8 KiB" in "512 B" to "64 KiB",
        Spec "1 KiB in each of eight devices of 8 bits, JESD79-4";
    }
}

parameters! {
    /// Last-level cache of one socket, as devices see it.
    LastLevelCacheParameters, Claim "llc" {
        /// Bytes that it holds; "none" where every access of a device goes to memory.
        size: Option<Bytes> = "none" in "64 KiB" to "8 GiB",
        Assumed away "accesses of devices go to memory, unless the host is known";
        /// Ways of a set.
        ways: u32 = "11" in "1" to "64" stays Table,
        Published "Xeon Scalable has 11 ways; Farshin et al., Reexamining Direct Cache Access, USENIX ATC 2020, §2";
        /// Ways that writes of devices may use (DDIO); 0 where such writes go to memory.
        device_ways: u32 = "2" in "0" to "64" stays Table,
        Published "two ways unless software changes it; Farshin et al., Reexamining Direct Cache Access, USENIX ATC 2020, §2";
        /// Bytes that are kept, and leave, together.
        block: Bytes = "256 B" in "64 B" to "4 KiB",
        Assumed "as much as a packet moves: a simplification, caches keep lines of 64 B or 128 B";
        /// From the last byte of a read request to the first byte of data at the root port, when the cache has it.
        latency: Auto<Span> = "auto" in "0 ns" to "1 ms"
        live "reads that begin from then on" needs "a last-level cache",
        Published "`memory_latency` less 56 ns: reads of 64 B take 558 ns from a warm cache and 614 ns from memory; pcie-bench, E5-2630";
        /// Rate at which it answers reads of devices; "none" for no limit but that of the host.
        read_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s"
        live "reads that begin from then on; what is booked stays" needs "a last-level cache with a rate at the start",
        Assumed "a cache keeps up with the links";
    }
}

parameters! {
    /// The way of a packet from one root port to another, or back down the port it came up, where ACS redirects it.
    PeerParameters, Claim "peer" {
        /// Largest payload that is forwarded whole; what is larger is cut. "none" to leave packets as they are.
        largest_packet: Option<PayloadSizeOrRcb> = "none",
        Assumed away "packets pass as they are, unless the host is known; PCIe Base 6.3 §1.3.1 allows a root complex to cut them";
        /// Rate at which packets enter one stack on their way to other root ports, and rate at which they leave; "none" for no limit.
        rate: Option<Rate> = "none" in "1 MB/s" to "10 TB/s"
        live "packets between root ports that arrive from then on" needs "a rate at the start",
        Assumed away "as fast as the links, unless the host is known";
        /// Time for a packet from one root port to another.
        latency: Span = "150 ns" in "0 ns" to "100 us"
        live "packets between root ports that arrive from then on",
        Assumed "like a switch of the same age";
    }
}

parameters! {
    /// Links between the sockets of a host: UPI, QPI, Infinity Fabric. Slots say which socket they belong to.
    InterconnectParameters, Claim "interconnect" {
        /// Rate of the link from one socket to another, each way, after the link's own coding.
        rate: Rate = "62.4 GB/s" in "100 MB/s" to "10 TB/s",
        Assumed "three UPI links at 10.4 GT/s with 16 data lanes each; Intel Xeon Scalable processors";
        /// Physical links that have this rate together: memory of the other socket is spread over all of them, packets from one root port to another take one.
        links: u32 = "1" in "1" to "8",
        Assumed away "peers may use all of the rate, unless the host is known to keep them on one link";
        /// Most bytes that travel under one header.
        line: Bytes = "64 B" in "32 B" to "4 KiB",
        Assumed "a cache line of x86";
        /// Bytes that go with every line, and that a request for a line takes.
        line_overhead: Bytes = "16 B" in "0 B" to "64 B",
        Published "64 of every 80 B are data on four kinds of link: processors read 51.1 GB/s over three UPI links (62.4), 34.4 over two (41.6), 29.7 to 30.4 over two QPI links (38.4), Intel MLC outputs in public files; GPUs write 50.97 over one xGMI link (64), voipmonitor/rtx6kpro";
        /// Time from one socket to another, one way.
        latency: Span = "27 ns" in "0 ns" to "10 us",
        Published "pcie-bench, E5-2630 v4: reads of memory take 533 ns from the other socket, 480 ns from their own";
    }
}

parameters! {
    /// Translation of the addresses that devices use, by an I/O memory management unit in the host.
    IommuParameters, Claim "iommu" {
        /// Whether addresses are translated; off, and in pass-through mode, they are not.
        enabled: bool = "false",
        Assumed "off, or in pass-through mode";
        /// Translations that its cache (IOTLB) holds.
        entries: u32 = "80" in "1" to "65536" stays Table,
        Calibrated "pcie-bench/data b2abf2f, E5-2620 v3: random reads of 64 B take 32.0 ns in 256 pages and 49.4 ns in 4,096; in 64 pages none waits, from which Neugebauer et al., SIGCOMM 2018, §6.5, conclude that it holds 64";
        /// Entries in which one page can be; "auto" for all of them.
        ways: Auto<u32> = "auto" in "1" to "65536" stays Table,
        Assumed "fully associative";
        /// Bytes that one translation covers.
        page: Bytes = "4 KiB" in "4 KiB" to "1 GiB",
        Assumed "pages of the kernel's DMA mappings; huge pages have 2 MiB";
        /// Reads of memory, one after another, that it takes to find a translation which the cache does not have.
        walk_steps: u32 = "2" in "1" to "8",
        Assumed "the lowest two of four levels; those above are cached";
        /// Latency of each of these reads.
        walk_step_latency: Span = "140 ns" in "0 ns" to "100 us",
        Calibrated "pcie-bench, E5-2620 v2: a read of 64 B takes 280 to 294 ns longer when its translation is not cached";
        /// Translations that are looked for in memory at a time.
        walkers: u32 = "5" in "1" to "4096" stays Table,
        Calibrated "pcie-bench, E5-2620 v2: 18 million reads of 64 B a second when no translation is cached";
        /// Smallest time between the starts of two walks, over all walkers.
        walk_interval: Span = "0 ns" in "0 ns" to "100 us",
        Assumed "walkers and their latency are the only limit";
    }
}
