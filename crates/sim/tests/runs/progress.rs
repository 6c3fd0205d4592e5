//! What a run tells while it goes on.

use crate::rig::results_of_file;
use lanewise_scenario::NativeFiles;
use lanewise_sim::{EndName, FlowUpdate, Source, Updates, load, run};
use lanewise_units::{Span, Time};
use std::ops::ControlFlow;

/// When, since when measuring, and what of the first flow.
type Told = (Span, Option<Time>, FlowUpdate);

/// A run of some milliseconds in which somebody looks at the flows at every occasion, and the goodput it came to.
fn told() -> (Vec<Told>, f64) {
    let path = format!("{}/../../scenarios/switch.toml", env!("CARGO_MANIFEST_DIR"));
    let source = Source::read(&path, &NativeFiles).expect("a file of the repository");
    let settings =
        [("run.warm_up", "2 ms"), ("run.time_limit", "6 ms"), ("run.relative_half_width", "0.00001")];
    let settings: Vec<(String, String)> =
        settings.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let scenario = load(&source, &settings).expect("a sound scenario");
    let (mut told, mut updates) = (Vec::new(), Updates::default());
    let results = run(&scenario, &mut |progress| {
        let flow = updates.next(progress).swap_remove(0);
        told.push((progress.simulated, progress.measuring_since, flow));
        ControlFlow::Continue(())
    });
    (told, results.expect("trees of devices").flows[0].goodput_gb_per_s)
}

#[test]
fn updates_add_up_to_the_whole_test_which_begins_after_the_warm_up() {
    let (told, _) = told();
    let warm_up = told.iter().filter(|(_, since, _)| since.is_none()).count();
    assert!(warm_up > 0 && told.len() > warm_up + 2, "{warm_up} of {}", told.len());
    let (mut bytes, mut before) = (0.0, 0.0);
    let mut began = None;
    for (at, since, flow) in &told {
        let at = at.as_seconds();
        let start = since.map_or(0.0, |since| (since - Time::ZERO).as_seconds());
        if began != Some(*since) {
            (began, bytes, before) = (Some(*since), 0.0, start);
        }
        bytes += flow.last.goodput_gb_per_s * (at - before);
        before = at;
        let whole = flow.whole.goodput_gb_per_s * (at - start);
        assert!((bytes - whole).abs() < 1e-9 * whole, "{bytes} and {whole}");
    }
}

#[test]
fn the_whole_test_comes_to_the_result() {
    let (told, result) = told();
    let (_, _, last) = told.last().expect("there were some");
    assert!((last.whole.goodput_gb_per_s / result - 1.0).abs() < 0.01, "{last:?}, {result}");
    let mean = last.whole.latency_ns_mean.expect("requests were completed");
    assert!(last.latency_ns_max.expect("one was the slowest") >= mean);
}

/// An update cuts a frame in two: frames a second are those that the whole ones come to, and no update tells none.
#[test]
fn frames_a_second_do_not_depend_on_when_they_are_looked_at() {
    let path = format!("{}/../../scenarios/frames.toml", env!("CARGO_MANIFEST_DIR"));
    let source = Source::read(&path, &NativeFiles).expect("a file of the repository");
    let scenario = load(&source, &[]).expect("a sound scenario");
    let (mut told, mut updates) = (Vec::new(), Updates::default());
    let results = run(&scenario, &mut |progress| {
        let flows = updates.next(progress);
        told.extend(flows.into_iter().find(|flow| flow.direction == "frames"));
        ControlFlow::Continue(())
    });
    let flows = results.expect("a sound rig").flows;
    let result = flows.iter().find(|flow| flow.direction == "frames").expect("a game").operations_per_s;
    let begun = told.iter().skip_while(|flow| flow.last.operations_per_s == 0.0);
    let rates: Vec<f64> = begun.map(|flow| flow.last.operations_per_s).collect();
    assert!(rates.len() > 1, "{told:?}");
    for rate in &rates {
        assert!((rate / result - 1.0).abs() < 0.2, "{rates:?}, {result}");
    }
    let whole = told.last().expect("there were some").whole.operations_per_s;
    // The last frame ends behind the last update.
    assert!((whole / result - 1.0).abs() < 1e-3, "{whole}, {result}");
}

/// 0.57 and 0.007 times 100 are not 57 and 0.7 in binary.
#[test]
fn the_end_says_the_interval_as_it_was_asked_for() {
    let asked = [("run.confidence_level", "57 %"), ("run.relative_half_width", "0.7 %")];
    let results = results_of_file("first_rig", &asked);
    let said = "the 57 % confidence interval of every major flow is within ±0.7 %";
    assert_eq!(results.end_detail, said);
}

