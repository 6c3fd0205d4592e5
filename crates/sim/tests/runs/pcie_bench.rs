//! A Gen3 x8 device on a Sandy Bridge host against the public pcie-bench data set (E5-2630, NFP-6000), with no
//! efficiency factor anywhere. Latency of 64 B reads, throughput of 64 B reads and of large writes are calibrated
//! (see the catalog entry of the host); large reads, and reads with writes, are predictions.

use crate::rig::{Settings, results, within};
use lanewise_sim::Results;

const RIG: &str = r#"
title = "pcie-bench on Sandy Bridge"
[host.server]
part = "sandy-bridge-e5"
[endpoint.nfp]
part = "nfp6000"
attach = "server.slot1"
[[workload]]
kind = "dma"
name = "bench"
device = "nfp"
direction = "write"
size = "2 KiB"
outstanding = 64
"#;

fn bench(settings: &Settings) -> Results {
    results(RIG, settings)
}

fn gbit_per_s(results: &Results, direction: &str) -> f64 {
    let flow = results.flows.iter().find(|flow| flow.direction == direction).expect("a flow each way");
    flow.goodput_gb_per_s * 8.0
}

/// Self-test 3 of the protocol facts: large reads and writes within 2 %.
#[test]
fn large_transfers_are_within_two_percent() {
    within(2.0, gbit_per_s(&bench(&[]), "write"), 54.45);
    within(2.0, gbit_per_s(&bench(&[("workload.bench.direction", "read")]), "read"), 55.6);
}

/// Reads and writes at once: the data set's 49.0 Gb/s is what is left for the writes.
#[test]
fn writes_beside_reads_are_predicted() {
    within(2.0, gbit_per_s(&bench(&[("workload.bench.direction", "both")]), "write"), 49.0);
}

/// Small reads: latency of one, throughput of many.
#[test]
fn small_reads_are_as_calibrated() {
    let small = [("workload.bench.direction", "read"), ("workload.bench.size", "64 B")];
    let one = bench(&[small[0], small[1], ("workload.bench.outstanding", "1")]);
    within(1.0, one.flows[0].latency_ns.mean, 558.0);
    let many = bench(&[small[0], small[1], ("workload.bench.outstanding", "512")]);
    within(2.0, gbit_per_s(&many, "read"), 32.1);
}
