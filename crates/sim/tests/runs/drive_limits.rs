//! What limits drives: each part of one is the only limit in turn, is named, and is in use for as long as it works.

use crate::limits::limited;
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
