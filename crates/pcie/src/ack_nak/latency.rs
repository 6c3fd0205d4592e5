//! How long a receiver may wait with an Ack and a transmitter for one.
//!
//! PCIe Base §3.6.2.1, §3.6.3.1, Appendix H.

use crate::tlp::{ECRC, FRAMING_NON_FLIT, HeaderFormat};
use lanewise_units::{Bytes, Generation, Span, SymbolTimes, Width};

/// Legal range of the replay timer under the simplified rule, in symbol times. Source: PCIe Base §3.6.2.1.
pub const SIMPLIFIED_REPLAY_TIMER: (SymbolTimes, SymbolTimes) =
    (SymbolTimes::new(24_000), SymbolTimes::new(31_000));
/// Flits sent without an Ack after which a Flit Mode transmitter replays. Source: PCIe Base §4.2.3.4.2.1.
pub const FLIT_REPLAY_TIMEOUT_FLITS: u64 = 1500;

/// Bytes of a TLP around its payload that the latency formula assumes: framing and sequence 3, a 4-DW header,
/// ECRC, LCRC and END. Source: PCIe Base Appendix H.
const TLP_OVERHEAD: u64 = FRAMING_NON_FLIT.get() + HeaderFormat::FourDw.bytes().get() + ECRC.get();

/// Which rule sets the replay timer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReplayRule {
    /// Three times the Ack latency limit, up to Base 3.1.
    Legacy,
    /// A fixed number of symbol times; required of ports that support 16 GT/s or more.
    Simplified,
}

impl ReplayRule {
    /// What a port must use whose fastest rate is this; older ports may use either.
    pub const fn for_fastest(generation: Generation) -> Self {
        if generation.number() >= 4 { Self::Simplified } else { Self::Legacy }
    }
}

/// Longest time a receiver may wait before an Ack is on its way, in symbol times (per lane).
///
/// ⌊(MPS + 28) · factor / width⌋ + internal delay. Source: PCIe Base Tables 3-10 to 3-12, formula of Appendix
/// H; tested against every cell of the tables. Not for Flit Mode: see [`flit_ack_latency`].
pub const fn ack_latency_limit(mps: Bytes, width: Width, generation: Generation) -> SymbolTimes {
    let tenths = (mps.get() + TLP_OVERHEAD) * ack_factor_tenths(mps, width);
    SymbolTimes::new(tenths / (10 * width.lanes()) + internal_delay(generation))
}

/// Time without an Ack or Nak after which a transmitter replays, in symbol times (per lane).
///
/// The shortest legal value of each rule; legacy timers may run up to twice as long, simplified ones up to
/// 31 000. Source: PCIe Base 6.3 §3.6.2.1 (simplified), Base 3.1 §3.6.2.1 (legacy).
pub const fn replay_timer_limit(
    mps: Bytes,
    width: Width,
    generation: Generation,
    rule: ReplayRule,
) -> SymbolTimes {
    match rule {
        ReplayRule::Legacy => SymbolTimes::new(3 * ack_latency_limit(mps, width, generation).get()),
        ReplayRule::Simplified => SIMPLIFIED_REPLAY_TIMER.0,
    }
}

/// Recommended time from a flit at the receiving pins to its Ack at the transmitting pins.
///
/// x16 50, x8 52, x4 56, x2 64 and x1 80 ns. Source: PCIe Base §4.2.3.4.2.1.
/// Assumed: x12 and x32, which have no flits, as x16.
pub const fn flit_ack_latency(width: Width) -> Span {
    Span::from_ns(match width.lanes() {
        1 => 80,
        2 => 64,
        4 => 56,
        8 => 52,
        _ => 50,
    })
}

/// Time to process a TLP and start an Ack, in symbol times. Source: PCIe Base Appendix H.
const fn internal_delay(generation: Generation) -> u64 {
    match generation {
        Generation::Gen1 => 19,
        Generation::Gen2 => 70,
        _ => 115,
    }
}

