//! Storage: the adapter side of an endpoint, and the drives behind its wires.

use crate::parameter::parameters;
use crate::value::{Auto, choices};
use lanewise_units::{Bytes, Rate, Span};

choices! {
    /// What an endpoint's far side speaks.
    WireChoice, "the wire of an adapter" {
        /// Nothing: not a storage adapter.
        None = "none",
        /// 4 Gb/s Fibre Channel.
        FibreChannel4g = "fc-4g",
        /// 3 Gb/s Serial Attached SCSI, one port for each phy.
        Sas3g = "sas-3g",
    }
}

parameters! {
    /// The far side of a host bus adapter: wires, buffers, internal path, completions.
    AdapterParameters, Claim "adapter" {
        /// What its ports speak; "none" for an endpoint that is no storage adapter.
        wire: WireChoice = "none",
        Assumed "an endpoint is a storage adapter only when it says so";
        /// Number of ports (Fibre Channel) or phys (SAS).
        ports: u32 = "1" in "1" to "256",
        Assumed "one unless the part says more";
        /// Bytes of the CPU's write that announces a command.
        doorbell: Bytes = "4 B" in "1 B" to "64 B",
        Assumed "one register of 32 bits";
        /// Bytes of a command in host memory, which the adapter reads.
        command: Bytes = "128 B" in "1 B" to "4 KiB",
        Assumed "SCSI command, addresses and the first scatter/gather entries";
        /// Scatter/gather entries that are part of the command.
        scatter_gather_inline: u32 = "3" in "0" to "4096",
        Assumed "what is left of a command of 128 B";
        /// Bytes of a scatter/gather entry, one for each page of 4 KiB.
        scatter_gather_entry: Bytes = "12 B" in "0 B" to "64 B",
        Assumed "a 64-bit address and a 32-bit length";
        /// Bytes that the adapter writes when a command is over.
        status: Bytes = "64 B" in "1 B" to "4 KiB",
        Assumed "one entry of a response ring";
        /// Time of the adapter's processor for each command, one after another.
        command_time: Span = "5 us" in "0 ns" to "10 ms",
        Assumed "firmware on an embedded processor, 200,000 commands a second";
        /// Room for read data between wire and DMA.
        read_buffer: Bytes = "64 KiB" in "1 KiB" to "1 GiB" stays Buffers,
        Assumed "enough for some frames of each port";
        /// Room for write data between DMA and wire.
        write_buffer: Bytes = "64 KiB" in "1 KiB" to "1 GiB" stays Buffers,
        Assumed "enough for some frames of each port";
        /// Bytes of write data that are asked for at a time.
        read_request: Bytes = "2 KiB" in "64 B" to "1 MiB",
        Assumed "a frame at a time";
        /// Rate of the internal path for read data.
        internal_read_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "no limit of its own unless it is measured";
        /// Rate of the internal path for write data.
        internal_write_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "no limit of its own unless it is measured";
        /// Rate of the internal path for both directions together.
        internal_bandwidth: Option<Rate> = "none" in "1 MB/s" to "10 TB/s",
        Assumed away "no limit of its own unless it is measured";
        /// Completions after which an interrupt is due.
        interrupt_completions: u32 = "1" in "1" to "65536",
        Assumed "no moderation";
        /// Longest time a completion waits for others before an interrupt is due.
        interrupt_delay: Span = "0 ns" in "0 ns" to "10 ms",
        Assumed "no moderation";
    }
}

parameters! {
    /// Drives behind a host bus adapter, all alike.
    StorageParameters, Claim "storage" {
        /// Number of drives, spread over the ports of the adapter in turn.
        count: u32 = "1" in "1" to "65536",
        Assumed "one drive";
        /// Port of the adapter that all of them are behind, from 0; "auto" spreads them.
        adapter_port: Auto<u32> = "auto" in "0" to "255",
        Assumed "drives are spread evenly over the ports";
        /// Bytes that can be addressed.
        capacity: Bytes = "73 GB" in "1 MB" to "1024 TiB",
        Assumed "any size that is much larger than what a run transfers";
        /// Rate from the media, or cache, into the buffer.
        read_rate: Rate = "100 MB/s" in "1 MB/s" to "1 TB/s"
        live "the next frame between media and buffer" needs "workers on the drive",
        Assumed "a fast disk of 2007";
        /// Rate from the buffer to the media.
        write_rate: Rate = "100 MB/s" in "1 MB/s" to "1 TB/s"
        live "the next frame between media and buffer" needs "workers on the drive",
        Assumed "a fast disk of 2007";
        /// Fixed cost of a read before its data moves.
        read_overhead: Span = "100 us" in "0 ns" to "1 s"
        live "the next command" needs "workers on the drive",
        Assumed "command processing of a disk";
        /// Fixed cost of a write before its data moves.
        write_overhead: Span = "100 us" in "0 ns" to "1 s"
        live "the next command" needs "workers on the drive",
        Assumed "command processing of a disk";
        /// Largest random addition to the overhead, evenly distributed.
        overhead_variation: Span = "0 ns" in "0 ns" to "1 s",
        Assumed away "none unless it is measured";
        /// Additional cost when a read follows a write or a write a read.
        turnaround: Span = "0 ns" in "0 ns" to "1 s"
        live "the next command" needs "workers on the drive",
        Assumed away "none unless it is measured";
        /// Additional cost when a command does not go on where one of the last ended.
        positioning: Span = "3.5 ms" in "0 ns" to "10 s"
        live "the next command" needs "workers on the drive",
        Assumed "average seek of a 15,000 rpm disk";
        /// Largest random addition to the positioning, evenly distributed: one revolution.
        positioning_variation: Span = "4 ms" in "0 ns" to "10 s",
        Assumed "one revolution at 15,000 rpm";
        /// Room for data that was read and not sent, and as much again for data received and not written.
        buffer: Bytes = "16 MiB" in "4 KiB" to "64 GiB" stays Buffers,
        Assumed "a disk of 2007";
        /// Data that an idle drive reads ahead of a stream of reads.
        read_ahead: Bytes = "1 MiB" in "0 B" to "64 GiB",
        Assumed "a segment of the cache";
        /// Most data that the drive asks for at a time when it is written to; not above `buffer`.
        write_burst: Bytes = "64 KiB" in "2 KiB" to "64 GiB",
        Assumed "a segment of the cache";
        /// Whether a write is answered when its data is in the buffer, instead of on the media.
        write_cache: bool = "true",
        Assumed "benchmarks of the time left it on";
        /// Sequential streams that the drive keeps apart.
        streams: u32 = "16" in "1" to "4096" stays Table,
        Assumed "cache segments of a disk";
        /// Data behind the end of a stream that reads find in the cache.
        cache_window: Bytes = "0 B" in "0 B" to "64 GiB",
        Assumed away "no hits unless they are measured";
    }
}
