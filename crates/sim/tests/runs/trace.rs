//! A trace of a run: what it says is what the results count, and the run is the same without it.

use crate::rig::scenario;
use lanewise_scenario::NativeFiles;
use lanewise_sim::{
    Around, Ends, JsonLines, Listing, Scenario, Session, Source, Trace, TraceEnd, TraceForm, TraceFrame,
    TraceKind, TraceOf, TraceRequest, TraceRow, link_names, load, trace, write_trace,
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
    TraceRequest {
        from: Span::ZERO,
        span: END,
        links: Vec::new(),
        kinds: Vec::new(),
        most: usize::MAX,
        of: TraceOf::Window,
    }
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
    let waited = last.rows.iter().filter(|row| !row.waits.is_empty()).count();
    assert_eq!(last.text().lines().count(), 1 + 3 + waited + 1);
    assert!(last.text().ends_with(&format!("the last 3 of {}\n", expected.len())));
}

/// What a receiver refuses is in the direction, and has the number, of a TLP that was sent before.
#[test]
fn what_is_refused_was_sent_in_that_direction() {
    let trace = traced(&file("replay"), &all());
    let refused: Vec<_> = trace.rows.iter().filter(|row| row.what == "refused").collect();
    assert!(refused.len() > 3, "{}", refused.len());
    for bad in refused {
        let sent = |row: &&TraceRow| {
            row.kind == "tlp" && row.sequence == bad.sequence && row.at_ticks < bad.at_ticks
        };
        let there = |row: &&TraceRow| (&row.link, row.direction) == (&bad.link, bad.direction);
        let last = trace.rows.iter().rfind(|row| sent(row) && there(row));
        let since = bad.at_ticks - last.unwrap_or_else(|| panic!("{bad:?} was not sent")).at_ticks;
        assert!(since < Span::from_us(1).ticks(), "{bad:?}");
    }
}

/// What each TLP waited for adds up, on every link of shipped scenarios of all kinds.
#[test]
fn waits_add_up_exactly() {
    let mut causes = std::collections::BTreeSet::new();
    for name in [
        "switch",
        "replay",
        "flit",
        "nvme_fio",
        "virtual_channels",
        "peer_to_peer",
        "storage",
        "two_sockets",
        "mmio",
    ] {
        let trace = traced(&file(name), &TraceRequest { kinds: vec![TraceKind::Tlp], ..all() });
        let first = |row: &&TraceRow| !row.note.starts_with("again") && !row.note.starts_with("nullified");
        for row in trace.rows.iter().filter(first) {
            let Some(ready) = row.ready_at_ticks else { continue };
            let sum: u64 = row.waits.iter().map(|wait| wait.ticks).sum();
            assert_eq!(sum, row.at_ticks - ready, "{name}: {row:?}");
            causes.extend(row.waits.iter().map(|wait| wait.cause));
        }
    }
    for cause in
        ["wire", "arbitration", "dllp", "ordered_set", "replay", "down", "boundary", "completion_data"]
    {
        assert!(causes.contains(cause), "nobody waits for {cause}: {causes:?}");
    }
}

/// From the issue to the end without a gap: the stations of reads and writes of all kinds add up to their latency.
#[test]
fn stations_of_transactions_add_up_exactly() {
    for name in ["switch", "replay", "flit", "nvme_fio", "peer_to_peer", "storage", "two_sockets"] {
        let scenario = file(name);
        for of in [1, 17, 40].map(Around::Request) {
            let request =
                TraceRequest { from: Span::from_us(5), most: 50_000, of: TraceOf::Transaction(of), ..all() };
            let trace = traced(&scenario, &request);
            let Some(found) = trace.transaction else { panic!("{name}: no {of:?}") };
            let mut at = found.issued_at_ticks;
            for station in &found.stations {
                assert_eq!(station.at_ticks, at, "{name}, {of:?}: {station:?}");
                at += station.span_ticks;
                assert_ne!(station.stage, "unknown", "{name}, {of:?}: {found:?}");
                if ["queue", "entry"].contains(&station.stage) {
                    let sum: u64 = station.waits.iter().map(|wait| wait.ticks).sum();
                    assert_eq!(sum, station.span_ticks, "{name}, {of:?}: {station:?}");
                }
            }
            assert_eq!(at - found.issued_at_ticks, found.latency_ticks, "{name}, {of:?}");
            assert!(trace.rows.iter().any(|row| row.kind == "tlp"));
            let asks = |row: &TraceRow| row.requester.as_ref() == Some(&found.requester);
            assert!(trace.rows.iter().all(asks), "{name}, {of:?}: rows of {} alone", found.requester);
        }
    }
}

