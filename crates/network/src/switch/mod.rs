//! A port of a network switch: the buffer that packets come into, and the queues that they leave from.
//!
//! ```text
//!  wire ──► [Ingress: buffer, credits or pause frames] ──► switch latency ──► [Egress: a queue of each ingress, in turn] ──► wire
//! ```
//!
//! Neither has a clock: each call says at what time something happens. A packet holds its space in the buffer of its ingress until its
//! last byte has left through its egress. So a queue at one egress fills the buffers of the ingresses that feed it, and a full
//! ingress holds back the port at the other end of its wire.
//! Leaves out: several virtual lanes or priorities (acknowledgements excepted, which go before payload), multicast, marks of
//! congestion (ECN), frames that are dropped: a buffer that overflows is a mistake of the settings.
//! Source: InfiniBand Architecture Specification, volume 1, §7.9 (credits in blocks of 64 B); IEEE 802.1Q-2018, clause 36
//! (priority flow control), annex O there for headroom.

mod egress;
mod ingress;

pub use egress::{Egress, Next, Queued};
pub use ingress::{FlowControl, Ingress, Signal};

use lanewise_units::Bytes;

/// What InfiniBand counts credits in; buffers of switches are counted in the same.
pub const BLOCK: Bytes = Bytes::new(64);
/// A pause frame of Ethernet on the wire: the smallest frame, with preamble and gap.
pub const PAUSE_FRAME: Bytes = crate::ethernet::line_bytes(crate::ethernet::SMALLEST_FRAME);

/// Space that a packet of so many bytes on the wire takes in a buffer: whole blocks.
pub const fn space(packet: Bytes) -> Bytes {
    packet.round_up_to(BLOCK)
}
