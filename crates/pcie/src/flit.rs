//! Flits: 256 bytes in fixed places, and how TLPs are packed into them. PCIe Base §4.2.3.3, §4.2.3.4.
//!
//! Bytes 0 to 235 carry TLPs, which may span flits; 236 to 241 the data link layer, 242 to 249 the CRC and
//! 250 to 255 the FEC. DLLPs, Acks and Naks ride in the 6 DLP bytes of every flit, so they take nothing from
//! the TLPs. Leaves out: the contents of all of these. Assumed: Gen7 keeps the layout of Gen6.

use crate::tlp::DWORD;
use lanewise_units::{Bytes, SymbolTimes, Width};

/// One flit. Source: PCIe Base §4.2.3.3.
pub const FLIT_BYTES: Bytes = Bytes::new(256);
/// TLP bytes of a flit.
pub const TLP_BYTES: Bytes = Bytes::new(236);
/// Data link layer bytes of a flit.
pub const DLP_BYTES: Bytes = Bytes::new(6);
/// CRC bytes of a flit, over its first 242.
pub const CRC_BYTES: Bytes = Bytes::new(8);
/// FEC bytes of a flit, three groups of two.
pub const FEC_BYTES: Bytes = Bytes::new(6);
/// Share of a flit that carries TLPs, as (numerator, denominator).
pub const TLP_SHARE: (u64, u64) = (TLP_BYTES.get(), FLIT_BYTES.get());
/// Most TLPs, whole or partial, in bytes 0 to 127, and again in bytes 128 to 235. Source: PCIe Base
/// §4.2.3.4.1.
pub const MAX_TLPS_PER_HALF: u8 = 8;
/// Most TLPs in one flit.
pub const MAX_TLPS: u8 = 2 * MAX_TLPS_PER_HALF;
/// Where the second half begins.
const HALF: u16 = 128;
const END: u16 = TLP_BYTES.get() as u16;
/// Where idle padding may stop: the next multiple of 4 DW. Source: PCIe Base §4.2.3.4.1.
const IDLE_STEP: u16 = 16;

/// Symbols per lane of one flit: 256 over the width.
///
/// # Panics
/// On x12 and x32, which have no flits.
pub const fn symbols_per_lane(width: Width) -> SymbolTimes {
    assert!(matches!(width.lanes(), 1 | 2 | 4 | 8 | 16), "flits exist on x1, x2, x4, x8 and x16 only");
    SymbolTimes::new(FLIT_BYTES.get() / width.lanes())
}

/// What sending one TLP did to the flits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Packed {
    /// Bytes of NOP that had to go before it, because its half of the flit was full of TLPs.
    pub padding: Bytes,
    /// Flits it filled to the end.
    pub flits_completed: u32,
}

/// Where the next TLP goes in the flit being filled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FlitPacker {
    /// Bytes of the flit's TLP part already filled, less than 236.
    filled: u16,
    /// TLPs that touch the half of the flit where the next byte goes.
    tlps_in_half: u8,
}

impl FlitPacker {
    /// An empty flit.
    pub const fn new() -> Self {
        Self { filled: 0, tlps_in_half: 0 }
    }

    /// TLP bytes left in the flit.
    #[inline]
    pub const fn remaining(&self) -> Bytes {
        Bytes::new((END - self.filled) as u64)
    }

    /// Whether no byte of the flit is taken.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// A flit whose first bytes went out as NOPs: the first TLP follows at the next multiple of 4 DW. None if that is not in it.
    pub const fn after_nops(gone: Bytes) -> Option<Self> {
        let filled = gone.get().div_ceil(IDLE_STEP as u64) * IDLE_STEP as u64;
        if filled >= END as u64 {
            return None;
        }
        Some(Self { filled: filled as u16, tlps_in_half: 0 })
    }

