use super::*;
use crate::{HeldUp, Observers, OnWire, Place, Selection, Sought, TraceKinds, Whose};
use lanewise_pcie::ack_nak::Sequence;
use lanewise_pcie::dllp::Dllp;

const RETRY: (HeldUp, Cause) = (HeldUp::Everything, Cause::RetryBuffer);

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

fn ack(port: u32, at_ns: u64) -> WireFact {
    let what = What::Dllp(Dllp::Ack(Sequence::ZERO));
    WireFact::OnWire(OnWire { direction: port, start: ns(at_ns), span: Span::from_ns(1), what })
}

fn heard(recorder: Recorder) -> (Recorder, Observers) {
    let mut observers = Observers::new(2, 0);
    assert!(!observers.are_heard());
    observers.add(recorder.listener());
    assert!(observers.are_heard());
    (recorder, observers)
}

fn times(recorder: &Recorder) -> Vec<(u32, f64)> {
    recorder.entries().iter().map(|entry| (entry.port, (entry.at - Time::ZERO).as_ns())).collect()
}

#[test]
fn the_last_are_kept_and_come_in_order_of_time() {
    let (recorder, mut observers) = heard(Recorder::new(Selection::everything(), 3));
    [(0, 1), (0, 9), (1, 2), (0, 10), (1, 9)].into_iter().for_each(|(port, at)| {
        observers.tell(Time::ZERO, &ack(port, at));
    });
    assert_eq!(times(&recorder), [(1, 2.0), (1, 9.0), (0, 10.0)]);
    assert_eq!(recorder.seen(), 5);
    assert!(recorder.has_lost());
}

#[test]
fn a_selection_is_of_times_ports_and_kinds() {
    let all = Selection::everything();
    let kept = |selection: Selection| {
        let (recorder, mut observers) = heard(Recorder::new(selection, 9));
        (0..4).for_each(|at| observers.tell(Time::ZERO, &ack((at % 2) as u32, at)));
        observers.held_up(ns(2), 0, RETRY, ns(2), || None);
        observers.held_up(ns(3), 0, RETRY, ns(3), || None);
        observers.let_go(ns(3), 0, HeldUp::Everything, ns(3));
        observers.observe(ns(1), Fact::BadTlp { port: 1, sequence: 0 });
        recorder.entries().len()
    };
    assert_eq!(kept(all.clone()), 7, "held up once, let go once");
    assert_eq!(kept(Selection { from: ns(1), until: ns(3), ..all.clone() }), 4);
    assert_eq!(kept(Selection { ports: Some(vec![1]), ..all.clone() }), 3);
    let kinds: TraceKinds = [TraceKind::Blocked, TraceKind::Error].into_iter().collect();
    assert_eq!(kept(Selection { kinds, ..all }), 3);
}

#[test]
fn what_led_to_the_first_block_is_kept_and_a_little_after_it() {
    let all = Selection { from: ns(5), ..Selection::everything() };
    let around = Recorder::around(all, 100, Around::FirstBlocked, Span::from_ns(3), Span::from_ns(2));
    let (recorder, mut observers) = heard(around);
    observers.held_up(ns(2), 1, RETRY, ns(2), || None); // Before the time that is asked for.
    for at in 0..20 {
        observers.tell(ns(at), &ack(0, at));
        if at == 9 {
            observers.held_up(ns(9), 0, RETRY, ns(9), || None);
        }
        assert_eq!(recorder.is_done(ns(at)), at > 11);
    }
    assert_eq!(recorder.found().map(|found| found.at), Some(ns(9)));
    assert_eq!(times(&recorder), [6.0, 7.0, 8.0, 9.0, 9.0, 10.0, 11.0].map(|at| (0, at)));
}

#[test]
fn the_worst_request_keeps_what_led_there_although_the_ring_goes_on() {
    let around =
        Recorder::around(Selection::everything(), 8, Around::WorstLatency, Span::from_ns(1), Span::ZERO);
    let (recorder, mut observers) = heard(around);
    let flow = observers.add_flow(crate::FlowSpec {
        name: "reads".to_owned(),
        entry: crate::WorkloadEntry::default(),
        devices: "nic".into(),
        direction: "read",
        latency: crate::LatencyOf::Request,
        repeats: false,
    });
    for at in 0..40 {
        observers.tell(ns(at), &ack(0, at));
        let latency = if at == 20 { 4 } else { 3 };
        if at >= latency {
            let request = RequestId::answered(ns(at - latency), Place::Endpoint(0), at as u16);
            let latency = Span::from_ns(latency);
            observers.observe(ns(at), Fact::RequestDone { flow, latency, request });
        }
    }
    let request = recorder.found().and_then(|found| found.request).expect("there are requests");
    assert_eq!((request.1.tag(), request.2), (Some(20), Span::from_ns(4)));
    assert_eq!(times(&recorder), [16.0, 17.0, 18.0, 19.0, 20.0].map(|at| (0, at)));
}

#[test]
fn around_what_never_happens_nothing_is_kept() {
    let around = Recorder::around(Selection::everything(), 8, Around::Replay, Span::from_ns(9), Span::ZERO);
    let (recorder, mut observers) = heard(around);
    observers.tell(ns(1), &ack(0, 1));
    assert_eq!(recorder.found(), None);
    assert!(recorder.entries().is_empty());
}

#[test]
fn a_request_is_found_by_what_its_tlps_say_and_not_that_of_another_requester() {
    let all = Selection { from: ns(5), ..Selection::everything() };
    let sought =
        Sought { issued_at: ns(5), whose: Whose::Answered { requester: Place::Endpoint(1), tag: 3 } };
    let around = Recorder::around(all, 100, Around::Of(sought), Span::ZERO, Span::ZERO);
    let (recorder, mut observers) = heard(around);
    let flow = observers.add_flow(crate::FlowSpec {
        name: "reads".to_owned(),
        entry: crate::WorkloadEntry::default(),
        devices: "two devices".into(),
        direction: "read",
        latency: crate::LatencyOf::Request,
        repeats: false,
    });
    let done = |observers: &mut Observers, at: u64, requester: u32, tag: u16| {
        let request = RequestId::answered(ns(5), Place::Endpoint(requester), tag);
        observers.observe(ns(at), Fact::RequestDone { flow, latency: Span::from_ns(at - 5), request });
    };
    (5..9).for_each(|at| observers.tell(ns(at), &ack(0, at)));
    done(&mut observers, 8, 0, 3);
    done(&mut observers, 8, 1, 4);
    assert_eq!(recorder.found(), None);
    assert_eq!(recorder.clone().of_flows(vec![crate::FlowId(7)]).found(), None);
    done(&mut observers, 9, 1, 3);
    assert_eq!(recorder.found(), None, "another flow");
    assert_eq!(recorder.clone().of_flows(vec![flow]).found(), None);
    done(&mut observers, 9, 1, 3);
    assert!(recorder.is_done(ns(9)));
    let found = recorder.found().expect("it was complete");
    assert_eq!((found.at, found.request.map(|(.., latency)| latency)), (ns(9), Some(Span::from_ns(4))));
    assert_eq!(times(&recorder), [5.0, 6.0, 7.0, 8.0].map(|at| (0, at)));
}
