//! Data link and transaction layer settings that every port has, whatever device it belongs to.
//!
//! "auto" stands for a formula over the negotiated link; `explain` shows its result for each port.

use super::ChannelParameters;
use crate::parameter::parameters;
use crate::value::{Auto, Credit, Fraction, PayloadSize, choices};
use lanewise_units::{Bytes, Span};

choices! {
    /// Scaled flow control of a port.
    ScaleChoice, "how flow control is scaled" {
        /// Scaled by what the credits need, when both ends support 16 GT/s or more; not scaled otherwise.
        Auto = "auto",
        /// Not scaled.
        Off = "off",
        /// Steps of four credits.
        Four = "scale-4",
        /// Steps of sixteen credits.
        Sixteen = "scale-16",
    }
}

choices! {
    /// Rule of the replay timer.
    ReplayRuleChoice, "which rule sets the replay timer" {
        /// The simplified rule for ports that support 16 GT/s or more, the legacy rule for others.
        Auto = "auto",
        /// Three times the Ack latency limit (PCIe Base 3.1 §3.6.2.1).
        Legacy = "legacy",
        /// 24,000 symbol times (PCIe Base 6.3 §3.6.2.1).
        Simplified = "simplified",
    }
}

parameters! {
    /// Credits that a receiver advertises: packets for headers, units of 16 B for data.
    CreditParameters, Claim "credits" stays Buffers {
        /// Headers of posted requests.
        posted_header: Auto<Credit> = "auto" in "1" to "2032",
        Assumed "a designer gives a port the credits that keep its link busy for one credit loop";
        /// Data of posted requests.
        posted_data: Auto<Credit> = "auto" in "8" to "32752",
        Assumed "a designer gives a port the credits that keep its link busy for one credit loop";
        /// Headers of non-posted requests.
        non_posted_header: Auto<Credit> = "auto" in "1" to "2032",
        Assumed "a designer gives a port the credits that keep its link busy for one credit loop";
        /// Data of non-posted requests.
        non_posted_data: Auto<Credit> = "auto" in "1" to "32752",
        Assumed "as many as headers";
        /// Headers of completions.
        completion_header: Auto<Credit> = "auto" in "1" to "2032",
        Spec "infinite at endpoints and root ports, PCIe Base 6.3 Table 2-50; as posted at switches";
        /// Data of completions.
        completion_data: Auto<Credit> = "auto" in "8" to "32752",
        Spec "infinite at endpoints and root ports, PCIe Base 6.3 Table 2-50; as posted at switches";
    }
}

parameters! {
    /// One port: payload size, buffers, acknowledgement and flow control.
    PortParameters, Claim "port" {
        /// Largest payload the device can receive and send (Max_Payload_Size Supported).
        mps_supported: PayloadSize = "256 B" stays Buffers,
        Assumed "what most devices of Gen2 to Gen4 support";
        /// Maximum Payload Size programmed into the device, instead of the firmware's choice.
        mps: Auto<PayloadSize> = "auto" stays Buffers,
        Spec "one value along every path, PCIe Base 6.3 §7.5.3.4";
        /// One way over the longest link that automatic credits and retry buffers are built for. A longer link loses bandwidth,
        /// because buffers belong to the part and not to the cable.
        reach: Auto<Span> = "auto" in "0 ns" to "10 us",
        Published "180 ns for ports that support 8 GT/s or more, which makes the 750 posted data credits that Intel's L- and H-tile cores have at Gen3 x16 (user guide 683111, receive buffer); 2 ns, a board, for older ones";
        /// Capacity of the retry buffer, in bytes of TLPs with sequence number and LCRC.
        retry_buffer: Auto<Bytes> = "auto" in "152 B" to "16 MiB" stays Buffers,
        Spec "bandwidth times the Ack latency limit, a packet in each direction, both receivers and `reach`, PCIe Base 6.3 §3.6.3.1";
        /// An Ack is sent at the latest after so many packets.
        ack_every_tlps: u32 = "8" in "1" to "2048",
        Assumed "the upper end of what devices do (1 to 8); the latency limit usually comes first";
        /// An Ack is sent at the latest this long after the packet arrived.
        ack_latency: Auto<Span> = "auto" in "0 ns" to "1 ms",
        Spec "Ack latency limit, PCIe Base 6.3 Tables 3-10 to 3-12";
        /// An UpdateFC is sent at the latest after the credits of so many packets were freed, or of a quarter of the class's pool
        /// where that is fewer, headers and data looked at apart.
        update_every_tlps: u32 = "8" in "1" to "2048",
        Assumed "the upper end of what devices do (1 to 8); no designer waits for most of a small pool, so a quarter is the limit";
        /// An UpdateFC is sent at the latest this long after a credit was freed.
        update_latency: Auto<Span> = "auto" in "0 ns" to "1 ms",
        Spec "UpdateFC latency limit, PCIe Base 6.3 Tables 2-52 to 2-54";
        /// An UpdateFC is repeated this often even when nothing changed.
        update_period: Auto<Span> = "auto" in "100 ns" to "1 ms",
        Spec "30 us, in Flit Mode 10 us, PCIe Base 6.3 §2.6.1.2 and §4.2.3.4.2";
        /// From the last byte of a packet at the pins until the data link layer has acted on it.
        receive_latency: Span = "20 ns" in "0 ns" to "10 us",
        Assumed "elastic buffer, deskew, decoding and the LCRC check of a pipelined receiver";
        /// Error correction of a flit, in Flit Mode, on top of `receive_latency`.
        fec_latency: Span = "2 ns" in "0 ns" to "10 us",
        Published "PCI-SIG presents 1 to 2 ns for PCIe 6.0";
        /// Rule of the replay timer.
        replay_rule: ReplayRuleChoice = "auto",
        Spec "PCIe Base 6.3 §3.6.2.1";
        /// Share of the tolerance of -0 to +100 % by which a timer of the legacy rule runs longer than the rule's least.
        replay_tolerance: Fraction = "0.5" in "0" to "1",
        Assumed "the middle of what PCIe Base 3.1 §3.6.2.1 allows; parts differ, and their data sheets do not say";
        /// Time without an Ack after which everything unacknowledged is sent again.
        replay_timer: Auto<Span> = "auto" in "100 ns" to "1 s",
        Spec "the time of the rule of the replay timer, with `replay_tolerance` where that is the legacy one";
        /// Scaled flow control: in which steps this port tells its peer of credits, where both ends can scale. "auto" for the smallest that the credits of each class fit in.
        flow_control_scale: ScaleChoice = "auto" stays Buffers,
        Spec "ports that support 16 GT/s or more support it, PCIe Base 6.3 §3.4.2";
        /// Whether the port can run in Flit Mode.
        flit_mode: Auto<bool> = "auto" stays Training,
        Spec "ports that support 64 GT/s or more must, PCIe Base 6.3 §4.2.3";
        group credits: CreditParameters;
        group channels: ChannelParameters;
    }
}
