//! RDMA: the adapter side of an endpoint, the host's driver and MPI library, and the wires of a network.

use super::LayoutChoice;
use crate::parameter::parameters;
use crate::value::{Auto, PayloadSize, choices};
use lanewise_units::{Bytes, Rate, Span};

parameters! {
    /// The RDMA side of an endpoint: queues on PCI Express, pipeline, buffers and ports.
    RdmaParameters, Claim "rdma" {
        /// Network ports; 0 for an endpoint that is no RDMA adapter.
        ports: u32 = "0" in "0" to "16",
        Assumed "an endpoint is an RDMA adapter only when it says so";
        /// Data rate of a port on Ethernet, or "none" where that is not known: what a RoCE or Ethernet network has whose `rate` is "auto".
        port_rate: Option<Rate> = "none" in "100 MB/s" to "1 TB/s",
        Assumed away "the network says it";
        /// Bytes of the CPU's write that announces a work request which the adapter then fetches.
        doorbell: Bytes = "8 B" in "4 B" to "64 B",
        Datasheet "mlx5 in rdma-core: a doorbell is one 64-bit store";
        /// Bytes of a work request without inline data.
        work_request: Bytes = "64 B" in "16 B" to "512 B",
        Datasheet "mlx4 and mlx5 in rdma-core: control, address and data segments in units of 64 B";
        /// Largest work request that the CPU pushes into the adapter with the doorbell; "0 B" for none.
        push_max: Bytes = "256 B" in "0 B" to "1 KiB",
        Datasheet "mlx4 and mlx5 in rdma-core: a BlueFlame register takes 256 B";
        /// Whether the CPU also pushes writes and sends whose data stay in memory; if not, it rings the doorbell for them.
        push_without_data: bool = "true",
        Datasheet "mlx5 in rdma-core pushes any single request that fits (MLX5_POST_SEND_PREFER_BF); mlx4 does not";
        /// Largest payload that can travel inside a work request.
        inline_max: Bytes = "220 B" in "0 B" to "1 KiB",
        Published "perftest's default for its latency tests, which drivers accept";
        /// Bytes of a completion entry.
        completion_entry: Bytes = "64 B" in "16 B" to "128 B",
        Datasheet "mlx5 in rdma-core: 64 B";
        /// Time after which the pipeline takes the next message: the reciprocal of the adapter's messages a second, out and
        /// in each. A message alone does not wait for it.
        message_interval: Span = "10 ns" in "0 ns" to "100 us",
        Assumed "100 million messages a second, more than one queue pair asks for";
        /// Time after which the adapter takes the next work request of the same queue pair.
        queue_pair_interval: Span = "57 ns" in "0 ns" to "100 us",
        Published "rdma_bench a038ec5e2b (Kalia et al., USENIX ATC 2016), ws-sequencer: 17.6 million a second in batches over one queue pair, where several do 27.4 million on the same core; an adapter of 2015";
        /// Rate at which one queue pair takes in what it reads, or "none" for no limit but the port's.
        queue_pair_read_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "a queue pair reads as fast as the wire unless it is measured otherwise";
        /// From a work request in the adapter to its first packet or payload fetch, without waiting.
        send_latency: Span = "150 ns" in "0 ns" to "100 us",
        Assumed "of the 0.8 us that such adapters need from memory to memory";
        /// From the last byte of a packet at the port until its payload is handed to DMA, without waiting.
        receive_latency: Span = "150 ns" in "0 ns" to "100 us",
        Assumed "of the 0.8 us that such adapters need from memory to memory";
        /// What UDP and IP add to `send_latency` and to `receive_latency`, each, at a port that speaks RoCE.
        roce_latency: Span = "100 ns" in "0 ns" to "100 us",
        Published "UCX 9466d104a3, uct/ib: 200 ns more for both adapters and the wire of RoCE than for InfiniBand, halved";
        /// From the end of a packet on the wire to the earliest start of the next of the same port.
        packet_gap: Span = "0 ns" in "0 ns" to "10 us",
        Assumed away "packets follow each other at once unless it is measured otherwise";
        /// Payload of each port that may be on its way from memory or waiting for the wire.
        send_buffer: Bytes = "64 KiB" in "4 KiB" to "16 MiB" stays Buffers,
        Assumed "covers the latency of memory at the rate of the port several times";
        /// Payload of each port that may be in the adapter before DMA.
        receive_buffer: Bytes = "64 KiB" in "4 KiB" to "16 MiB" stays Buffers,
        Assumed "covers the way of credits at the rate of the port several times";
        /// Rate of the internal path of each port on the way out, or "none" for no limit.
        send_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "the wire is the limit unless it is measured otherwise";
        /// Rate of the internal path of each port on the way in, or "none" for no limit.
        receive_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "the wire is the limit unless it is measured otherwise";
        /// Rate of the internal path of all ports and both directions together, or "none" for no limit.
        shared_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "directions do not disturb each other unless it is measured otherwise";
        /// RDMA reads that a queue pair may have outstanding.
        outstanding_reads: u32 = "16" in "1" to "1024",
        Datasheet "max_rd_atomic of ConnectX adapters";
        /// Time for registering memory with a work request, one after another, before the next request of the queue may
        /// go. Drivers that leave the list of pages in memory make it longer: 770 ns with mlx5 before Linux 4.16.
        registration_time: Span = "200 ns" in "0 ns" to "1 ms",
        Published "Linux commit 064e526247 (mlx5): a ConnectX-5 registers for 4.95 million reads a second, or 1.30 million when it fetches lists";
    }
}

