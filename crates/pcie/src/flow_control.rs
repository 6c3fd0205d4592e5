//! Credit-based flow control, hop by hop. PCIe Base §2.6.
//!
//! The counters carry the specification's names: CREDITS_CONSUMED and CREDIT_LIMIT at the transmitter
//! ([`TransmitCredits`]), CREDITS_ALLOCATED and CREDITS_RECEIVED at the receiver ([`ReceiveCredits`]). What
//! is available is derived, never stored. One object is one class of one virtual channel: headers and data
//! together.
//!
//! Leaves out: the shared and merged pools of Flit Mode and their usage limits; such a link is modelled with
//! one pool per class.

mod advertisement;
mod receive;
mod transmit;

pub use advertisement::{
    CreditPool, ReceiverKind, largest_advertisement, low_credit_threshold, minimum_advertisement,
};
pub use receive::{Overflow, ReceiveCredits};
pub use transmit::{Blocked, TransmitCredits};

pub use crate::tlp::Credits;

use crate::ack_nak::ack_latency_limit;
use lanewise_units::{Bytes, Generation, Span, SymbolTimes, Width};

/// Longest time between two UpdateFC of one class while the link is up, tolerance −0/+50 %.
///
/// Source: PCIe Base §2.6.1.2.
pub const UPDATE_INTERVAL: Span = Span::from_us(30);
/// Longest time between two UpdateFC of a virtual channel in Flit Mode. Source: PCIe Base §4.2.3.4.2.
pub const UPDATE_INTERVAL_FLIT: Span = Span::from_us(10);

/// Scaled flow control: how many credits one step of the DLLP's field stands for. PCIe Base §3.4.2, Table
/// 2-51.
///
/// Ports that support 16 GT/s or more must be able to scale.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Scale {
    /// Not scaled.
    #[default]
    One,
    /// Steps of four.
    Four,
    /// Steps of sixteen.
    Sixteen,
}

impl Scale {
    /// Every scale.
    pub const ALL: [Self; 3] = [Self::One, Self::Four, Self::Sixteen];

    /// Credits in one step.
    #[inline]
    pub const fn factor(self) -> u16 {
        1 << (2 * self as u16)
    }

    /// Widths of the counters.
    pub const fn widths(self) -> FieldWidths {
        let extra = 2 * self as u8;
        FieldWidths { header: 8 + extra, data: 12 + extra }
    }

    /// All ones in the width of a header counter.
    #[inline]
    const fn header_mask(self) -> u16 {
        u16::MAX >> (16 - self.widths().header)
    }

    /// All ones in the width of a data counter.
    #[inline]
    const fn data_mask(self) -> u16 {
        u16::MAX >> (16 - self.widths().data)
    }

    /// The part of a counter that a DLLP can say: whole steps.
    #[inline]
    const fn whole_steps(self, counter: u16) -> u16 {
        counter & !(self.factor() - 1)
    }
}

/// Bits of the credit counters: 8 and 12, 10 and 14, or 12 and 16.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldWidths {
    /// Bits of a header counter.
    pub header: u8,
    /// Bits of a data counter.
    pub data: u8,
}

/// Longest recommended time from freeing credits to sending the UpdateFC, in symbol times (per lane).
///
/// The same numbers as the Ack latency limit. Source: PCIe Base Tables 2-52 to 2-54.
pub const fn update_latency_limit(mps: Bytes, width: Width, generation: Generation) -> SymbolTimes {
    ack_latency_limit(mps, width, generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// Counter widths and largest advertisements, PCIe Base Table 2-51.
    #[test]
    fn scales_widen_the_counters() {
        let rows = [(1, 8, 12, 127, 2047), (4, 10, 14, 508, 8188), (16, 12, 16, 2032, 32752)];
        for (scale, (factor, header, data, most_headers, most_data)) in Scale::ALL.into_iter().zip(rows) {
            assert_eq!(scale.factor(), factor);
            assert_eq!(scale.widths(), FieldWidths { header, data });
            let largest = |bits| ((1u32 << bits) - 1) as u16;
            assert_eq!((scale.header_mask(), scale.data_mask()), (largest(header), largest(data)));
            assert_eq!(largest_advertisement(scale), CreditPool::finite(most_headers, most_data));
        }
    }

    /// PCIe Base Table 2-54: the row of MPS 256 B at 8 GT/s and up.
    #[test]
    fn update_latency_is_the_ack_latency() {
        let limit = update_latency_limit(Bytes::new(256), Width::X8, Generation::Gen3);
        assert_eq!(limit, SymbolTimes::new(203));
    }

    #[test]
    fn credit_objects_stay_small() {
        assert!(size_of::<TransmitCredits>() <= 16, "{}", size_of::<TransmitCredits>());
        assert!(size_of::<ReceiveCredits>() <= 24, "{}", size_of::<ReceiveCredits>());
    }

    fn scales() -> impl Strategy<Value = Scale> {
        prop::sample::select(Scale::ALL.to_vec())
    }

    proptest! {
        /// Whatever is sent, drained and reported, in any order and for longer than the counters wrap: the
        /// gate never lets the receiver overflow, and both ends agree on what is left once every update has
        /// arrived.
        #[test]
        fn a_gated_transmitter_never_overflows_the_receiver(
            scale in scales(),
            headers in 1u16..=127,
            data in 8u16..=2047,
            steps in prop::collection::vec((0u8..4, 0u16..=8), 1..2000),
        ) {
            let factor = scale.factor();
            let pool = CreditPool::finite(headers * factor, data * factor);
            let mut receiver = ReceiveCredits::new(scale, pool);
            let mut transmitter = TransmitCredits::new(scale);
            transmitter.initialise(pool);
            let mut buffered: VecDeque<Credits> = VecDeque::new();
            for (action, size) in steps {
                match action {
                    0 | 1 => {
                        let need = Credits::new(1, size);
                        if transmitter.gate(need).is_ok() {
                            transmitter.consume(need);
                            prop_assert_eq!(receiver.receive(need), Ok(()));
                            buffered.push_back(need);
                        }
                    }
                    2 => if let Some(freed) = buffered.pop_front() { receiver.release(freed) },
                    _ => {
                        let (header_limit, data_limit) = receiver.limit();
                        transmitter.update(header_limit, data_limit);
                        receiver.mark_reported();
                        prop_assert_eq!(transmitter.available(), receiver.available_to_peer());
                    }
                }
                let held = buffered.iter().fold(Credits::NONE, |sum, &one| sum + one);
                prop_assert_eq!(receiver.held(), held);
                prop_assert!(u32::from(held.header) <= u32::from(headers * factor));
                prop_assert!(u32::from(held.data) <= u32::from(data) * u32::from(factor));
            }
        }

        /// A receiver refuses exactly what the gate would have refused.
        #[test]
        fn overflow_is_what_the_gate_forbids(header in 1u16..=127, data in 1u16..=2047, need in 0u16..3000) {
            let pool = CreditPool::finite(header, data);
            let mut transmitter = TransmitCredits::new(Scale::One);
            transmitter.initialise(pool);
            let need = Credits::new(1, need);
            prop_assume!(need.data <= 2048);
            let received = ReceiveCredits::new(Scale::One, pool).receive(need);
            prop_assert_eq!(received.is_ok(), transmitter.gate(need).is_ok());
        }
    }
}
