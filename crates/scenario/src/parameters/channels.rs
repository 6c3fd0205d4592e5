//! Virtual channels beyond VC0 at a port: their credits, and how channels compete. Which there are is the link's.

use super::port::CreditParameters;
use crate::parameter::parameters;
use crate::value::choices;

choices! {
    /// How the virtual channels of a link compete for it.
    ChannelArbitrationChoice, "how virtual channels compete" {
        /// The highest channel first.
        Strict = "strict",
        /// One packet each in turn.
        RoundRobin = "round-robin",
        /// As many packets in turn as the channel's weight.
        WeightedRoundRobin = "weighted-round-robin",
    }
}

parameters! {
    /// What a port does with the virtual channels of its link. The credits are those of each channel beyond VC0.
    ChannelParameters, Claim "channels" {
        /// How channels compete for the wire.
        arbitration: ChannelArbitrationChoice = "strict",
        Spec "the arbitration among channels that every implementation has, PCIe Base 6.3 §6.3.3.4";
        /// One weight for each channel, VC0 first, for weighted round robin.
        weights: Vec<u8> = "[]" in "1" to "255",
        Assumed away "no weights unless they are asked for";
        flatten credits: CreditParameters;
    }
}
