//! Tools over a network: perftest, OSU Micro-Benchmarks, transactions.

use crate::parameter::parameters;
use crate::value::{Auto, choices};
use lanewise_units::{Bytes, Span};

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
    /// perftest between two ports of a network; of a wire, the first end is the client.
    PerftestParameters, Choice "workload kind \"perftest\"" {
        /// The network that is used.
        network: String = required names Components,
        Assumed "a choice";
        /// Which test.
        tool: PerftestToolChoice = required,
        Assumed "a choice";
        /// The adapter of the client, in a network with switches: `nic[0]`, or `nic[0].port2` for another than its first port there.
        /// Of several, such as `nic[0..7]` or `nic[*]`, each runs a test of its own.
        client: String = "auto" names Components,
        Assumed "the first end of a wire";
        /// The adapter of the server: one for all clients, or as many as there are clients, paired in order.
        server: String = "auto" names Components,
        Assumed "the second end of a wire";
        /// Pairs each client with the server so many places further on in the list, and from its end back to the start.
        shift: u32 = "0" in "0" to "65536",
        Assumed "the first with the first";
        /// Where the client's buffers are: "memory" of its host, or the name of an endpoint that its adapter reaches peer to peer,
        /// such as a GPU (--use_cuda). As many as there are clients, such as `gpu[*]`, are paired with them in order.
        memory: String = "memory" names Components,
        Assumed "perftest's default";
        /// The same of the server.
        remote_memory: String = "memory" names Components,
        Assumed "perftest's default";
        /// Bytes of a message (-s).
        size: Auto<Bytes> = "auto" in "1 B" to "1 GiB",
        Assumed "perftest's defaults: 64 KiB for bandwidth, 2 B for latency";
        /// Messages of each queue pair (-n); the run ends earlier when its results are narrow enough.
        iterations: Auto<u32> = "auto" in "5" to "1000000",
        Assumed "perftest's defaults: 5,000 for ib_write_bw, 1,000 for the others";
        /// Queue pairs (-q); latency tests have one.
        queue_pairs: u32 = "1" in "1" to "1024",
        Assumed "perftest's default";
        /// Requests posted with one doorbell (-l).
        post_list: u32 = "1" in "1" to "64",
        Assumed "perftest's default";
        /// Requests posted and not completed, of each queue pair (-t).
        tx_depth: u32 = "128" in "1" to "65536",
        Assumed "perftest's default";
        /// A completion entry for every so many requests (-Q).
        completion_moderation: Auto<u32> = "auto" in "1" to "65536",
        Assumed "perftest's default: 100, 1 for messages above 8 KiB, and a list with `post_list`";
        /// Largest message that is sent inside the work request (-I).
        inline_size: Auto<Bytes> = "auto" in "0 B" to "1 KiB",
        Assumed "perftest's defaults: nothing in bandwidth tests and with memory of a GPU, what the adapter takes up to 220 B in latency tests";
        /// Both sides send (-b).
        bidirectional: bool = "false",
        Assumed "perftest's default";
        /// Whether the tool's own table is in Gb/s instead of MB/s (--report_gbits).
        report_gbits: bool = "false",
        Assumed "perftest's default";
    }
}

choices! {
    /// Which benchmark of the OSU Micro-Benchmarks.
    OsuToolChoice, "an OSU benchmark" {
        /// One message to and fro.
        Latency = "osu_latency",
        /// Windows of messages from rank 0 to rank 1.
        Bandwidth = "osu_bw",
        /// Windows of messages both ways.
        BidirectionalBandwidth = "osu_bibw",
    }
}

choices! {
    /// How MPI moves the data of a large message.
    RendezvousChoice, "how large messages move" {
        /// The sender writes when the receiver has said where (RPUT).
        Write = "write",
        /// The receiver reads when the sender has said from where (RGET).
        Read = "read",
    }
}

parameters! {
    /// OSU Micro-Benchmarks between the two ports of a network; rank 0 is at the first end.
    OsuParameters, Choice "workload kind \"osu\"" {
        /// The network that is used.
        network: String = required names Components,
        Assumed "a choice";
        /// Which benchmark.
        tool: OsuToolChoice = required,
        Assumed "a choice";
        /// Bytes of a message; OSU sweeps from 1 B to 4 MiB.
        size: Bytes = "1 MiB" in "1 B" to "1 GiB",
        Assumed "a choice";
        /// Messages of a window.
        window: u32 = "64" in "1" to "65536",
        Assumed "OSU's default";
        /// Largest message that MPI sends eagerly.
        eager_max: Bytes = "8 KiB" in "0 B" to "1 MiB",
        Assumed "8 to 16 KiB in MVAPICH, depending on the adapter";
        /// Whether these, and messages about larger ones, go by a send, as with UCX (HPC-X, Open MPI, MPICH); if not, by an RDMA
        /// write into a ring that the receiver polls, as with MVAPICH2.
        eager_by_send: bool = "false",
        Published "RDMA fast path is the default of MVAPICH on InfiniBand, MVAPICH user guide; UCX 9466d104a3 sends";
        /// Bytes of the header that MPI puts before such a message; messages about larger ones are nothing else.
        header: Bytes = "48 B" in "1 B" to "1 KiB",
        Assumed "envelope, sequence number and flags";
        /// How MPI moves larger ones.
        rendezvous: RendezvousChoice = "write",
        Published "RPUT is the default of MVAPICH on InfiniBand, MVAPICH user guide";
        /// Largest write that MPI puts inside the work request.
        inline_max: Bytes = "128 B" in "0 B" to "1 KiB",
        Published "default of MVAPICH on InfiniBand, MVAPICH user guide";
    }
}

choices! {
    /// Where TCP runs.
    TcpStackChoice, "where TCP runs" {
        /// In the kernel, told by interrupts.
        Kernel = "kernel",
        /// In user space, polling.
        UserSpace = "user-space",
    }
}

parameters! {
    /// Requests and responses over TCP between the two ports of an Ethernet network; the first end is the client.
    TransactionsParameters, Choice "workload kind \"transactions\"" {
        /// The network that is used.
        network: String = required names Components,
        Assumed "a choice";
        /// Where the client's TCP runs.
        client_stack: TcpStackChoice = "kernel",
        Assumed "what needs no installation";
        /// Where the server's TCP runs.
        server_stack: TcpStackChoice = "kernel",
        Assumed "what needs no installation";
        /// Bytes of a request.
        request: Bytes = "64 B" in "1 B" to "1 MiB",
        Assumed "a key";
        /// Bytes of a response.
        response: Bytes = "64 B" in "1 B" to "1 MiB",
        Assumed "a small value";
        /// Connections of the client, each with one request in flight.
        connections: u32 = "1" in "1" to "65536",
        Assumed "one after the other";
        /// The server's own work on a request, besides TCP.
        service_time: Span = "5 us" in "0 ns" to "1 s",
        Assumed "a look-up in an in-memory database";
    }
}