    /// Packs a TLP of so many bytes (see [`crate::Tlp::wire_bytes_flit`]), with NOPs before it where the
    /// limit of eight TLPs in a half demands them.
    ///
    /// # Panics
    /// When the TLP is empty or not whole DW.
    #[inline]
    pub const fn pack(&mut self, tlp: Bytes) -> Packed {
        assert!(tlp.get() > 0 && tlp.get().is_multiple_of(DWORD.get()), "a TLP is whole DW");
        let (padding, padded_out) =
            if self.tlps_in_half == MAX_TLPS_PER_HALF { self.skip_half() } else { (0, 0) };
        Packed { padding: Bytes::new(padding as u64), flits_completed: padded_out + self.place(tlp.get()) }
    }

    /// Pads with NOPs because there is nothing to send: to the next multiple of 4 DW, or the end of the flit.
    ///
    /// Returns the bytes of NOP and whether they ended the flit.
    pub const fn idle(&mut self) -> (Bytes, bool) {
        let stop = (self.filled / IDLE_STEP + 1) * IDLE_STEP;
        let ended = stop >= END;
        let to = if ended { END } else { stop };
        let padding = Bytes::new((to - self.filled) as u64);
        self.advance_within_flit(to);
        (padding, ended)
    }

    /// Fills the rest of the flit with NOPs and returns how many bytes that took; none when it is empty.
    pub const fn close(&mut self) -> Bytes {
        if self.is_empty() {
            return Bytes::ZERO;
        }
        let padding = self.remaining();
        *self = Self::new();
        padding
    }

    /// Pads to the end of the half; returns the NOP bytes and the flits that ended.
    const fn skip_half(&mut self) -> (u16, u32) {
        let end = if self.filled < HALF { HALF } else { END };
        let padding = end - self.filled;
        self.advance_within_flit(end);
        (padding, (end == END) as u32)
    }

    /// Moves over bytes that belong to no TLP.
    const fn advance_within_flit(&mut self, to: u16) {
        if to == END {
            *self = Self::new();
            return;
        }
        if self.filled < HALF && to >= HALF {
            self.tlps_in_half = 0;
        }
        self.filled = to;
    }

