//! What limits drives: each part of one is the only limit in turn, is named, and is in use for as long as it works.

use crate::limits::{Proof, limited};
use crate::rig::{results, within};
use lanewise_sim::{Resource, Results};

/// A fast host and eight jobs, so that the drive is the limit.
const RIG: &str = r#"
[host.server]
slots = { slot1 = "gen4 x4" }
[endpoint.ssd]
generation = "gen4"
width = "x4"
attach = "server.slot1"
nvme = { capacity = "1 TB" }
[[workload]]
kind = "fio"
name = "job"
filename = ["ssd"]
rw = "randread"
bs = "4 KiB"
iodepth = 128
numjobs = 8
ioengine = "io_uring"
"#;

fn part<'r>(results: &'r Results, name: &str) -> &'r Resource {
    results.resources.iter().find(|resource| resource.name == name).expect("it was used")
}

fn operations(results: &Results) -> f64 {
    results.flows.iter().map(|flow| flow.operations_per_s).sum()
}

/// All commands are asked for at once. Before the data path has most of them, the controller works off its queue at its own rate,
/// and data gathers before the data path.
#[test]
fn the_data_path_is_the_limit_and_the_controller_works_for_what_passes_it() {
    let found = limited(RIG, &[], "pipeline", &["ssd.read_path"], 16.0).run;
    assert!(part(&found, "ssd.read_path").utilisation > 0.999);
    // A microsecond a command.
    within(0.1, part(&found, "ssd.controller").utilisation, operations(&found) * 1e-6);
    within(0.1, operations(&found), 3.5e9 / 4096.0);
}

/// More is asked for than fits the buffer: all its room is given away from the start, and it fills for up to a third of a run.
#[test]
fn a_write_buffer_that_fills_is_warm_up() {
    for buffer in ["16 MiB", "64 MiB"] {
        let settings = [
            ("workload.job.rw", "write"),
            ("workload.job.bs", "128 KiB"),
            ("ssd.nvme.buffer", buffer),
            ("ssd.nvme.preconditioned", "false"),
        ];
        let found = results(RIG, &settings);
        let write =
            found.flows.iter().find(|flow| flow.direction == "write").expect("a job has a flow of writes");
        within(0.1, write.goodput_gb_per_s, 3.0);
    }
}

/// Scattered writes have a rate of their own, and that is what is named, and doubled.
#[test]
fn the_rate_of_scattered_writes_is_the_limit() {
    let slow = [("workload.job.rw", "randwrite"), ("ssd.nvme.random_write_rate", "0.5 GB/s")];
    let found = limited(RIG, &slow, "pipeline", &["ssd.write_path"], 500.0).run;
    let limit = found.limited_by.as_ref().expect("something moved");
    assert!(limit.sentence.contains("(ssd.write_path, 500 MB/s for scattered writes)"), "{}", limit.sentence);
    let paths: Vec<&str> =
        limit.edits.iter().flat_map(|edit| &edit.settings).map(|each| each.path.as_str()).collect();
    assert_eq!(paths, ["ssd.nvme.random_write_rate"]);
    within(0.1, operations(&found), 0.5e9 / 4096.0);
}

/// Without a batch, a drive reads one command at a time: there are as many commands as reads of host memory fit, and by Little's law
/// those that wait are all the others.
#[test]
fn the_fetching_of_commands_is_the_limit() {
    let one = [
        ("ssd.nvme.fetch_batch", "1"),
        ("ssd.nvme.command_time", "0.1 us"),
        ("ssd.nvme.dies", "4096"),
        ("ssd.nvme.read_rate", "7 GB/s"),
        ("workload.job.bs", "512 B"),
        ("server.nvme.cores", "64"),
        ("workload.job.numjobs", "32"),
        ("workload.job.iodepth", "32"),
    ];
    let found = limited(RIG, &one, "command_fetch", &["ssd.fetch"], 50.0).run;
    let fetch = part(&found, "ssd.fetch");
    assert!(fetch.utilisation > 0.999, "{fetch:?}");
    let waited = fetch.waited_ns_mean.expect("commands wait") * 1e-9;
    within(1.0, fetch.waiting_mean.expect("commands wait"), operations(&found) * waited);
    // With a batch that is never full, the drive fetches all the time, and no fetch holds a command up.
    let many = [&one[1..], &[("ssd.nvme.fetch_batch", "1024")]].concat();
    let free = results(RIG, &many);
    assert!(part(&free, "ssd.fetch").utilisation < 0.1);
    // Fetches that wait behind data are under way all the time, too.
    let behind = [
        ("workload.job.rw", "write"),
        ("workload.job.bs", "128 KiB"),
        ("ssd.nvme.write_rate", "20 GB/s"),
        ("server.read_bandwidth", "4 GB/s"),
    ];
    limited(RIG, &behind, "memory_reads", &["server.read_bandwidth"], 50.0);
}

