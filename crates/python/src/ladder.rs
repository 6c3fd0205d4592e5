//! The rate model alone: the rungs of a link's efficiency ladder, and what wires behind adapters carry, with nothing simulated.

use crate::errors::wrong_argument;
use crate::scenario::text;
use lanewise_sim::{SteadyPackets, SteadyWrites, carried, rungs};
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
    let link = SteadyWrites { generation, lanes, payload_bytes, header_dwords, ecrc };
    let found = rungs(&link).map_err(|odd| wrong_argument(odd.name, &odd.found, odd.allowed))?;
    text(&found)
}

/// Part of the bytes of a wire that Ethernet frames of one size are, back to back.
#[pyfunction]
pub fn frames_carried(frame_bytes: u64) -> PyResult<f64> {
    fraction(&SteadyPackets::Frames { frame_bytes })
}

/// Part of the bytes of a wire that is payload of RDMA writes of one size, over InfiniBand or RoCE version 2.
#[pyfunction]
#[pyo3(signature = (size_bytes, *, mtu_bytes, infiniband))]
pub fn writes_carried(size_bytes: u64, mtu_bytes: u64, infiniband: bool) -> PyResult<f64> {
    fraction(&if infiniband {
        SteadyPackets::InfinibandWrites { size_bytes, mtu_bytes }
    } else {
        SteadyPackets::RoceWrites { size_bytes, mtu_bytes }
    })
}

fn fraction(packets: &SteadyPackets) -> PyResult<f64> {
    let found = carried(packets).map_err(|odd| wrong_argument(odd.name, &odd.found, odd.allowed))?;
    Ok(found.fraction)
}
