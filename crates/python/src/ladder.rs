//! The rate model alone: the rungs of a link's efficiency ladder, with nothing simulated.

use crate::errors::wrong_argument;
use lanewise_pcie::tlp::LONGEST;
use lanewise_pcie::{LinkMode, Tlp, flit};
use lanewise_units::{Bytes, Generation, Width};
use pyo3::prelude::*;

/// Rungs of one direction of a link that sends memory writes back to back, as JSON.
///
/// `line_rate_gbit_per_s` and `coded_gbit_per_s` are in 10⁹ bits per second, before and after the line code;
/// `payload_fraction` is the payload's share of a TLP with its header and framing, and from Gen6 on with its share of
/// each flit. Ordered sets and DLLPs of their own are not in these rungs: a run shows what they cost.
#[pyfunction]
#[pyo3(signature = (*, generation, lanes, payload_bytes, header_dwords, ecrc))]
pub fn ladder(
    generation: u8,
    lanes: u64,
    payload_bytes: u64,
    header_dwords: u8,
    ecrc: bool,
) -> PyResult<String> {
    let generation = Generation::from_number(generation)
        .ok_or_else(|| wrong_argument("generation", &generation, "1 to 7"))?;
    let width = Width::from_lanes(lanes)
        .ok_or_else(|| wrong_argument("lanes", &lanes, "1, 2, 4, 8, 12, 16 or 32"))?;
    let mode = LinkMode::new(generation, width);
    if !mode.is_defined() {
        return Err(wrong_argument("lanes", &lanes, "1, 2, 4, 8 or 16 with flits"));
    }
    if !(1..=LONGEST.get()).contains(&payload_bytes) {
        return Err(wrong_argument("payload_bytes", &payload_bytes, "1 to 4096"));
    }
    let address = match header_dwords {
        3 => 0,
        4 => 1 << 32,
        other => return Err(wrong_argument("header_dwords", &other, "3 or 4")),
    };
    let tlp = Tlp::memory_write(address, Bytes::new(payload_bytes)).with_digest(ecrc);
    let rungs = serde_json::json!({
        "line_rate_gbit_per_s": mode.line_rate_bits_per_second() as f64 / 1e9,
        "coded_gbit_per_s": mode.coded_gb_per_s() * 8.0,
        "payload_fraction": payload_fraction(mode, tlp),
    });
    Ok(rungs.to_string())
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
