//! Rate × width × coding → time on the wire. PCIe Base chapter 4.
//!
//! Every span is exact: with ticks of 2⁻¹⁰ ps one byte takes a whole number of them at every generation on
//! every power-of-two width. The legacy x12 rounds up to a tick.
//!
//! Models: the line code's cost as an average over symbols (8b/10b in the symbol time, the 2-bit sync header
//! of 128b/130b spread over its 16 symbols, none with 1b/1b) and SKP ordered sets ([`SkipSchedule`]). Leaves
//! out: scrambling, lane-to-lane skew, and the padding of the last symbol time after a packet that nothing
//! follows; packets start at the next byte, where wide links start at the next multiple of four lanes.

mod ceiling;
mod skip;

pub use ceiling::{Ceiling, ceiling, payload_ceiling, tlp_ceiling};
pub use skip::{Clocking, SkipSchedule, flits_between_skips};

use lanewise_units::{Bytes, Generation, Span, SymbolTimes, Width};

/// How a lane codes its bits. PCIe Base §4.2.1 to §4.2.3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LineCode {
    /// 10 bits for each byte, 2.5 and 5 GT/s.
    Code8b10b,
    /// 2 bits of sync header for every 128, 8 to 32 GT/s.
    Code128b130b,
    /// PAM4 with every bit used, 64 GT/s and up; always in flits.
    Code1b1b,
}

impl LineCode {
    /// The code of a generation. Flit Mode does not change it. Source: PCIe Base §4.2.3.3.
    pub const fn of(generation: Generation) -> Self {
        match generation {
            Generation::Gen1 | Generation::Gen2 => Self::Code8b10b,
            Generation::Gen3 | Generation::Gen4 | Generation::Gen5 => Self::Code128b130b,
            Generation::Gen6 | Generation::Gen7 => Self::Code1b1b,
        }
    }

    /// Share of the line bits that carry bytes, as (numerator, denominator).
    pub const fn share(self) -> (u64, u64) {
        match self {
            Self::Code8b10b => (8, 10),
            Self::Code128b130b => (128, 130),
            Self::Code1b1b => (1, 1),
        }
    }
}

/// What a trained link runs at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LinkMode {
    /// Rate of a lane.
    pub generation: Generation,
    /// Lanes in use.
    pub width: Width,
    /// Whether bytes travel in flits.
    pub flit: bool,
}

impl LinkMode {
    /// A link at this generation and width, in flits exactly where the rate demands them (Gen6 and later).
    pub const fn new(generation: Generation, width: Width) -> Self {
        let flit = matches!(LineCode::of(generation), LineCode::Code1b1b);
        Self { generation, width, flit }
    }

    /// The same link in Flit Mode or out of it; a rate that demands flits keeps them.
    ///
    /// A link that negotiated Flit Mode uses it at every rate. Source: PCIe Base §4.2.3.
    #[must_use]
    pub const fn with_flit(mut self, flit: bool) -> Self {
        self.flit = flit || matches!(LineCode::of(self.generation), LineCode::Code1b1b);
        self
    }

    /// Whether the specification has such a link: flits exist on x1, x2, x4, x8 and x16 only.
    ///
    /// Source: PCIe Base Tables 4-10 to 4-14.
    pub const fn is_defined(self) -> bool {
        !self.flit || matches!(self.width.lanes(), 1 | 2 | 4 | 8 | 16)
    }

    /// Coding of the lanes.
    #[inline]
    pub const fn line_code(self) -> LineCode {
        LineCode::of(self.generation)
    }

    /// Time of one symbol on every lane, the sync header's share included.
    ///
    /// 4, 2, 1.015625 ns and then halving at Gen4 and Gen5; 0.125 and 0.0625 ns at Gen6 and Gen7.
    #[inline]
    pub const fn symbol_span(self) -> Span {
        let nominal = self.generation.symbol_time().ticks();
        match self.line_code() {
            LineCode::Code128b130b => Span::from_ticks(nominal / 128 * 130),
            LineCode::Code8b10b | LineCode::Code1b1b => Span::from_ticks(nominal),
        }
    }

    /// Time that `bytes` striped over the lanes take.
    ///
    /// Exact on power-of-two widths; on x12 rounded up to a tick. In Flit Mode these are raw bytes of flits,
    /// so a TLP costs 256/236 of this; see [`crate::flit`].
    #[inline]
    pub const fn wire_span(self, bytes: Bytes) -> Span {
        let ticks = bytes.get() * self.symbol_span().ticks();
        let lanes = self.width.lanes();
        if lanes.is_power_of_two() {
            Span::from_ticks(ticks >> lanes.trailing_zeros())
        } else {
            Span::from_ticks(ticks.div_ceil(lanes))
        }
    }

    /// Time of so many symbols on every lane, sync headers included.
    #[inline]
    pub const fn symbols_span(self, symbols: SymbolTimes) -> Span {
        Span::from_ticks(symbols.get() * self.symbol_span().ticks())
    }

    /// When SKP ordered sets are due and what each costs.
    ///
    /// # Panics
    /// When the mode [is not defined](Self::is_defined).
    pub const fn ordered_sets(self, clocking: Clocking) -> SkipSchedule {
        skip::schedule(self, clocking)
    }