parameters! {
    /// What a core pays for RDMA, and how far it is from memory; how far from the root port says the host's `core_latency`.
    VerbsParameters, Claim "verbs" {
        /// Core time to make a work request.
        post_cost: Span = "75 ns" in "0 ns" to "1 ms",
        Published "UCX 9466d104a3, the overheads that it plans with: 75 ns to post by verbs, 40 ns by its own mlx5 driver";
        /// Core time for a doorbell, or to push a work request, once it is made: until a store fence says that the
        /// write-combining buffers have left the core. The adapter has the doorbell by then.
        doorbell_cost: Span = "110 ns" in "0 ns" to "1 ms",
        Published "rdma_bench a038ec5e2b (Kalia et al., USENIX ATC 2016), ws-sequencer: a core serves 6.80 million requests a second with a doorbell each and 27.4 million with batches over several queue pairs, 147 and 37 ns each";
        /// From a write at the root port until a polling core has seen it.
        poll_latency: Span = "80 ns" in "0 ns" to "100 us",
        Assumed "into the last level cache, and the miss of the polling core";
        /// Core time to take a completion of a request of its own, or a message from polled memory.
        poll_cost: Span = "20 ns" in "0 ns" to "1 ms",
        Published "UCX 9466d104a3, the overhead that it plans with for a completion entry";
        /// Core time to take a message that was sent: its completion entry, and a receive request posted anew.
        receive_cost: Span = "75 ns" in "0 ns" to "1 ms",
        Published "UCX 9466d104a3, the overhead that it plans with to receive a message by verbs; 40 ns by its own mlx5 driver";
    }
}

parameters! {
    /// What a core pays for MPI besides its driver.
    MpiParameters, Claim "mpi" {
        /// Core time of a send call.
        send_cost: Span = "80 ns" in "0 ns" to "1 ms",
        Assumed "a few hundred instructions";
        /// Core time to match what has arrived.
        receive_cost: Span = "80 ns" in "0 ns" to "1 ms",
        Assumed "a few hundred instructions";
        /// Rate at which a core copies between buffers.
        copy_bandwidth: Rate = "8 GB/s" in "1 MB/s" to "10 TB/s",
        Assumed "one core, data mostly in caches";
        /// Whether a core waits until the stores of a doorbell have left it before it goes on, as libraries over verbs do (MVAPICH2);
        /// if not, before its next doorbell, as UCX does (HPC-X, Open MPI, MPICH).
        waits_for_doorbell: bool = "false",
        Published "UCX 00ad9ed680, uct_ib_mlx5_txwq_ring_doorbell, and what its fences are on x86: a store fence before each doorbell, none behind it; rdma-core has one behind it, too (mmio_flush_writes)";
    }
}

