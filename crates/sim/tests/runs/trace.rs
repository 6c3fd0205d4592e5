//! A trace of a run: what it says is what the results count, and the run is the same without it.

use lanewise_scenario::NativeFiles;
use lanewise_sim::{
    Ends, Scenario, Session, Source, Trace, TraceKind, TraceRequest, link_names, load, trace,
};
use lanewise_units::{Span, Time};
use std::ops::ControlFlow;

const END: Span = Span::from_us(40);

fn file(name: &str) -> Scenario {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let source = Source::read(&path, &NativeFiles).expect("a file of the repository");
    load(&source, &[]).unwrap_or_else(|found| panic!("{found}"))
}

fn all() -> TraceRequest {
    TraceRequest { from: Span::ZERO, span: END, links: Vec::new(), kinds: Vec::new(), most: usize::MAX }
}

fn traced(scenario: &Scenario, request: &TraceRequest) -> Trace {
    trace(scenario, request, &mut |_| ControlFlow::Continue(())).expect("trees of devices")
}

#[test]
fn a_trace_counts_what_the_links_count_and_changes_nothing() {
    for name in ["switch", "replay", "flit", "nvme_fio"] {
        let scenario = file(name);
        let mut session = Session::of(&scenario, Ends::AtItsLimits).expect("trees of devices");
        session.step(Time::ZERO + END);
        let results = session.results();
        let trace = traced(&scenario, &all());
        assert_eq!(trace.fingerprint, results.fingerprint, "{name}");
        assert_eq!(trace.seen, trace.rows.len() as u64);
        let count = |link: &str, direction: &str, kind: TraceKind| {
            let rows = trace.rows.iter().filter(|row| row.link == link && row.direction == direction);
            // Answers in flits and what comes again are no TLPs or DLLPs more.
            let first = |note: &str| !note.starts_with("again") && !note.starts_with("nullified");
            rows.filter(|row| row.kind == kind.name() && first(&row.note) && row.at_ns < END.as_ns()).count()
        };
        assert!(!results.links.is_empty());
        for link in results.links {
            for (direction, counted) in [("upstream", &link.upstream), ("downstream", &link.downstream)] {
                // What was decided in the window may start behind it.
                let behind = counted.tlps - count(&link.name, direction, TraceKind::Tlp) as u64;
                assert!(behind <= 1, "{name}, {direction} of {}: {behind} are missing", link.name);
                if !link.flit {
                    let behind = counted.dllps - count(&link.name, direction, TraceKind::Dllp) as u64;
                    assert!(behind <= 3, "{name}, {direction} of {}: {behind} DLLPs are missing", link.name);
                }
            }
        }
    }
}

#[test]
fn a_window_of_one_link_and_kind_is_that_part_of_all() {
    let scenario = file("switch");
    let link = link_names(&scenario)[1].to_owned();
    let (from, span) = (Span::from_us(20), Span::from_us(4));
    let whole = traced(&scenario, &all());
    let request =
        TraceRequest { from, span, links: vec![link.clone()], kinds: vec![TraceKind::Tlp], ..all() };
    let part = traced(&scenario, &request);
    let within = from.ticks()..(from + span).ticks();
    let expected: Vec<_> = whole
        .rows
        .iter()
        .filter(|row| row.link == link && row.kind == "tlp" && within.contains(&row.at_ticks))
        .collect();
    assert!(expected.len() > 5, "{}", expected.len());
    assert_eq!(part.rows.iter().collect::<Vec<_>>(), expected);
    let last = traced(&scenario, &TraceRequest { most: 3, ..request });
    assert_eq!((last.rows.len(), last.seen), (3, expected.len() as u64));
    assert_eq!(last.text().lines().count(), 1 + 3 + 1);
    assert!(last.text().ends_with(&format!("the last 3 of {}\n", expected.len())));
}

/// What a receiver refuses is in the direction, and has the number, of a TLP that was sent before.
#[test]
fn what_is_refused_was_sent_in_that_direction() {
    let trace = traced(&file("replay"), &all());
    let refused: Vec<_> = trace.rows.iter().filter(|row| row.what == "refused").collect();
    assert!(refused.len() > 3, "{}", refused.len());
    for bad in refused {
        let sent = |row: &&lanewise_sim::TraceRow| {
            row.kind == "tlp" && row.sequence == bad.sequence && row.at_ticks < bad.at_ticks
        };
        let there = |row: &&lanewise_sim::TraceRow| (&row.link, row.direction) == (&bad.link, bad.direction);
        let last = trace.rows.iter().rfind(|row| sent(row) && there(row));
        let since = bad.at_ticks - last.unwrap_or_else(|| panic!("{bad:?} was not sent")).at_ticks;
        assert!(since < Span::from_us(1).ticks(), "{bad:?}");
    }
}
