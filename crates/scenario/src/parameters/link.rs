//! A link: what narrows it, how long it is, and what goes wrong on it.

use super::CxlLinkParameters;
use crate::parameter::parameters;
use crate::value::{Auto, Fraction, choices};
use lanewise_pcie::encoding::Clocking;
use lanewise_units::{Generation, Span, Width};

choices! {
    /// Where the two ends of a link take their clocks from.
    ClockingChoice, "where the clocks come from" {
        /// One reference clock for both ends.
        Common = "common",
        /// Separate clocks without spread spectrum.
        Srns = "srns",
        /// Separate clocks with independent spread spectrum.
        Sris = "sris",
    }
}

impl ClockingChoice {
    /// In the words of the protocol.
    pub const fn meant(self) -> Clocking {
        match self {
            Self::Common => Clocking::Common,
            Self::Srns => Clocking::Srns,
            Self::Sris => Clocking::Sris,
        }
    }
}

choices! {
    /// In which power states a link goes to sleep by itself.
    AspmChoice, "the power states that the link enters by itself" {
        /// In none.
        Off = "off",
        /// Each direction in L0s.
        L0s = "l0s",
        /// Both directions in L1.
        L1 = "l1",
        /// L0s first, and L1 after a longer silence.
        Both = "l0s and l1",
    }
}

parameters! {
    /// The link above a device. Written as the `link` table of the lower device.
    LinkParameters, Claim "link" {
        /// Width of a slot reducer or cable that carries fewer lanes than the slot.
        slot_reducer: Option<Width> = "none" stays Training,
        Spec "a link trains to the widest width of both ends, PCIe Base 6.3 §4.2";
        /// Width that software forces the link to, at most what both ends can do.
        force_width: Option<Width> = "none" stays Training,
        Spec "a link trains to the widest width of both ends, PCIe Base 6.3 §4.2";
        /// Generation that software forces the link to, at most what both ends can do.
        force_generation: Option<Generation> = "none" stays Training,
        Spec "a link trains to the fastest rate of both ends, PCIe Base 6.3 §4.2";
        /// Whether the link runs in Flit Mode.
        flit: Auto<bool> = "auto" stays Training,
        Spec "used when both ends can, and always from 64 GT/s on, PCIe Base 6.3 §4.2.3";
        /// Time from transmitter pin to receiver pin, without `retimers` and `cable`.
        propagation: Span = "2 ns" in "0 ns" to "10 us",
        Assumed "30 cm of board at 15 cm/ns";
        /// Retimers and redrivers on its way, by the names of catalog parts or of `[retimer.NAME]`: two at most.
        retimers: Vec<String> = "[]" names Components,
        Assumed "boards are laid out to need none";
        /// The cable that it goes over, by the name of a catalog part or of `[link_cable.NAME]`, or "none".
        cable: String = "none" names Components,
        Assumed "a link on boards";
        /// Reference clock arrangement; decides how often SKP ordered sets are due.
        clocking: ClockingChoice = "common",
        Assumed "what computers without cables use";
        /// Time between SKP ordered sets.
        skip_interval: Auto<Span> = "auto" in "5 ns" to "1 ms",
        Spec "the midpoint of the legal range, PCIe Base 6.3 §4.2.8";
        /// Traffic classes of VC1, VC2 and so on, a list for each; the others are on VC0.
        virtual_channels: Vec<Vec<u8>> = "[]",
        Spec "everything is on VC0 until software maps it elsewhere, PCIe Base 6.3 §7.9.1";
        /// Probability that a bit towards the root complex arrives wrong, and a burst begins: before any correction, which Flit Mode has.
        bit_error_rate_upstream: Fraction = "0" in "0" to "0.01"
        live "the next TLP or DLLP, or flit" needs "bit errors from the start, however rare, and not none now",
        Assumed away "no errors unless they are asked for; the specification allows 1e-12 up to 32 GT/s, and 1e-6 from 64 GT/s on";
        /// Probability that a bit away from the root complex arrives wrong, and a burst begins: before any correction, which Flit Mode has.
        bit_error_rate_downstream: Fraction = "0" in "0" to "0.01"
        live "the next TLP or DLLP, or flit" needs "bit errors from the start, however rare, and not none now",
        Assumed away "no errors unless they are asked for; the specification allows 1e-12 up to 32 GT/s, and 1e-6 from 64 GT/s on";
        /// Ordinals, from 0 and with replays counted, of packets towards the root complex that arrive corrupted.
        corrupt_tlps_upstream: Vec<u64> = "[]",
        Assumed away "no errors unless they are asked for";
        /// Ordinals, from 0 and with replays counted, of packets away from the root complex that arrive corrupted.
        corrupt_tlps_downstream: Vec<u64> = "[]",
        Assumed away "no errors unless they are asked for";
        /// Time that a retrain through Recovery takes.
        recovery_time: Span = "10 us" in "100 ns" to "100 ms",
        Assumed "Recovery without a change of speed takes 2 to 20 us";
        /// Active State Power Management: in which power states the link sleeps when nothing is sent.
        aspm: AspmChoice = "off",
        Assumed "the usual setting of machines that are built for speed";
        /// Silence of a direction after which it is in L0s.
        l0s_idle: Span = "4 us" in "100 ns" to "1 ms",
        Assumed "controllers can be set to 1 to 7 us, and the specification asks for no more than 7 us, PCIe Base 6.3 §5.4.1.1";
        /// Time that a direction needs to leave L0s: the receiver's L0s Exit Latency in Link Capabilities.
        l0s_exit: Span = "1 us" in "0 ns" to "100 us",
        Assumed "the middle of what Link Capabilities can say, PCIe Base 6.3 §7.5.3.6";
        /// Silence of both directions after which the link is in L1.
        l1_idle: Span = "8 us" in "100 ns" to "10 ms",
        Assumed "controllers can be set to 1 to 64 us; the specification leaves it open";
        /// Time that the link needs to leave L1: the larger L1 Exit Latency in the Link Capabilities of its ends.
        l1_exit: Span = "8 us" in "0 ns" to "10 ms",
        Assumed "the middle of what Link Capabilities can say, PCIe Base 6.3 §7.5.3.6";
        /// Time that leaving L1.2 takes before `l1_exit`: T_POWER_ON and T_COMMONMODE. Without it, the link stays in L1.
        l1_2_exit: Option<Span> = "none" in "0 ns" to "10 ms",
        Assumed "the usual setting of machines that are built for speed";
        group cxl: CxlLinkParameters;
    }
}
