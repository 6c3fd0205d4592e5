//! Copies: what engines and kernels of a device can do, what pageable memory costs its host, and the workloads that copy.

use crate::parameter::parameters;
use crate::value::{Auto, PayloadSize, choices};
use lanewise_units::{Bytes, Rate, Span};

parameters! {
    /// Copy engines of a device: DMA that a driver starts, copy by copy.
    CopyEngineParameters, Claim "copy engine" {
        /// Engines for each direction; streams use them in turn.
        engines: u32 = "1" in "1" to "64",
        Assumed "one for each direction, as most GPUs give to copies";
        /// Largest write request: requests are cut at multiples of it, and never longer than the Maximum Payload Size.
        write_unit: Auto<PayloadSize<32>> = "auto",
        Assumed "the device's `write_unit`";
        /// Largest read request: requests are cut at multiples of it, and never longer than the Maximum Read Request Size.
        read_unit: Auto<PayloadSize<32>> = "auto",
        Assumed "the device's `read_unit`";
        /// Bytes of reads that an engine has in flight; one request is always let out.
        outstanding: Auto<Bytes> = "auto" in "32 B" to "16 MiB",
        Assumed "as many requests as there are tags";
        /// Time of each copy before its first request: call, submission, start of the engine.
        overhead: Span = "7 us" in "0 ns" to "10 ms",
        Published "a synchronous cudaMemcpy of pinned memory takes 7.0 us at 1 KiB (npho/cse554, Quadro RTX 6000); README of NVIDIA/gdrcopy: 6 to 7 us";
        /// What a call of the GPU's runtime adds to `overhead` where a program waits for the copy: cudaMemcpy, hipMemcpy.
        call: Span = "0 ns" in "0 ns" to "10 ms",
        Assumed "the `overhead` is published of whole calls of cudaMemcpy";
        /// Time from the last byte until the copy is known to be over.
        completion: Span = "0 ns" in "0 ns" to "10 ms",
        Assumed "published overheads are of whole copies, so it is counted in `overhead`";
        /// Time of an engine between two copies that are queued: from the last byte of one to the first request of the next.
        gap: Span = "2 us" in "0 ns" to "10 ms",
        Assumed "between what a Tesla V100 takes under bandwidthTest, 2.8 us to the device and 1.6 from it (microsoft/superbenchmark, tests/data/cuda_memory_h2d_bw.log, cuda_memory_d2h_bw.log)";
    }
}

parameters! {
    /// Copies by a kernel: loads and stores of the device's cores.
    KernelParameters, Claim "kernel" {
        /// Largest write request that its stores are joined to, and never longer than the Maximum Payload Size.
        write_unit: Auto<PayloadSize<32>> = "auto",
        Assumed "the device's `write_unit`";
        /// Largest read request that its loads are joined to, and never longer than the Maximum Read Request Size.
        read_unit: Auto<PayloadSize<32>> = "auto",
        Assumed "the device's `read_unit`";
        /// Bytes of loads in flight; one request is always let out.
        outstanding: Auto<Bytes> = "auto" in "32 B" to "16 MiB",
        Assumed "as many requests as there are tags";
        /// Time of each copy before its first request: call and start of the kernel.
        overhead: Span = "5 us" in "0 ns" to "10 ms",
        Assumed "start of a kernel";
        /// Time from the last byte until the copy is known to be over.
        completion: Span = "0 ns" in "0 ns" to "10 ms",
        Assumed "counted in `overhead`";
        /// Compute capability of a GPU as NCCL writes it, 89 for 8.9: it decides among NCCL's tables.
        compute_capability: Auto<u32> = "auto" in "10" to "999",
        Assumed "80 up to Gen4 and 90 after that: of the first GPUs with such links that NCCL's tables are for, A100 and H100";
    }
}

parameters! {
    /// What copies of pageable memory cost a host: its driver stages them in buffers that the device can reach.
    PageableParameters, Claim "pageable memory" {
        /// Rate at which a core copies between pageable memory and a buffer.
        copy_rate: Rate = "8 GB/s" in "1 MB/s" to "10 TB/s",
        Assumed "one core, memory to memory; as `mpi.copy_bandwidth`";
        /// Bytes of a buffer.
        chunk: Bytes = "64 KiB" in "64 B" to "64 MiB",
        Published "copies of up to 64 KiB are staged as a whole: CUDA Runtime API, synchronization behaviour of copies";
        /// Buffers of a stream: while the engine moves one, a core fills or empties another.
        buffers: u32 = "2" in "1" to "1024",
        Assumed "two in turn";
        /// Time of a core for each chunk beside its bytes: submission, and waiting for the engine.
        chunk_cost: Span = "2 us" in "0 ns" to "10 ms",
        Assumed "a submission to the engine and a look at its end";
    }
}

