use super::*;
use crate::common::link;
use lanewise_pcie::flow_control::Scale;
use lanewise_pcie::tlp::Tlp;
use lanewise_units::{Generation, Width};

struct Bench {
    flits: Flits<u32, u32>,
    transmitter: Transmitter<u32>,
    wire: WireTiming,
    effects: Vec<(Time, Effect)>,
}

impl Bench {
    /// Gen6 x4: 256 B in 8.4 ns.
    fn new() -> Self {
        let mode = LinkMode::new(Generation::Gen6, Width::X4);
        let wire = WireTiming::new(&link((0, 0), (1, 0), mode));
        Self {
            flits: Flits::new(mode, wire.span(FLIT_BYTES), Bytes::from_kib(4)),
            transmitter: Transmitter::new([Scale::One; 3], Bytes::from_kib(4), &wire),
            wire,
            effects: Vec::new(),
        }
    }

    /// Packs a write.
    fn pack(&mut self, name: u32, bytes: u64) {
        self.pack_tlp(name, Tlp::memory_write(0, Bytes::new(bytes)));
    }

    fn pack_tlp(&mut self, name: u32, tlp: Tlp) {
        self.flits.transmitter.pack(name, tlp.cost(true), Some(name));
    }

    /// A flit that was sent is on its way to the receiver of the same end, as if the link led back.
    fn expect(&mut self, sent: SentFlit) {
        let SentFlit { sequence, tlps, .. } = sent;
        self.flits.receiver.expect(ArrivingFlit { sequence, damaged: false, tlps });
    }

    /// What the effects since `from` say of the wire.
    fn spent(&self, on: Use, from: usize) -> Span {
        let spans = self.effects[from..].iter().filter_map(|(_, effect)| match effect {
            Effect::Spent { on: found, span } if *found == on => Some(*span),
            _ => None,
        });
        spans.sum()
    }

    fn send(&mut self) -> (SentFlit, Vec<u32>) {
        let Self { flits, transmitter, wire, effects } = self;
        let sent = flits.transmitter.send(transmitter, Span::ZERO, Time::ZERO, wire, effects);
        (sent, flits.transmitter.tlps_of(sent).map(|tlp| tlp.packet).collect())
    }
}

#[test]
fn a_tlp_is_handed_over_by_the_flit_in_which_it_ends_and_comes_again_with_it() {
    let mut bench = Bench::new();
    // 12 B of header each: the first ends in flit 0, the second in flit 1.
    bench.pack(1, 64);
    bench.pack(2, 256);
    assert!(bench.flits.transmitter.has_filled());
    let (first, tlps) = bench.send();
    assert_eq!((first.sequence, tlps), (Sequence::new(1), vec![1]));
    assert!(!bench.flits.transmitter.has_filled() && bench.flits.transmitter.close());
    let (second, tlps) = bench.send();
    assert_eq!((second.sequence, tlps), (Sequence::new(2), vec![2]));
    assert_eq!(bench.transmitter.busy_until, Time::ZERO + bench.flits.transmitter.flit_span * 2);
    assert!(bench.flits.transmitter.acknowledge(first.sequence));
    assert!(!bench.flits.transmitter.acknowledge(first.sequence), "that is no progress");
    assert_eq!(bench.flits.transmitter.rewind(), ReplayOutcome::Replay);
    let Bench { flits, transmitter, wire, effects } = &mut bench;
    let again = flits.transmitter.send_again(transmitter, Time::ZERO, wire, effects);
    assert_eq!(again, SentFlit { sequence: second.sequence, first: 0, tlps: 1 });
    assert!(effects.iter().any(|(_, effect)| matches!(effect, Effect::Spent { on: Use::Replay, .. })));
}

/// A switch that forwards TLPs flit by flit looks at the header.
#[test]
fn to_a_cut_through_switch_a_tlp_is_handed_over_by_the_flit_in_which_it_begins() {
    let mut bench = Bench::new();
    bench.flits.transmitter.hand_over_early();
    bench.pack(1, 64);
    bench.pack(2, 256);
    assert_eq!(bench.send().1, [1, 2]);
}

