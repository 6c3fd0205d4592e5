//! What a flow counts: its rate and its latencies, also where there are few of it or none.

use crate::rig::{metric, results, results_of_file, within};

/// Of the two frames that end in the measured time, one began before it, and a third is not done at its end.
#[test]
fn frames_of_a_game_are_counted_whole() {
    let found = results_of_file("frames", &[]);
    let frames = found.flows.iter().find(|flow| flow.direction == "frames").expect("a game has frames");
    assert_eq!((frames.counted, frames.operations), ("frames", 2));
    assert!(frames.operations as f64 / found.measured_s > 68.0, "cut frames would be counted");
    within(0.1, frames.operations_per_s, metric(&found, "frames per second"));
}

#[test]
fn of_nothing_there_is_no_latency() {
    let text = r#"
        [run]
        time_limit = "1 us"
        [host.server]
        slots = { slot1 = "gen3 x8" }
        memory_latency = "5 us"
        [endpoint.nic]
        attach = "server.slot1"
        generation = "gen3"
        width = "x8"
        [[workload]]
        kind = "dma"
        name = "reads"
        device = "nic"
        direction = "read"
        size = "4 KiB"
        outstanding = 1
    "#;
    let latency = &results(text, &[]).flows[0].latency_ns;
    assert_eq!(
        (latency.count, latency.min, latency.mean, latency.stddev, latency.max),
        (0, None, None, None, None)
    );
    let some = &results(text, &[("run.time_limit", "40 us")]).flows[0].latency_ns;
    assert!(some.count > 0 && some.mean.is_some_and(|mean| mean > 5_000.0), "{some:?}");
}

const TOOLS: &str = r#"
    [run]
    time_limit = "50 ms"
    [host.server]
    slots = { slot1 = "gen3 x8", slot2 = "gen3 x8" }
    [endpoint.hba0]
    part = "lsi-sas3801e"
    attach = "server.slot1"
    [storage.disks0]
    part = "sas-15k-73gb"
    attach = "hba0"
    count = 2
    [endpoint.ssd]
    part = "samsung-970-pro"
    attach = "server.slot2"
"#;

const DISKS: &str = r#"
    [[workload]]
    kind = "iometer"
    targets = ["disks0"]
    workers = 2
    outstanding = 1
    access = [{ size = "4 KiB", percent = 100, read = 100, random = 0 }]
"#;

const DRIVE: &str = r#"
    [[workload]]
    kind = "fio"
    filename = ["ssd"]
    rw = "randread"
    bs = "4 KiB"
"#;

/// Tools of two kinds have cores of one name, and each of them counts from when measuring began.
#[test]
fn cores_of_two_tools_are_counted_apart() {
    let in_use = |loads: &[&str]| {
        let found = results([&[TOOLS], loads].concat().concat(), &[]);
        let cores = found.resources.iter().filter(|each| each.name == "server.core0");
        let mut use_of_each: Vec<f64> = cores.map(|each| each.utilisation).collect();
        use_of_each.sort_by(f64::total_cmp);
        use_of_each
    };
    let [disks, drive, both] = [&[DISKS][..], &[DRIVE], &[DISKS, DRIVE]].map(in_use);
    let mut apart = [disks, drive].concat();
    apart.sort_by(f64::total_cmp);
    assert_eq!(both.len(), 2);
    both.iter().zip(&apart).for_each(|(both, apart)| within(3.0, *both, *apart));
}
