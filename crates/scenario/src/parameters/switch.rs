//! Switch: how packets get from ingress to egress. The ports are structure; see [`crate::file`].

use super::{PayloadSizeOrRcb, PortParameters, SwitchCxlParameters, SwitchErrorParameters};
use crate::parameter::parameters;
use crate::value::{Auto, Fraction, choices};
use lanewise_units::{Bytes, Rate, Span};

choices! {
    /// How the ports of a switch are joined.
    CoreChoice, "how the ports are joined" {
        /// Pairs that do not conflict transfer at the same time.
        Crossbar = "crossbar",
        /// One transfer at a time.
        SharedBus = "shared-bus",
        /// Every packet is written to and read from one memory.
        SharedMemory = "shared-memory",
        /// Groups of ports, each on a bus of its own, and a crossbar between the buses.
        Hybrid = "hybrid",
    }
}

choices! {
    /// When a switch starts to forward a packet.
    ForwardingChoice, "when forwarding starts" {
        /// While it is being received, as early as the egress cannot run dry.
        CutThrough = "cut-through",
        /// Once it is received in full and found good.
        StoreAndForward = "store-and-forward",
    }
}

choices! {
    /// How ingress ports that compete for an egress port are served.
    ArbitrationChoice, "how competing ports are served" {
        /// One packet each in turn.
        RoundRobin = "round-robin",
        /// As many packets in turn as the port's weight.
        WeightedRoundRobin = "weighted-round-robin",
        /// The lowest port first.
        Strict = "strict",
    }
}

parameters! {
    /// A switch.
    SwitchParameters, Claim "switch" {
        /// How the ports are joined.
        core: CoreChoice = "crossbar",
        Assumed "the core of most switches";
        /// Ports of each bus of a hybrid core, a list for each; port 0 faces upstream.
        groups: Vec<Vec<u8>> = "[]",
        Assumed away "no groups unless they are asked for";
        /// Rate of one crossbar port, of each bus, or of the memory's reads and writes together.
        core_rate: Auto<Rate> = "auto" in "1 MB/s" to "100 TB/s",
        Assumed away "so high that the links are the limit: for a crossbar the fastest port, for a bus or memory all its ports together, times `speedup`";
        /// How much faster than the links an automatic `core_rate` is.
        speedup: Fraction = "2" in "1" to "16",
        Assumed "input-queued crossbars are built with a speedup of 1 to 2";
        /// When forwarding starts.
        forwarding: ForwardingChoice = "cut-through",
        Assumed "what most switches do";
        /// First bit in to first bit out of an unloaded switch; from the last bit in when it stores and forwards.
        latency: Span = "115 ns" in "1 ns" to "100 us"
        live "packets that are sent to the switch from then on",
        Assumed "as a switch of Gen5; what switches of a generation take, 105 to 200 ns, is in their sets of defaults";
        /// How ingress ports that compete for an egress port are served.
        arbitration: ArbitrationChoice = "round-robin",
        Assumed "the hardware default of PCIe Base 6.3 §6.3.3";
        /// One weight for each port, for weighted round robin.
        weights: Vec<u8> = "[]" in "1" to "255",
        Assumed away "no weights unless they are asked for";
        /// Requests and completions between downstream ports go through the root complex (ACS).
        acs_redirect: bool = "false",
        Assumed "firmware leaves ACS off where no virtual machines need it";
        /// A non-posted request waits until the completions of the one before it, from the same port, have had time on the link to the requester: request metering.
        request_metering: bool = "false",
        Published "off after reset where a manual is public: IDT 89HPES32NT24xG2 user manual (2013), chapter 4, \"Request Metering\"";
        /// Data of each completion that request metering expects: the smaller, the later the next request.
        metered_completion: PayloadSizeOrRcb = "64 B",
        Assumed "the smallest that hosts send, so that no more is asked for than the link carries; parts have an overhead factor for firmware to tune";
        /// Lanes of the part, all its ports together; "none" for no limit.
        lanes: Option<u32> = "none" in "1" to "4096",
        Assumed away "not checked unless the part says so";
        flatten port: PortParameters;
        group storage: SwitchStorageParameters;
        group errors: SwitchErrorParameters;
        group cxl: SwitchCxlParameters;
    }
}

parameters! {
    /// Memory behind the credits of the ports: room at each egress port for packets of each class, which leave the ingress buffers for
    /// it while they wait. 16 B for each header and for each 16 B of data begun.
    SwitchStorageParameters, Claim "storage" {
        /// For posted requests.
        posted: Bytes = "0 B" in "0 B" to "16 MiB",
        Assumed "a packet waits in the ingress buffer: no more than credits is known of most parts";
        /// For non-posted requests, unless `request_metering` holds them back.
        non_posted: Bytes = "0 B" in "0 B" to "16 MiB",
        Assumed "a packet waits in the ingress buffer: no more than credits is known of most parts";
        /// For completions.
        completion: Bytes = "0 B" in "0 B" to "16 MiB",
        Assumed "a packet waits in the ingress buffer: no more than credits is known of most parts";
    }
}
