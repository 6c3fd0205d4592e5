//! A drive that changes hosts while the run goes on: who moves what before and after, and what is refused.

use crate::rig::{Settings, problems, results as simulate};
use lanewise_sim::Results;

/// Two hosts, a chip with a partition for each, two drives at the first; one of them moves at 1 ms.
fn rig(keys: &str, more: &str) -> String {
    let job = |name: &str, drive: &str, keys: &str| {
        format!(
            "[[workload]]\nkind = \"fio\"\nname = \"{name}\"\nfilename = [\"{drive}\"]\nioengine = \"libaio\"\n\
             bs = \"64 KiB\"\niodepth = 16\n{keys}\n"
        )
    };
    let ports = "{ port0 = \"gen4 x16\", port1 = \"gen4 x4\", port2 = \"gen4 x4\" }";
    format!(
        "[run]\nwarm_up = \"400 us\"\ntime_limit = \"8 ms\"\n\
         [host.one]\nslots = {{ slot1 = \"gen4 x16\", slot2 = \"gen4 x4\" }}\n\
         [host.two]\nslots = {{ slot1 = \"gen4 x16\" }}\n\
         [switch.a]\nattach = \"one.slot1\"\nports = {ports}\n\
         [switch.b]\nattach = \"two.slot1\"\npartition_of = \"a\"\nports = {ports}\n\
         [endpoint.stays]\npart = \"generic-nvme-gen4-x4\"\nattach = \"a.port1\"\n\
         [endpoint.moves]\npart = \"generic-nvme-gen4-x4\"\nattach = \"a.port2\"\n\
         [[workload]]\nkind = \"reassign\"\nname = \"move\"\ndevice = \"moves\"\nto = \"b\"\nat = \"1 ms\"\n\
         shutdown_time = \"50 us\"\nreset_time = \"200 us\"\ntraining_time = \"100 us\"\nready_time = \"100 us\"\n\
         enumeration_time = \"100 us\"\n{more}\n{}{}{}",
        job("stays", "stays", keys),
        job("before", "moves", keys),
        job("after", "moves", &format!("{keys}\nassigned_to = \"two\"")),
    )
}

/// Goodput of a job's data in a phase, GB/s.
fn rate(results: &Results, phase: usize, job: &str) -> f64 {
    let flows =
        results.phases[phase].flows.iter().filter(|flow| flow.name == job && flow.direction != "control");
    flows.map(|flow| flow.goodput_gb_per_s).sum()
}

fn link_is_down(results: &Results, link: &str) -> f64 {
    let link = results.links.iter().find(|each| each.name == link).expect("a link of that name");
    link.upstream.time_attribution["down"].as_f64().expect("a share")
}

#[test]
fn the_drive_is_one_hosts_before_and_the_others_after() {
    for (rw, seeds) in [("read", 1), ("write", 1), ("randrw", 8)] {
        // Rates of one drive before, of the same after, and of the one that stays in each phase; a random mix scatters from seed to seed.
        let (mut before, mut after, mut stays) = (0.0, 0.0, [0.0; 3]);
        for seed in 1..=seeds {
            let longer = [
                ("run.seed", &*seed.to_string()),
                ("run.warm_up", "1 ms"),
                ("workload.move.at", "4 ms"),
                ("run.time_limit", "12 ms"),
            ];
            let results = simulate(rig(&format!("rw = \"{rw}\""), ""), &longer);
            let names: Vec<&str> = results.phases.iter().map(|phase| phase.name.as_str()).collect();
            assert_eq!(names, ["as it was at the start", "moves leaves one", "moves on two"], "{rw}");
            assert_eq!((rate(&results, 0, "after"), rate(&results, 2, "before")), (0.0, 0.0), "{rw}");
            before += rate(&results, 0, "before");
            after += rate(&results, 2, "after");
            stays.iter_mut().enumerate().for_each(|(phase, sum)| *sum += rate(&results, phase, "stays"));
        }
        for now in &stays[1..] {
            // Writes fill the buffer of the drive at first.
            assert!((now / stays[0] - 1.0).abs() < 0.1, "{rw}: {now} of {} GB/s", stays[0]);
        }
        // They fill it as quickly in the drive that moves: but for that it is as quick as before.
        let later = stays[2] / stays[0];
        assert!(
            before > 1.0 && (after / before / later - 1.0).abs() < 0.05,
            "{rw}: {before}, then {after} GB/s, while the other is at {later} of what it was"
        );
    }
}