/// AckFactor in tenths: how many TLPs one Ack may cover. Source: PCIe Base Appendix H.
///
/// Assumed: an MPS between two table columns counts as the larger one.
const fn ack_factor_tenths(mps: Bytes, width: Width) -> u64 {
    let small = mps.get() <= 256;
    match width.lanes() {
        1 | 2 | 4 if small => 14,
        8 if small => 25,
        1 | 2 | 4 | 8 => 10,
        _ if small => 30,
        _ => 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MPS: [u64; 6] = [128, 256, 512, 1024, 2048, 4096];

    /// Ack latency limits in symbol times, one row per width x1 x2 x4 x8 x12 x16 x32, one column per MPS 128
    /// to 4096. PCIe Base Tables 3-10 to 3-12, with x12 and x32 from Tables 2-52 to 2-54.
    const ACK: [(Generation, [[u64; 6]; 7]); 3] = [
        (
            Generation::Gen1,
            [
                [237, 416, 559, 1071, 2095, 4143],
                [128, 217, 289, 545, 1057, 2081],
                [73, 118, 154, 282, 538, 1050],
                [67, 107, 86, 150, 278, 534],
                [58, 90, 109, 194, 365, 706],
                [48, 72, 86, 150, 278, 534],
                [33, 45, 52, 84, 148, 276],
            ],
        ),
        (
            Generation::Gen2,
            [
                [288, 467, 610, 1122, 2146, 4194],
                [179, 268, 340, 596, 1108, 2132],
                [124, 169, 205, 333, 589, 1101],
                [118, 158, 137, 201, 329, 585],
                [109, 141, 160, 245, 416, 757],
                [99, 123, 137, 201, 329, 585],
                [84, 96, 103, 135, 199, 327],
            ],
        ),
        (
            Generation::Gen3,
            [
                [333, 512, 655, 1167, 2191, 4239],
                [224, 313, 385, 641, 1153, 2177],
                [169, 214, 250, 378, 634, 1146],
                [163, 203, 182, 246, 374, 630],
                [154, 186, 205, 290, 461, 802],
                [144, 168, 182, 246, 374, 630],
                [129, 141, 148, 180, 244, 372],
            ],
        ),
    ];

    /// Replay timer limits up to Base 3.1 in symbol times, widths x1 x2 x4 x8 x16, MPS 128 to 4096.
    const REPLAY: [(Generation, [[u64; 6]; 5]); 3] = [
        (
            Generation::Gen1,
            [
                [711, 1248, 1677, 3213, 6285, 12429],
                [384, 651, 867, 1635, 3171, 6243],
                [219, 354, 462, 846, 1614, 3150],
                [201, 321, 258, 450, 834, 1602],
                [144, 216, 258, 450, 834, 1602],
            ],
        ),
        (
            Generation::Gen2,
            [
                [864, 1401, 1830, 3366, 6438, 12582],
                [537, 804, 1020, 1788, 3324, 6396],
                [372, 507, 615, 999, 1767, 3303],
                [354, 474, 411, 603, 987, 1755],
                [297, 369, 411, 603, 987, 1755],
            ],
        ),
        (
            Generation::Gen3,
            [
                [999, 1536, 1965, 3501, 6573, 12717],
                [672, 939, 1155, 1923, 3459, 6531],
                [507, 642, 750, 1134, 1902, 3438],
                [489, 609, 546, 738, 1122, 1890],
                [432, 504, 546, 738, 1122, 1890],
            ],
        ),
    ];

    #[test]
    fn every_ack_latency_cell_is_reproduced() {
        for (generation, rows) in ACK {
            for (width, row) in Width::ALL.into_iter().zip(rows) {
                let computed = MPS.map(|mps| ack_latency_limit(Bytes::new(mps), width, generation).get());
                assert_eq!(computed, row, "{generation} {width}");
            }
        }
    }

    #[test]
    fn every_legacy_replay_cell_is_reproduced() {
        let widths = [Width::X1, Width::X2, Width::X4, Width::X8, Width::X16];
        for (generation, rows) in REPLAY {
            for (width, row) in widths.into_iter().zip(rows) {
                let computed = MPS.map(|mps| {
                    replay_timer_limit(Bytes::new(mps), width, generation, ReplayRule::Legacy).get()
                });
                assert_eq!(computed, row, "{generation} {width}");
            }
        }
    }

    #[test]
    fn rates_above_8_gt_per_s_keep_its_symbol_counts() {
        for generation in [Generation::Gen4, Generation::Gen5] {
            let limit = |g| ack_latency_limit(Bytes::new(512), Width::X4, g);
            assert_eq!(limit(generation), limit(Generation::Gen3));
        }
    }

    #[test]
    fn limits_in_nanoseconds() {
        let ns = |symbols: SymbolTimes, generation| symbols.span(generation).as_ns();
        let ack = |mps, generation| ack_latency_limit(Bytes::new(mps), Width::X8, generation);
        assert_eq!(ns(ack(128, Generation::Gen1), Generation::Gen1), 268.0);
        assert_eq!(ns(ack(256, Generation::Gen3), Generation::Gen3), 203.0);
        let replay = |g, rule| ns(replay_timer_limit(Bytes::new(128), Width::X8, g, rule), g);
        assert_eq!(replay(Generation::Gen1, ReplayRule::Legacy), 804.0);
        assert_eq!(replay(Generation::Gen4, ReplayRule::for_fastest(Generation::Gen5)), 12_000.0);
        assert_eq!(ns(SIMPLIFIED_REPLAY_TIMER.1, Generation::Gen4), 15_500.0);
    }

    #[test]
    fn flit_acks_are_faster_on_wide_links() {
        let ns =
            [Width::X1, Width::X2, Width::X4, Width::X8, Width::X16].map(|w| flit_ack_latency(w).as_ns());
        assert_eq!(ns, [80.0, 64.0, 56.0, 52.0, 50.0]);
    }
}
