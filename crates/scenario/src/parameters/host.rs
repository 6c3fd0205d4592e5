//! Root complex: what lies between the root ports and memory. The slots are structure; see [`crate::file`].

use super::{
    CacheParameters, HostCxlParameters, HostErrorParameters, InterconnectParameters, IommuParameters,
    KernelTcpParameters, LastLevelCacheParameters, MemoryParameters, MpiParameters, NvmeSoftwareParameters,
    NvmeTargetParameters, PageableParameters, PeerParameters, PortParameters, StackParameters,
    UserTcpParameters, VerbsParameters,
};
use crate::parameter::parameters;
use crate::value::{Auto, PayloadSize, choices};
use lanewise_units::{Bytes, Rate, Span};

choices! {
    /// Read Completion Boundary of a root complex.
    RcbChoice, "a Read Completion Boundary" {
        /// 64 B.
        Bytes64 = "64 B",
        /// 128 B.
        Bytes128 = "128 B",
    }
}

impl RcbChoice {
    /// Its length.
    pub const fn bytes(self) -> Bytes {
        match self {
            Self::Bytes64 => Bytes::new(64),
            Self::Bytes128 => Bytes::new(128),
        }
    }
}

choices! {
    /// Kinds of processors that NCCL tells apart.
    ProcessorChoice, "a kind of processor" {
        /// AMD's.
        Amd = "amd",
        /// Intel's before Skylake-SP.
        IntelBroadwell = "intel-broadwell",
        /// Intel's from Skylake-SP to Ice Lake-SP: CPUID model 0x55 and later.
        IntelSkylake = "intel-skylake",
        /// Intel's from Sapphire Rapids on: CPUID model 0x8F and later.
        IntelSapphireRapids = "intel-sapphire-rapids",
        /// Intel's from Emerald Rapids on: CPUID model 0xCF and later.
        IntelEmeraldRapids = "intel-emerald-rapids",
        /// POWER9.
        Power = "power9",
        /// Arm.
        Arm = "arm",
        /// Another maker's.
        Other = "other",
    }
}

parameters! {
    /// CPU cost of the host's software for each I/O of a storage workload, and the cores that pay it.
    SoftwareParameters, Claim "software" {
        /// Cores.
        cores: u32 = "2" in "1" to "4096" stays Table,
        Assumed "a small server";
        /// Worker thread, for each I/O.
        worker_cost: Span = "2 us" in "0 ns" to "10 ms",
        Assumed "a system call and the benchmark's bookkeeping";
        /// File system and driver on the way down, for each I/O.
        submit_cost: Span = "5 us" in "0 ns" to "10 ms",
        Assumed "a storage stack of the 2000s";
        /// Interrupt service, for each interrupt.
        interrupt_cost: Span = "2 us" in "0 ns" to "10 ms",
        Assumed "entry, exit and a register read";
        /// Driver and file system on the way up, for each I/O.
        completion_cost: Span = "5 us" in "0 ns" to "10 ms",
        Assumed "a storage stack of the 2000s";
    }
}