#[test]
fn the_worst_latency_is_that_of_no_other_request() {
    let scenario = file("switch");
    let of = |of| traced(&scenario, &TraceRequest { of: TraceOf::Transaction(of), most: 50_000, ..all() });
    // Of the run as a whole; the others are early ones.
    let worst = of(Around::WorstLatency).transaction.expect("requests are complete").latency_ticks;
    let others = [1, 50, 200, 400].map(|number| of(Around::Request(number)));
    assert!(
        others.into_iter().all(|other| other.transaction.is_some_and(|other| other.latency_ticks <= worst))
    );
}

/// What is looked for is in the listing, with what led there, and little after it.
#[test]
fn around_what_happens_first() {
    let span = Span::from_us(2);
    let looked =
        |name: &str, of| traced(&file(name), &TraceRequest { span, of: TraceOf::Around(of), ..all() });
    for (name, of, what) in
        [("replay", Around::Replay, "replay, "), ("switch", Around::FirstBlocked, "blocked: credits (CplD)")]
    {
        let trace = looked(name, of);
        let at = trace.around.as_ref().and_then(|around| around.at_ns).expect("it happens");
        let there = trace.rows.iter().any(|row| row.at_ns == at && row.what.starts_with(what));
        assert!(there, "{name}: no {what} at {at}");
        assert!(trace.rows.iter().all(|row| row.at_ns >= at - 2_000.0 && row.at_ns <= at + 500.0));
        assert!(trace.rows.iter().any(|row| row.at_ns < at) && trace.rows.iter().any(|row| row.at_ns > at));
    }
    let of = TraceOf::Around(Around::FirstBlocked);
    let on = |links: &[&str]| {
        let links = links.iter().map(|link| (*link).to_owned()).collect();
        traced(&file("switch"), &TraceRequest { span, links, of, ..all() })
    };
    let (anywhere, on_card) = (on(&[]), on(&["card1"]));
    assert!(on_card.rows.iter().all(|row| row.link == "card1"));
    let at = |trace: Trace| trace.around.and_then(|around| around.at_ns);
    assert_ne!(at(on_card), at(anywhere), "the first is on sw0's link");
    let none = looked("switch", Around::Stall);
    assert_eq!((none.around.and_then(|around| around.at_ns), none.rows.len()), (None, 0));
}

/// What is handed over while the run goes on.
#[derive(Default)]
struct Kept {
    rows: Vec<TraceRow>,
    largest_batch: usize,
    begun: Option<TraceFrame>,
    ended: Option<TraceEnd>,
}

impl TraceForm for Kept {
    fn begin(&mut self, frame: &TraceFrame, out: &mut Vec<u8>) {
        self.begun = Some(frame.clone());
        out.push(b'<');
    }

    fn rows(&mut self, rows: &[TraceRow], out: &mut Vec<u8>) {
        self.rows.extend_from_slice(rows);
        self.largest_batch = self.largest_batch.max(rows.len());
        out.push(b'.');
    }

    fn end(&mut self, end: &TraceEnd, out: &mut Vec<u8>) {
        self.ended = Some(end.clone());
        out.push(b'>');
    }
}

fn written(scenario: &Scenario, request: &TraceRequest, form: &mut dyn TraceForm) -> (TraceEnd, Vec<u8>) {
    let mut all = Vec::new();
    let mut put = |part: &[u8]| {
        all.extend_from_slice(part);
        ControlFlow::Continue(())
    };
    let end = write_trace(scenario, request, form, &mut put, &mut |_| ControlFlow::Continue(()));
    (end.expect("trees of devices"), all)
}

