//! What lies between the two ends of a link: retimers and redrivers, and a cable.

use crate::parameter::parameters;
use crate::value::Auto;
use lanewise_units::{Generation, Span, Width};

parameters! {
    /// A retimer or redriver: a part between the ends of a link that sends on what it receives. Links name it in `retimers`; the name
    /// of a catalog part stands for one of that part.
    RetimerParameters, Claim "retimer" {
        /// From a bit at its receiver to the same bit at its transmitter, in either direction.
        latency: Auto<Span> = "auto" in "0 ns" to "10 us",
        Spec "the most that a retimer may take at the rate of the link, PCIe Base 6.3 §4.3.8";
        /// Fastest generation that it passes on, or "none" for no limit.
        generation: Option<Generation> = "none" stays Training,
        Assumed "it is made for the link that it is on";
        /// Widest link that it passes on, or "none" for no limit.
        width: Option<Width> = "none" stays Training,
        Assumed "it is made for the link that it is on";
    }
}

parameters! {
    /// A cable of PCI Express, passive or active. Links name it in `cable`; the name of a catalog part stands for one of that part.
    CableParameters, Claim "link_cable" {
        /// Its length in metres.
        metres: u32 = "1" in "0" to "1000",
        Assumed "from one box to the next";
        /// Time that a bit takes for each metre.
        latency_per_metre: Span = "5 ns" in "3 ns" to "10 ns",
        Published "NVIDIA, DGX SuperPOD cabling guide, Latency: about 5 ns a metre, whatever the cable";
        /// What the electronics at its two ends add in each direction, together: none in a passive cable.
        latency: Span = "0 ns" in "0 ns" to "10 us",
        Assumed "a passive cable of copper";
        /// Fastest generation that it carries, or "none" for no limit.
        generation: Option<Generation> = "none" stays Training,
        Assumed "it is made for the link that it is";
        /// Widest link that it carries, or "none" for no limit.
        width: Option<Width> = "none" stays Training,
        Assumed "it is made for the link that it is";
    }
}
