//! What a core pays for an RDMA operation, and how far it is from its adapter and from what the adapter writes.

use lanewise_units::{Rate, Span};

/// The user space driver on one core, and the way between the core and the root port.
#[derive(Clone, Debug, PartialEq)]
pub struct VerbsHostConfig {
    /// Core time to make a work request.
    pub post_cost: Span,
    /// Core time for a doorbell, or to push a work request, once it is made: until the stores have left the core.
    pub doorbell_cost: Span,
    /// From a write at the root port until a polling core has seen it.
    pub poll_latency: Span,
    /// Core time to take a completion of a request of its own, or a message from polled memory.
    pub poll_cost: Span,
    /// Core time to take a message that was sent: its completion, and a receive request posted anew.
    pub receive_cost: Span,
}

/// The MPI library on the same core.
#[derive(Clone, Debug, PartialEq)]
pub struct MpiHostConfig {
    /// Core time of a send call, besides the driver's.
    pub send_cost: Span,
    /// Core time to match what has arrived, besides the driver's.
    pub receive_cost: Span,
    /// Rate at which a core copies between buffers.
    pub copy_bandwidth: Rate,
    /// Whether a core waits until the stores of a doorbell have left it before it goes on; if not, before its next doorbell.
    pub waits_for_doorbell: bool,
}
