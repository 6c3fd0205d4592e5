//! What holds an NVMe drive back is said by the drive.

use crate::rig::{held_back, problems, results};

const RIG: &str = r#"
[run]
warm_up = "1 ms"
time_limit = "5 ms"
[host.server]
slots = { slot1 = "gen4 x4" }
[endpoint.ssd]
part = "generic-nvme-gen4-x4"
attach = "server.slot1"
[[workload]]
kind = "fio"
name = "job"
filename = ["ssd"]
ioengine = "libaio"
rw = "randread"
bs = "4 KiB"
iodepth = 16
"#;

#[test]
fn media_controller_and_software_are_told_apart() {
    let cases: [(&[(&str, &str)], &str); 5] = [
        (&[("ssd.nvme.read_time", "1 ms")], "media"),
        (&[("ssd.nvme.read_rate", "50 MB/s")], "device"),
        (&[("ssd.nvme.command_time", "50 us")], "device"),
        (&[("server.nvme.submit_cost", "200 us")], "cpu"),
        (&[("workload.job.rw", "write"), ("ssd.nvme.write_rate", "50 MB/s")], "media"),
    ];
    for (settings, expected) in cases {
        let found = results(RIG, settings);
        let share = held_back(&found, "ssd", expected);
        // An I/O that the core takes 200 us for still spends 60 us in the media.
        assert!(share > 0.7, "{settings:?}: {expected} for {share} of the time");
    }
}

#[test]
fn a_buffer_that_holds_no_piece_is_refused() {
    assert_eq!(problems(RIG, &[("ssd.nvme.buffer", "8 KiB")]), ["out-of-range"]);
    assert_eq!(problems(RIG, &[("ssd.nvme.buffer", "8 KiB"), ("ssd.nvme.piece", "8 KiB")]), [""; 0]);
}

#[test]
fn a_drive_of_which_little_is_asked_says_so() {
    let found = results(RIG, &[("workload.job.rate_iops", "1000")]);
    let share = held_back(&found, "ssd", "nothing_asked");
    assert!(share > 0.8, "{share}");
}

/// A fast adapter has settled long before the first read of a drive is back.
#[test]
fn a_run_does_not_settle_before_a_drive_has_answered() {
    let rig = r#"
        [run]
        time_limit = "20 ms"
        [host.server]
        slots = { "slot1..slot2" = "gen4 x4" }
        [endpoint.ssd]
        part = "generic-nvme-gen4-x4"
        attach = "server.slot1"
        nvme = { read_time = "300 us" }
        [endpoint.adapter]
        generation = "gen4"
        width = "x4"
        attach = "server.slot2"
        [[workload]]
        kind = "fio"
        name = "job"
        filename = ["ssd"]
        rw = "randread"
        bs = "4 KiB"
        [[workload]]
        kind = "dma"
        name = "stream"
        device = "adapter"
        direction = "write"
        size = "16 KiB"
    "#;
    let found = results(rig, &[]);
    let job = found.flows.iter().find(|flow| flow.name == "job" && flow.direction == "read");
    assert!(job.expect("a job that reads").operations > 0);
}