choices! {
    /// What the wires of a network are.
    NetworkKindChoice, "what the wires are" {
        /// InfiniBand at 10 Gb/s a lane, 8b/10b.
        InfinibandQdr = "infiniband-qdr",
        /// InfiniBand at 10.3125 Gb/s a lane, 64b/66b.
        InfinibandFdr10 = "infiniband-fdr10",
        /// InfiniBand at 14.0625 Gb/s a lane, 64b/66b.
        InfinibandFdr = "infiniband-fdr",
        /// InfiniBand at 25.78125 Gb/s a lane, 64b/66b.
        InfinibandEdr = "infiniband-edr",
        /// InfiniBand at 53.125 Gb/s a lane, 256b/257b with forward error correction: 50 Gb/s of data.
        InfinibandHdr = "infiniband-hdr",
        /// InfiniBand at 106.25 Gb/s a lane, coded alike: 100 Gb/s of data.
        InfinibandNdr = "infiniband-ndr",
        /// InfiniBand at 212.5 Gb/s a lane, coded alike: 200 Gb/s of data.
        InfinibandXdr = "infiniband-xdr",
        /// RoCE version 2 over Ethernet; see `rate`.
        Roce = "roce",
        /// Plain Ethernet for TCP in software; see `rate`.
        Ethernet = "ethernet",
    }
}

parameters! {
    /// Wires between ports of RDMA adapters, or between them and switches.
    NetworkParameters, Claim "network" {
        /// What it is.
        kind: NetworkKindChoice = required,
        Datasheet "given by the scenario";
        /// Lanes of an InfiniBand link.
        lanes: u32 = "4" in "1" to "12",
        Spec "4x, what cables and adapters have";
        /// Data rate of an Ethernet link; InfiniBand has that of its kind. "auto" for `rdma.port_rate` of the slower adapter, between
        /// switches for that of the fastest wire from an adapter to switches that these reach, and for 100 Gb/s where none says it.
        rate: Auto<Rate> = "auto" in "100 MB/s" to "1 TB/s",
        Assumed "what the adapters can";
        /// Payload of a full packet; TCP over Ethernet has 1,448 B, 1,500 less its headers and those of IP.
        mtu: PayloadSize<256> = "4096 B",
        Assumed "the largest that InfiniBand has; RoCE has it where Ethernet carries 4,200 B or more, and 1024 B with its usual 1,500";
        /// Time along the cable.
        propagation: Span = "10 ns" in "0 ns" to "10 ms",
        Assumed "2 m of cable at 5 ns/m";
        /// Time through switches on the way that are no components of their own: they cut through and carry nothing else.
        switch_latency: Span = "0 ns" in "0 ns" to "10 ms",
        Assumed "back to back";
        /// Wires between each two switches; an adapter's port has one.
        wires: u32 = "1" in "1" to "512",
        Assumed "one";
        /// How adapters are spread over several switches.
        layout: LayoutChoice = "blocks",
        Assumed "cables as short as they can be";
    }
}

parameters! {
    /// What TCP costs where it runs in the kernel.
    KernelTcpParameters, Claim "kernel_tcp" {
        /// Core time from the call of send to the doorbell.
        send_cost: Span = "1.6 us" in "0 ns" to "10 ms",
        Assumed "system call 0.3, TCP and IP 0.9, driver 0.4 us";
        /// Core time from a segment to its data in the application.
        receive_cost: Span = "2.4 us" in "0 ns" to "10 ms",
        Assumed "driver 0.5, IP and TCP 1.2, socket, system call and copy 0.7 us";
        /// From a completion entry at the root port until a thread that waits goes on.
        wake_latency: Span = "4 us" in "0 ns" to "10 ms",
        Assumed "interrupt 1.5, scheduler and context switch 2.5 us";
    }
}

parameters! {
    /// What TCP costs where it runs in user space and polls.
    UserTcpParameters, Claim "user_tcp" {
        /// Core time from the call of send to the doorbell.
        send_cost: Span = "0.5 us" in "0 ns" to "10 ms",
        Assumed "TCP and IP without a system call, data written by the core";
        /// Core time from a segment to its data in the application.
        receive_cost: Span = "0.5 us" in "0 ns" to "10 ms",
        Assumed "TCP and IP without a system call, one copy";
        /// From a completion entry at the root port until a thread that polls goes on.
        wake_latency: Span = "0.1 us" in "0 ns" to "10 ms",
        Assumed "a cache miss and the loop of the poll";
    }
}
