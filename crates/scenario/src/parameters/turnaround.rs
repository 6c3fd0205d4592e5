//! The turn-around test, and what the host brings to it.

use crate::parameter::parameters;
use crate::value::choices;
use lanewise_units::{Bytes, Span};

parameters! {
    /// Where writes of devices land, and how a processor that polls for them sees and answers them.
    CacheParameters, Claim "cache" {
        /// Whether writes of devices land in the last-level cache instead of memory: DDIO, cache injection.
        injection: bool = "true",
        Assumed "x86 servers since 2012 and POWER9";
        /// From a write at the root port until a load finds it in the cache.
        landing_latency: Span = "100 ns" in "0 ns" to "1 ms",
        Assumed "host bridge and the chip's interconnect";
        /// What a write takes longer until it is in memory and the old line is gone from the cache.
        memory_landing_extra: Span = "60 ns" in "0 ns" to "1 ms",
        Assumed "a line of memory is read, merged and written";
        /// Load of a line that a device has put into the cache.
        load: Span = "25 ns" in "0 ns" to "1 ms",
        Assumed "last-level cache of a server";
        /// Load of a line that is in memory.
        memory_load: Span = "90 ns" in "0 ns" to "1 ms",
        Assumed "memory of a server";
        /// Time between two loads of a loop that polls and finds nothing.
        poll_interval: Span = "5 ns" in "0.1 ns" to "1 ms",
        Assumed "a first-level cache hit, a comparison and a branch";
        /// From the load that found it until the answer's store leaves the core, for `core_latency` on its way.
        store_latency: Span = "40 ns" in "0 ns" to "1 ms",
        Assumed "store buffer and host bridge; with `core_latency` as long as the way of a write into the cache";
        /// Mean of an exponentially distributed time on top.
        noise: Span = "0 ns" in "0 ns" to "1 ms",
        Assumed "nothing else runs on the chip";
    }
}

choices! {
    /// What a turn-around test times.
    ReadingChoice, "what is timed" {
        /// From the device's write to the store of a CPU that polls for it.
        Poll = "poll",
        /// From the device's read request to its completion.
        Read = "read",
    }
}

parameters! {
    /// Turn-around: how long a device waits for the host's answer, seen on its link.
    TurnaroundParameters, Choice "workload kind \"turnaround\"" {
        /// The device.
        device: String = required names Components,
        Assumed "a choice";
        /// What is timed.
        reading: ReadingChoice = "poll",
        Assumed "data goes to the host and comes back";
        /// Bytes that the device writes or reads.
        size: Bytes = "64 B" in "1 B" to "4 KiB",
        Assumed "a small message";
        /// Bytes of the CPU's store.
        answer: Bytes = "8 B" in "1 B" to "64 B",
        Assumed "a register of 64 bits";
        /// Shortest pause between two tests; the longest is twice that.
        pause: Span = "1 us" in "1 ns" to "1 s",
        Assumed "one test is over before the next begins";
    }
}
