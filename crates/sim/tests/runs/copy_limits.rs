//! What limits copies of a device: its link, its engine, or software of the host.

use crate::limits::limited;
use crate::rig::{results, within};
use lanewise_sim::Results;

const RIG: &str = r#"
[host.server]
slots = { slot1 = "gen4 x16" }
[endpoint.gpu]
generation = "gen4"
width = "x16"
attach = "server.slot1"
[[workload]]
kind = "copy"
name = "copies"
device = "gpu"
direction = "host-to-device"
"#;

/// Copies a second: flows of copies count their requests.
fn copies_per_s(results: &Results) -> f64 {
    let copies = results.flows.iter().map(|flow| flow.operation_latency_ns.as_ref().expect("copies").count);
    copies.sum::<u64>() as f64 / results.measured_s
}

/// An engine that may have 32 KiB in flight has a twelfth of the tags in use.
#[test]
fn what_an_engine_has_in_flight_is_the_limit() {
    let few = [
        ("workload.copies.size", "4 MiB"),
        ("server.memory_latency", "2 us"),
        ("gpu.copy_engine.outstanding", "32 KiB"),
    ];
    let found = limited(RIG, &few, "window", &["gpu.window"], 50.0).run;
    let limit = found.limited_by.as_ref().expect("something moved");
    assert_eq!(limit.edits[0].settings[0].path, "gpu.copy_engine.outstanding");
}

/// The link is in use whenever a copy moves, and the overhead of a copy takes the rest of the time: neither is all of it.
#[test]
fn a_link_with_pauses_between_copies_is_the_limit() {
    let found = limited(RIG, &[("workload.copies.size", "1 MiB")], "wire", &["gpu.downstream"], 100.0).run;
    let software = found.resources.iter().find(|each| each.name == "copies.core").expect("it was used");
    within(1.0, software.utilisation, copies_per_s(&found) * 7e-6);
}

#[test]
fn the_overhead_of_a_copy_is_the_limit() {
    for (size, share) in [("4 KiB", 0.9), ("64 KiB", 0.5)] {
        let found = results(RIG, &[("workload.copies.size", size)]);
        let limit = found.limited_by.as_ref().expect("something moved");
        assert_eq!(limit.name, "copies.core", "{}", limit.sentence);
        assert!(limit.share > share, "{}", limit.sentence);
        within(1.0, limit.share, copies_per_s(&found) * 7e-6);
        assert_eq!(limit.edits[0].settings[0].path, "gpu.copy_engine.overhead");
    }
    limited(RIG, &[("workload.copies.size", "4 KiB")], "core", &["copies.core"], 400.0);
}

/// What a call of the runtime adds is paid by programs that wait in it, and not by those that ask the driver or queue their copies.
#[test]
fn the_call_of_the_runtime_is_the_limit() {
    let copies_of_4_kib = |runtime_call, queued| {
        let settings = [
            ("workload.copies.size", "4 KiB"),
            ("gpu.copy_engine.call", "30 us"),
            ("workload.copies.runtime_call", runtime_call),
            ("workload.copies.queued", queued),
        ];
        results(RIG, &settings)
    };
    let span_us = |found: &Results| 1e6 / copies_per_s(found);
    let [called, asked] = ["true", "false"].map(|runtime_call| copies_of_4_kib(runtime_call, "false"));
    within(0.5, span_us(&called) - span_us(&asked), 30.0);
    let limit = called.limited_by.as_ref().expect("something moved");
    assert_eq!((limit.kind, &*limit.name), ("core", "copies.core"), "{}", limit.sentence);
    assert_eq!(limit.edits[0].settings[0].path, "gpu.copy_engine.call");
    assert_eq!(
        copies_per_s(&copies_of_4_kib("true", "true")),
        copies_per_s(&copies_of_4_kib("false", "true"))
    );
}

/// Copies that are queued have the gap of the engine between them, and not the overhead of a copy that is waited for.
#[test]
fn the_gap_between_queued_copies_is_the_limit() {
    let queued = |gap| {
        let settings = [
            ("workload.copies.size", "4 KiB"),
            ("workload.copies.queued", "true"),
            ("gpu.copy_engine.gap", gap),
        ];
        results(RIG, &settings)
    };
    let found = queued("5 us");
    let limit = found.limited_by.as_ref().expect("something moved");
    assert_eq!((limit.kind, &*limit.name), ("pipeline", "copies.gap"), "{}", limit.sentence);
    assert_eq!(limit.edits[0].settings[0].path, "gpu.copy_engine.gap");
    let span_us = |gap| 1e6 / copies_per_s(&queued(gap));
    within(0.1, span_us("5 us") - span_us("1 us"), 4.0);
    let both = [("workload.copies.size", "4 KiB"), ("workload.copies.queued", "true")];
    limited(RIG, &both, "pipeline", &["copies.gap"], 100.0);
}

/// A core copies 64 KiB in their time at its rate and the time of a chunk, whatever else goes on; a copy is 128 of them, and its overhead.
#[test]
fn the_core_that_stages_copies_is_the_limit() {
    for (streams, direction) in [("1", "host-to-device"), ("1", "device-to-host"), ("2", "host-to-device")] {
        let pageable = [
            ("workload.copies.size", "8 MiB"),
            ("workload.copies.pinned", "false"),
            ("workload.copies.streams", streams),
            ("workload.copies.direction", direction),
        ];
        let found = limited(RIG, &pageable, "core", &["copies.core"], 100.0).run;
        let limit = found.limited_by.as_ref().expect("something moved");
        assert_eq!(limit.edits[0].settings[0].path, "server.pageable.copy_rate");
        let of_a_core = 8388608.0 / (128.0 * (65536.0 / 8e9 + 2e-6) + 7e-6) / 1e9;
        within(1.0, found.flows[0].goodput_gb_per_s, of_a_core * streams.parse::<f64>().expect("a number"));
    }
}

const PEERS: &str = r#"
[run]
warm_up = "600 us"
time_limit = "5 ms"
[host.server]
slots = { slot1 = "gen4 x16", slot2 = "gen4 x16" }
peer_to_peer = true
[endpoint.gpu]
count = 2
attach = "server.*"
generation = "gen4"
width = "x16"
copy_engine = { overhead = "10 us" }
[[workload]]
kind = "peer_copies"
name = "copies"
devices = ["gpu[*]"]
size = "64 KiB"
"#;

/// 64 KiB take 2.5 us, and what posts a copy takes 10: it is in use four fifths of the time, in one stream for both devices or in two.
#[test]
fn the_software_of_copies_between_peers_is_the_limit() {
    for (waiting, places) in [("both", 1.0), ("target", 2.0), ("pair", 2.0)] {
        let waits = [("workload.copies.waits_for", waiting)];
        let found = limited(PEERS, &waits, "core", &["copies.core"], 200.0).run;
        let limit = found.limited_by.as_ref().expect("something moved");
        assert_eq!(limit.edits[0].settings[0].path, "gpu.copy_engine.overhead");
        let copies: f64 = found.flows.iter().map(|flow| flow.operations_per_s).sum();
        within(1.0, limit.share, copies * 10e-6 / places);
    }
    // Large copies are limited by the wire.
    let large = [("workload.copies.size", "64 MiB"), ("workload.copies.waits_for", "pair")];
    let limit = results(PEERS, &large).limited_by.expect("something moved");
    assert_eq!(limit.kind, "wire", "{}", limit.sentence);
}
