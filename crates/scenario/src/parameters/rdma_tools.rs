//! Tools over an RDMA network: perftest.

use crate::parameter::parameters;
use crate::value::{Auto, choices};
use lanewise_units::Bytes;

choices! {
    /// Which test of perftest.
    PerftestToolChoice, "a test of perftest" {
        /// RDMA writes, as many as go.
        WriteBandwidth = "ib_write_bw",
        /// RDMA reads, as many as go.
        ReadBandwidth = "ib_read_bw",
        /// Sends, as many as go.
        SendBandwidth = "ib_send_bw",
        /// RDMA writes to and fro.
        WriteLatency = "ib_write_lat",
        /// One RDMA read after another.
        ReadLatency = "ib_read_lat",
        /// Sends to and fro.
        SendLatency = "ib_send_lat",
    }
}

parameters! {
    /// perftest between the two ports of a network; the first end is the client.
    PerftestParameters, Choice "workload kind \"perftest\"" {
        /// The network that is used.
        network: String = required,
        Assumed "a choice";
        /// Which test.
        tool: PerftestToolChoice = required,
        Assumed "a choice";
        /// Bytes of a message (-s).
        size: Auto<Bytes> = "auto" in "1 B" to "1 GiB",
        Assumed "perftest's defaults: 64 KiB for bandwidth, 2 B for latency";
        /// Messages of each queue pair (-n); the run ends earlier when its results are narrow enough.
        iterations: Auto<u32> = "auto" in "5" to "1000000",
        Assumed "perftest's defaults: 5,000 for ib_write_bw, 1,000 for the others";
        /// Queue pairs (-q); latency tests have one.
        queue_pairs: u32 = "1" in "1" to "1024",
        Assumed "perftest's default";
        /// Requests posted and not completed, of each queue pair (-t).
        tx_depth: u32 = "128" in "1" to "65536",
        Assumed "perftest's default";
        /// A completion entry for every so many requests (-Q).
        completion_moderation: Auto<u32> = "auto" in "1" to "65536",
        Assumed "perftest's default: 100, and 1 for messages above 8 KiB";
        /// Largest message that is sent inside the work request (-I).
        inline_size: Auto<Bytes> = "auto" in "0 B" to "1 KiB",
        Assumed "perftest's defaults: nothing in bandwidth tests, what the adapter takes up to 220 B in latency tests";
        /// Both sides send (-b).
        bidirectional: bool = "false",
        Assumed "perftest's default";
    }
}
