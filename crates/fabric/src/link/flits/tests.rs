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
        let tlp = Tlp::memory_write(0, Bytes::new(bytes));
        self.flits.transmitter.pack(name, tlp.cost(true), Some(name));
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
