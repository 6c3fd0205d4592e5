//! A session: stopped anywhere, looked into, and let go on.

use crate::rig::scenario;
use lanewise_scenario::NativeFiles;
use lanewise_sim::{Ends, Results, Scenario, Session, Source, Status, load, run};
use lanewise_units::{Span, Time};
use std::ops::ControlFlow;

fn file(name: &str) -> Scenario {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let source = Source::read(&path, &NativeFiles).expect("a file of the repository");
    let settings = [("run.time_limit", "4 ms"), ("run.relative_half_width", "0.001")];
    let settings = settings.map(|(path, value)| (path.to_owned(), value.to_owned()));
    load(&source, &settings).unwrap_or_else(|found| panic!("{found}"))
}

fn text(results: &Results) -> String {
    serde_json::to_string(results).expect("results are JSON")
}

fn whole(scenario: &Scenario) -> String {
    text(&run(scenario, &mut |_| ControlFlow::Continue(())).expect("trees of devices"))
}

/// Links that replay, sleep, carry flits or change hands are among these.
const FILES: [&str; 5] = ["switch", "replay", "nvme_fio", "flit", "drives_change_hosts"];

#[test]
fn a_run_in_pieces_of_any_length_is_the_run() {
    for name in FILES {
        let scenario = file(name);
        let whole = whole(&scenario);
        for piece in [Span::from_ns(777), Span::from_us(8), Span::from_us(33)] {
            let mut session = Session::of(&scenario, Ends::WhenNarrow).expect("trees of devices");
            let mut stops = 0;
            while session.step(session.now() + piece) == Status::Paused {
                stops += 1;
                assert_eq!(session.now(), Time::ZERO + piece * stops);
            }
            assert!(stops >= 2, "{name}: {stops}");
            assert_eq!(text(&session.finish()), whole, "{name} in pieces of {piece}");
        }
    }
}

#[test]
fn looking_into_a_run_changes_nothing() {
    for name in FILES {
        let scenario = file(name);
        let mut session = Session::of(&scenario, Ends::WhenNarrow).expect("trees of devices");
        while session.advance(Time::NEVER, 5_000) == Status::Paused {
            let state = session.state();
            assert_eq!(state.events % 5_000, 0, "{name}");
        }
        assert_eq!(text(&session.finish()), whole(&scenario), "{name}");
    }
}

/// Results of a part account for all its time, which is a look; what comes after them is as if nobody had looked.
#[test]
fn results_on_the_way_change_nothing() {
    for name in ["switch", "replay", "flit"] {
        let scenario = file(name);
        let mut session = Session::of(&scenario, Ends::WhenNarrow).expect("trees of devices");
        for at in [3_u64, 110, 111] {
            session.step(Time::ZERO + Span::from_us(at));
            let results = session.results();
            assert_eq!(results.end_reason, lanewise_sim::EndName::Interrupted, "{name}");
            assert!((results.simulated_s * 1e6 - at as f64).abs() < 1e-6, "{name}");
            assert_eq!(session.end_reason(), None);
        }
        session.step(Time::NEVER);
        assert_eq!(text(&session.finish()), whole(&scenario), "{name}");
    }
}

const WRITES: &str = r#"
    [host.server]
    slots = { slot1 = "gen3 x8" }
    memory_latency = "500 ns"
    [endpoint.card]
    attach = "server.slot1"
    generation = "gen3"
    width = "x8"
    [[workload]]
    kind = "dma"
    name = "load"
    device = "card"
    direction = "write"
    size = "4 KiB"
    outstanding = 64
"#;

/// What is read live is what the results say afterwards, over the same window.
#[test]
fn the_state_says_what_the_results_say() {
    let scenario = scenario(WRITES, &[("run.warm_up", "20 us"), ("run.time_limit", "1 ms")]);
    let mut session = Session::of(&scenario, Ends::AtItsLimits).expect("a tree");
    session.step(Time::ZERO + Span::from_us(400));
    let state = session.state();
    let results = session.results();
    assert_eq!((state.stage, state.end_reason, state.window_s), ("measuring", None, 380e-6));
    let close = |live: f64, result: f64| assert!((live / result - 1.0).abs() < 1e-3, "{live} and {result}");
    close(state.flows[0].last.goodput_gb_per_s, results.flows[0].goodput_gb_per_s);
    for (live, result) in [
        (&state.links[0].upstream, &results.links[0].upstream),
        (&state.links[0].downstream, &results.links[0].downstream),
    ] {
        close(live.utilisation, result.utilisation);
        assert!((live.goodput_gb_per_s - result.ladder.goodput_gb_per_s).abs() < 1e-2);
    }
    let upstream = &state.links[0].upstream;
    assert_eq!((upstream.transmitter.as_str(), upstream.link), ("card.port0", "active"));
    assert!(upstream.queued_tlps.posted > 0 && upstream.queued_tlps.non_posted == 0);
    assert!(upstream.unacknowledged > 0 && upstream.retry_buffer_bytes > 0);
    let memory = |resources: &[lanewise_sim::LiveResource]| {
        resources.iter().find(|one| one.name == "server.memory").expect("it is in use").utilisation
    };
    let of_results = results.resources.iter().find(|one| one.name == "server.memory").expect("it is in use");
    close(memory(&state.resources), of_results.utilisation);
}

/// Posted credits in use, by the transmitter's counters and by what was advertised: in flight, held, or on their way back.
#[test]
fn credits_are_those_that_the_port_was_given() {
    let scenario = scenario(WRITES, &[("server.slots.slot1.credits.posted_header", "8")]);
    let mut session = Session::of(&scenario, Ends::AtItsLimits).expect("a tree");
    session.step(Time::ZERO);
    let state = session.state();
    assert_eq!(state.links[0].upstream.link, "initialising");
    session.step(Time::ZERO + Span::from_us(50));
    let state = session.state();
    let posted = state.links[0].upstream.credits.posted;
    assert_eq!(posted.header_advertised, Some(8));
    let free = posted.header_free.expect("finite");
    assert!(free + posted.header_held <= 8, "{posted:?}");
}

/// One read of 4 KiB at a time: 8 requests of 512 B are out, or none.
#[test]
fn outstanding_requests_and_what_holds_them_back_are_seen() {
    let one = [("workload.load.direction", "read"), ("workload.load.outstanding", "1")];
    let scenario = scenario(WRITES, &one);
    let mut session = Session::of(&scenario, Ends::AtItsLimits).expect("a tree");
    let mut most = 0;
    for _ in 0..200 {
        session.step(session.now() + Span::from_ns(313));
        most = most.max(session.state().requesters[0].outstanding_reads);
    }
    assert_eq!(most, 8);
    session.step(session.now() + Span::from_us(100));
    let waits = &session.state().requesters[0].time_attribution;
    assert!(waits["window"].as_f64().expect("a share") > 0.5, "{waits:?}");
}

#[test]
fn a_session_goes_on_when_its_results_are_narrow_if_it_is_told_to() {
    let scenario = scenario(WRITES, &[("run.time_limit", "3 ms")]);
    let mut ends = Session::of(&scenario, Ends::WhenNarrow).expect("a tree");
    assert_eq!(ends.step(Time::NEVER), Status::Over);
    let mut goes_on = Session::of(&scenario, Ends::AtItsLimits).expect("a tree");
    assert_eq!(goes_on.step(ends.now() + Span::from_us(1)), Status::Paused);
    assert_eq!(goes_on.step(Time::NEVER), Status::Over);
    assert_eq!(goes_on.now(), Time::ZERO + Span::from_ms(3));
}
