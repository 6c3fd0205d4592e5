//! Latencies of copies, and apart from them those of the requests that they are made of.

use crate::rig::{results, within};
use lanewise_sim::Results;

const RIG: &str = r#"
[host.server]
slots = { slot1 = "gen4 x16" }
[endpoint.gpu]
generation = "gen4"
width = "x16"
attach = "server.slot1"
copy_engine = { outstanding = "512 B" }
kernel = { outstanding = "512 B" }
[[workload]]
kind = "copy"
name = "load"
device = "gpu"
size = "64 KiB"
"#;

/// Of the only flow, ns: the least latency of its requests, their mean, and that of its operations.
fn latencies(results: &Results) -> [f64; 3] {
    let [flow] = &results.flows[..] else { panic!("one way") };
    assert_eq!(flow.counted, "requests");
    let operations = flow.operation_latency_ns.as_ref().expect("they are apart");
    [flow.latency_ns.min, flow.latency_ns.mean, operations.mean].map(|latency| latency.expect("measured"))
}

/// A request of a copy is one of DMA: who has one in flight at a time waits as long for it, whatever asks for it.
#[test]
fn requests_of_copies_take_as_long_as_those_of_dma() {
    let dma = |direction| {
        let text = RIG.replace("copy_engine", "#").replace("kernel =", "#").replace("\"copy\"", "\"dma\"");
        let settings = [
            ("workload.load.direction", direction),
            ("workload.load.size", "512 B"),
            ("workload.load.outstanding", "1"),
        ];
        latencies(&results(text, &settings))
    };
    for (engine, overhead_ns) in [("copy-engine", 7000.0), ("kernel", 5000.0)] {
        let copy = |direction| {
            let settings = [("workload.load.direction", direction), ("workload.load.engine", engine)];
            latencies(&results(RIG, &settings))
        };
        // One read after another.
        let [least, request, whole] = copy("host-to-device");
        within(0.1, least, dma("read")[0]);
        within(0.5, request, dma("read")[1]);
        within(0.5, whole, overhead_ns + 128.0 * request);
        // Posted writes wait for the wire, and none for the one before it to arrive: the first of a copy finds it free.
        let [least, request, whole] = copy("device-to-host");
        within(1.5, least, dma("write")[0]);
        assert!(request > least && whole > overhead_ns && whole < overhead_ns + 256.0 * least, "{whole} ns");
    }
}

/// 16 copies take as many requests as their bytes make, and percentiles of both have as many samples as there are.
#[test]
fn both_are_counted() {
    let settings = [
        ("workload.load.direction", "host-to-device"),
        ("workload.load.sizes", "[\"4 KiB\", \"64 KiB\"]"),
        ("workload.load.copies", "16"),
    ];
    let found = results(RIG.replace("size =", "#"), &settings);
    let [flow] = &found.flows[..] else { panic!("one way") };
    let operations = flow.operation_latency_ns.as_ref().expect("they are apart");
    assert_eq!((flow.latency_ns.count, operations.count), (16 * (8 + 128), 32));
    assert_eq!(flow.operations, flow.latency_ns.count);
    assert!(flow.latency_ns.p99_9.is_some() && operations.p95.is_some() && operations.p99_9.is_none());
    assert!(flow.latency_ns.min < operations.min);
}

/// A percentile that decides when a run ends is one of copies, which are told well before their requests are.
#[test]
fn the_latency_that_decides_is_that_of_copies() {
    let settings = [
        ("workload.load.direction", "host-to-device"),
        ("workload.load.size", "4 KiB"),
        ("run.until", "latency"),
        ("run.latency_percentile", "0.9"),
    ];
    let found = results(RIG, &settings);
    let interval = found.flows[0].percentile_interval.as_ref().expect("it was asked for");
    let operations = found.flows[0].operation_latency_ns.as_ref().expect("they are apart");
    let (p90, requests) = (operations.p90.expect("enough"), found.flows[0].latency_ns.p90.expect("enough"));
    assert!((0.99 * interval.low_ns..=1.01 * interval.high_ns).contains(&p90), "{p90}, {interval:?}");
    assert!(requests < interval.low_ns / 2.0, "{requests}, {interval:?}");
}

/// Of copies that are long, a few whole ones say what many would: a run is over in a part of the time that 16 for each window take.
#[test]
fn long_copies_are_measured_by_a_few_of_them() {
    let text = RIG.replace("copy_engine =", "#");
    let settings = [
        ("workload.load.direction", "host-to-device"),
        ("workload.load.size", "32 MiB"),
        ("run.time_limit", "200 ms"),
    ];
    let found = results(text, &settings);
    assert!(found.end_detail.contains("within"), "{}", found.end_detail);
    let operations = found.flows[0].operation_latency_ns.as_ref().expect("they are apart");
    assert!((4..=16).contains(&operations.count), "{}", operations.count);
    // Whole ones, by the instrument's own report, and all that moved, whatever part of a copy that is.
    let of_a_copy = f64::from(32 << 20) / operations.mean.expect("measured");
    within(0.1, crate::rig::metric(&found, "host-to-device (GB/s)"), of_a_copy);
    within(0.5, found.flows[0].goodput_gb_per_s, of_a_copy);
}

/// A side link carries a copy whole: there are no requests, and copies are what is counted.
#[test]
fn copies_over_a_side_link_have_no_requests() {
    let text = RIG
        .replace("slot1 = \"gen4 x16\"", "slot1 = \"gen4 x16\", slot2 = \"gen4 x16\"")
        .replace("server.slot1\"", "server.*\"\ncount = 2\nside_link = { rate = \"200 GB/s\" }")
        .replace("device = \"gpu\"", "device = \"gpu[0]\"\ntarget = \"gpu[1]\"\ndirection = \"peer\"");
    let found = results(text, &[]);
    let [flow] = &found.flows[..] else { panic!("one way") };
    assert_eq!(flow.counted, "operations");
    assert!(flow.operations > 0 && flow.operation_latency_ns.is_none());
    within(1.0, flow.latency_ns.mean.expect("measured"), 7000.0 + 500.0 + 65536.0 / 200.0);
}