/// Loads that a root port cannot take as fast as they are asked for wait, more and more of them: the run ends before they take
/// more memory than it may, and keeps what was measured.
#[test]
fn what_grows_without_end_stops_at_the_memory_limit() {
    const OPEN_LOOP: &str = r#"
        [host.server]
        slots = { slot1 = "gen1 x1" }
        [endpoint.card]
        attach = "server.slot1"
        generation = "gen1"
        width = "x1"
        [[workload]]
        kind = "mmio"
        device = "card"
        direction = "read"
        size = "4 B"
        interval = "10 ns"
    "#;
    let run = |limit: &str| {
        let settings = [("run.memory_limit", limit), ("run.warm_up", "500 ms"), ("run.time_limit", "1 s")];
        let settings = settings.map(|(path, value)| (path.to_owned(), value.to_owned()));
        let source = Source::from_text("open.toml", OPEN_LOOP);
        let scenario = load(&source, &settings).unwrap_or_else(|problems| panic!("{problems}"));
        lanewise_sim::run(&scenario, &mut |_| ControlFlow::Continue(())).expect("a tree of devices")
    };
    let (little, more) = (run("16 MiB"), run("64 MiB"));
    assert_eq!(
        (little.end_reason, more.end_reason),
        (lanewise_sim::EndName::MemoryLimit, lanewise_sim::EndName::MemoryLimit)
    );
    assert!(little.end_detail.contains("`run.memory_limit` = 16 MiB"), "{}", little.end_detail);
    assert!(little.flows[0].operations > 0 && little.events < more.events, "{}", little.events);
}

/// No more events than were asked for, however few, and however the run is cut into stretches.
#[test]
fn a_run_has_as_many_events_as_its_limit_says() {
    for limit in [1, 2, 4_095, 4_096, 4_097, 40_000, 200_001] {
        for warm_up in ["auto", "0 ns", "3 us"] {
            let written = limit.to_string();
            let settings = [
                ("run.event_limit", written.as_str()),
                ("run.warm_up", warm_up),
                ("run.relative_half_width", "0.00001"),
            ];
            let results = results_of_file("switch", &settings);
            assert_eq!(
                (results.end_reason, results.events),
                (lanewise_sim::EndName::EventLimit, limit),
                "{warm_up}"
            );
        }
    }
}

/// Behind a warm-up that is given, batches have a length that the time limit may leave no room for: the end says how much would.
#[test]
fn a_warm_up_that_leaves_no_time_for_an_interval_is_named() {
    let path = format!("{}/../../scenarios/switch.toml", env!("CARGO_MANIFEST_DIR"));
    let run_for = |limit: &str| {
        let settings = [("run.warm_up", "200 us"), ("run.time_limit", limit)];
        let settings = settings.map(|(path, value)| (path.to_owned(), value.to_owned()));
        let source = Source::read(&path, &NativeFiles).expect("a file of the repository");
        let scenario = load(&source, &settings).expect("a sound scenario");
        run(&scenario, &mut |_| ControlFlow::Continue(())).expect("trees of devices")
    };
    let short = run_for("599 us");
    assert_eq!(short.flows[0].confidence_half_width_percent, None);
    let hint = "with this run.warm_up, run.time_limit is at least 600 us";
    assert!(short.end_detail.contains(hint), "{}", short.end_detail);
    let enough = run_for("600 us");
    assert!(enough.flows[0].confidence_half_width_percent.is_some(), "{}", enough.end_detail);
    assert!(!enough.end_detail.contains("run.warm_up"), "{}", enough.end_detail);
}

/// Requests that are always open in the same number wait as long as Little's law says, however many they are: those that were
/// begun while the queue filled count for nothing.
#[test]
fn latencies_are_of_queues_that_have_filled() {
    for outstanding in [4, 64, 256, 1024] {
        let results = crate::rig::results(
            format!(
                "[host.server]\nslots = {{ slot1 = \"gen3 x4\" }}\n[endpoint.nic]\nattach = \"server.slot1\"\ngeneration = \"gen3\"\n\
             width = \"x4\"\n[[workload]]\nkind = \"dma\"\nname = \"w\"\ndevice = \"nic\"\ndirection = \"write\"\nsize = \"4 KiB\"\n\
             outstanding = {outstanding}\n"
            ),
            &[],
        );
        let flow = &results.flows[0];
        let latency = flow.operation_latency_ns.as_ref().expect("a transfer is an operation");
        let little = f64::from(outstanding) * 4096.0 / flow.goodput_gb_per_s;
        let mean = latency.mean.expect("transfers were done");
        assert!((mean / little - 1.0).abs() < 0.01, "{outstanding}: {mean} of {little} ns");
        assert!(!results.end_detail.contains("too short"), "{}", results.end_detail);
    }
}

