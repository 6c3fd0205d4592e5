//! SKP ordered sets: how often clock compensation takes the lanes, and for how long. PCIe Base §4.2.8.
//!
//! One reading for every code: an ordered set of `span` becomes due every `interval`, start to start, so the
//! share of the link lost is `span / interval`. The specification words it as an interval for 8b/10b and
//! 128b/130b, and as a number of flits *between* ordered sets in Flit Mode, where the interval is those flits
//! plus the set itself. SKP ordered sets never interrupt a packet: they wait for its end and accumulate
//! (§4.2.8.4); the port does that.
//!
//! Leaves out: the ordered sets of training and power states, and bytes that retimers add or remove.

use super::{LineCode, LinkMode};
use crate::flit;
use lanewise_units::{Bytes, Span, SymbolTimes};

/// Where the two ends of a link take their clocks from. PCIe Base §4.2.8, §4.3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Clocking {
    /// One reference clock for both ends.
    #[default]
    Common,
    /// Separate clocks without spread spectrum: the same ordered sets as a common clock.
    Srns,
    /// Separate clocks with independent spread spectrum: about ten times as many ordered sets.
    Sris,
}

/// When SKP ordered sets fall due on a link and what each costs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SkipSchedule {
    /// From one ordered set becoming due to the next.
    pub interval: Span,
    /// Time that one ordered set takes on all lanes.
    pub span: Span,
    /// The EDS token that precedes it inside the data stream: 4 bytes of the whole link, 128b/130b outside
    /// Flit Mode only. Framing, not part of `span`. Source: PCIe Base §4.2.2.3.2.
    pub eds: Bytes,
    /// Shortest and longest legal `interval`.
    pub legal: (Span, Span),
}

impl SkipSchedule {
    /// Share of the link's time that ordered sets take, EDS tokens not counted, for a reader.
    pub fn loss(&self) -> f64 {
        self.span.ticks() as f64 / self.interval.ticks() as f64
    }
}

/// Symbols per lane of one SKP ordered set as a transmitter sends it: COM and three SKP, one block, 40 bytes.
///
/// Source: PCIe Base §4.2.8.1 to §4.2.8.3.
const fn skip_symbols(code: LineCode) -> u64 {
    match code {
        LineCode::Code8b10b => 4,
        LineCode::Code128b130b => 16,
        LineCode::Code1b1b => 40,
    }
}

/// Flits from the end of one SKP ordered set to the start of the next, for x1, x2, x4, x8 and x16.
///
/// `None` with 8b/10b, where Flit Mode keeps the interval in symbol times, and on x12 and x32.
/// Source: PCIe Base Table 4-30.
pub const fn flits_between_skips(mode: LinkMode, clocking: Clocking) -> Option<u64> {
    let row: [u64; 5] = match (mode.line_code(), clocking) {
        (LineCode::Code8b10b, _) => return None,
        (LineCode::Code128b130b, Clocking::Common | Clocking::Srns) => [23, 46, 93, 187, 374],
        (LineCode::Code128b130b, Clocking::Sris) => [2, 4, 9, 18, 37],
        (LineCode::Code1b1b, Clocking::Common | Clocking::Srns) => [46, 93, 187, 374, 748],
        (LineCode::Code1b1b, Clocking::Sris) => [4, 9, 18, 37, 74],
    };
    match mode.width.lanes() {
        lanes @ (1 | 2 | 4 | 8 | 16) => Some(row[lanes.trailing_zeros() as usize]),
        _ => None,
    }
}

/// Shortest, default and longest interval outside Flit Mode, in symbols per lane.
///
/// 8b/10b: 1180 to 1538 symbol times, below 154 with SRIS; 128b/130b: 370 to 375 blocks of 16 symbols, below
/// 38 with SRIS. Source: PCIe Base §4.2.8.4. The default is the middle of the range, for 128b/130b to the
/// nearest whole block (373), because an ordered set is a block. Assumed: a SRIS port uses the longest
/// interval allowed.
const fn interval_symbols(code: LineCode, clocking: Clocking) -> (u64, u64, u64) {
    match (code, clocking) {
        (LineCode::Code8b10b, Clocking::Common | Clocking::Srns) => (1180, 1359, 1538),
        (LineCode::Code8b10b, Clocking::Sris) => (1, 153, 153),
        (_, Clocking::Common | Clocking::Srns) => (370 * 16, 373 * 16, 375 * 16),
        (_, Clocking::Sris) => (16, 37 * 16, 37 * 16),
    }
}

