use super::*;
use lanewise_pcie::tlp::Tlp;
use lanewise_units::Bytes;

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

const PORT: u32 = 70_000;

/// A TLP whose fields all differ from those of the other.
fn tlp(other: bool) -> WireTlp {
    let (kind, made) = match other {
        false => (TlpKind::MemoryWrite, Tlp::memory_write(0xffff_1234_5678, Bytes::new(4096))),
        true => (TlpKind::Completion, Tlp::completion(0x1003, Bytes::ZERO)),
    };
    let all = Attributes::NO_SNOOP.with(Attributes::RELAXED_ORDERING).with(Attributes::ID_BASED_ORDERING);
    WireTlp {
        sequence: if other { 4095 } else { 1 },
        transmission: if other { Transmission::Nullified } else { Transmission::First },
        kind,
        address: 0xffff_1234_5678,
        length: if other { 0 } else { 4096 },
        cost: made.cost(false),
        source: if other { Place::Host } else { Place::Endpoint(65_535) },
        destination: if other { Place::NoDevice } else { Place::Host },
        requester_id: Location { segment: 7, id: FunctionId::new(255, 31, 7) },
        completer_id: Location { segment: 65_535, id: FunctionId::new(254, 1, 6) },
        tag: if other { 1023 } else { 0 },
        attributes: if other { all } else { Attributes::RELAXED_ORDERING },
        traffic_class: if other { 7 } else { 1 },
        channel: if other { 7 } else { 2 },
        ingress: other.then_some(65_535),
        poisoned: other,
        digest: !other,
        status: if other { CompletionStatus::CompleterAbort } else { CompletionStatus::Successful },
        is_last_completion: other,
        issued_at: ns(1),
        ready_at: ns(2),
        credits_left: CreditPool { header: other.then_some(255), data: (!other).then_some(65_535) },
    }
}

fn waiting(kind: TlpKind) -> WaitingTlp {
    let class = kind.flow_class();
    let (source, destination) = (Place::Endpoint(3), Place::NoDevice);
    let (issued_at, ready_at) = (ns(5), ns(6));
    WaitingTlp { kind, class, source, destination, tag: 1023, address: 0x1_0000_0040, issued_at, ready_at }
}

fn on_wire(what: What) -> WireFact {
    WireFact::OnWire(OnWire { direction: PORT, start: ns(100), span: Span::from_ns(8), what })
}

fn facts() -> Vec<WireFact> {
    let dllps = FlowClass::ALL.into_iter().flat_map(|class| {
        [
            Dllp::Ack(Sequence::new(4095)),
            Dllp::Nak(Sequence::ZERO),
            Dllp::UpdateFlowControl { channel: 7, class, header: 255, data: 65_535 },
            Dllp::InitFlowControl1 { channel: 1, class, header: 0, data: 1 },
            Dllp::InitFlowControl2 { channel: 0, class, header: 3, data: 0 },
        ]
    });
    let mut whats = vec![
        What::Tlp(tlp(false)),
        What::Tlp(tlp(true)),
        What::Tlp(WireTlp { transmission: Transmission::Again, ..tlp(true) }),
        What::Duplicate { sequence: 4095 },
        What::OrderedSets { count: 1 << 40, every: Span::from_ns(1_000) },
        What::Flit { sequence: 1023, again: true, tlps: 255 },
        What::Flit { sequence: 0, again: false, tlps: 0 },
    ];
    for dllp in dllps {
        whats.extend([What::Dllp(dllp), What::DllpInFlit(dllp), What::AnswerInFlit(dllp)]);
    }
    let mut facts: Vec<WireFact> = whats.into_iter().map(on_wire).collect();
    // 4 KiB at Gen1 x1, more ticks than 32 bits hold.
    for tlp in [tlp(false), tlp(true)] {
        let (span, what) = (Span::from_ns(16_496), What::Tlp(tlp));
        facts.push(WireFact::OnWire(OnWire { direction: PORT, start: ns(100), span, what }));
    }
    for kind in TlpKind::ALL {
        let tlp = waiting(kind);
        for behind in [Cause::SharedQueue, Cause::CompletionQueue] {
            facts.extend(
                [tlp.ready_at, ns(9)]
                    .map(|joined| WireFact::Queued(Queued { port: PORT, channel: 7, joined, behind, tlp })),
            );
        }
    }
    for by in Cause::ALL {
        let class = HeldUp::Class { channel: 7, class: FlowClass::Completion };
        for whom in [HeldUp::Everything, class, HeldUp::Read(1 << 50)] {
            for waiting in [None, Some(waiting(TlpKind::CompareAndSwap))] {
                let (port, since, until) = (PORT, ns(3), ns(4));
                facts.push(WireFact::Blocked { port, whom, by, since, waiting });
                facts.push(WireFact::Unblocked { port, whom, by, since, until, waiting });
            }
        }
    }
    facts
}

