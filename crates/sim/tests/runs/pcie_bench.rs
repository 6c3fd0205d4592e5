//! A Gen3 x8 device on two hosts of the public pcie-bench data set (E5-2630 and E5-2620 v3, NFP-6000), with no efficiency
//! factor anywhere. What is the device's own is fitted on cells of both hosts (see its catalog entry), the latency of the hosts
//! on reads of 64 B. Random DMA in a warm window of 8 KiB, as `bw_dma_sz_sweep.csv` has it.

use crate::rig::{results, within};
use lanewise_sim::Results;

const RIG: &str = r#"
title = "pcie-bench on Sandy Bridge"
[host.server]
part = "intel-sandy-bridge-ep"
[endpoint.nfp]
part = "nfp6000"
attach = "server.slot1"
buffers = "warm"
[[workload]]
kind = "dma"
name = "bench"
device = "nfp"
direction = "write"
size = "2 KiB"
outstanding = 64
span = "16 KiB"
"#;

fn gbit_per_s(results: &Results, direction: &str) -> f64 {
    let flow = results.flows.iter().find(|flow| flow.direction == direction).expect("a flow each way");
    flow.goodput_gb_per_s * 8.0
}

/// The same device on two hosts, whose large writes differ by the ECRC that one of them has switched on. A size that the device
/// cuts in its own way (1 KiB) is in `docs/explanation/predictions-of-measured-machines.md`.
#[test]
fn one_device_explains_two_hosts() {
    let tables = [
        ("intel-sandy-bridge-ep", "false", [("read", 32.09, 55.63), ("write", 24.27, 54.44)]),
        ("intel-haswell-ep", "true", [("read", 32.02, 55.28), ("write", 24.27, 53.01)]),
    ];
    for (part, ecrc, rows) in tables {
        for (direction, small, large) in rows {
            for (size, published) in [("64 B", small), ("2 KiB", large)] {
                let settings = [
                    ("nfp.ecrc", ecrc),
                    ("workload.bench.direction", direction),
                    ("workload.bench.size", size),
                    ("workload.bench.outstanding", "512"),
                ];
                let text = RIG.replace("intel-sandy-bridge-ep", part);
                within(1.5, gbit_per_s(&results(&text, &settings), direction), published);
            }
        }
    }
}

/// Reads of few lines leave the root port line by line, and many lines in completions of 256 B: 48 places in its queue give both.
#[test]
fn lines_join_as_they_do_on_two_hosts() {
    for (part, ecrc, published) in [
        ("intel-sandy-bridge-ep", "false", [43.51, 47.80, 55.72]),
        ("intel-haswell-ep", "true", [43.73, 47.78, 55.04]),
    ] {
        for (size, published) in ["128 B", "256 B", "512 B"].into_iter().zip(published) {
            let settings = [
                ("nfp.ecrc", ecrc),
                ("workload.bench.direction", "read"),
                ("workload.bench.size", size),
                ("workload.bench.outstanding", "512"),
            ];
            let text = RIG.replace("intel-sandy-bridge-ep", part);
            within(1.5, gbit_per_s(&results(&text, &settings), "read"), published);
        }
    }
}

/// Latency of one read, from a cache that has its data and from memory.
#[test]
fn a_read_takes_as_long_as_measured() {
    let one = |buffers| {
        let small = [("workload.bench.direction", "read"), ("workload.bench.size", "64 B")];
        let alone = [("workload.bench.outstanding", "1"), ("nfp.buffers", buffers)];
        results(RIG, &[small[0], small[1], alone[0], alone[1]]).flows[0].latency_ns.mean.expect("measured")
    };
    within(1.5, one("warm"), 557.5);
    within(1.5, one("cold"), 614.0);
}

/// Latency by size: the device collects what it reads, and moves it on whole. Published on both hosts, 512 and 2048 B.
#[test]
fn a_large_read_is_moved_on_when_all_of_it_has_come() {
    for (part, published) in
        [("intel-sandy-bridge-ep", [709.7, 1139.0]), ("intel-haswell-ep", [702.3, 1133.8])]
    {
        for (size, published) in ["512 B", "2 KiB"].into_iter().zip(published) {
            let settings = [
                ("workload.bench.direction", "read"),
                ("workload.bench.size", size),
                ("workload.bench.outstanding", "1"),
            ];
            let text = RIG.replace("intel-sandy-bridge-ep", part);
            let operations = results(&text, &settings).flows[0].operation_latency_ns.clone();
            within(2.5, operations.and_then(|of| of.mean).expect("a dma workload has them"), published);
        }
    }
}