/// Of the NOP flit on the wire 62 B are gone: the TLP is in it, behind 64 B, and what is stated is the rest of the flit.
#[test]
fn a_tlp_joins_the_flit_on_the_wire_of_a_silent_link() {
    let mut bench = Bench::new();
    let Bench { flits, transmitter, wire, effects } = &mut bench;
    let (gone, now) = (wire.span(Bytes::new(62)), Time::ZERO + wire.span(Bytes::new(62)));
    transmitter.settle(now, wire, effects);
    assert_eq!(flits.transmitter.join(transmitter, wire), gone);
    assert_eq!(transmitter.busy_until, Time::ZERO, "where the flit began");
    assert_eq!(flits.transmitter.join(transmitter, wire), Span::ZERO, "once");
    bench.pack(1, 64);
    bench.flits.transmitter.close();
    let before = bench.effects.len();
    let Bench { flits, transmitter, wire, effects } = &mut bench;
    flits.transmitter.send(transmitter, gone, now, wire, effects);
    assert_eq!(transmitter.busy_until, Time::ZERO + wire.span(FLIT_BYTES));
    let stated = [Use::Header, Use::Payload, Use::Idle].map(|on| bench.spent(on, before));
    assert_eq!(stated, [12, 64, 236 - 62 - 76].map(|bytes| bench.wire.span(Bytes::new(bytes))));
}

/// A write of 224 B is 236 B of TLP, all that a flit has.
#[test]
fn a_tlp_has_left_with_the_flit_in_which_it_ends() {
    let mut bench = Bench::new();
    let left = |bench: &mut Bench| {
        bench.send();
        std::iter::from_fn(|| bench.flits.transmitter.take_left()).collect::<Vec<u32>>()
    };
    [(1, 224), (2, 64), (3, 256)].into_iter().for_each(|(name, bytes)| bench.pack(name, bytes));
    assert_eq!([left(&mut bench), left(&mut bench)], [[1], [2]]);
    // It shares the third flit, and the next does not fit there.
    [(4, 64), (5, 224)].into_iter().for_each(|(name, bytes)| bench.pack(name, bytes));
    assert_eq!(left(&mut bench), [3, 4]);
    assert!(bench.flits.transmitter.close());
    assert_eq!(left(&mut bench), [5]);
}

#[test]
fn every_byte_of_a_flit_has_a_use_and_nothing_makes_no_flit() {
    let mut bench = Bench::new();
    assert!(!bench.flits.transmitter.close(), "nothing is packed");
    bench.pack(1, 32);
    assert!(bench.flits.transmitter.close());
    bench.send();
    let stated = bench.effects.iter().map(|(_, effect)| match effect {
        Effect::Spent { span, .. } => *span,
        other => panic!("{other:?}"),
    });
    assert_eq!(stated.sum::<Span>(), bench.flits.transmitter.flit_span);
}

#[test]
fn one_dllp_rides_in_each_flit() {
    let mut bench = Bench::new();
    let span = bench.flits.transmitter.flit_span;
    let slots = [0; 3].map(|_| bench.flits.transmitter.take_dllp_slot(Time::ZERO));
    assert_eq!(slots, [0, 1, 2].map(|flits| Time::ZERO + span * flits));
    assert_eq!(bench.flits.transmitter.free_for_dllps_at(), Time::ZERO + span * 3);
}

/// Eight reads of 12 B touch the first half: what follows begins with the second (PCIe Base 6.3 §4.2.3.4.1).
#[test]
fn a_tlp_begins_behind_the_nops_that_its_half_of_a_flit_needs() {
    let mut bench = Bench::new();
    bench.pack(1, 224);
    bench.send();
    for name in 2..10 {
        bench.pack_tlp(name, Tlp::memory_read(0, Bytes::new(4)));
    }
    bench.pack(10, 256);
    bench.send();
    bench.flits.transmitter.close();
    let (last, _) = bench.send();
    let parts: Vec<FlitParts> = bench.flits.transmitter.tlps_of(last).map(|tlp| tlp.parts).collect();
    assert_eq!(parts, [FlitParts { first: 236 - 128, more: 1 }]);
}

