//! Ethernet adapters, operating systems that bridge between their ports, and SmartFlow.

use crate::document::Node;
use crate::parameter::{ParameterTable, parameters};
use crate::reader::read_entry;
use crate::value::{Fraction, ParameterType, Reading, choices, inline_table, quoted};
use lanewise_units::{Bytes, Span};
use serde_json::Value as Json;

choices! {
    /// Rate of the lines of an Ethernet adapter.
    EthernetRateChoice, "the rate of an Ethernet line" {
        /// No line: not an Ethernet adapter.
        None = "none",
        /// 100 Mb/s.
        Mbit100 = "100 Mb/s",
        /// 1 Gb/s.
        Gbit1 = "1 Gb/s",
        /// 10 Gb/s.
        Gbit10 = "10 Gb/s",
        /// 25 Gb/s.
        Gbit25 = "25 Gb/s",
        /// 40 Gb/s.
        Gbit40 = "40 Gb/s",
        /// 100 Gb/s.
        Gbit100 = "100 Gb/s",
    }
}

parameters! {
    /// The far side of an Ethernet adapter: ports, rings, FIFOs, the transmit engine and interrupts.
    EthernetAdapterParameters, Claim "ethernet" {
        /// Rate of each port's line; "none" for an endpoint that is no Ethernet adapter.
        rate: EthernetRateChoice = "none",
        Assumed "an endpoint is an Ethernet adapter only when it says so";
        /// Ports, all alike.
        ports: u32 = "1" in "1" to "64",
        Assumed "one unless the part says more";
        /// Bytes of a descriptor.
        descriptor: Bytes = "16 B" in "4 B" to "256 B",
        Assumed "an address, a length and flags";
        /// Receive descriptors of a port.
        receive_ring: u32 = "256" in "1" to "65536",
        Assumed "what drivers allocate by default";
        /// Transmit descriptors of a port.
        transmit_ring: u32 = "256" in "1" to "65536",
        Assumed "what drivers allocate by default";
        /// Descriptors that a port holds on chip, and fetches with one read at most.
        descriptor_prefetch: u32 = "32" in "1" to "1024",
        Assumed "half a kilobyte on chip";
        /// Descriptors that are written back together at most.
        write_back_batch: u32 = "1" in "1" to "1024",
        Assumed "each when its frame is done";
        /// Room for frames between line and DMA, of a port; a frame that does not fit is lost.
        receive_fifo: Bytes = "32 KiB" in "2 KiB" to "64 MiB",
        Assumed "a gigabit adapter of the 2000s";
        /// Room for frames between DMA and line, of a port.
        transmit_fifo: Bytes = "16 KiB" in "2 KiB" to "64 MiB",
        Assumed "a gigabit adapter of the 2000s";
        /// Frames that are read from memory at a time, over all ports.
        transmit_frames: u32 = "4" in "1" to "1024",
        Assumed "so many that the latency of reads is hidden";
        /// Time of the transmit engine for each frame, beside reading it.
        frame_time: Span = "0 ns" in "0 ns" to "1 ms",
        Assumed away "none unless it is measured";
        /// Least time between two interrupts of a port.
        interrupt_interval: Span = "0 ns" in "0 ns" to "100 ms",
        Assumed "no moderation";
        /// Bytes of a register: doorbells, and what the driver reads.
        register: Bytes = "4 B" in "1 B" to "64 B",
        Assumed "32 bits";
    }
}

choices! {
    /// Which of the frames that wait in a host goes first.
    ServiceChoice, "which frame goes first" {
        /// Whichever came first; ports have turns.
        Fifo = "fifo",
        /// The one of the highest priority.
        StrictPriority = "strict-priority",
    }
}

parameters! {
    /// The operating system of a host, as far as it bridges frames between Ethernet ports.
    SystemParameters, Claim "system" {
        /// Cores that take interrupts of Ethernet adapters; port n interrupts core n, counted round.
        cores: u32 = "1" in "1" to "4096" stays Table,
        Assumed "one core takes all interrupts unless they are spread";
        /// Interrupt service, for each interrupt.
        interrupt_cost: Span = "1 us" in "0 ns" to "10 ms",
        Assumed "entry, exit and scheduling the work";
        /// Register reads of an interrupt; the core waits for each.
        interrupt_reads: u32 = "1" in "0" to "1024",
        Assumed "the cause of the interrupt";
        /// Driver, bridge and driver again, for a frame of the smallest size, 64 B.
        packet_cost: Span = "1 us" in "0 ns" to "10 ms",
        Assumed "to be calibrated for a system and a processor";
        /// The same, for each byte beyond the smallest size.
        byte_cost: Span = "0 ns" in "0 ns" to "1 us",
        Assumed "to be calibrated for a system and a processor";
        /// Size of a frame beyond which bytes cost nothing; "none" for no such limit.
        byte_limit: Option<Bytes> = "none" in "1 B" to "64 KiB",
        Assumed "every byte is touched";
        /// Register reads for each frame; the core waits for each.
        packet_reads: u32 = "0" in "0" to "1024",
        Assumed "a driver that works from descriptors needs none";
        /// Posted register writes for each frame, beside the doorbell.
        packet_writes: u32 = "0" in "0" to "1024",
        Assumed "a driver that works from descriptors needs none";
        /// Frames of a port that are worked on before another port has its turn.
        budget: u32 = "64" in "1" to "65536",
        Assumed "the weight of a device in Linux";
        /// Receive descriptors that are given back to the adapter together.
        replenish: u32 = "16" in "1" to "65536",
        Assumed "E1000_RX_BUFFER_WRITE of the Linux e1000 driver";
        /// Which frame goes first where several wait: for a core, and for a line.
        service: ServiceChoice = "fifo",
        Assumed "a bridge without configured classes";
    }
}

