//! Framing of storage wires: Fibre Channel at 4.25 GBd and SAS at 3 Gb/s, both 8b/10b coded.
//!
//! A wire moves 4-byte words. A frame is its payload, padded to words, between delimiters, with a header and a CRC,
//! and is followed by the words that the standard wants before the next one.
//! Sources: FC-FS (framing, at least six words between frames), FCP-2 (information units), SAS-1.1 §7.2 and
//! §9.2 (SSP frames, ALIGN insertion).

use lanewise_units::{Bytes, Rate, Span, TICKS_PER_SECOND};

/// Bytes of a transmission word.
const WORD: Bytes = Bytes::new(4);

/// The kind of a wire between a storage adapter and its drives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WireKind {
    /// 4 Gb/s Fibre Channel: 4.25 GBd, class 3, FCP.
    FibreChannel4g,
    /// 3 Gb/s Serial Attached SCSI: one phy, SSP.
    Sas3g,
}

impl WireKind {
    /// Data that a full frame carries.
    ///
    /// FC: 2,048 B, what initiators and targets use of the 2,112 B field, because it is a power of two.
    /// SAS: 1,024 B, the limit of an SSP frame.
    pub const fn frame_payload(self) -> Bytes {
        match self {
            Self::FibreChannel4g => Bytes::new(2048),
            Self::Sas3g => Bytes::new(1024),
        }
    }

    /// What a frame costs beyond its payload.
    ///
    /// FC: SOF 4, header 24, CRC 4, EOF 4, and the six words (24 B) before the next frame.
    /// SAS: SOF 4, header 24, CRC 4, EOF 4.
    pub const fn frame_overhead(self) -> Bytes {
        match self {
            Self::FibreChannel4g => Bytes::new(36 + 24),
            Self::Sas3g => Bytes::new(36),
        }
    }

    /// Payload of the frame that carries a command.
    ///
    /// FCP_CMND is 32 B with a 16 B CDB; an SSP COMMAND frame is 28 B with the same.
    pub const fn command_payload(self) -> Bytes {
        match self {
            Self::FibreChannel4g => Bytes::new(32),
            Self::Sas3g => Bytes::new(28),
        }
    }

    /// Payload of the frame in which a target asks for write data (XFER_RDY): 12 B in both.
    pub const fn transfer_ready_payload(self) -> Bytes {
        Bytes::new(12)
    }

    /// Payload of the frame that ends a command well: 24 B, without sense data, in both.
    pub const fn response_payload(self) -> Bytes {
        Bytes::new(24)
    }

    /// What acknowledging one frame costs the opposite direction.
    ///
    /// FC: nothing, the R_RDY replaces one of the six words between frames. SAS: ACK and RRDY, a word each.
    pub const fn acknowledgement(self) -> Bytes {
        match self {
            Self::FibreChannel4g => Bytes::ZERO,
            Self::Sas3g => Bytes::new(8),
        }
    }

    /// Time that `bytes` take on the wire, in ticks rounded up once.
    ///
    /// A byte of either wire is not a whole number of ticks (17 bytes of FC and 3 of SAS are), so this is exact
    /// rational arithmetic. On SAS, one ALIGN in 2,048 words is counted in, as every word's share of it.
    pub const fn byte_span(self, bytes: Bytes) -> Span {
        let (numerator, denominator) = match self {
            Self::FibreChannel4g => (1, 1),
            Self::Sas3g => (2049, 2048),
        };
        let ticks = bytes.get() as u128 * TICKS_PER_SECOND as u128 * numerator;
        Span::from_ticks(ticks.div_ceil(self.bytes_per_second() as u128 * denominator) as u64)
    }

    /// Bytes on the wire per second, after 8b/10b, before anything else.
    pub fn rate(self) -> Rate {
        Rate::from_bytes_per_second(self.bytes_per_second())
    }

    /// Time from the start of a frame with so much payload to the earliest start of the next.
    ///
    /// # Panics
    /// In debug builds, when `payload` does not fit in one frame.
    pub const fn frame_span(self, payload: Bytes) -> Span {
        debug_assert!(payload.get() <= self.frame_payload().get(), "one frame holds so much payload");
        let words = payload.round_up_to(WORD).get() + self.frame_overhead().get();
        self.byte_span(Bytes::new(words))
    }

    /// Bytes on the wire, after 8b/10b, before anything else.
    const fn bytes_per_second(self) -> u64 {
        match self {
            Self::FibreChannel4g => 425_000_000,
            Self::Sas3g => 300_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payload of full frames back to back, MB/s.
    fn payload_ceiling(wire: WireKind) -> f64 {
        let payload = wire.frame_payload();
        payload.get() as f64 / wire.frame_span(payload).as_seconds() / 1e6
    }

    #[test]
    fn payload_ceilings_are_the_published_ones() {
        let fibre_channel = payload_ceiling(WireKind::FibreChannel4g);
        assert!((fibre_channel - 412.9).abs() < 0.05, "a port: {fibre_channel}");
        assert!((4.0 * fibre_channel - 1651.6).abs() < 0.05, "four ports");
        let sas = payload_ceiling(WireKind::Sas3g);
        assert!((sas - 290.0).abs() < 0.5, "a phy: {sas}");
    }

    #[test]
    fn spans_are_exact_where_the_wire_allows() {
        // 17 bytes at 425 MB/s are 40 ns, 3 bytes at 300 MB/s are 10 ns.
        assert_eq!(WireKind::FibreChannel4g.byte_span(Bytes::new(17)), Span::from_ns(40));
        assert_eq!(WireKind::FibreChannel4g.frame_span(Bytes::new(2048)).ticks(), 5_079_040_000);
        // 2,048 words of SAS are sent with one ALIGN: 2,049 words of 40/3 ns.
        assert_eq!(WireKind::Sas3g.byte_span(Bytes::new(4 * 2048)), Span::from_ns(27_320));
    }

    #[test]
    fn a_frame_is_padded_to_words() {
        let wire = WireKind::Sas3g;
        assert_eq!(wire.frame_span(Bytes::new(25)), wire.frame_span(Bytes::new(28)));
        assert!(wire.frame_span(Bytes::new(28)) < wire.frame_span(Bytes::new(29)));
    }
}