choices! {
    /// Which way copies go.
    CopyDirectionChoice, "which way copies go" {
        /// From host memory to the device, which reads.
        HostToDevice = "host-to-device",
        /// From the device, which writes, to host memory.
        DeviceToHost = "device-to-host",
        /// Both at the same time, each with its own streams.
        Both = "both",
        /// To or from another device: see `target` and `by`.
        Peer = "peer",
    }
}

choices! {
    /// Who moves the data of a copy.
    EngineChoice, "who moves the data" {
        /// The device's copy engines.
        CopyEngine = "copy-engine",
        /// A kernel on the device.
        Kernel = "kernel",
    }
}

choices! {
    /// How a copy between two devices is done.
    PeerCopyChoice, "how peers copy" {
        /// The device writes to its peer.
        Write = "write",
        /// The device reads from its peer.
        Read = "read",
    }
}

parameters! {
    /// Copies as bandwidthTest, nvbandwidth and their like make them.
    CopyParameters, Choice "workload kind \"copy\"" {
        /// The device that copies.
        device: String = required names Components,
        Assumed "a choice";
        /// Which way.
        direction: CopyDirectionChoice = required,
        Assumed "a choice";
        /// The other device of a `peer` copy. As many as `device` names are paired with them in order; one device copies to each of
        /// several, with `streams` for each.
        target: String = "none" names Components,
        Assumed "only peers need one";
        /// How a `peer` copy is done.
        by: PeerCopyChoice = "write",
        Assumed "p2pBandwidthLatencyTest and nvbandwidth's write tests";
        /// Who moves the data.
        engine: EngineChoice = "copy-engine",
        Assumed "what cudaMemcpy and hipMemcpy use";
        /// Bytes of a copy.
        size: Bytes = "32 MiB" in "1 B" to "1024 GiB",
        Assumed "bandwidthTest's default, 32,000,000 B, rounded up";
        /// Sizes that are measured one after another, `copies` of each, instead of `size`; none for `size` alone.
        sizes: Vec<Bytes> = "[]",
        Assumed "one size";
        /// Copies of each size in each stream where there are `sizes`; "auto" for 16. Without them the run says how many.
        copies: Auto<u32> = "auto" in "1" to "1000000",
        Assumed "nvbandwidth takes 16 times in a row";
        /// Streams of each direction, each with one copy under way.
        streams: u32 = "1" in "1" to "1024",
        Assumed "the tools' default";
        /// Whether host memory is pinned; pageable memory is staged: see `pageable` of the host.
        pinned: bool = "true",
        Assumed "the tools' default";
        /// Whether a copy that the program waits for is a call of the GPU's runtime, which adds `copy_engine.call`. A program that asks the
        /// driver below it does not pay for that, such as rocm-bandwidth-test.
        runtime_call: bool = "true",
        Assumed "what programs use: cudaMemcpy, hipMemcpy";
        /// Whether the program queues its copies, as bandwidthTest with pinned memory and nvbandwidth do: then `copy_engine.gap` lies between
        /// them. Otherwise it waits for each, which takes `copy_engine.overhead` and `copy_engine.completion`, as with cudaMemcpy.
        queued: bool = "false",
        Assumed "copies that somebody waits for";
    }
}

choices! {
    /// What a copy between two devices waits for, beside the copies before it between the same two.
    WaitingChoice, "what a copy waits for" {
        /// Nothing: each pair has a stream of its own.
        Pair = "pair",
        /// Copies issued before it to the same target, as `Tensor.copy_` of PyTorch on a stream of the source makes them.
        Target = "target",
        /// Copies issued before it from or to either device, as in CUDA's null stream.
        Both = "both",
    }
}

parameters! {
    /// Copies between pairs of devices by their copy engines, issued over and over in the same order by a program that is never late.
    /// The device that has the data writes; each of its engines takes one copy after another.
    PeerCopiesParameters, Choice "workload kind \"peer_copies\"" {
        /// The devices, such as ["gpu[*]"]; at least two, each once.
        devices: Vec<String> = required names Components,
        Assumed "a choice";
        /// From which to which, by place in `devices`, in the order of issue: ["0>1", "2>3"]. None for each to each other one, by source
        /// and then by target.
        pairs: Vec<String> = "[]" names Places,
        Assumed "all of them";
        /// What a copy waits for, beside the copies before it of the same pair. "target" and "both" are the barriers of PyTorch's `copy_`
        /// (aten/src/ATen/native/cuda/Copy.cu) with a stream of the source, and with none for it; the second follows from the null stream
        /// (CUDA C++ Programming Guide, peer-to-peer memory copy).
        waits_for: WaitingChoice = "pair",
        Assumed "a stream for each, as programs make them that want all at once";
        /// Bytes of a copy.
        size: Bytes = "1 MiB" in "1 B" to "1024 GiB",
        Assumed "a choice: long beside the time that a copy takes to start";
    }
}