/// However long it is, a trace that is written while the run goes on has the rows of one that is read at the end.
#[test]
fn what_is_written_while_the_run_goes_on_is_the_trace() {
    for (name, span) in [
        ("switch", Span::from_us(400)),
        ("replay", END),
        ("flit", END),
        ("nvme_fio", END),
        ("two_sockets", END),
    ] {
        let (scenario, request) = (file(name), TraceRequest { span, from: Span::from_us(3), ..all() });
        let (whole, mut kept) = (traced(&scenario, &request), Kept::default());
        let (end, out) = written(&scenario, &request, &mut kept);
        assert_eq!((end.rows, end.is_whole), (whole.seen, true), "{name}");
        assert_eq!(end.fingerprint, whole.fingerprint, "{name}");
        assert_eq!(kept.ended, Some(end));
        let frame = kept.begun.expect("it begins before its rows");
        assert_eq!(frame.directions.len(), 2 * link_names(&scenario).len());
        assert_eq!((out.first(), out.last()), (Some(&b'<'), Some(&b'>')));
        assert!(kept.largest_batch <= 4096, "{}", kept.largest_batch);
        // SKP ordered sets of a silence are known when it ends.
        let (late, in_order) = by_order(kept.rows);
        assert!(late.iter().all(|row| ["skp", "blocked"].contains(&row.kind)), "{name}: {late:?}");
        assert!(late.len() * 100 < in_order.len(), "{name}: {} of {}", late.len(), in_order.len());
        let (expected, rest) = (whole.rows.into_iter(), late);
        let expected: Vec<_> = expected.filter(|row| !rest.contains(row)).collect();
        assert!(in_order == expected, "{name}");
    }
}

/// Rows that come later than one that is later than they, and the others.
fn by_order(rows: Vec<TraceRow>) -> (Vec<TraceRow>, Vec<TraceRow>) {
    let mut latest = 0;
    rows.into_iter().partition(|row| {
        let is_late = row.at_ticks < latest;
        latest = latest.max(row.at_ticks);
        is_late
    })
}

#[test]
fn a_listing_is_the_text_and_json_lines_are_the_rows() {
    let (scenario, request) = (file("switch"), all());
    let whole = traced(&scenario, &request);
    let (_, text) = written(&scenario, &request, &mut Listing::default());
    assert!(String::from_utf8(text).expect("a text") == whole.text());
    let (_, lines) = written(&scenario, &request, &mut JsonLines);
    let lines = String::from_utf8(lines).expect("a text");
    assert_eq!(lines.lines().count(), whole.rows.len());
    for (line, row) in lines.lines().zip(&whole.rows) {
        assert_eq!(line, serde_json::to_string(row).expect("a row"));
    }
    let nothing = TraceRequest { span: Span::ZERO, ..request };
    let (end, text) = written(&scenario, &nothing, &mut Listing::default());
    assert_eq!(end.rows, 0);
    assert!(String::from_utf8(text).expect("a text") == traced(&scenario, &nothing).text());
}

#[test]
fn what_is_broken_off_has_no_end() {
    let scenario = file("switch");
    let request = TraceRequest { span: Span::from_ms(2), ..all() };
    for stop_at in [0, 1, 4] {
        let (mut kept, mut parts) = (Kept::default(), 0);
        let mut put = |_: &[u8]| {
            parts += 1;
            if parts > stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let end = write_trace(&scenario, &request, &mut kept, &mut put, &mut |_| ControlFlow::Continue(()));
        assert!(!end.expect("trees of devices").is_whole);
        assert_eq!((kept.ended, parts), (None, stop_at + 1));
    }
}

#[test]
fn a_large_tlp_takes_a_slow_wire_as_long_as_its_bytes_do() {
    let text = "[host.server]\nslots = { slot1 = \"gen1 x1\" }\nmps_supported = \"4 KiB\"\n\
                [endpoint.card]\nattach = \"server.slot1\"\ngeneration = \"gen1\"\nwidth = \"x1\"\nmps_supported = \"4 KiB\"\n\
                [[workload]]\nkind = \"dma\"\nname = \"writes\"\ndevice = \"card\"\ndirection = \"write\"\nsize = \"4 KiB\"\n";
    let scenario = scenario(text, &[]);
    let trace = traced(&scenario, &TraceRequest { kinds: vec![TraceKind::Tlp], span: END * 3, ..all() });
    let writes: Vec<&TraceRow> = trace.rows.iter().filter(|row| row.length_bytes == Some(4096)).collect();
    assert!(writes.len() > 3, "{} writes", writes.len());
    for row in &writes {
        // STP, sequence number, a header of 4 DW, data, LCRC and END, each byte in 4 ns.
        assert_eq!(row.span_ticks, Span::from_ns((1 + 2 + 16 + 4096 + 4 + 1) * 4).ticks(), "{row:?}");
    }
    // So none begins before the one ahead of it has left.
    assert!(writes.windows(2).all(|two| two[1].at_ticks >= two[0].at_ticks + two[0].span_ticks));
}
