//! What a link can reach at best, in closed form: the efficiency ladder without DLLPs, credits or hosts.
//!
//! Line rate → coded → link bandwidth (after ordered sets) → payload. A simulated run may come close to the
//! last rung, never above it. GB/s is 10⁹ bytes per second, one direction; these are numbers for a reader, so
//! floats.
//!
//! The published ladders leave EDS tokens out (4 bytes in about 6 kB per lane: 0.004 % on x16, 0.07 % on x1),
//! and so does [`payload_ceiling`]; [`Ceiling::payload_gb_per_s_with_eds`] is the physically right number.

use super::{Clocking, LinkMode};
use crate::flit;
use crate::tlp::Tlp;

/// The rungs of the ladder for one kind of TLP sent back to back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ceiling {
    /// Raw bits over eight.
    pub line_rate_gb_per_s: f64,
    /// After the line code.
    pub coded_gb_per_s: f64,
    /// After SKP ordered sets, and in Flit Mode the TLP bytes of flits only (236 of 256).
    pub link_bandwidth_gb_per_s: f64,
    /// Payload bytes only, EDS tokens not charged.
    pub payload_gb_per_s: f64,
    /// Payload bytes only, EDS tokens charged.
    pub payload_gb_per_s_with_eds: f64,
}

/// The ladder for `tlp` sent back to back.
///
/// # Panics
/// When `mode` [is not defined](LinkMode::is_defined).
pub fn ceiling(mode: LinkMode, tlp: &Tlp, clocking: Clocking) -> Ceiling {
    let skip = mode.ordered_sets(clocking);
    let bandwidth = tlp_ceiling(mode, clocking);
    let efficiency = if mode.flit { flit_efficiency(tlp) } else { non_flit_efficiency(tlp) };
    let eds_share = mode.wire_span(skip.eds).ticks() as f64 / skip.interval.ticks() as f64;
    let without_skip = 1.0 - skip.loss();
    Ceiling {
        line_rate_gb_per_s: mode.line_rate_bits_per_second() as f64 / 8e9,
        coded_gb_per_s: mode.coded_gb_per_s(),
        link_bandwidth_gb_per_s: bandwidth,
        payload_gb_per_s: bandwidth * efficiency,
        payload_gb_per_s_with_eds: bandwidth * efficiency * (1.0 - eds_share / without_skip),
    }
}

/// Net payload in GB/s of `tlp` sent back to back, after SKP ordered sets, EDS tokens not charged.
///
/// # Panics
/// When `mode` [is not defined](LinkMode::is_defined).
pub fn payload_ceiling(mode: LinkMode, tlp: &Tlp, clocking: Clocking) -> f64 {
    ceiling(mode, tlp, clocking).payload_gb_per_s
}

/// GB/s left for TLPs, framing included: coded bandwidth less ordered sets, and in Flit Mode times 236/256.
///
/// # Panics
/// When `mode` [is not defined](LinkMode::is_defined).
pub fn tlp_ceiling(mode: LinkMode, clocking: Clocking) -> f64 {
    let net = mode.coded_gb_per_s() * (1.0 - mode.ordered_sets(clocking).loss());
    let (kept, whole) = flit::TLP_SHARE;
    if mode.flit { net * kept as f64 / whole as f64 } else { net }
}

fn non_flit_efficiency(tlp: &Tlp) -> f64 {
    tlp.payload().get() as f64 / tlp.wire_bytes_non_flit().get() as f64
}