choices! {
    /// What SmartFlow measures.
    SmartFlowTestChoice, "a test of SmartFlow" {
        /// The highest load without loss, by search.
        Throughput = "throughput",
        /// Share of the frames that are lost at each load.
        FrameLoss = "frame-loss",
        /// Least, mean and largest latency at each load.
        Latency = "latency",
        /// How many frames have a latency within each bucket.
        LatencyDistribution = "latency-distribution",
        /// Latency of single frames.
        LatencySnapshot = "latency-snapshot",
        /// Each flow and group on its own.
        SmartTracker = "smart-tracker",
    }
}

parameters! {
    /// A flow of frames through the host.
    TrafficFlowParameters, Choice "flow of workload kind \"smartflow\"" {
        /// Where frames enter the host: an endpoint and a port of it, counted from 0, such as "nic0.0".
        from: String = required names Components,
        Assumed "a choice";
        /// Where they leave it.
        to: String = required names Components,
        Assumed "a choice";
        /// Group that the flow is summed in, such as a class of service; none without a name.
        group: String = "",
        Assumed "a choice";
        /// Class of service of its frames, as in IEEE 802.1p; the highest number goes first where the host knows classes.
        priority: u8 = "0" in "0" to "7",
        Assumed "frames without a tag";
    }
}

impl ParameterType for TrafficFlowParameters {
    fn expected() -> String {
        "a flow such as { from = \"nic0.0\", to = \"nic1.0\" }".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        read_entry(node, reading)
    }
    fn show(&self) -> String {
        let mut entries = vec![("from", quoted(&self.from)), ("to", quoted(&self.to))];
        if !self.group.is_empty() {
            entries.push(("group", quoted(&self.group)));
        }
        if self.priority > 0 {
            entries.push(("priority", self.priority.show()));
        }
        inline_table(entries)
    }
    fn schema() -> Json {
        crate::schema::table_schema(&Self::SCHEMA, &[])
    }
}

parameters! {
    /// SmartFlow: frames through a host that bridges.
    SmartFlowParameters, Choice "workload kind \"smartflow\"" {
        /// What is measured.
        test: SmartFlowTestChoice = "throughput",
        Assumed "the test that most reports show";
        /// The flows.
        flows: Vec<TrafficFlowParameters> = required,
        Assumed "a choice";
        /// Whether each flow has one the other way.
        bidirectional: bool = "true",
        Assumed "RFC 2544 §14";
        /// Sizes of frames, one after another, frame check sequence included: 64 B to 9,018 B.
        frame_sizes: Vec<Bytes> = "[\"64 B\", \"128 B\", \"256 B\", \"512 B\", \"1024 B\", \"1280 B\", \"1518 B\"]",
        Spec "RFC 2544 §9.1";
        /// Loads of each flow, as parts of its line; a search starts at the first and goes no higher.
        loads: Vec<Fraction> = "[1.0]" in "0.0001" to "1",
        Assumed "full lines";
        /// Distance of two loads at which a search ends, as a part of the load.
        resolution: Fraction = "0.5 %" in "0.0001" to "0.5",
        Assumed "small beside the differences that are looked for";
        /// How long frames are sent in a trial, at least. A backlog that grows counts as loss.
        trial: Span = "5 ms" in "10 us" to "60 s",
        Assumed "thousands of frames; a real trial takes a minute";
        /// Upper ends of the buckets of a latency distribution, ascending.
        buckets: Vec<Span> = "[\"10 us\", \"20 us\", \"50 us\", \"100 us\", \"200 us\", \"500 us\", \"1 ms\"]",
        Assumed "a range that bridges in software cover";
        /// Frames of each flow in a latency snapshot.
        snapshot_frames: u32 = "16" in "1" to "10000",
        Assumed "a screenful";
    }
}
