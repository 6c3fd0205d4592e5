//! Collective operations: what is done, over which devices, and how the data are cut and go.

use crate::parameter::parameters;
use crate::value::{Auto, choices};
use lanewise_units::{Bytes, Span};

choices! {
    /// What is done with the data of all devices.
    OperationChoice, "what is done with the data" {
        /// Every device gets the sum of all data.
        AllReduce = "all-reduce",
        /// Every device gets its part of the sum.
        ReduceScatter = "reduce-scatter",
        /// Every device gets the parts of all.
        AllGather = "all-gather",
        /// Every device gets the data of one, the root.
        Broadcast = "broadcast",
        /// The root gets the sum of all data.
        Reduce = "reduce",
        /// Every device gets a part from each of the others.
        AllToAll = "all-to-all",
        /// Every device sends its data to the next and gets those of the one before.
        SendReceive = "send-receive",
    }
}

choices! {
    /// In which order devices send.
    AlgorithmChoice, "an algorithm" {
        /// Round a ring.
        Ring = "ring",
        /// Up a tree and down again; for an all-reduce.
        Tree = "tree",
    }
}

choices! {
    /// How a receiver knows what has arrived.
    ProtocolChoice, "a protocol" {
        /// A counter after each slice.
        Simple = "simple",
        /// A flag of 4 B with each 4 B of data.
        Ll = "ll",
        /// A flag of 8 B with each 120 B of data.
        Ll128 = "ll128",
    }
}

choices! {
    /// How far apart two devices may be, in the words of NCCL.
    DistanceChoice, "a distance" {
        /// Not at all.
        Never = "loc",
        /// Joined by a side link.
        SideLink = "nvl",
        /// Below one switch.
        Switch = "pix",
        /// Below several switches, without a host between them.
        Switches = "pxb",
        /// Below one socket of a host.
        HostBridge = "phb",
        /// Anywhere in a host.
        System = "sys",
    }
}

parameters! {
    /// Collective operations over devices that write to each other, one operation after another, as nccl-tests time them.
    CollectiveParameters, Choice "workload kind \"collective\"" {
        /// The devices, in the order of the ring, such as ["gpu[*]"]; at least two, each once. Those of one host stand together.
        devices: Vec<String> = required names Components,
        Assumed "a choice";
        /// What is done with the data.
        operation: OperationChoice = "all-reduce",
        Assumed "what training of models does most";
        /// Bytes of the data, as nccl-tests count them (-b): of what each device has at the end, or gives at the start, the larger.
        size: Bytes = "1 MiB" in "1 B" to "64 GiB",
        Assumed "a choice";
        /// Largest of several sizes that are measured one after another, from `size` on (-e); "auto" for `size` alone.
        max_size: Auto<Bytes> = "auto" in "1 B" to "64 GiB",
        Assumed "one size";
        /// Each of several sizes over the one before it (-f).
        factor: u32 = "2" in "2" to "65536",
        Assumed "what examples of nccl-tests have";
        /// Operations of each of several sizes that are timed (-n); "auto" for 5. Of one size the run says how many.
        operations: Auto<u32> = "auto" in "1" to "1000000",
        Assumed "operations of a size differ little; nccl-tests has 20";
        /// Operations of each of several sizes before those that are timed (-w).
        warm_up: u32 = "1" in "0" to "1000000",
        Published "default of NVIDIA/nccl-tests; 5 in versions of before 2026";
        /// Where a broadcast starts or a reduction ends: a place in `devices`, from 0 on (-r).
        root: u32 = "0" in "0" to "1023" names Places,
        Published "default of NVIDIA/nccl-tests";
        /// In which order devices send (NCCL_ALGO); "auto" for the faster by NCCL's own estimate, of each size.
        algorithm: Auto<AlgorithmChoice> = "auto",
        Datasheet "ncclTopoTuneModel and ncclTopoGetAlgoTime, src/graph/tuning.cc of NVIDIA/nccl 2.30.7";
        /// How a receiver knows what has arrived (NCCL_PROTO); "auto" for the fastest by NCCL's own estimate, of each size.
        protocol: Auto<ProtocolChoice> = "auto",
        Datasheet "the same; LL128 only over side links, where lines of 128 B arrive whole";
        /// Rings or trees side by side, each with its share of the data; fewer of little data. "auto" for two of each ring that NCCL's search finds:
        /// as many as the links within a host carry, or the adapters between hosts. What one rank sends another has no more of them than NCCL gives
        /// it: two over PCI Express.
        channels: Auto<u32> = "auto" in "1" to "64",
        Datasheet "ncclTopoCompute, src/graph/search.cc, and ncclTopoPostset, src/graph/connect.cc of NVIDIA/nccl 2.30.7";
        /// Data that a channel of a device deals with before it turns to others; "auto" by the protocol's buffer.
        chunk: Auto<Bytes> = "auto" in "16 B" to "64 GiB",
        Datasheet "four of eight steps of 4 MiB, one of 512 KiB or 4800 KiB with LL or LL128: src/init.cc, src/include/collectives.h of NVIDIA/nccl 2.30.7";
        /// Slices of a full chunk, each of which goes on alone.
        slices: Auto<u32> = "auto" in "1" to "65536",
        Datasheet "two of a chunk round a ring by Simple; with flags what a block of threads moves in one turn";
        /// Slices that a receiver has room for.
        window: Auto<u32> = "auto" in "1" to "65536",
        Datasheet "the protocol's buffer over a slice: NCCL_STEPS of NVIDIA/nccl 2.30.7";
        /// From the start of an operation to its first write; "auto" by algorithm and protocol, 6.6 to 14 us.
        launch: Auto<Span> = "auto" in "0 ns" to "10 s",
        Datasheet "baseLatencies, src/graph/tuning.cc of NVIDIA/nccl 2.30.7";
        /// From data that have arrived to the write of the next: kernels see them, and add their own where the operation reduces. "auto" for
        /// NCCL's latency of a hop, less what the path takes for a line.
        step_time: Auto<Span> = "auto" in "0 ns" to "10 s",
        Datasheet "hwLatencies, src/graph/tuning.cc of NVIDIA/nccl 2.30.7: whole hops, 0.6 to 14 us";
        /// How far apart devices of a host may be to write to each other (NCCL_P2P_LEVEL); others go through memory of the host. "auto" for
        /// "pxb", and for "sys" with two devices below a host whose `processor` is "amd".
        p2p_level: Auto<DistanceChoice> = "auto",
        Datasheet "ncclTopoCheckP2p, src/graph/paths.cc of NVIDIA/nccl 2.30.7";
        /// How far an adapter may be from a device whose memory it reads and writes (NCCL_NET_GDR_LEVEL); of others data go through memory
        /// of the host.
        gdr_level: DistanceChoice = "pxb",
        Datasheet "ncclTopoCheckGdr, src/graph/paths.cc of NVIDIA/nccl 2.30.7";
        /// Networks between hosts, which channels take in turn where several are equally near; none for all that there are.
        networks: Vec<String> = "[]" names Components,
        Assumed "NCCL uses every adapter that it finds";
    }
}