/// An engine that waits for each I/O has as many outstanding as there are jobs: more of these are the proof, and what is proposed first.
#[test]
fn jobs_that_wait_are_what_is_outstanding() {
    let waits =
        [("workload.job.ioengine", "psync"), ("workload.job.iodepth", "1"), ("workload.job.numjobs", "2")];
    let found = limited(RIG, &waits, "window", &["ssd.window"], 500.0).run;
    let limit = found.limited_by.as_ref().expect("something moved");
    let settings = limit.edits.iter().flat_map(|edit| &edit.settings);
    let paths: Vec<&str> = settings.map(|each| each.path.as_str()).collect();
    assert_eq!(paths, ["workload.job.numjobs", "workload.job.bs"]);
}

/// One I/O at a time is in the flash most of its time, and on a core for a part of it: a tenth of that time is tried, though nobody
/// waits for either.
#[test]
fn where_the_only_operation_is_can_be_shortened() {
    let one =
        [("workload.job.ioengine", "psync"), ("workload.job.iodepth", "1"), ("workload.job.numjobs", "1")];
    let Proof { run, larger, .. } = limited(RIG, &one, "window", &["ssd.window"], 500.0);
    let gain = |kind: &str| larger.iter().find(|each| each.kind == kind).map(|each| each.gain_percent);
    // With s of the time in it, a tenth of it brings 1 / (1 − 0.9 s) − 1.
    for (kind, name) in [("media", "ssd.media"), ("core", "server.core0")] {
        let part = part(&run, name);
        let share = part.utilisation * f64::from(part.places);
        within(3.0, 1.0 + gain(kind).expect("it is tried") / 100.0, 1.0 / (1.0 - 0.9 * share));
    }
}

/// A job on one host, its drive on another.
const FAR: &str = r#"
[run]
time_limit = "20 ms"
[host.near]
slots = { slot1 = "gen4 x16" }
[host.far]
slots = { slot1 = "gen4 x16", slot2 = "gen4 x4" }
[endpoint.nic_near]
part = "mellanox-connectx-5"
attach = "near.slot1"
[endpoint.nic_far]
part = "mellanox-connectx-5"
attach = "far.slot1"
[endpoint.ssd]
part = "generic-nvme-gen4-x4"
attach = "far.slot2"
[network.cable]
kind = "roce"
rate = "100 Gb/s"
ends = ["nic_near.port1", "nic_far.port1"]
[[workload]]
kind = "fio"
name = "job"
filename = ["ssd"]
network = "cable"
rw = "randread"
bs = "4 KiB"
iodepth = 64
ioengine = "libaio"
rate = "100 MB/s"
"#;

/// A job that is held to a rate has less open than it may.
#[test]
fn the_rate_of_a_job_is_the_limit() {
    for (slow, asked) in [("workload.job.rate", "100 MB/s"), ("workload.job.thinktime", "5 ms")] {
        let found = limited(RIG, &[(slow, asked)], "demand", &["ssd.demand"], 100.0).run;
        let limit = found.limited_by.as_ref().expect("something moved");
        assert_eq!(limit.edits[0].settings[0].path, slow);
        let open: f64 = found
            .flows
            .iter()
            .map(|flow| flow.operations_per_s * flow.latency_ns.mean.unwrap_or_default() * 1e-9)
            .sum();
        within(1.0, limit.share, 1.0 - open / 1024.0);
    }
    // Across a network, adapters see the same I/Os.
    let far = results(FAR, &[]).limited_by.expect("something moved");
    assert_eq!((far.kind, far.of_goodput > 0.99), ("demand", true), "{}", far.sentence);
    assert_eq!(far.edits[0].settings[0].path, "workload.job.rate");
    let faster = results(FAR, &[("workload.job.rate", "400 MB/s")]);
    within(2.0, operations(&faster), 4.0 * operations(&results(FAR, &[])));
    // What a job may have open is the limit when its rate is not reached.
    let deep =
        [("workload.job.rate", "100 MB/s"), ("workload.job.iodepth", "1"), ("ssd.nvme.read_time", "200 us")];
    let window = results(RIG, &deep).limited_by.expect("something moved");
    assert_eq!(window.kind, "window", "{}", window.sentence);
}

/// Eight drives behind an adapter, one at each wire, which is faster than they are.
const ADAPTER: &str = r#"
[run]
time_limit = "200 ms"
[host.server]
slots = { slot1 = "gen3 x8" }
[endpoint.hba]
generation = "gen3"
width = "x8"
attach = "server.slot1"
adapter = { wire = "sas-3g", ports = 8, command_time = "1 us" }
[storage.disk]
count = 8
attach = "hba"
read_rate = "200 MB/s"
write_rate = "200 MB/s"
read_overhead = "10 us"
write_overhead = "10 us"
positioning = "0 ns"
positioning_variation = "0 ns"
[[workload]]
kind = "iometer"
name = "io"
targets = ["disk"]
workers = 8
outstanding = 4
access = [{ size = "64 KiB", percent = 100, read = 100, random = 0 }]
"#;

