//! Descriptor rings: what an adapter moves besides the frames.

use crate::parameter::parameters;
use crate::value::choices;
use lanewise_units::Bytes;

choices! {
    /// Which way frames go, seen from the adapter.
    FrameDirectionChoice, "which way frames go" {
        /// From memory to the wire: the adapter reads frames.
        Send = "send",
        /// From the wire to memory: the adapter writes frames.
        Receive = "receive",
    }
}

parameters! {
    /// An adapter that moves frames through descriptor rings, as fast as its link lets it.
    RingsParameters, Choice "workload kind \"rings\"" {
        /// The adapter.
        device: String = required names Components,
        Assumed "a choice";
        /// Which way frames go.
        direction: FrameDirectionChoice = required,
        Assumed "a choice";
        /// Bytes of a frame in memory.
        frame: Bytes = "1518 B" in "1 B" to "16 KiB",
        Assumed "the largest ordinary Ethernet frame";
        /// Bytes of a descriptor.
        descriptor: Bytes = "16 B" in "4 B" to "256 B",
        Assumed "what most adapters have, from Intel's 82574 on";
        /// Bytes of a completion.
        completion: Bytes = "16 B" in "4 B" to "256 B",
        Assumed "a descriptor written back; RDMA adapters write 64 B";
        /// Bytes of a doorbell.
        doorbell: Bytes = "4 B" in "1 B" to "64 B",
        Assumed "a tail register";
        /// Frames of a batch: one doorbell and one read of descriptors.
        batch: u32 = "32" in "1" to "1024",
        Assumed "the burst of poll-mode drivers";
        /// Completions of one write.
        completion_batch: u32 = "4" in "1" to "256",
        Assumed "a cache line of 64 B at a time";
        /// Batches under way.
        outstanding: u32 = "64" in "1" to "1024",
        Assumed "enough to hide the latency of most links";
    }
}