parameters! {
    /// Root ports, host bridge and memory.
    HostParameters, Claim "host" {
        /// From the last byte of a read request to the first byte of data at the root port.
        memory_latency: Span = "200 ns" in "0 ns" to "1 ms"
        live "reads that begin from then on",
        Assumed "host bridge and DRAM of a server";
        /// Mean of an exponentially distributed latency on top of `memory_latency`.
        memory_latency_jitter: Span = "0 ns" in "0 ns" to "1 ms"
        live "reads that begin from then on",
        Assumed away "no variation unless it is measured";
        /// Rate at which data for completions can be read, over all root ports.
        read_bandwidth: Rate = "200 GB/s" in "1 MB/s" to "10 TB/s"
        live "reads that begin from then on; what is booked stays",
        Assumed away "so high that links are the limit";
        /// Rate at which posted data can be written, over all root ports.
        write_bandwidth: Rate = "200 GB/s" in "1 MB/s" to "10 TB/s"
        live "writes that arrive from then on; what is booked stays",
        Assumed away "so high that links are the limit";
        /// Rate of reads and writes together, of the memory of one socket.
        memory_bandwidth: Rate = "400 GB/s" in "1 MB/s" to "10 TB/s"
        live "accesses from then on; what is booked stays",
        Assumed away "so high that links are the limit";
        /// Fixed cost of each posted write on its way to memory, on top of its bytes.
        write_overhead: Span = "0 ns" in "0 ns" to "10 us"
        live "writes that arrive from then on",
        Assumed away "none unless it is measured";
        /// Read Completion Boundary: completions of a long read end at multiples of it.
        rcb: RcbChoice = "64 B",
        Published "64 B on most x86 hosts; PCIe Base 6.3 §2.3.1.1 allows 64 B and 128 B";
        /// Completions are combined up to this size, and never above the Maximum Payload Size.
        completion_combine: PayloadSizeOrRcb = "256 B",
        Assumed "what recent hosts do; older ones send one completion for each 64 B";
        /// Whether completions of reads above the Maximum Payload Size are combined, too; if not, each ends at `rcb`.
        combine_long_reads: bool = "true",
        Assumed away "servers answer reads of 512 B in completions of 256 B; of a Raspberry Pi's processor the driver says otherwise";
        /// Packets of completions in the queue of a root port. Lines of a read that find a place leave alone, those that have to wait for one are joined up to `completion_combine`; "none" to join all that may be joined.
        completion_queue: Option<u32> = "none" in "1" to "65536" stays Buffers,
        Assumed away "reads are answered in completions of full size, unless the host is known for a queue";
        /// From the last byte of a posted write until its buffer space is free.
        write_latency: Span = "50 ns" in "0 ns" to "100 us"
        live "writes that arrive from then on",
        Assumed "time to hand a line to the memory controller";
        /// One outbound queue of so many packets shared by all root ports, or "none" for a queue per port.
        shared_outbound_queue: Option<u32> = "none" in "1" to "65536" stays Buffers,
        Assumed away "root ports do not disturb each other unless a host is known for it";
        /// Packets that a root port takes over from the shared queue ahead of the wire.
        root_port_queue: u32 = "2" in "1" to "65536" stays Buffers,
        Assumed "one that is being sent and one next";
        /// The same of the processor's loads and stores, counted apart from completions; "none" counts both together.
        root_port_request_queue: Option<u32> = "none" in "1" to "65536" stays Buffers,
        Assumed away "one queue for all, unless a host is known for one of each kind";
        /// Whether requests between root ports are forwarded.
        peer_to_peer: bool = "false",
        Spec "optional for root complexes, PCIe Base 6.3 §1.3.1";
        /// From a core to a root port, and back: what every load and store of a device's registers takes on its way, each way.
        core_latency: Span = "60 ns" in "0 ns" to "100 us"
        live "loads and stores that begin from then on",
        Assumed "mesh or ring of a processor with integrated root ports; a hop to an I/O hub (before Sandy Bridge) is about 100 ns more";
        /// Time of a core for a store to a device's registers, or a streaming load of its memory, in a row of them.
        store_cost: Span = "1 ns" in "0 ns" to "10 us",
        Assumed "a few cycles: stores are posted";
        /// Time of a loop that polls a register, from one load's end to the next load.
        poll_cost: Span = "3 ns" in "0 ns" to "10 us",
        Assumed "compare, branch and load: ten cycles";
        /// Write-combining buffers of a core, of 64 B each.
        combining_buffers: u32 = "10" in "1" to "256" stays Buffers,
        Published "10 line fill buffers of Intel cores from Nehalem to Broadwell, 12 since Skylake: Intel 64 and IA-32 Optimization Reference Manual; the same buffers combine writes, ten of an E5-2680 v4 and twelve of a Gold 6154 (artpol84/poc c287a34)";
        /// Kind of its processor, as NCCL tells them apart: by it NCCL takes a rate between sockets and says how far apart peers may be. "auto"
        /// by `maker`: "amd", "intel-skylake", "power9", "arm" or "other".
        processor: Auto<ProcessorChoice> = "auto",
        Assumed "a server of Intel is of the kind from Skylake-SP to Ice Lake-SP";
        /// Start of the memory that devices address; below 4 GiB requests have the short header.
        memory_base: Bytes = "4 GiB" in "0 B" to "1048576 GiB",
        Assumed "buffers of a host with much memory lie above 4 GiB";
        /// Start of the addresses above 4 GiB that firmware gives to devices.
        mmio_base: Bytes = "57344 GiB" in "4 GiB" to "1048576 GiB",
        Published away "56 TiB, 0x380000000000: MMIO High Base as the setup of Supermicro X11DPi boards has it (user manual), and as dumps of lspci show it; no time depends on it unless memory of the host has to make way";
        /// Whether every packet it sends has an end-to-end CRC: completions, and the processor's loads and stores.
        ecrc: bool = "false",
        Spec "off after reset, PCIe Base 6.3 §7.8.4";
        flatten port: PortParameters;
        group stack: StackParameters;
        group memory: MemoryParameters;
        group llc: LastLevelCacheParameters;
        group peer: PeerParameters;
        group interconnect: InterconnectParameters;
        group iommu: IommuParameters;
        group errors: HostErrorParameters;
        group pageable: PageableParameters;
        group software: SoftwareParameters;
        group nvme: NvmeSoftwareParameters;
        group cache: CacheParameters;
        group nvme_target: NvmeTargetParameters;
        group verbs: VerbsParameters;
        group mpi: MpiParameters;
        group kernel_tcp: KernelTcpParameters;
        group user_tcp: UserTcpParameters;
        group cxl: HostCxlParameters;
    }
}

/// A completion size: 64 B or a payload size.
pub type PayloadSizeOrRcb = PayloadSize<64>;