    /// Lays the TLP down and returns the flits it filled.
    const fn place(&mut self, tlp: u64) -> u32 {
        let start_half = self.filled >= HALF;
        let end = self.filled as u64 + tlp;
        let flits = end / END as u64;
        let filled = (end % END as u64) as u16;
        let stays = flits == 0 && (filled >= HALF) == start_half;
        let at_boundary = filled == 0 || filled == HALF;
        self.tlps_in_half = if stays && !at_boundary { self.tlps_in_half + 1 } else { !at_boundary as u8 };
        self.filled = filled;
        flits as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_adds_up() {
        let parts = TLP_BYTES + DLP_BYTES + CRC_BYTES + FEC_BYTES;
        assert_eq!(parts, FLIT_BYTES);
        assert_eq!(100.0 * TLP_SHARE.0 as f64 / TLP_SHARE.1 as f64, 92.1875);
    }

    /// PCIe Base Tables 4-10 to 4-14.
    #[test]
    fn symbols_of_a_flit_match_the_table() {
        let rows = [(Width::X16, 16), (Width::X8, 32), (Width::X4, 64), (Width::X2, 128), (Width::X1, 256)];
        for (width, symbols) in rows {
            assert_eq!(symbols_per_lane(width), SymbolTimes::new(symbols));
        }
    }

    /// TLPs packed into `flits` flits, back to back.
    fn packed_into(flits: u32, tlp: u64) -> u32 {
        let mut packer = FlitPacker::new();
        let (mut count, mut done) = (0, 0);
        loop {
            done += packer.pack(Bytes::new(tlp)).flits_completed;
            if done > flits || (done == flits && !packer.is_empty()) {
                return count;
            }
            count += 1;
        }
    }

    #[test]
    fn at_most_sixteen_32_bit_reads_share_a_flit() {
        assert_eq!(packed_into(1000, 12), 16_000);
    }

    #[test]
    fn large_tlps_fill_flits_without_a_gap() {
        assert_eq!(packed_into(268, 268), 236);
        let mut packer = FlitPacker::new();
        assert_eq!(packer.pack(Bytes::new(268)), Packed { padding: Bytes::ZERO, flits_completed: 1 });
        assert_eq!(packer.remaining(), Bytes::new(236 - 32));
    }

    #[test]
    fn the_ninth_tlp_waits_for_the_second_half() {
        let mut packer = FlitPacker::new();
        for _ in 0..8 {
            assert_eq!(packer.pack(Bytes::new(12)).padding, Bytes::ZERO);
        }
        assert_eq!(packer.pack(Bytes::new(12)).padding, Bytes::new(32));
        assert_eq!(packer.remaining(), Bytes::new(108 - 12));
    }

    #[test]
    fn idle_pads_to_four_dwords_or_the_end() {
        let mut packer = FlitPacker::new();
        packer.pack(Bytes::new(20));
        assert_eq!(packer.idle(), (Bytes::new(12), false));
        assert_eq!(packer.idle(), (Bytes::new(16), false));
        packer.pack(Bytes::new(180));
        assert_eq!(packer.idle(), (Bytes::new(8), true));
        assert!(packer.is_empty());
        packer.pack(Bytes::new(16));
        assert_eq!(packer.close(), Bytes::new(220));
        assert_eq!(packer.close(), Bytes::ZERO);
    }

    /// NOPs that are on the wire already end at a multiple of 4 DW, or take the whole TLP part: PCIe Base §4.2.3.4.1.
    #[test]
    fn a_tlp_follows_nops_at_the_next_four_dwords() {
        let left =
            |gone: u64| FlitPacker::after_nops(Bytes::new(gone)).map(|packer| packer.remaining().get());
        assert_eq!([0, 1, 16, 17, 32, 224].map(left), [236, 220, 220, 204, 204, 12].map(Some));
        assert_eq!([225, 236].map(left), [None, None]);
    }

    proptest! {
        /// Against a map of every byte: no half ever holds more than eight TLPs, no byte is lost or shared, and only behind
        /// the eighth of a half its rest stays empty. Zero DW stand for NOPs because there is nothing to send.
        #[test]
        fn packing_obeys_the_map(
            tlps in prop::collection::vec(prop_oneof![6 => 3u64..6, 1 => 6u64..40, 1 => Just(0)], 1..300),
        ) {
            let mut packer = FlitPacker::new();
            let mut at = 0;
            let mut owners: Vec<Vec<usize>> = vec![Vec::new()];
            let half_of = |byte: u64| (byte / 236 * 2 + u64::from(byte % 236 >= 128)) as usize;
            let end_of_half = |half: usize| (half as u64).div_ceil(2) * 236 + if half.is_multiple_of(2) { 128 } else { 0 };
            for (owner, dwords) in tlps.into_iter().enumerate() {
                let before = at;
                if dwords == 0 {
                    let (nops, ended) = packer.idle();
                    let stop = (at % 236 / 16 * 16 + 16).min(236);
                    prop_assert_eq!((at % 236 + nops.get(), ended), (stop, stop == 236));
                    at += nops.get();
                    continue;
                }
                let full = owners.get(half_of(at)).is_some_and(|half| half.len() == 8);
                let padding = if full { end_of_half(half_of(at)) - at } else { 0 };
                let packed = packer.pack(Bytes::new(4 * dwords));
                prop_assert_eq!(packed.padding.get(), padding);
                at += packed.padding.get();
                for byte in (at..at + 4 * dwords).step_by(4) {
                    let half = half_of(byte);
                    owners.resize_with(owners.len().max(half + 1), Vec::new);
                    if owners[half].last() != Some(&owner) {
                        owners[half].push(owner);
                    }
                }
                at += 4 * dwords;
                prop_assert_eq!(u64::from(packed.flits_completed), at / 236 - before / 236);
                prop_assert_eq!(packer.remaining().get(), 236 - at % 236);
            }
            prop_assert!(owners.iter().all(|half| half.len() <= 8), "{:?}", owners);
        }
    }
}
