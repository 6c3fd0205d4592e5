//! CXL.mem: what a host, a switch and a link need for it, and memory expanders.

use crate::parameter::parameters;
use crate::value::{Fraction, choices};
use lanewise_units::{Bytes, Rate, Span};

parameters! {
    /// What the root ports of a host have for CXL.mem.
    HostCxlParameters, Claim "cxl" {
        /// Whether its root ports carry CXL.mem.
        mem: bool = "false",
        Assumed "a host does so only when it says so: the processor has to be of a generation with CXL";
        /// Responses without data (NDR) that a root port has room for: credits.
        ndr_credits: u32 = "256" in "1" to "1023" stays Buffers,
        Assumed "room for every answer that may come: a host asks for no more than it can take";
        /// Data responses (DRS) that a root port has room for: credits.
        drs_credits: u32 = "256" in "1" to "1023" stays Buffers,
        Assumed "room for every answer that may come: a host asks for no more than it can take";
    }
}

parameters! {
    /// What a switch has for CXL.mem.
    SwitchCxlParameters, Claim "cxl" {
        /// From the last byte of a message in to when it may leave, each way; "none" for a switch that does not carry CXL.mem.
        latency: Option<Span> = "none" in "1 ns" to "100 us",
        Assumed "a switch carries CXL.mem only when it says so";
        /// Messages of each class that a port has room for: credits.
        credits: u32 = "128" in "1" to "1023" stays Buffers,
        Assumed "more than are under way on a Gen5 x16 link with 100 ns there and back";
    }
}

parameters! {
    /// The link layer of CXL.mem, on a link that carries it.
    CxlLinkParameters, Claim "cxl" {
        /// Flits of 68 B that either end keeps until they are acknowledged.
        retry_buffer: u32 = "255" in "22" to "255" stays Buffers,
        Spec "22 at least, CXL 3.1 §4.2.8.1; assumed as many as its counters of 8 bits can count";
        /// How long credits or acknowledgements are owed until a flit is sent for them alone.
        flush_after: Span = "32 ns" in "1 ns" to "100 us",
        Spec "32 cycles of the link layer, the recommended Ack or CRD Flush Retimer, CXL 3.1 §8.2.4.19.6; assumed cycles of 1 ns";
        /// Whether a slot of a flit may hold several headers of data (MDH): both ends can do it, and software has not turned it off.
        several_headers: bool = "true",
        Spec "on after reset: MDH Disable is 0, CXL 3.1 §8.2.4.19.7";
        /// Whether flits of 256 B are latency-optimised: checked by halves.
        low_latency: bool = "false",
        Spec "optional, CXL 3.1 §4.3.2";
    }
}

parameters! {
    /// Memory behind a CXL link: a controller, and channels of DRAM.
    ExpanderParameters, Claim "expander" {
        /// Bytes of its memory; "none" for an endpoint that is no memory expander.
        capacity: Option<Bytes> = "none" in "1 MiB" to "1048576 GiB",
        Assumed "an endpoint is a memory expander only when it says so";
        /// Rate of reads and writes together, over all its channels.
        memory_rate: Rate = "38.4 GB/s" in "1 MB/s" to "10 TB/s",
        Spec "one channel of DDR5-4800, JESD79-5; what a controller makes of it is less";
        /// Channels of its memory.
        channels: u32 = "1" in "1" to "64" stays Table,
        Assumed "one channel, unless the part says more";
        /// Bytes that lie on one channel before the next one follows.
        interleave: Bytes = "256 B" in "64 B" to "1 MiB",
        Assumed "as of hosts";
        /// Banks of each channel, over all its ranks; "none" for channels that rows do not wait for.
        banks: Option<u32> = "none" in "1" to "4096" stays Table,
        Assumed away "requests wait for the channel alone, unless banks are given";
        /// Time between two rows of one bank.
        row_cycle: Span = "48 ns" in "1 ns" to "10 us",
        Spec "tRC of DDR5-4800, JESD79-5";
        /// Bytes of a row, as they lie on one channel.
        row: Bytes = "8 KiB" in "64 B" to "1 MiB",
        Spec "1,024 columns of 64 bits, JESD79-5";
        /// Of an idle expander, from the last byte of a request at its link layer to when the data may leave.
        read_latency: Span = "130 ns" in "0 ns" to "100 us",
        Assumed "50 ns of DRAM and 80 ns of controller, to be calibrated for a part";
        /// From the last byte of a write at its link layer to when its answer may leave.
        write_latency: Span = "40 ns" in "0 ns" to "100 us",
        Assumed "the controller has taken the write: half of its latency";
        /// Rate at which its controller passes lines that are read; "none" for no limit but memory and link.
        read_rate: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "memory or the link is the limit, unless the part is known for less";
        /// The same of lines that are written.
        write_rate: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "memory or the link is the limit, unless the part is known for less";
        /// Requests (M2S Req) that it has room for: credits.
        req_credits: u32 = "128" in "1" to "1023" stays Buffers,
        Assumed "more than are under way on a Gen5 x16 link with 100 ns there and back";
        /// Requests with data (M2S RwD) that it has room for: credits.
        rwd_credits: u32 = "128" in "1" to "1023" stays Buffers,
        Assumed "more than are under way on a Gen5 x16 link with 100 ns there and back";
    }
}

