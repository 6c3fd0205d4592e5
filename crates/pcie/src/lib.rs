//! The PCI Express specification as pure code.
//!
//! Rules take state and return what to do next. Nothing here owns a clock, a queue, a file, a thread or a
//! random generator, and nothing here knows what a switch or a host is. Section and table numbers are those
//! of PCIe Base 6.3 unless another revision is named; treat them as pointers into a licensed copy.
//!
//! | module | owns |
//! |---|---|
//! | [`encoding`] | rate × width × coding → time on the wire; SKP ordered sets; closed-form ceilings |
//! | [`tlp`], [`dllp`], [`flit`] | what is sent and how big it is |
//! | [`fec`] | what error correction leaves of bit errors in Flit Mode |
//! | [`flow_control`] | credit counters, gates, advertisements |
//! | [`ack_nak`] | sequence numbers, retry buffer, replay, latency limits |
//! | [`ide`] | what encryption and integrity add to TLPs |
//! | [`ordering`] | the ordering table as data |
//! | [`splitting`] | MPS, MRRS, RCB and 4 KiB rules |
//! | [`enumeration`] | bus numbers, BARs, windows of bridges: how switches find the way of an address or ID |
//! | [`tag`] | outstanding requests |
//! | [`arbitration`] | round robin, plain or weighted |
//! | [`virtual_channel`] | traffic classes, the channels that carry them, arbitration between channels |

pub mod ack_nak;
pub mod arbitration;
pub mod dllp;
pub mod encoding;
pub mod enumeration;
pub mod fec;
pub mod flit;
pub mod flow_control;
pub mod ide;
pub mod ordering;
pub mod splitting;
pub mod tag;
pub mod tlp;
pub mod virtual_channel;

pub use ack_nak::{
    ReceiveSequence, ReplayOutcome, ReplayRule, RetryBuffer, Sequence, SequenceSpace, Verdict,
    ack_latency_limit, replay_timer_limit,
};
pub use dllp::{DLLP_BYTES, Dllp};
pub use encoding::{Clocking, LinkMode, SkipSchedule, payload_ceiling};
pub use flit::FlitPacker;
pub use flow_control::{
    Blocked, CreditPool, Overflow, ReceiveCredits, ReceiverKind, Scale, TransmitCredits,
    largest_advertisement, minimum_advertisement, update_latency_limit,
};
pub use ordering::{OrderingAttributes, OrderingClass, Passing, may_pass};
pub use splitting::{Chunk, completions};
pub use tag::{Tag, TagPool, TagWidth};
pub use tlp::{
    Attributes, CompletionStatus, Credits, FlowClass, FunctionId, HeaderFormat, Routing, Tlp, TlpCost,
    TlpKind,
};
pub use virtual_channel::{ChannelArbitration, ChannelMap};