/// Payload share of a flit's TLP bytes. At most 16 TLPs are in a flit, which binds only those without payload: PCIe Base §4.2.3.4.1.
fn flit_efficiency(tlp: &Tlp) -> f64 {
    tlp.payload().get() as f64 / tlp.wire_bytes_flit().get() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_units::{Bytes, Generation, Width};

    const FOUR_DW: u64 = 1 << 32;

    fn mode(generation: u8, lanes: u64) -> LinkMode {
        let generation = Generation::from_number(generation).expect("a generation");
        LinkMode::new(generation, Width::from_lanes(lanes).expect("a width"))
    }

    fn cell(mode: LinkMode, tlp: Tlp) -> String {
        format!("{:.3}", payload_ceiling(mode, &tlp, Clocking::Common))
    }

    /// Net payload ceilings after SKP in GB/s: (generation, lanes, MWr 4DW at 128/256/512 B, CplD or MWr 3DW
    /// at 64/128/256/512 B). Derived from rate, code, SKP at the middle of its range, and TLP sizes.
    const NON_FLIT: [(u8, u64, [&str; 3], [&str; 4]); 10] = [
        (1, 4, ["0.840", "0.912", "0.952"], ["0.760", "0.862", "0.925", "0.960"]),
        (1, 8, ["1.679", "1.823", "1.905"], ["1.519", "1.725", "1.850", "1.919"]),
        (2, 8, ["3.359", "3.646", "3.810"], ["3.039", "3.449", "3.699", "3.838"]),
        (3, 4, ["3.308", "3.591", "3.752"], ["2.993", "3.397", "3.643", "3.780"]),
        (3, 8, ["6.615", "7.182", "7.504"], ["5.985", "6.794", "7.287", "7.560"]),
        (3, 16, ["13.231", "14.365", "15.008"], ["11.971", "13.588", "14.573", "15.121"]),
        (4, 4, ["6.615", "7.182", "7.504"], ["5.985", "6.794", "7.287", "7.560"]),
        (4, 8, ["13.231", "14.365", "15.008"], ["11.971", "13.588", "14.573", "15.121"]),
        (4, 16, ["26.462", "28.730", "30.016"], ["23.942", "27.177", "29.146", "30.242"]),
        (5, 16, ["52.923", "57.460", "60.032"], ["47.883", "54.354", "58.292", "60.484"]),
    ];

    #[test]
    fn every_published_non_flit_ceiling_is_reproduced() {
        for (generation, lanes, writes, completions) in NON_FLIT {
            let mode = mode(generation, lanes);
            for (payload, published) in [128, 256, 512].into_iter().zip(writes) {
                let tlp = Tlp::memory_write(FOUR_DW, Bytes::new(payload));
                assert_eq!(cell(mode, tlp), published, "{mode} MWr {payload}");
            }
            for (payload, published) in [64, 128, 256, 512].into_iter().zip(completions) {
                let bytes = Bytes::new(payload);
                assert_eq!(cell(mode, Tlp::completion(0, bytes)), published, "{mode} CplD {payload}");
                assert_eq!(cell(mode, Tlp::memory_write(0, bytes)), published, "{mode} MWr {payload}");
            }
        }
    }

    /// Net TLP GB/s of Gen6 and Gen7 on x16, x8, x4, x2 and x1: derived from the flit layout and Table 4-30.
    ///
    /// Gen6 x8 and Gen7 x4 are exactly half of 117.6069 and 58.80346 rounds to 58.803; a table obtained by
    /// halving the rounded 117.607 shows 58.804 there.
    #[test]
    fn every_flit_ceiling_is_reproduced() {
        let rows = [
            (6, ["117.607", "58.803", "29.402", "14.701", "7.350"]),
            (7, ["235.214", "117.607", "58.803", "29.401", "14.700"]),
        ];
        for (generation, published) in rows {
            for (lanes, cell) in [16, 8, 4, 2, 1].into_iter().zip(published) {
                let mode = mode(generation, lanes);
                assert_eq!(format!("{:.3}", tlp_ceiling(mode, Clocking::Common)), cell, "{mode}");
            }
        }
    }

    /// Flit Mode payload efficiency in percent with 3 DW and 4 DW headers, before SKP: derived.
    #[test]
    fn flit_payload_efficiency_matches_the_table() {
        let rows = [
            (64, ["77.6", "73.8"]),
            (128, ["84.3", "81.9"]),
            (256, ["88.1", "86.8"]),
            (512, ["90.1", "89.4"]),
            (4096, ["91.9", "91.8"]),
        ];
        let (kept, whole) = flit::TLP_SHARE;
        for (payload, published) in rows {
            for (address, cell) in [0, FOUR_DW].into_iter().zip(published) {
                let tlp = Tlp::memory_write(address, Bytes::new(payload));
                let percent = 100.0 * flit_efficiency(&tlp) * kept as f64 / whole as f64;
                assert_eq!(format!("{percent:.1}"), cell, "{payload} B at {address:#x}");
            }
        }
    }

    #[test]
    fn a_saturated_gen1_x4_link_writes_862_megabytes_a_second() {
        let tlp = Tlp::memory_write(0, Bytes::new(128));
        let megabytes = 1e3 * payload_ceiling(mode(1, 4), &tlp, Clocking::Common);
        assert_eq!(format!("{megabytes:.1}"), "862.3");
    }

    #[test]
    fn eds_tokens_cost_their_published_share() {
        let tlp = Tlp::memory_write(0, Bytes::new(256));
        let loss = |lanes| {
            let rungs = ceiling(mode(3, lanes), &tlp, Clocking::Common);
            100.0 * (1.0 - rungs.payload_gb_per_s_with_eds / rungs.payload_gb_per_s)
        };
        assert_eq!(format!("{:.3} {:.2}", loss(16), loss(1)), "0.004 0.07");
    }

    #[test]
    fn rungs_only_go_down() {
        for generation in 1..=7 {
            let rungs = ceiling(mode(generation, 8), &Tlp::completion(0, Bytes::new(64)), Clocking::Sris);
            assert!(rungs.line_rate_gb_per_s >= rungs.coded_gb_per_s);
            assert!(rungs.coded_gb_per_s > rungs.link_bandwidth_gb_per_s);
            assert!(rungs.link_bandwidth_gb_per_s > rungs.payload_gb_per_s);
            assert!(rungs.payload_gb_per_s >= rungs.payload_gb_per_s_with_eds);
        }
    }

    #[test]
    fn only_tlps_without_payload_are_bound_by_their_number() {
        let of_sixteen = |tlp: Tlp| tlp.wire_bytes_flit().get() * u64::from(flit::MAX_TLPS);
        assert!(of_sixteen(Tlp::memory_read(0, Bytes::new(64))) < flit::TLP_BYTES.get());
        let write = Tlp::memory_write(0, Bytes::new(4));
        assert!(of_sixteen(write) > flit::TLP_BYTES.get());
        assert_eq!(flit_efficiency(&write), 4.0 / 16.0);
    }

    /// Gen3 to Gen5: of 373 blocks of 16 symbols one is an ordered set, and 4 bytes of the link's go to the token.
    #[test]
    fn an_eds_token_takes_four_bytes_from_between_two_ordered_sets() {
        for (generation, lanes) in [(3, 1), (4, 2), (5, 4)] {
            let rungs =
                ceiling(mode(generation, lanes), &Tlp::completion(0, Bytes::new(64)), Clocking::Common);
            let left = 1.0 - 4.0 / (372 * 16 * lanes) as f64;
            let with_eds = rungs.payload_gb_per_s * left;
            assert!((rungs.payload_gb_per_s_with_eds / with_eds - 1.0).abs() < 1e-12, "x{lanes}");
        }
    }

    #[test]
    fn the_first_rung_is_the_rate_of_all_lanes() {
        let line_rate = |generation, lanes| {
            ceiling(mode(generation, lanes), &Tlp::completion(0, Bytes::new(64)), Clocking::Common)
                .line_rate_gb_per_s
        };
        assert_eq!([line_rate(1, 4), line_rate(3, 8), line_rate(6, 16)], [1.25, 8.0, 128.0]);
    }
}