/// Where a warm-up is given that is too short for that, or the time limit is, the end says so.
#[test]
fn latencies_of_queues_that_still_fill_are_told() {
    let many = "size = \"4 KiB\"\noutstanding = 256";
    for (settings, load, tells) in [
        ("warm_up = \"20 us\"", many, true),
        ("warm_up = \"2 ms\"", many, false),
        ("time_limit = \"100 us\"", many, true),
        // Transfers of 70 us that follow each other: each takes as long, whenever it has begun.
        ("warm_up = \"60 us\"", "size = \"256 KiB\"\noutstanding = 1", false),
        ("warm_up = \"60 us\"", "size = \"256 KiB\"\noutstanding = 4", true),
    ] {
        let results = crate::rig::results(
            format!(
                "[run]\n{settings}\n[host.server]\nslots = {{ slot1 = \"gen3 x4\" }}\n[endpoint.nic]\nattach = \"server.slot1\"\n\
                 generation = \"gen3\"\nwidth = \"x4\"\n[[workload]]\nkind = \"dma\"\nname = \"w\"\ndevice = \"nic\"\n\
                 direction = \"write\"\n{load}\n"
            ),
            &[],
        );
        let told = results.end_detail.contains("latencies of w of nic (write)");
        assert_eq!(told, tells, "{settings}, {load}: {}", results.end_detail);
    }
}

/// Copies longer than the longest warm-up: their rate is the same all the time, and all that lacks is that some have ended.
#[test]
fn long_operations_are_too_few_to_tell_whether_throughput_has_settled() {
    for (size, tells) in [("4 MiB", true), ("4 KiB", false)] {
        let results = crate::rig::results(
            format!(
                "[run]\ntime_limit = \"3 ms\"\n[host.server]\nslots = {{ slot1 = \"gen3 x4\" }}\n[endpoint.gpu]\n\
                 part = \"nvidia-a100-pcie\"\nattach = \"server.slot1\"\n[[workload]]\nkind = \"copy\"\ndevice = \"gpu\"\n\
                 direction = \"device-to-host\"\nsize = \"{size}\"\n"
            ),
            &[],
        );
        let told = |words: &str| results.end_detail.contains(words);
        assert_eq!(
            told("too few operations had ended when measuring began"),
            tells,
            "{}",
            results.end_detail
        );
        assert!(!told("had not settled") && !told("too short"), "{}", results.end_detail);
    }
}

/// Two loads of one device on two virtual channels, of which one may leave the other nothing.
fn on_two_channels(direction: &str, arbitration: &str) -> lanewise_sim::Results {
    let load = |name: &str, class: u8| {
        format!(
            "[[workload]]\nkind = \"dma\"\nname = \"{name}\"\ndevice = \"nic\"\ndirection = \"{direction}\"\nsize = \"4 KiB\"\n\
             outstanding = 16\ntraffic_class = {class}\n"
        )
    };
    crate::rig::results(
        format!(
            "[run]\ntime_limit = \"1 ms\"\n[host.server]\nslots = {{ slot1 = \"gen3 x8\" }}\nmemory_latency = \"1 us\"\n[endpoint.nic]\n\
             attach = \"server.slot1\"\ngeneration = \"gen3\"\nwidth = \"x8\"\ntags = 8\nlink = {{ virtual_channels = [[7]] }}\n\
             channels = {{ arbitration = \"{arbitration}\" }}\n{}{}",
            load("bulk", 0),
            load("urgent", 7)
        ),
        &[],
    )
}

/// A flow that others leave nothing has no interval, and does not decide when a run ends: the end names it.
#[test]
fn a_flow_that_moves_nothing_is_told() {
    for (direction, starves) in [("write", "wire"), ("read", "tags")] {
        let fair = on_two_channels(direction, "round-robin");
        assert!(!fair.end_detail.contains("moved nothing"), "{}", fair.end_detail);
        let [bulk, urgent] = &fair.flows[..] else { panic!("two flows") };
        crate::rig::within(5.0, bulk.goodput_gb_per_s, urgent.goodput_gb_per_s);
        let strict = on_two_channels(direction, "strict");
        assert_eq!(strict.end_reason, EndName::Converged, "{}", strict.end_detail);
        let told = format!("; bulk of nic ({direction}) moved nothing in the measured time");
        assert!(strict.end_detail.ends_with(&told), "{}", strict.end_detail);
        let limit = strict.flows[0].limited_by.as_ref().expect("something holds it up");
        assert_eq!((strict.flows[0].bytes, limit.kind), (0, starves), "{}", limit.words);
    }
}
