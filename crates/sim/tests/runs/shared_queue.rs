//! What one root port does to another where both share an outbound queue: stores to a card without buffers, beside a card
//! that reads.

use crate::rig::results;

/// A card that reads memory, and one beside it with a buffer for one request of the processor, kept for 2 us.
const RIG: &str = r#"
title = "Stores to a slow card beside reads of a quick one"
[run]
warm_up = "100 us"
time_limit = "600 us"
[host.server]
slots = { slot1 = "gen1 x4", slot2 = "gen1 x4" }
completion_combine = "64 B"
shared_outbound_queue = 32
root_port_queue = 7
[endpoint.quick]
attach = "server.slot1"
generation = "gen1"
width = "x4"
[endpoint.slow]
attach = "server.slot2"
generation = "gen1"
width = "x4"
buffer_hold = "2 us"
credits = { posted_header = 1, posted_data = 16 }
[[workload]]
kind = "dma"
name = "reads"
device = "quick"
direction = "read"
size = "64 KiB"
outstanding = 4
[[workload]]
kind = "mmio"
name = "stores"
device = "slow"
direction = "write"
outstanding = 3
"#;

fn reads_gb_per_s(more: &[(&str, &str)]) -> f64 {
    results(RIG, more).flows.iter().find(|flow| flow.name == "reads").expect("it reads").goodput_gb_per_s
}

/// Three stores stand in the slow card's own queue, and its neighbour does not feel them, while completions and requests
/// are counted together. Where a root port holds one request, the others stand in the shared queue, and all behind them.
#[test]
fn a_request_that_has_to_wait_holds_up_completions_for_other_ports() {
    let together = reads_gb_per_s(&[]);
    let alone = reads_gb_per_s(&[("workload.stores.outstanding", "1")]);
    assert!((together / alone - 1.0).abs() < 0.01, "{together} beside {alone} GB/s");
    let apart = reads_gb_per_s(&[("server.root_port_request_queue", "1")]);
    assert!(apart < 0.9 * together, "{apart} of {together} GB/s");
    let roomy = reads_gb_per_s(&[("server.root_port_request_queue", "3")]);
    assert!((roomy / together - 1.0).abs() < 0.01, "{roomy} of {together} GB/s");
}

/// Where root ports have queues of their own, a request waits for the completion that is on the wire and not for all data that memory
/// has ready: completions of 64 B take 84 ns each at Gen1 x4, and thousands wait.
#[test]
fn a_load_does_not_wait_for_data_that_waits() {
    let settings = [
        ("server.shared_outbound_queue", "none"),
        ("server.completion_queue", "none"),
        ("workload.stores.device", "quick"),
        ("workload.stores.direction", "read"),
        ("workload.stores.outstanding", "1"),
    ];
    let load_ns = |outstanding: &str| {
        let settings = [&settings[..], &[("workload.reads.outstanding", outstanding)]].concat();
        let found = results(RIG, &settings);
        found
            .flows
            .iter()
            .find(|flow| flow.name == "stores")
            .expect("it loads")
            .latency_ns
            .mean
            .expect("measured")
    };
    let (beside_one, beside_many) = (load_ns("1"), load_ns("64"));
    assert!((beside_many - beside_one).abs() < 2.0 * 84.0, "{beside_many} for {beside_one} ns");
}
