//! The rate model alone: the rungs of a link's efficiency ladder, with nothing simulated.

use lanewise_pcie::tlp::LONGEST;
use lanewise_pcie::{LinkMode, Tlp, flit};
use lanewise_units::{Bytes, Generation, Width};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A link that sends memory writes of one size back to back.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyWrites {
    /// 1 to 7.
    pub generation: u8,
    /// 1, 2, 4, 8, 12, 16 or 32.
    pub lanes: u64,
    /// 1 to 4096.
    pub payload_bytes: u64,
    /// 3 for addresses below 4 GiB, 4 above.
    pub header_dwords: u8,
    /// With an end-to-end CRC.
    pub ecrc: bool,
}

/// Rungs of one direction of such a link.
///
/// Ordered sets and DLLPs of their own are not in these rungs: a run shows what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rungs {
    /// 10⁹ bits per second, before the line code.
    pub line_rate_gbit_per_s: f64,
    /// 10⁹ bits per second, after the line code.
    pub coded_gbit_per_s: f64,
    /// The payload's share of a TLP with its header and framing, and from Gen6 on with its share of each flit.
    pub payload_fraction: f64,
}

/// No link is like that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchLink {
    /// What is wrong with it.
    pub name: &'static str,
    /// Its value.
    pub found: u64,
    /// Values that it may have.
    pub allowed: &'static str,
}

impl fmt::Display for NoSuchLink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} is {}; allowed is {}", self.name, self.found, self.allowed)
    }
}

impl std::error::Error for NoSuchLink {}

/// The rungs of a link.
///
/// # Errors
/// For a value that no link has. Source of the ranges: PCI Express Base 6.0, sections 2.2, 3.5 and 4.2.
pub fn rungs(of: &SteadyWrites) -> Result<Rungs, NoSuchLink> {
    let wrong = |name, found, allowed| NoSuchLink { name, found, allowed };
    let generation = Generation::from_number(of.generation)
        .ok_or_else(|| wrong("generation", of.generation.into(), "1 to 7"))?;
    let width =
        Width::from_lanes(of.lanes).ok_or_else(|| wrong("lanes", of.lanes, "1, 2, 4, 8, 12, 16 or 32"))?;
    let mode = LinkMode::new(generation, width);
    if !mode.is_defined() {
        return Err(wrong("lanes", of.lanes, "1, 2, 4, 8 or 16 with flits"));
    }
    if !(1..=LONGEST.get()).contains(&of.payload_bytes) {
        return Err(wrong("payload_bytes", of.payload_bytes, "1 to 4096"));
    }
    let address = match of.header_dwords {
        3 => 0,
        4 => 1 << 32,
        other => return Err(wrong("header_dwords", other.into(), "3 or 4")),
    };
    let tlp = Tlp::memory_write(address, Bytes::new(of.payload_bytes)).with_digest(of.ecrc);
    Ok(Rungs {
        line_rate_gbit_per_s: mode.line_rate_bits_per_second() as f64 / 1e9,
        coded_gbit_per_s: mode.coded_gb_per_s() * 8.0,
        payload_fraction: payload_fraction(mode, tlp),
    })
}

/// The payload's share of the bytes that a TLP takes on the link.
fn payload_fraction(mode: LinkMode, tlp: Tlp) -> f64 {
    let of_tlp = tlp.payload().get() as f64 / tlp.wire_bytes(mode.flit).get() as f64;
    if !mode.flit {
        return of_tlp;
    }
    let (kept, sent) = flit::TLP_SHARE;
    of_tlp * kept as f64 / sent as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEN3: SteadyWrites =
        SteadyWrites { generation: 3, lanes: 8, payload_bytes: 256, header_dwords: 3, ecrc: false };

    #[test]
    fn a_packet_with_three_header_dwords_has_20_bytes_around_its_payload() {
        let found = rungs(&GEN3).unwrap();
        assert_eq!(found.line_rate_gbit_per_s, 64.0);
        assert!((found.coded_gbit_per_s - 64.0 * 128.0 / 130.0).abs() < 1e-12);
        assert_eq!(found.payload_fraction, 256.0 / 276.0);
    }

    #[test]
    fn what_no_link_has_is_named() {
        for (odd, name) in [
            (SteadyWrites { generation: 8, ..GEN3 }, "generation"),
            (SteadyWrites { lanes: 3, ..GEN3 }, "lanes"),
            (SteadyWrites { generation: 6, lanes: 12, ..GEN3 }, "lanes"),
            (SteadyWrites { payload_bytes: 4097, ..GEN3 }, "payload_bytes"),
            (SteadyWrites { header_dwords: 5, ..GEN3 }, "header_dwords"),
        ] {
            assert_eq!(rungs(&odd).unwrap_err().name, name, "{odd:?}");
        }
    }
}
