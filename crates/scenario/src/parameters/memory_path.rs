//! What lies between root ports and memory besides the host bridge: links between sockets, address translation.

use crate::parameter::parameters;
use crate::value::Auto;
use lanewise_units::{Bytes, Rate, Span};

parameters! {
    /// Links between the sockets of a host: UPI, QPI, Infinity Fabric. Slots say which socket they belong to.
    InterconnectParameters, Claim "interconnect" {
        /// Rate of the link from one socket to another, each way, after the link's own coding.
        rate: Rate = "62.4 GB/s" in "100 MB/s" to "10 TB/s",
        Assumed "three UPI links at 10.4 GT/s with 16 data lanes each; Intel Xeon Scalable processors";
        /// Most bytes that travel under one header.
        line: Bytes = "64 B" in "32 B" to "4 KiB",
        Assumed "a cache line of x86";
        /// Bytes that go with every line, and that a request for a line takes.
        line_overhead: Bytes = "8 B" in "0 B" to "64 B",
        Published "one header flit with eight of data; Intel, An Introduction to the Intel QuickPath Interconnect, 2009";
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
        entries: u32 = "64" in "1" to "65536",
        Published "throughput falls beyond 64 pages on Xeon E5 v2 to v4; Neugebauer et al., SIGCOMM 2018, §6.5";
        /// Entries in which one page can be; "auto" for all of them.
        ways: Auto<u32> = "auto" in "1" to "65536",
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
        walkers: u32 = "5" in "1" to "4096",
        Calibrated "pcie-bench, E5-2620 v2: 18 million reads of 64 B a second when no translation is cached";
    }
}