/// See [`LinkMode::ordered_sets`].
pub(super) const fn schedule(mode: LinkMode, clocking: Clocking) -> SkipSchedule {
    assert!(mode.is_defined(), "flits exist on x1, x2, x4, x8 and x16 only");
    let code = mode.line_code();
    let span = skip_symbols(code);
    let (shortest, interval, longest) = match flits_between_skips(mode, clocking) {
        Some(flits) if mode.flit => {
            let cadence = flits * flit::symbols_per_lane(mode.width).get() + span;
            (cadence, cadence, cadence)
        }
        _ => interval_symbols(code, clocking),
    };
    let has_eds = matches!(code, LineCode::Code128b130b) && !mode.flit;
    SkipSchedule {
        interval: mode.symbols_span(SymbolTimes::new(interval)),
        span: mode.symbols_span(SymbolTimes::new(span)),
        eds: Bytes::new(if has_eds { 4 } else { 0 }),
        legal: (mode.symbols_span(SymbolTimes::new(shortest)), mode.symbols_span(SymbolTimes::new(longest))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_units::{Generation, Width};

    fn of(generation: Generation, width: Width, clocking: Clocking) -> SkipSchedule {
        LinkMode::new(generation, width).ordered_sets(clocking)
    }

    #[test]
    fn one_ordered_set_takes_its_symbols_on_every_lane() {
        let skp = |generation| of(generation, Width::X8, Clocking::Common);
        assert_eq!(skp(Generation::Gen1).span, Span::from_ns(16));
        assert_eq!(skp(Generation::Gen1).interval, Span::from_ns(1359 * 4));
        assert_eq!(skp(Generation::Gen3).span.as_ns(), 16.25);
        assert_eq!(skp(Generation::Gen3).interval.as_ns(), 373.0 * 16.25);
        assert_eq!(skp(Generation::Gen6).span, Span::from_ns(5));
        assert_eq!(skp(Generation::Gen6).interval, Span::from_ns(374 * 4 + 5));
    }

    #[test]
    fn losses_match_the_published_shares() {
        let percent = |g, c| 100.0 * of(g, Width::X16, c).loss();
        assert!((0.26..0.34).contains(&percent(Generation::Gen1, Clocking::Common)));
        assert_eq!(format!("{:.2}", percent(Generation::Gen4, Clocking::Common)), "0.27");
        assert_eq!(format!("{:.2}", percent(Generation::Gen6, Clocking::Srns)), "0.33");
        assert!(percent(Generation::Gen5, Clocking::Sris) > 2.5);
    }

    #[test]
    fn only_128b130b_outside_flit_mode_pays_for_eds_tokens() {
        let gen5 = LinkMode::new(Generation::Gen5, Width::X4);
        assert_eq!(gen5.ordered_sets(Clocking::Common).eds, Bytes::new(4));
        assert_eq!(gen5.with_flit(true).ordered_sets(Clocking::Common).eds, Bytes::ZERO);
        assert_eq!(of(Generation::Gen2, Width::X4, Clocking::Common).eds, Bytes::ZERO);
    }

    /// PCIe Base Table 4-30, narrowest width first.
    #[test]
    fn flit_cadence_matches_the_table() {
        let widths = [Width::X1, Width::X2, Width::X4, Width::X8, Width::X16];
        let row = |generation, clocking| {
            widths.map(|w| {
                flits_between_skips(LinkMode::new(generation, w).with_flit(true), clocking).expect("a cell")
            })
        };
        assert_eq!(row(Generation::Gen6, Clocking::Common), [46, 93, 187, 374, 748]);
        assert_eq!(row(Generation::Gen3, Clocking::Srns), [23, 46, 93, 187, 374]);
        assert_eq!(row(Generation::Gen7, Clocking::Sris), [4, 9, 18, 37, 74]);
        assert_eq!(row(Generation::Gen5, Clocking::Sris), [2, 4, 9, 18, 37]);
    }

    /// PCIe Base §4.2.8.4: shortest, ours, longest, in symbol times of one lane with 8b/10b and in blocks of 16 with 128b/130b.
    #[test]
    fn intervals_outside_flit_mode_are_those_of_the_specification() {
        let rows = [
            (Generation::Gen1, 1, Clocking::Common, [1180, 1359, 1538]),
            (Generation::Gen2, 1, Clocking::Srns, [1180, 1359, 1538]),
            (Generation::Gen1, 1, Clocking::Sris, [1, 153, 153]),
            (Generation::Gen3, 16, Clocking::Srns, [370, 373, 375]),
            (Generation::Gen5, 16, Clocking::Common, [370, 373, 375]),
            (Generation::Gen4, 16, Clocking::Sris, [1, 37, 37]),
        ];
        for (generation, symbols, clocking, intervals) in rows {
            let mode = LinkMode::new(generation, Width::X4);
            let SkipSchedule { interval, legal, .. } = mode.ordered_sets(clocking);
            let expected = intervals.map(|each| mode.symbols_span(SymbolTimes::new(symbols * each)));
            assert_eq!([legal.0, interval, legal.1], expected, "{generation} {clocking:?}");
        }
    }

    #[test]
    fn default_intervals_are_legal() {
        for generation in Generation::ALL {
            for clocking in [Clocking::Common, Clocking::Srns, Clocking::Sris] {
                let SkipSchedule { interval, legal, .. } = of(generation, Width::X4, clocking);
                assert!(legal.0 <= interval && interval <= legal.1, "{generation} {clocking:?}");
            }
        }
    }
}
