//! Ethernet on the wire: what a frame costs, and how long it takes, exactly.
//!
//! A frame of 64 to 1,518 B (header, data and frame check sequence together; more with jumbo frames) is preceded by
//! a preamble with start delimiter and followed by the gap that the standard wants before the next one. Every rate
//! here gives a byte a whole number of ticks, so a saturated line can be compared with `==`.
//! Leaves out: auto-negotiation, flow control by pause frames, errors on the wire, propagation.
//! Source: IEEE 802.3, clauses 3 (frame) and 4.4 (preamble, gap, sizes).

use lanewise_units::{Bytes, Span, TICKS_PER_SECOND};

/// Preamble of seven bytes and the start frame delimiter.
pub const PREAMBLE: Bytes = Bytes::new(8);
/// Idle time before the next frame, as bytes.
pub const GAP: Bytes = Bytes::new(12);
/// Frame check sequence at the end of each frame, which an adapter makes and checks itself.
pub const FRAME_CHECK_SEQUENCE: Bytes = Bytes::new(4);
/// Smallest frame.
pub const SMALLEST_FRAME: Bytes = Bytes::new(64);
/// Largest frame of adapters that take jumbo frames of 9,000 B of data.
pub const LARGEST_JUMBO_FRAME: Bytes = Bytes::new(9018);

/// Rate of a line, in each direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EthernetRate {
    /// 100 Mb/s.
    Mbit100,
    /// 1 Gb/s.
    Gbit1,
    /// 10 Gb/s.
    Gbit10,
    /// 25 Gb/s.
    Gbit25,
    /// 40 Gb/s.
    Gbit40,
    /// 100 Gb/s.
    Gbit100,
}

impl EthernetRate {
    /// Every rate.
    pub const ALL: [Self; 6] =
        [Self::Mbit100, Self::Gbit1, Self::Gbit10, Self::Gbit25, Self::Gbit40, Self::Gbit100];

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        match self {
            Self::Mbit100 => 100_000_000,
            Self::Gbit1 => 1_000_000_000,
            Self::Gbit10 => 10_000_000_000,
            Self::Gbit25 => 25_000_000_000,
            Self::Gbit40 => 40_000_000_000,
            Self::Gbit100 => 100_000_000_000,
        }
    }

    /// Time that `bytes` take on the line.
    const fn byte_span(self, bytes: Bytes) -> Span {
        Span::from_ticks(bytes.get() * (8 * TICKS_PER_SECOND / self.bits_per_second()))
    }

    /// Time from the start of a frame to the earliest start of the next: preamble, frame and gap.
    pub const fn line_span(self, frame: Bytes) -> Span {
        self.byte_span(line_bytes(frame))
    }
}

/// Bytes of line that a frame takes: preamble, frame and gap.
pub const fn line_bytes(frame: Bytes) -> Bytes {
    Bytes::new(PREAMBLE.get() + frame.get() + GAP.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_per_second_at_1_gbit_are_the_published_ones() {
        // RFC 2544 sizes and the usual table of maximum frame rates.
        let published = [
            (64, 1_488_095),
            (128, 844_595),
            (256, 452_899),
            (512, 234_962),
            (1024, 119_732),
            (1280, 96_154),
            (1518, 81_274),
        ];
        for (size, rate) in published {
            let span = EthernetRate::Gbit1.line_span(Bytes::new(size)).ticks();
            assert_eq!((TICKS_PER_SECOND + span / 2) / span, rate, "{size} B");
        }
    }

    #[test]
    fn a_byte_is_a_whole_number_of_ticks_at_every_rate() {
        for rate in EthernetRate::ALL {
            assert_eq!(8 * TICKS_PER_SECOND % rate.bits_per_second(), 0, "{rate:?}");
        }
        assert_eq!(EthernetRate::Gbit1.line_span(SMALLEST_FRAME), Span::from_ns(672));
        assert_eq!(EthernetRate::Gbit10.byte_span(Bytes::new(1250)), Span::from_us(1));
    }

    #[test]
    fn frames_have_their_published_share_of_the_line() {
        // Hundredths of a percent.
        for (size, share) in [(64, 7619), (128, 8649), (256, 9275), (512, 9624), (1024, 9808), (1518, 9870)] {
            let line = line_bytes(Bytes::new(size)).get();
            assert_eq!((size * 10_000 + line / 2) / line, share, "{size} B");
        }
    }
}