fn put_down(words: &mut Vec<u64>, pack: impl FnOnce(&mut Room) -> usize) {
    let mut room = [0; LONGEST];
    let length = pack(&mut room);
    words.extend_from_slice(&room[..length]);
}

/// Every record of some words, with its own words.
fn records(words: &[u64]) -> Vec<(Record, &[u64])> {
    let (mut all, mut rest) = (Vec::new(), words);
    while let Some(first) = rest.first() {
        let (own, others) = rest.split_at(length(*first));
        all.push((unpack(own, PORT), own));
        rest = others;
    }
    all
}

#[test]
fn what_is_packed_is_what_was_stated() {
    let (facts, mut words) = (facts(), Vec::new());
    for (number, fact) in (1..).zip(&facts) {
        put_down(&mut words, |room| pack(ns(90), fact, number, room));
    }
    let made = records(&words);
    assert_eq!(made.len(), facts.len());
    for (number, (fact, (record, own))) in (1..).zip(facts.iter().zip(made)) {
        let Told::Wire(again) = record.told else { panic!("{fact:?}") };
        assert_eq!((again, record.number), (*fact, number));
        assert!(own.len() <= 12, "{} words of {fact:?}", own.len());
        if let WireFact::OnWire(thing) = fact {
            assert_eq!(record.now, ns(90));
            let rides = matches!(thing.what, What::DllpInFlit(_) | What::AnswerInFlit(_));
            let many = matches!(thing.what, What::OrderedSets { .. });
            assert!(many || ends_at(own) == if rides { 0 } else { thing.end().ticks() }, "{fact:?}");
        }
        if let WireFact::Blocked { whom: held, .. } | WireFact::Unblocked { whom: held, .. } = fact {
            assert_eq!(whom(own), *held);
        }
    }
}

#[test]
fn unselected_facts_say_when_and_what() {
    for fact in facts() {
        let mut words = Vec::new();
        put_down(&mut words, |room| pack_unasked(ns(90), &fact, room));
        let WireFact::OnWire(thing) = fact else { continue };
        let made = records(&words);
        let Some(piece) = Piece::of(&thing) else {
            assert!(made.is_empty(), "{fact:?}");
            continue;
        };
        let [(Record { number: 0, now, told }, _)] = made.as_slice() else { panic!("{made:?}") };
        assert_eq!(*now, ns(90));
        match told {
            Told::Carried(carried) => assert_eq!(*carried, piece),
            Told::Left(left) => {
                assert_eq!((left.piece, left.class, left.ready_at), (piece, FlowClass::Posted, ns(2)));
            }
            Told::Wire(again) => assert_eq!(*again, fact),
            Told::Error(_) => panic!("{told:?}"),
        }
    }
}

#[test]
fn a_tlp_that_takes_the_wire_for_long_is_packed_whole() {
    let span = Span::from_ns(16_496);
    assert!(span.ticks() > u64::from(u32::MAX));
    let thing = OnWire { direction: PORT, start: ns(100), span, what: What::Tlp(tlp(true)) };
    let mut words = Vec::new();
    put_down(&mut words, |room| pack(ns(90), &WireFact::OnWire(thing), 1, room));
    let Told::Wire(WireFact::OnWire(again)) = unpack(&words, PORT).told else { panic!("{words:?}") };
    assert_eq!((again.span, ends_at(&words)), (span, ns(16_596).ticks()));
    assert_eq!(again, thing);
}

#[test]
#[should_panic(expected = "a DLLP of eight bytes takes the wire for")]
fn a_dllp_that_takes_the_wire_for_long_is_refused() {
    let (span, what) = (Span::from_us(5), What::Dllp(Dllp::Ack(Sequence::ZERO)));
    let thing = OnWire { direction: PORT, start: ns(100), span, what };
    pack(ns(90), &WireFact::OnWire(thing), 1, &mut [0; LONGEST]);
}

#[test]
fn errors_are_packed_too() {
    let port = PORT;
    let all = [
        Fact::BadTlp { port, sequence: 4095 },
        Fact::Duplicate { port, sequence: 3 },
        Fact::BadDllp { port },
        Fact::Nullified { port },
        Fact::ReplayStarted { port, by_timer: true },
        Fact::ReplayStarted { port, by_timer: false },
        Fact::ReplayNumRollover { port },
    ];
    let mut words = Vec::new();
    all.iter().for_each(|fact| put_down(&mut words, |room| pack_error(ns(7), fact, 9, room)));
    let made = records(&words);
    assert_eq!(made.len(), all.len());
    for (fact, (record, _)) in all.iter().zip(made) {
        let Told::Error(again) = record.told else { panic!("{fact:?}") };
        assert_eq!(format!("{again:?}"), format!("{fact:?}"));
        assert_eq!((record.number, record.now), (9, ns(7)));
    }
}
