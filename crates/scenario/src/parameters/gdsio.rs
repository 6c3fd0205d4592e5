//! gdsio, the benchmark that comes with GPUDirect Storage.

use crate::parameter::parameters;
use crate::value::{Auto, choices};
use lanewise_units::Bytes;

choices! {
    /// Where gdsio moves data, in its words.
    XferTypeChoice, "where data is moved" {
        /// Between drive and GPU, peer to peer (`-x 0`).
        Gpud = "GPUD",
        /// Between drive and host memory (`-x 1`).
        CpuOnly = "CPUONLY",
        /// Between drive and GPU by way of host memory (`-x 2`).
        CpuGpu = "CPU_GPU",
    }
}

choices! {
    /// What gdsio's threads do.
    IoTypeChoice, "what the threads do" {
        /// Sequential reads (`-I 0`).
        Read = "read",
        /// Sequential writes (`-I 1`).
        Write = "write",
        /// Random reads (`-I 2`).
        RandRead = "randread",
        /// Random writes (`-I 3`).
        RandWrite = "randwrite",
    }
}

parameters! {
    /// gdsio of GPUDirect Storage: threads that each move one block at a time between a drive and a GPU.
    GdsioParameters, Choice "workload kind \"gdsio\"" {
        /// The drives (`-f`, `-D`): endpoints with `nvme.capacity`, such as ["ssd[*]"].
        filename: Vec<String> = required names Components,
        Assumed "a choice";
        /// The GPUs (`-d`): one for all drives, or as many as there are drives, in their order.
        gpu: Vec<String> = required names Components,
        Assumed "a choice";
        /// Threads for each drive (`-w`).
        threads: u32 = "1" in "1" to "4096",
        Assumed "one, unless it is said";
        /// Where data is moved (`-x`).
        xfer_type: XferTypeChoice = "GPUD",
        Assumed "what the tool is for";
        /// What the threads do (`-I`).
        io_type: IoTypeChoice = "read",
        Assumed "a choice";
        /// Bytes of an I/O (`-i`).
        io_size: Bytes = "1 MiB" in "4 KiB" to "16 MiB",
        Assumed "a size at which GPUDirect Storage is usually shown; 16 MiB is the largest direct I/O of cuFile's settings";
        /// Bytes of each drive that a thread uses, from its start (`-s`).
        size: Auto<Bytes> = "auto" in "4 KiB" to "1024 TiB",
        Assumed "the whole drive";
    }
}
