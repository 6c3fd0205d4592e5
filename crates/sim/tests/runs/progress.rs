//! What a run tells while it goes on.

use crate::rig::results_of_file;
use lanewise_scenario::NativeFiles;
use lanewise_sim::{FlowUpdate, Source, Updates, load, run};
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