    /// Bits per second on the lanes together: 2.5 GT/s x4 is 10 Gb/s. One direction.
    pub const fn line_rate_bits_per_second(self) -> u64 {
        self.generation.transfers_e8_per_second() * 100_000_000 * self.width.lanes()
    }

    /// Bytes per second after coding, before ordered sets, as an exact (numerator, denominator).
    pub const fn coded_bytes_per_second(self) -> (u64, u64) {
        let (kept, sent) = self.line_code().share();
        (self.line_rate_bits_per_second() / 8 * kept, sent)
    }

    /// GB/s (10⁹ bytes per second) after coding, before ordered sets, for a reader.
    pub fn coded_gb_per_s(self) -> f64 {
        let (bytes, seconds) = self.coded_bytes_per_second();
        bytes as f64 / seconds as f64 / 1e9
    }
}

impl core::fmt::Display for LinkMode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let forced = self.flit && !matches!(self.line_code(), LineCode::Code1b1b);
        write!(f, "{} {}{}", self.generation, self.width, if forced { " flit" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flit;

    /// Flits are said where a link has a choice: at 64 GT/s and up there are no others.
    #[test]
    fn a_mode_is_written_with_what_it_does_not_have_to_be() {
        let gen5 = LinkMode::new(Generation::Gen5, Width::X8);
        let written = [gen5, gen5.with_flit(true), LinkMode::new(Generation::Gen6, Width::X8)];
        let end = |mode: LinkMode| mode.to_string().ends_with(" flit");
        assert_eq!(written.map(end), [false, true, false]);
    }

    #[test]
    fn symbols_carry_their_share_of_the_sync_header() {
        let ns = Generation::ALL.map(|g| LinkMode::new(g, Width::X1).symbol_span().as_ns());
        assert_eq!(ns, [4.0, 2.0, 1.015625, 0.5078125, 0.25390625, 0.125, 0.0625]);
    }

    #[test]
    fn a_byte_takes_whole_ticks_on_every_power_of_two_width() {
        for generation in Generation::ALL {
            for width in Width::ALL.into_iter().filter(|w| w.lanes().is_power_of_two()) {
                let mode = LinkMode::new(generation, width);
                let ticks = mode.symbol_span().ticks();
                assert_eq!(ticks % width.lanes(), 0, "{mode}");
                assert_eq!(mode.wire_span(Bytes::new(1)).ticks() * width.lanes(), ticks, "{mode}");
            }
        }
    }

    /// A flit at Gen6 in ns, widest link first: derived.
    #[test]
    fn flit_times_match_the_table() {
        let widths = [Width::X16, Width::X8, Width::X4, Width::X2, Width::X1];
        let flit = widths.map(|width| LinkMode::new(Generation::Gen6, width).wire_span(flit::FLIT_BYTES));
        assert_eq!(flit, [2, 4, 8, 16, 32].map(Span::from_ns));
    }

    #[test]
    fn x12_rounds_up_to_a_tick() {
        let mode = LinkMode::new(Generation::Gen1, Width::X12);
        assert_eq!(mode.wire_span(Bytes::new(12)), Span::from_ns(4));
        assert_eq!(mode.wire_span(Bytes::new(1)).ticks(), 341_334);
    }

    /// Encoded bandwidth in GB/s of one lane, x4, x8 and x16: derived from rate and code.
    #[test]
    fn coded_bandwidth_matches_the_table() {
        let rows = [
            (Generation::Gen1, ["0.250000", "1.0000", "2.0000", "4.0000"]),
            (Generation::Gen2, ["0.500000", "2.0000", "4.0000", "8.0000"]),
            (Generation::Gen3, ["0.984615", "3.9385", "7.8769", "15.7538"]),
            (Generation::Gen4, ["1.969231", "7.8769", "15.7538", "31.5077"]),
            (Generation::Gen5, ["3.938462", "15.7538", "31.5077", "63.0154"]),
            (Generation::Gen6, ["8.000000", "32.0000", "64.0000", "128.0000"]),
            (Generation::Gen7, ["16.000000", "64.0000", "128.0000", "256.0000"]),
        ];
        for (generation, published) in rows {
            for (width, cell) in [Width::X1, Width::X4, Width::X8, Width::X16].into_iter().zip(published) {
                let mode = LinkMode::new(generation, width);
                let decimals = cell.len() - cell.find('.').expect("a decimal point") - 1;
                assert_eq!(format!("{:.decimals$}", mode.coded_gb_per_s()), cell, "{mode}");
            }
        }
    }

    #[test]
    fn flits_are_forced_from_gen6_and_chosen_below() {
        assert!(LinkMode::new(Generation::Gen6, Width::X4).with_flit(false).flit);
        assert!(!LinkMode::new(Generation::Gen5, Width::X4).flit);
        assert_eq!(LinkMode::new(Generation::Gen5, Width::X4).with_flit(true).to_string(), "gen5 x4 flit");
        assert!(!LinkMode::new(Generation::Gen6, Width::X12).is_defined());
    }
}
