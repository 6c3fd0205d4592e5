//! Non-transparent bridges: one chip that is an endpoint of each of two hosts.

use super::ForwardingChoice;
use crate::parameter::parameters;
use lanewise_units::Span;

parameters! {
    /// What makes two endpoints the sides of a non-transparent bridge: what one host sends to the BARs of its side goes on to memory of the
    /// other host. Only one of the two says so.
    NtbParameters, Claim "ntb" {
        /// The endpoint that is the other side, below another host; "none" for a device that is no bridge. Of several, each is paired with
        /// that in its place among the others.
        to: String = "none" names Components,
        Assumed away "most devices are no bridges";
        /// From side to side: first bit in to first bit out, or from the last bit in when it stores and forwards.
        latency: Span = "150 ns" in "0 ns" to "100 us",
        Assumed "what switches of Gen3 take, inside which most bridges are: makers publish no latency of a bridge alone";
        /// When forwarding starts.
        forwarding: ForwardingChoice = "cut-through",
        Assumed "what the switches do that bridges are inside of";
    }
}