/// A drive serves one command at a time: 10 us, and 64 KiB at its rate.
#[test]
fn the_media_of_drives_behind_an_adapter_are_the_limit() {
    let names: Vec<String> = (0..8).map(|drive| format!("hba.disk[{drive}].media")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = limited(ADAPTER, &[], "media", &names, 30.0).run;
    let limit = found.limited_by.as_ref().expect("something moved");
    assert_eq!(limit.edits[0].settings[0].path, "disk.read_rate");
    let media: Vec<&Resource> = names.iter().map(|name| part(&found, name)).collect();
    let served: u64 = media.iter().map(|each| each.served).sum();
    let goodput: f64 = found.flows.iter().map(|flow| flow.goodput_gb_per_s).fold(0.0, f64::max);
    within(0.5, goodput, 8.0 * 65.536e-6 / (10e-6 + 65536.0 / 200e6));
    within(3.0, served as f64, operations(&found) * found.measured_s);
    for each in media {
        assert!(each.utilisation > 0.99 && each.utilisation < 1.0 + 1e-9, "{each:?}");
        // Four are outstanding, one of which the media has, and others are on their way: three wait, but for what begins and ends at
        // the edges of the window.
        assert!((2.5..=3.1).contains(&each.waiting_mean.expect("commands wait")), "{each:?}");
    }
    // Most of a small command's time is its overhead.
    let small = [("workload.io.access", r#"[{ size = "512 B", percent = 100, read = 100, random = 0 }]"#)];
    let found = results(ADAPTER, &[&small[..], &[("disk.read_overhead", "1 ms")]].concat());
    let limit = found.limited_by.as_ref().expect("something moved");
    assert_eq!(limit.kind, "media", "{}", limit.sentence);
    within(1.0, operations(&found), 8.0 / (1e-3 + 512.0 / 200e6));
}

/// Wires that drives share with nobody, and that carry 3 Gb/s of theirs each.
#[test]
fn the_wires_of_an_adapter_are_the_limit() {
    let found = results(ADAPTER, &[("disk.read_rate", "2 GB/s"), ("disk.read_overhead", "0 ns")]);
    let limit = found.limited_by.expect("something moved");
    assert_eq!(limit.kind, "wire_beyond", "{}", limit.sentence);
    assert!(limit.name.ends_with(".wire_in") && limit.share > 0.9, "{}", limit.sentence);
}

/// Fast drives, and less room in their adapter than its eight wires have under way: most of them are idle, because data wait for room.
#[test]
fn the_buffers_of_an_adapter_are_the_limit() {
    let fast = [
        ("disk.read_rate", "2 GB/s"),
        ("disk.write_rate", "2 GB/s"),
        ("disk.read_overhead", "0 ns"),
        ("disk.write_overhead", "0 ns"),
    ];
    let writes = ("workload.io.access", r#"[{ size = "64 KiB", percent = 100, read = 0, random = 0 }]"#);
    let reads = ("workload.io.access", r#"[{ size = "64 KiB", percent = 100, read = 100, random = 0 }]"#);
    for (access, size, name) in [
        (writes, ("hba.adapter.write_buffer", "4 KiB"), "hba.write_buffer"),
        (reads, ("hba.adapter.read_buffer", "2 KiB"), "hba.read_buffer"),
    ] {
        let settings = [&fast[..], &[access, size]].concat();
        let found = limited(ADAPTER, &settings, "adapter_buffer", &[name], 100.0);
        let buffer = part(&found.run, name);
        assert!(
            buffer.utilisation <= 1.0 && buffer.waiting_mean.is_some_and(|share| share > 0.9),
            "{buffer:?}"
        );
        // Room enough, and the wires are the limit, which are busy then.
        let limit = results(ADAPTER, &[&fast[..], &[access]].concat()).limited_by.expect("something moved");
        assert_eq!(limit.kind, "wire_beyond", "{}", limit.sentence);
        assert!(limit.name.starts_with("hba.port") && limit.share > 0.9, "{}", limit.sentence);
    }
}

/// One wire, and room for less than a frame more than it carries: whatever waits for room waits for the wire first.
#[test]
fn a_buffer_that_is_full_behind_a_full_wire_is_no_limit() {
    let one = [
        ("hba.adapter.ports", "1"),
        ("disk.count", "1"),
        ("disk.write_rate", "2 GB/s"),
        ("disk.write_overhead", "0 ns"),
        ("hba.adapter.write_buffer", "8 KiB"),
        ("workload.io.workers", "1"),
        ("workload.io.access", r#"[{ size = "64 KiB", percent = 100, read = 0, random = 0 }]"#),
    ];
    let found = results(ADAPTER, &one);
    let limit = found.limited_by.as_ref().expect("something moved");
    assert_eq!(limit.name, "hba.port0.wire_out", "{}", limit.sentence);
    let room = results(ADAPTER, &[&one[..], &[("hba.adapter.write_buffer", "80 KiB")]].concat());
    within(2.0, room.flows[1].goodput_gb_per_s, found.flows[1].goodput_gb_per_s);
}
