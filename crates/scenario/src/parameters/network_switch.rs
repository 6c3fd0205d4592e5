//! Switches of InfiniBand and Ethernet networks.

use super::ForwardingChoice;
use crate::parameter::parameters;
use crate::value::{Auto, choices};
use lanewise_units::{Bytes, Span};

choices! {
    /// How a switch chooses among ways that are as short.
    WaysChoice, "how a way is chosen among those that are as short" {
        /// By destination: the adapters of each switch in turn.
        Destination = "destination",
        /// By a hash of source, destination and queue pair.
        Flow = "flow",
    }
}

choices! {
    /// How adapters are spread over several switches.
    LayoutChoice, "how adapters are spread over several switches" {
        /// Neighbours at the same switch, as many at each.
        Blocks = "blocks",
        /// One at each switch in turn: the first adapter of each of eight is at the first of eight switches.
        Rails = "rails",
    }
}

parameters! {
    /// A switch of an InfiniBand or Ethernet network. Its wires are those of the networks that end at it.
    NetworkSwitchParameters, Claim "network switch" {
        /// Ports.
        ports: u32 = "64" in "2" to "1024",
        Datasheet "QM9700 (Quantum-2): 64 ports of 400 Gb/s; SN5600 (Spectrum-4): 64 ports of 800 Gb/s";
        /// From the first byte of a packet at a port until it may leave by another; from the last byte where it is stored first.
        latency: Span = "200 ns" in "0 ns" to "100 us",
        Assumed "product briefs state 90 ns (Switch-IB 2) to 130 ns (Quantum) for InfiniBand, and 300 ns and more for Ethernet (Spectrum)";
        /// When forwarding starts.
        forwarding: ForwardingChoice = "cut-through",
        Assumed "what InfiniBand switches do, and Ethernet switches whose ports have one rate";
        /// Buffer of each port for packets that come in, until they have left by another.
        buffer: Bytes = "256 KiB" in "1 KiB" to "1 GiB" stays Buffers,
        Assumed "the 42 MB that the product brief of Spectrum-2 states are 650 KiB for each of 64 ports; a lossless class has a part of it";
        /// Bytes in a port's buffer above which an Ethernet switch pauses the port that sends to it; "auto" leaves just the headroom
        /// that its wires need: for what comes until the pause is heeded. InfiniBand has credits instead.
        xoff: Auto<Bytes> = "auto" in "1 KiB" to "512 MiB",
        Assumed "as late as nothing is lost";
        /// Bytes in the buffer at which that port may go on.
        xon: Auto<Bytes> = "auto" in "0 B" to "512 MiB",
        Assumed "two full packets below `xoff`";
        /// From the end of a pause frame at a transmitter until it starts no more packets.
        pause_response: Span = "100 ns" in "0 ns" to "100 us",
        Assumed "a pipeline of some hundred cycles; IEEE 802.3 annex 31B allows more";
        /// How it chooses among ways that are as short; "auto" is by destination for InfiniBand and by flow for Ethernet.
        ways: Auto<WaysChoice> = "auto",
        Published "tables by destination in OpenSM; hash of the flow in Ethernet switches (RFC 2992)";
    }
}