/// Each flit of 236 B of TLPs states what is in it, and NOPs that ended one are not in the next.
#[test]
fn flits_state_what_they_carry_and_no_more() {
    let mut bench = Bench::new();
    for (payload, padding) in [(64, 160), (224, 0), (96, 128)] {
        let before = bench.effects.len();
        bench.pack(1, payload);
        assert!(bench.flits.transmitter.has_filled() || bench.flits.transmitter.close());
        bench.send();
        let stated = [Use::Header, Use::Payload, Use::Idle].map(|on| bench.spent(on, before));
        assert_eq!(stated, [12, payload, padding].map(|bytes| bench.wire.span(Bytes::new(bytes))));
        assert!(!bench.flits.transmitter.close(), "nothing is left");
    }
}

#[test]
fn it_is_quiet_once_nothing_is_packed_unacknowledged_or_arriving() {
    let mut bench = Bench::new();
    assert!(bench.flits.is_quiet() && !bench.flits.transmitter.has_more());
    bench.pack(1, 64);
    assert!(!bench.flits.is_quiet() && bench.flits.transmitter.has_more(), "a TLP is packed");
    bench.flits.transmitter.close();
    let (sent, _) = bench.send();
    assert!(!bench.flits.is_quiet() && !bench.flits.transmitter.has_more(), "a flit is not acknowledged");
    assert!(bench.flits.transmitter.acknowledge(sent.sequence) && bench.flits.is_quiet());
    bench.expect(sent);
    assert!(!bench.flits.is_quiet(), "a flit arrives");
    assert_eq!(bench.flits.receiver.receive_next().1, Verdict::Accept);
    assert!(bench.flits.is_quiet());
}

#[test]
fn books_of_flits_that_do_not_agree_are_found() {
    let mut bench = Bench::new();
    bench.pack(1, 64);
    bench.flits.transmitter.close();
    let (sent, _) = bench.send();
    bench.expect(sent);
    let audit = |bench: &Bench, on_the_way| bench.flits.transmitter.audit(&bench.flits.receiver, on_the_way);
    assert_eq!(audit(&bench, 1), Ok(()));
    let lost = audit(&bench, 2).expect_err("one of two TLPs is in a flit");
    assert!(lost.contains("2 TLPs are on the way, in flits with 1"), "{lost}");
    bench.flits.receiver.receive_next();
    assert_eq!((audit(&bench, 0), bench.flits.receiver.last_accepted()), (Ok(()), sent.sequence));
    bench.expect(SentFlit { sequence: Sequence::new(2), first: 0, tlps: 0 });
    bench.flits.receiver.receive_next();
    let never_sent = audit(&bench, 0).expect_err("the second flit was never sent");
    assert!(never_sent.contains("is received"), "{never_sent}");
}

#[test]
fn memory_is_that_of_both_halves_and_of_their_queues() {
    let mut flits = Bench::new().flits;
    assert_eq!(flits.heap_bytes(), size_of::<Flits<u32, u32>>());
    flits.transmitter.packed = VecDeque::with_capacity(3);
    flits.transmitter.leaving = VecDeque::with_capacity(2);
    flits.transmitter.retained = VecDeque::with_capacity(5);
    flits.receiver.arriving = VecDeque::with_capacity(7);
    let of_transmitter = 3 * size_of::<(u64, Packed<u32>)>() + 2 * size_of::<(u64, u32)>();
    let queues = of_transmitter + 5 * size_of::<Packed<u32>>() + 7 * size_of::<ArrivingFlit>();
    assert_eq!(flits.heap_bytes(), size_of::<Flits<u32, u32>>() + queues);
}