choices! {
    /// What a store does to memory.
    StoreChoice, "what a store does" {
        /// The line is read for ownership, and written back later.
        Cached = "cached",
        /// The line is written, and not read.
        NonTemporal = "non-temporal",
    }
}

choices! {
    /// How lines follow each other.
    LineOrderChoice, "how lines follow each other" {
        /// One after the other.
        Sequential = "sequential",
        /// In random order.
        Random = "random",
    }
}

choices! {
    /// How the interval between the accesses of a core is kept.
    PaceChoice, "how an interval is kept" {
        /// It is the same each time, and all cores begin together.
        Fixed = "fixed",
        /// It is exponentially distributed, and the parameter its mean: cores that keep no step with each other.
        Random = "random",
    }
}

parameters! {
    /// Cores that read and write lines of a memory expander, as many at a time as they can: as STREAM, Intel MLC and Mess do.
    StreamParameters, Choice "workload kind \"stream\"" {
        /// The memory expander.
        device: String = required names Components,
        Assumed "a choice";
        /// Cores.
        cores: u32 = "8" in "1" to "4096",
        Assumed "enough for a link of eight lanes";
        /// Lines that each core has in flight: its line-fill buffers.
        outstanding: u32 = "16" in "1" to "1024",
        Published "Golden Cove has 16 fill buffers where earlier cores had 12, Intel Architecture Day 2021 as reported by cpunews.net";
        /// Part of the accesses that are stores.
        stores: Fraction = "0" in "0" to "1",
        Assumed "reads alone";
        /// What a store does to memory.
        store: StoreChoice = "cached",
        Assumed "what compilers make of a store";
        /// Least time between the starts of two accesses of a core.
        interval: Span = "0 ns" in "0 ns" to "1 ms",
        Assumed "as fast as its buffers let it";
        /// How the interval is kept.
        pace: PaceChoice = "fixed",
        Assumed "a delay loop, as that of Intel MLC";
        /// Memory that each core goes through.
        span: Bytes = "64 MiB" in "4 KiB" to "1024 GiB",
        Assumed "more than caches hold";
        /// How lines follow each other.
        order: LineOrderChoice = "sequential",
        Assumed "arrays";
    }
}

parameters! {
    /// Cores that load lines of a memory expander one after the other, each address being in the line before: latency.
    PointerChaseParameters, Choice "workload kind \"pointer-chase\"" {
        /// The memory expander.
        device: String = required names Components,
        Assumed "a choice";
        /// Cores, each with a chain of its own.
        cores: u32 = "1" in "1" to "4096",
        Assumed "an idle machine";
        /// Memory that each core goes through, in random order.
        span: Bytes = "64 MiB" in "4 KiB" to "1024 GiB",
        Assumed "more than caches hold";
    }
}