#[test]
fn nothing_is_lost_and_every_byte_is_in_one_phase() {
    let results = simulate(rig("rw = \"read\"", ""), &[]);
    for (index, flow) in results.flows.iter().enumerate() {
        let bytes: u64 = results.phases.iter().map(|phase| phase.flows[index].bytes).sum();
        let operations: u64 = results.phases.iter().map(|phase| phase.flows[index].operations).sum();
        assert_eq!((bytes, operations), (flow.bytes, flow.operations), "{}", flow.name);
    }
    // What was under way when the drive was asked to leave came to its end.
    let drained =
        results.phases[1].flows.iter().find(|flow| flow.name == "before" && flow.direction == "read");
    let drained = drained.expect("a flow of that name").operations;
    assert!((15..=16).contains(&drained), "{drained} of 16 I/Os in flight");
}

#[test]
fn one_of_its_two_links_is_up_at_a_time_and_none_while_it_moves() {
    let results = simulate(rig("rw = \"read\"", ""), &[]);
    let (first, second) = (link_is_down(&results, "moves"), link_is_down(&results, "moves@b"));
    let measured = results.measured_s;
    let moving = 1.0 - (1.0 - first) - (1.0 - second);
    // 300 us for reset and training, and flow control is initialised within a few more.
    let down = moving * measured * 1e6;
    assert!((300.0..=303.0).contains(&down), "{down} us");
}

#[test]
fn it_can_go_back() {
    let back = "[[workload]]\nkind = \"reassign\"\nname = \"back\"\ndevice = \"moves\"\nto = \"a\"\nat = \"2 ms\"\n\
                shutdown_time = \"50 us\"\nreset_time = \"200 us\"\ntraining_time = \"100 us\"\n\
                ready_time = \"100 us\"\nenumeration_time = \"100 us\"";
    let results = simulate(rig("rw = \"read\"", back), &[]);
    assert_eq!(results.phases.len(), 5);
    let (first, last) = (rate(&results, 0, "before"), rate(&results, 4, "before"));
    assert!((last / first - 1.0).abs() < 0.05, "{first}, and in the end {last} GB/s");
    assert!(rate(&results, 2, "after") > 1.0 && rate(&results, 4, "after") == 0.0);
}

#[test]
fn a_run_goes_on_until_the_last_phase_is_known() {
    let results = simulate(rig("rw = \"read\"", ""), &[]);
    assert_eq!(results.end_reason, lanewise_sim::EndName::Converged);
    let last = results.phases.last().expect("three phases");
    assert!(last.end_s - last.start_s > 0.0002, "{} s", last.end_s - last.start_s);
    assert!(
        results.flows.iter().all(|flow| flow.confidence_half_width_percent.is_none()),
        "means over changes"
    );

    let short = simulate(rig("rw = \"read\"", ""), &[("run.time_limit", "1.2 ms")]);
    assert_eq!(short.end_reason, lanewise_sim::EndName::TimeLimit);
    assert!(short.end_detail.contains("before every drive had moved"), "{}", short.end_detail);

    // Warm-up that is found from the results ends before the drive leaves.
    let found = simulate(rig("rw = \"read\"", ""), &[("run.warm_up", "auto")]);
    assert!(found.warm_up_s <= 0.0005 && found.phases.len() == 3, "{}", found.warm_up_s);
}

#[test]
fn moves_that_cannot_be_are_refused() {
    let codes = |settings: &Settings| {
        let mut codes = problems(rig("rw = \"read\"", ""), settings);
        codes.dedup();
        codes
    };
    assert_eq!(codes(&[]), [""; 0]);
    assert!(codes(&[("workload.move.device", "moved")]).contains(&"unknown-device"));
    assert!(codes(&[("workload.move.to", "c")]).contains(&"unknown-device"));
    assert!(codes(&[("workload.move.to", "two")]).contains(&"unknown-device"), "a host is no partition");
    assert!(codes(&[("workload.move.to", "a")]).contains(&"bad-move"), "it is there");
    assert!(codes(&[("workload.move.at", "300 us")]).contains(&"bad-value"), "in the warm-up");
    assert!(codes(&[("workload.move.at", "9 ms")]).contains(&"bad-value"), "after the end");
    assert!(codes(&[("moves.nvme.capacity", "none")]).contains(&"bad-move"), "no drive");
    assert!(codes(&[("moves.attach", "one.slot2")]).contains(&"bad-move"), "in a slot of a host");
    assert!(codes(&[("moves.attach", "a.port9")]).contains(&"unknown-slot"));
    assert!(codes(&[("stays.attach", "b.port2")]).contains(&"slot-occupied"), "the port is in use");
    assert!(codes(&[("workload.stays.assigned_to", "two")]).contains(&"unknown-device"), "it never is there");
    assert!(codes(&[("workload.stays.assigned_to", "three")]).contains(&"unknown-device"), "no such host");
    let unused = [("workload.before.filename", "[\"stays\"]"), ("workload.after.filename", "[\"stays\"]")];
    let both = [unused[0], unused[1], ("workload.after.assigned_to", "auto")];
    assert_eq!(codes(&both), ["bad-move"], "no job uses it");
}
