//! CXL.mem as pure code: what a link carries between a host and the memory of a device, how it is packed into flits, and what
//! the link layer adds. No clock, no queue of events, no wire.
//!
//! | module | holds |
//! |---|---|
//! | `message.rs` | the four classes of messages of the two ways, and their bits |
//! | `slot.rs` | which messages a slot may hold, format by format |
//! | `flit.rs` | flits of 68 B and 256 B: bytes, slots, what a flit carries |
//! | `packing.rs` | which message goes into which slot of the next flit |
//! | `credits.rs` | credits, and how many a flit gives back |
//! | `retry.rs` | link-layer retry of 68 B flits: buffer, acknowledgements, when they are forced |
//! | `ceiling.rs` | bytes on the wire for a mix of reads and writes, in closed form |
//!
//! Sources: Compute Express Link Specification 3.1, chapter 4 (the link layers of CXL.cache and CXL.mem in both flit modes);
//! numbers of sections and tables are those of it. Left out: CXL.cache, back-invalidation, port-based routing, integrity and
//! data encryption, transfers of 32 B, byte enables and trailers, direct peer-to-peer.

pub mod ceiling;
pub mod credits;
pub mod flit;
pub mod message;
pub mod packing;
pub mod retry;
pub mod slot;

pub use flit::{Flit, FlitFormat};
pub use message::{Class, Way};
pub use packing::{Offer, Packer};
