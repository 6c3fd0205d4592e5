//! InfiniBand links: line codes and rates, and what the link layer puts around a transport packet.
//!
//! A lane is 8b/10b coded up to QDR, 64b/66b coded from FDR10 on, and 256b/257b with a Reed-Solomon code of 544 symbols
//! for 514 from HDR on. A packet inside a subnet has a local route header
//! and a variant CRC around its transport part. A receiver returns credits in flow control packets on the other
//! direction. Leaves out: start and end delimiters and skip ordered sets (together 0.2 % of full packets), the
//! latency of forward error correction, several virtual lanes.
//! Source: InfiniBand Architecture Specification, volume 1, chapter 7; volume 2, chapter 5 (rates and codes).

use lanewise_units::{Bytes, Span, TICKS_PER_SECOND};

/// Local route header.
pub const LOCAL_ROUTE_HEADER: Bytes = Bytes::new(8);
/// Variant CRC, which every switch computes anew.
pub const VARIANT_CRC: Bytes = Bytes::new(2);
/// A flow control packet with its two delimiters.
pub const FLOW_CONTROL_PACKET: Bytes = Bytes::new(8);

/// Rate of a lane, under the name of the speed grade.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InfinibandRate {
    /// 2.5 Gb/s, 8b/10b.
    Sdr,
    /// 5 Gb/s, 8b/10b.
    Ddr,
    /// 10 Gb/s, 8b/10b.
    Qdr,
    /// 10.3125 Gb/s, 64b/66b.
    Fdr10,
    /// 14.0625 Gb/s, 64b/66b.
    Fdr,
    /// 25.78125 Gb/s, 64b/66b.
    Edr,
    /// 53.125 Gb/s, 256b/257b and RS(544, 514).
    Hdr,
    /// 106.25 Gb/s, 256b/257b and RS(544, 514).
    Ndr,
    /// 212.5 Gb/s, 256b/257b and RS(544, 514).
    Xdr,
}

impl InfinibandRate {
    /// Every grade.
    pub const ALL: [Self; 9] =
        [Self::Sdr, Self::Ddr, Self::Qdr, Self::Fdr10, Self::Fdr, Self::Edr, Self::Hdr, Self::Ndr, Self::Xdr];

    /// Bits a second on one lane, before decoding.
    pub const fn signal_bits_per_second(self) -> u64 {
        match self {
            Self::Sdr => 2_500_000_000,
            Self::Ddr => 5_000_000_000,
            Self::Qdr => 10_000_000_000,
            Self::Fdr10 => 10_312_500_000,
            Self::Fdr => 14_062_500_000,
            Self::Edr => 25_781_250_000,
            Self::Hdr => 53_125_000_000,
            Self::Ndr => 106_250_000_000,
            Self::Xdr => 212_500_000_000,
        }
    }

    /// Bits of data in so many bits on the lane.
    const fn code(self) -> (u64, u64) {
        match self {
            Self::Sdr | Self::Ddr | Self::Qdr => (8, 10),
            Self::Fdr10 | Self::Fdr | Self::Edr => (64, 66),
            Self::Hdr | Self::Ndr | Self::Xdr => (256 * 514, 257 * 544),
        }
    }

    /// Time that `bytes` take over so many lanes, in ticks rounded up once: a byte of FDR is no whole number of ticks.
    pub const fn byte_span(self, bytes: Bytes, lanes: u32) -> Span {
        let (data, coded) = self.code();
        let numerator = bytes.get() as u128 * 8 * coded as u128 * TICKS_PER_SECOND as u128;
        let denominator = self.signal_bits_per_second() as u128 * data as u128 * lanes as u128;
        Span::from_ticks(numerator.div_ceil(denominator) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_lanes_carry_the_published_data_rates() {
        // Data rate of 4x in Mb/s, as the speed grades are sold.
        let published = [8_000, 16_000, 32_000, 40_000, 54_545, 100_000, 200_000, 400_000, 800_000];
        for (rate, expected) in InfinibandRate::ALL.into_iter().zip(published) {
            let bytes = Bytes::new(1_000_000_000);
            let mbit_per_s = 8_000.0 / rate.byte_span(bytes, 4).as_seconds();
            assert_eq!(mbit_per_s.floor() as u64, expected, "{rate:?}");
        }
    }

    #[test]
    fn bytes_are_whole_ticks_where_the_code_allows() {
        assert_eq!(InfinibandRate::Qdr.byte_span(Bytes::new(4), 4), Span::from_ns(1));
        assert_eq!(InfinibandRate::Edr.byte_span(Bytes::new(25), 4), Span::from_ns(2));
        assert_eq!(InfinibandRate::Qdr.byte_span(Bytes::new(1), 1), Span::from_ns(1));
    }
}
