//! The storage subsystem on the real fabric: what limits what, and that nothing is lost.

use crate::rig::*;
use lanewise_observe::RequesterState;
use lanewise_units::{Bytes, Span, Width};
use lanewise_workload::load::iometer::StorageConfig;

/// Payload that memory writes of 128 B with 3 DW headers can carry over Gen1 x4, skip ordered sets taken off, MB/s.
const X4_WRITE_CEILING: f64 = 862.3;

fn quick(attachment: Attachment, storage: StorageConfig) -> Run {
    run(&fabric(attachment, root_complex()), storage, Span::from_ms(6), Span::from_ms(10))
}

#[track_caller]
fn assert_near(found: f64, expected: f64, percent: f64) {
    let off = (found / expected - 1.0) * 100.0;
    assert!(off.abs() <= percent, "{found} is {off:.2} % off {expected}");
}

#[test]
fn one_drive_reads_at_its_rate() {
    let mut storage = subsystem(1, vec![group("read", 0..1, reads())]);
    storage.drives[0].config.read_rate = mb_per_s(100);
    let run = quick(Attachment::Slots(Width::X8), storage);
    assert_near(run.goodput("read", "read"), 100.0, 1.0);
}

#[test]
fn sixteen_drives_saturate_two_links_of_four_lanes() {
    let run = quick(Attachment::Slots(Width::X4), subsystem(8, vec![group("read", 0..16, reads())]));
    let goodput = run.goodput("read", "read");
    assert!(goodput <= 2.0 * X4_WRITE_CEILING, "{goodput} MB/s is above the ceiling");
    assert_near(goodput, 2.0 * X4_WRITE_CEILING, 0.5);
}

#[test]
fn behind_a_switch_both_adapters_share_the_upstream_link() {
    let run = quick(Attachment::Switch(Width::X8), subsystem(8, vec![group("read", 0..16, reads())]));
    let goodput = run.goodput("read", "read");
    // One x8 link carries what two x4 links do.
    assert!(goodput <= 2.0 * X4_WRITE_CEILING, "{goodput} MB/s is above the ceiling");
    assert_near(goodput, 2.0 * X4_WRITE_CEILING, 1.0);
}

#[test]
fn the_host_memory_path_limits_reads_over_wide_links() {
    let mut root = root_complex();
    root.write_bandwidth = mb_per_s(2500);
    let config = fabric(Attachment::Slots(Width::X8), root);
    let storage = subsystem(8, vec![group("read", 0..16, reads())]);
    let run = run(&config, storage, Span::from_ms(4), Span::from_ms(6));
    assert_near(run.goodput("read", "read"), 2500.0, 0.5);
}

#[test]
fn an_adapter_reads_no_faster_than_its_internal_path() {
    let mut storage = subsystem(8, vec![group("read", 0..8, reads())]);
    storage.hbas[0].internal_read_bandwidth = Some(mb_per_s(1400));
    let run = quick(Attachment::Slots(Width::X8), storage);
    assert_near(run.goodput("read", "read"), 1400.0, 1.5);
}

#[test]
fn an_adapter_says_what_it_waits_for() {
    // Slow media behind fast wires; fast media behind one wire for all; software slower than the drives.
    let mut slow_media = subsystem(1, vec![group("read", 0..1, reads())]);
    slow_media.drives[0].config.read_rate = mb_per_s(20);
    let mut one_wire = subsystem(4, vec![group("read", 0..4, reads())]);
    one_wire.drives.iter_mut().for_each(|drive| drive.port = 0);
    let mut slow_software = subsystem(1, vec![group("read", 0..1, reads())]);
    slow_software.host.submit_cost = Span::from_ms(2);
    for (storage, expected) in [
        (slow_media, RequesterState::Media),
        (one_wire, RequesterState::Wire),
        (slow_software, RequesterState::Cpu),
    ] {
        let run = quick(Attachment::Slots(Width::X8), storage);
        let share = run.held_back(0, expected);
        assert!(share > 0.5, "{}: {share}", expected.name());
    }
}

#[test]
fn one_adapter_reads_while_the_other_writes() {
    let groups = vec![group("reads", 0..8, reads()), group("writes", 8..16, writes())];
    let mut storage = subsystem(8, groups);
    for drive in &mut storage.drives {
        drive.config.write_rate = mb_per_s(40);
        drive.config.buffer = Bytes::from_kib(64);
    }
    let run = quick(Attachment::Slots(Width::X4), storage);
    assert_near(run.goodput("reads", "read"), X4_WRITE_CEILING, 0.5);
    assert_near(run.goodput("writes", "write"), 8.0 * 40.0, 5.0);
    assert_eq!(run.goodput("reads", "write") + run.goodput("writes", "read"), 0.0);
}

#[test]
fn bytes_moved_are_bytes_asked_for() {
    let run = quick(Attachment::Switch(Width::X4), subsystem(8, vec![group("mix", 0..16, mix())]));
    let flows = run.simulation.fabric.observers().flows();
    for (direction, size) in [("read", 310 * 1024), ("write", 64 * 1024)] {
        let flow = flows.iter().find(|flow| flow.spec.direction == direction).expect("a flow each way");
        let (payload, finished) = (flow.payload().get(), flow.operations() * size);
        // Sixteen I/Os are under way at either end of the window.
        assert!(payload.abs_diff(finished) <= 16 * size, "{direction}: {payload} B for {finished} B");
        assert!(flow.operations() > 20);
    }
}

#[test]
fn the_same_run_twice_is_the_same_run() {
    let once = || {
        let mut storage = subsystem(4, vec![group("mix", 0..8, mix())]);
        for drive in &mut storage.drives {
            drive.config.positioning_variation = Span::from_us(4000);
        }
        let run = quick(Attachment::Switch(Width::X4), storage);
        let values: Vec<f64> = run.metrics.iter().map(|metric| metric.value).collect();
        (run.simulation.fabric.observers().fingerprint(), run.simulation.events_handled(), values)
    };
    assert_eq!(once(), once());
}

#[test]
fn iometer_agrees_with_the_flows() {
    let storage = subsystem(4, vec![group("read", 0..8, reads())]);
    let config = fabric(Attachment::Slots(Width::X8), root_complex());
    let run = run(&config, storage, Span::from_ms(5), Span::from_ms(40));
    // MiB/s; and I/Os are counted when they end, bytes as they move.
    assert_near(run.metric("Total MBs per Second") * 1.048576, run.goodput("read", "read"), 3.0);
    assert_eq!(run.metric("Total Error Count"), 0.0);
}
