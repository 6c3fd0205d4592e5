//! Shared resources in results: how much they were in use, how long others waited.

use crate::rig::results;
use lanewise_sim::{Resource, Results};

/// A device that writes or reads as fast as its link lets it: 28 GB/s and more, if the host takes that much.
const RIG: &str = r#"
title = "One device"
[host.server]
slots = { slot1 = "gen4 x16" }
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
tags = 256
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "write"
size = "64 KiB"
outstanding = 4
"#;

fn resource<'a>(results: &'a Results, name: &str) -> &'a Resource {
    let found = results.resources.iter().find(|resource| resource.name == name);
    found.unwrap_or_else(|| panic!("no {name} among {:?}", results.resources))
}

/// Memory that is the limit is in use all the time, its goodput is its rate, and somebody always waits for it.
#[test]
fn memory_at_its_limit_is_in_the_results() {
    let slow = results(RIG, &[("server.memory_bandwidth", "10 GB/s")]);
    let memory = resource(&slow, "server.memory");
    assert!((slow.flows[0].goodput_gb_per_s - 10.0).abs() < 0.02, "{}", slow.flows[0].goodput_gb_per_s);
    assert!(memory.utilisation > 0.998 && memory.utilisation <= 1.0, "{memory:?}");
    assert!(memory.waiting_mean.is_some_and(|waiting| waiting > 1.0), "{memory:?}");
    let fast = results(RIG, &[]);
    let goodput = fast.flows[0].goodput_gb_per_s;
    // The use is what is asked of it: 400 GB/s by default.
    let used = resource(&fast, "server.memory").utilisation * 400.0;
    assert!((used / goodput - 1.0).abs() < 0.01, "{used} GB/s of memory for {goodput} GB/s");
}

/// Of so many engines so many are in use: requests a second times the time that one has an engine (Little's law).
#[test]
fn engines_are_in_use_as_littles_law_has_it() {
    let read = ("workload.stream.direction", "read");
    let few = results(RIG, &[read, ("server.stack.read_trackers", "4")]);
    let engines = resource(&few, "server.stack0.read_trackers");
    assert!(engines.utilisation > 0.99 && engines.utilisation <= 1.0, "{engines:?}");
    // All 256 tags are out. Those that are not in an engine wait for one, as many as the root port has credits for.
    let waiting = engines.waiting_mean.expect("counted");
    assert!((100.0..252.0).contains(&waiting), "{engines:?}");
    let many = results(RIG, &[read, ("server.stack.read_trackers", "1024")]);
    let engines = resource(&many, "server.stack0.read_trackers");
    assert!(engines.utilisation < 0.3 && engines.waiting_mean == Some(0.0), "{engines:?}");
}

/// A cache of translations that always misses: as many walks as requests, each as long as its steps.
#[test]
fn walkers_are_in_use_for_as_long_as_they_walk() {
    let found = results(
        RIG,
        &[
            ("workload.stream.direction", "read"),
            ("workload.stream.size", "512 B"),
            ("workload.stream.stride", "4 KiB"),
            ("workload.stream.span", "1 GiB"),
            ("workload.stream.order", "random"),
            ("workload.stream.outstanding", "64"),
            ("server.iommu.enabled", "true"),
            ("server.iommu.walkers", "2"),
        ],
    );
    let walkers = resource(&found, "server.iommu.walkers");
    assert_eq!(walkers.places, 2);
    assert!(walkers.utilisation > 0.99 && walkers.utilisation <= 1.0, "{walkers:?}");
    assert!(walkers.waiting_mean.is_some_and(|waiting| waiting > 10.0), "{walkers:?}");
}
