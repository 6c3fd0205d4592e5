//! What came of a call to one of the objects of a link, beside what the call returned.

use super::transmitter::TlpSpans;
use lanewise_observe::Use;
use lanewise_pcie::ack_nak::Sequence;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

/// What came of a call, for the books of the fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// A TLP goes out for the first time.
    TlpSent { sequence: Sequence, spans: TlpSpans },
    /// The wire spent time on something other than a new TLP, or on nothing.
    Spent { on: Use, span: Span },
    /// SKP ordered sets go out, so many, one `every` so often; `span` is theirs alone, and is stated apart, too.
    OrderedSets { start: Time, span: Span, count: u64, every: Span },
    /// A DLLP goes out; its time is stated apart.
    DllpSent,
    /// A TLP takes up so many bytes of the receiver's buffer of a class.
    BufferFilled { class: FlowClass, bytes: u32, sequence: Sequence },
    /// So many bytes of the receiver's buffer of a class are free again.
    BufferFreed { class: FlowClass, bytes: u32 },
    /// A TLP arrived damaged, or out of order.
    BadTlp { sequence: Sequence },
    /// A TLP arrived that the receiver has already.
    Duplicate { sequence: Sequence },
    /// A TLP arrived that its transmitter took back.
    Nullified,
    /// A Nak goes out.
    NakSent,
}

/// Takes effects as they happen, each with its time.
pub(crate) trait Effects {
    /// Something came of it, at `at`.
    fn push(&mut self, at: Time, effect: Effect);
}

#[cfg(test)]
impl Effects for Vec<(Time, Effect)> {
    fn push(&mut self, at: Time, effect: Effect) {
        self.push((at, effect));
    }
}
