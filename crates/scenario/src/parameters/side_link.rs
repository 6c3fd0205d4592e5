//! Side links: what joins devices beside PCI Express.

use crate::parameter::parameters;
use crate::value::Auto;
use lanewise_units::{Rate, Span};

parameters! {
    /// What joins a device to others of its host beside PCI Express, such as NVLink: a rate and a latency, and no more.
    SideLinkParameters, Claim "side link" {
        /// Rate of each direction, all lanes and ports together; "none" without a side link.
        rate: Option<Rate> = "none" in "1 MB/s" to "100 TB/s",
        Assumed "most devices have none";
        /// From the last byte out of a device to the last byte in the other, whatever is between them.
        latency: Span = "500 ns" in "0 ns" to "1 ms",
        Assumed "below the 0.6 us that NCCL has for a whole hop of LL over NVLink, kernels included: hwLatencies, src/graph/tuning.cc";
        /// Devices that it joins, in a row of one component: 2 for a bridge; "auto" for all devices of the host that have one, as over a switch.
        joins: Auto<u32> = "auto" in "2" to "1024",
        Assumed "a switch, or every pair";
    }
}
