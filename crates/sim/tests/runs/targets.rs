//! A host and a SmartNIC as targets of NVMe over Fabrics: the same job over both files of `scenarios/`.

use crate::rig::{Settings, metric, results_of_file};

const HOST: &str = "nvme_over_fabrics";
const SMART_NIC: &str = "nvme_over_fabrics_smartnic";
/// One small read at a time.
const ONE: [(&str, &str); 4] = [
    ("workload.read.iodepth", "1"),
    ("workload.read.numjobs", "1"),
    ("workload.read.bs", "4 KiB"),
    ("run.time_limit", "2 ms"),
];

fn latency_us(name: &str, settings: &Settings) -> f64 {
    metric(&results_of_file(name, &[&ONE, settings].concat()), "read.read.lat_ns.mean") / 1e3
}

#[test]
fn both_fill_the_wire_with_large_reads() {
    for name in [HOST, SMART_NIC] {
        // 100 Gb/s in packets of 4096 B carry 12.255 GB/s of payload; capsules and whole I/Os are worth 2 %.
        let rate = metric(&results_of_file(name, &[]), "read.read.bw_bytes") / 1e9;
        assert!((12.0..=12.5).contains(&rate), "{name}: {rate} GB/s");
    }
}

#[test]
fn the_slower_cores_of_a_smart_nic_show_in_one_small_read() {
    let (host, smart_nic) = (latency_us(HOST, &[]), latency_us(SMART_NIC, &[]));
    assert!((2.0..=5.0).contains(&(smart_nic - host)), "{host} and {smart_nic} us");
    let quick = latency_us(SMART_NIC, &[("target.nvme_target.core_speed", "100")]);
    // 4.5 us of command and response and 66 ns of a page, at 66 % of the speed.
    let expected = 4.566 * (100.0 / 66.0 - 1.0);
    assert!(
        (smart_nic - quick - expected).abs() < 0.05,
        "{} us less, {expected} expected",
        smart_nic - quick
    );
}

#[test]
fn which_of_them_a_target_is_can_be_said_from_outside() {
    let parts = [("target.part", "broadcom-stingray-ps1100r"), ("nic_target.part", "broadcom-stingray-nic")];
    assert_eq!(latency_us(HOST, &parts), latency_us(SMART_NIC, &[]));
}

#[test]
fn a_target_that_polls_saves_its_interrupts() {
    let saved = latency_us(HOST, &[]) - latency_us(HOST, &[("target.nvme_target.completions", "polling")]);
    // Two interrupts of 1 us, and the write of the drive's, which its completion may hide.
    assert!((1.99..=2.2).contains(&saved), "{saved} us");
}
