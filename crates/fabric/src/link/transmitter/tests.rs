//! The transmitter by itself: no fabric, no engine, no clock.

use super::*;
use crate::common::link;
use crate::config::LinkConfig;
use crate::link::{ChannelCredits, InitFlowControl};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_units::{Generation, Width};
use proptest::prelude::*;

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// Gen1 x1: a byte, which is a symbol, takes 4 ns, and 4 ns lie between the pins; an ordered set of 16 ns each 1,000 ns.
fn wire() -> WireTiming {
    timing(LinkMode::new(Generation::Gen1, Width::X1), 1_000)
}

fn timing(mode: LinkMode, skip_ns: u64) -> WireTiming {
    let (propagation, skip_interval) = (Span::from_ns(4), Some(Span::from_ns(skip_ns)));
    WireTiming::new(&LinkConfig { propagation, skip_interval, ..link((0, 0), (1, 0), mode) })
}

/// A transmitter with what came of it.
struct Bench {
    transmitter: Transmitter<u32>,
    wire: WireTiming,
    effects: Vec<(Time, Effect)>,
    sent: u32,
}

const PAYLOAD: Bytes = Bytes::new(16);
const HEADER: Bytes = Bytes::new(12);
/// Such a TLP with sequence number and LCRC.
const KEPT: Bytes = Bytes::new(34);

impl Bench {
    /// Room for three TLPs in the retry buffer, credits for four.
    fn new() -> Self {
        Self::with(CreditPool::finite(4, 4))
    }

    fn with(pool: CreditPool) -> Self {
        let wire = wire();
        let mut transmitter = Transmitter::new([Scale::One; 3], Bytes::new(3 * KEPT.get()), &wire);
        FlowClass::ALL.iter().for_each(|class| transmitter.hear_init(None, 0, *class, pool, ns(0)));
        transmitter.become_active(Time::ZERO);
        transmitter.idle_cause = Use::Idle;
        Self { transmitter, wire, effects: Vec::new(), sent: 0 }
    }

    fn gate(&self) -> Result<(), Hold> {
        let one = Credits::new(1, 1);
        self.transmitter.gate(&self.transmitter.credits, FlowClass::Posted, one, KEPT)
    }

    /// A posted write of 16 B goes out: 12 B of header and 8 of framing beside it.
    fn send(&mut self, now: Time) -> Departure {
        let Self { transmitter, wire, effects, .. } = self;
        let spans = TlpSpans {
            payload: wire.span(PAYLOAD),
            header: wire.span(HEADER),
            framing: wire.span(FRAMING_NON_FLIT),
        };
        transmitter.settle(now, wire, effects);
        transmitter.align(now, wire, effects);
        transmitter.credits[FlowClass::Posted.index()].consume(Credits::new(1, 1));
        self.sent += 1;
        transmitter.send(self.sent, KEPT, spans, now, wire, effects)
    }

    fn settle(&mut self, now: Time) {
        self.transmitter.settle(now, &self.wire, &mut self.effects);
    }

    fn spent(&self, on: Use) -> Span {
        let spans = self.effects.iter().filter_map(|(_, effect)| match effect {
            Effect::Spent { on: found, span } if *found == on => Some(*span),
            _ => None,
        });
        spans.fold(Span::ZERO, |sum, span| sum + span)
    }

    /// All time that the effects state.
    fn stated(&self) -> Span {
        let span = |(_, effect): &(Time, Effect)| match effect {
            Effect::Spent { span, .. } => *span,
            Effect::TlpSent { spans, .. } => spans.total(),
            _ => Span::ZERO,
        };
        self.effects.iter().map(span).fold(Span::ZERO, |sum, span| sum + span)
    }
}

#[test]
fn a_tlp_leaves_on_the_next_symbol_after_silence_and_at_once_behind_another() {
    let mut bench = Bench::new();
    assert!(bench.transmitter.is_silent());
    let first = bench.send(ns(9));
    assert!(!bench.transmitter.is_silent());
    // The symbol begins at 12 ns; 36 B take 144 ns; 4 ns lie between the pins.
    assert_eq!((first.head, first.tail), (ns(16), ns(160)));
    let second = bench.send(ns(156));
    assert_eq!((second.head, second.sequence), (ns(160), Sequence::new(1)));
    assert_eq!(bench.spent(Use::Idle), Span::from_ns(12));
}

#[test]
fn ordered_sets_go_out_when_they_are_due_and_behind_what_is_on_the_wire() {
    let mut bench = Bench::new();
    bench.settle(ns(1_500));
    assert_eq!(bench.spent(Use::OrderedSet), Span::from_ns(16));
    assert_eq!(bench.spent(Use::Idle), Span::from_ns(1_484));
    let tlp = bench.send(ns(1_900));
    assert_eq!(tlp.tail, ns(2_048));
    bench.settle(ns(2_044));
    assert_eq!(bench.transmitter.busy_until, ns(2_060), "due at 2,000, in the midst of a TLP");
    bench.settle(ns(60_000));
    assert_eq!(bench.spent(Use::OrderedSet), Span::from_ns(60 * 16));
}

/// All but the last that are due, which may not be over.
#[test]
fn ordered_sets_of_a_long_silence_are_stated_together() {
    let mut bench = Bench::new();
    bench.settle(ns(5_500));
    let stated: Vec<(Time, u64)> = bench
        .effects
        .iter()
        .filter_map(|(_, effect)| match effect {
            Effect::OrderedSets { start, count, .. } => Some((*start, *count)),
            _ => None,
        })
        .collect();
    assert_eq!(stated, [(ns(1_000), 3), (ns(4_000), 1), (ns(5_000), 1)]);
}

/// The symbols of an ordered set that is due between two symbol boundaries are those that a packet at its end follows.
#[test]
fn a_packet_follows_an_ordered_set_at_the_very_instant_of_its_end() {
    let mut bench = Bench::new();
    bench.transmitter.next_skip = ns(1_001);
    bench.settle(ns(1_017));
    assert_eq!(bench.transmitter.busy_until, ns(1_017));
    assert_eq!(bench.send(ns(1_017)).head, ns(1_021));
}

#[test]
fn a_rest_puts_off_ordered_sets_and_is_accounted_for_elsewhere() {
    let mut bench = Bench::new();
    bench.settle(ns(500));
    bench.transmitter.rest_until(ns(5_000), &bench.wire);
    bench.settle(ns(5_900));
    assert_eq!(bench.spent(Use::OrderedSet), Span::ZERO);
    assert_eq!(bench.stated(), Span::from_ns(500 + 900));
}

#[test]
fn a_dllp_takes_eight_bytes() {
    let mut bench = Bench::new();
    bench.settle(ns(20));
    let at_pins = bench.transmitter.send_dllp(ns(20), &bench.wire, &mut bench.effects);
    assert_eq!(at_pins, ns(20 + 32 + 4));
    assert_eq!(bench.spent(Use::Dllp), Span::from_ns(32));
}

#[test]
fn the_gate_says_what_is_lacking_first() {
    let mut bench = Bench::new();
    for tlp in 0..3 {
        bench.send(ns(200 * tlp));
    }
    assert_eq!(bench.gate(), Err(Hold::RetryBuffer));
    bench.transmitter.acknowledge(Sequence::new(0), ns(700), Span::from_us(1));
    assert_eq!(bench.gate(), Ok(()));
    bench.send(ns(800));
    assert_eq!(bench.gate(), Err(Hold::Credits(Blocked::Header)));
    bench.transmitter.credits[FlowClass::Posted.index()].update(5, 4);
    assert_eq!(bench.gate(), Err(Hold::Credits(Blocked::Data)));
}

#[test]
fn progress_starts_the_replay_timer_and_nothing_else_does() {
    let mut bench = Bench::new();
    bench.send(ns(0));
    bench.transmitter.arm_replay_timer(1, Span::from_us(1));
    bench.send(ns(144));
    bench.transmitter.acknowledge(Sequence::new(0), ns(400), Span::from_us(1));
    assert_eq!(bench.transmitter.replay_deadline(), Some(ns(1_400)));
    bench.transmitter.acknowledge(Sequence::new(0), ns(500), Span::from_us(1));
    assert_eq!(bench.transmitter.replay_deadline(), Some(ns(1_400)));
    // While the link retrains the timer is held, and an Ack that came before does not let it go.
    bench.transmitter.restart_replay_timer(ns(9_000), Span::from_us(1));
    bench.transmitter.acknowledge(Sequence::new(1), ns(600), Span::from_us(1));
    assert_eq!(bench.transmitter.replay_deadline(), Some(ns(10_000)));
}

#[test]
fn a_packet_follows_dllps_of_its_instant_and_ordered_sets_and_waits_for_packets() {
    let mut bench = Bench::new();
    bench.settle(ns(990));
    let Bench { transmitter, wire, effects, .. } = &mut bench;
    // Eight bytes from the symbol boundary at 992 ns.
    transmitter.send_dllp(ns(990), wire, effects);
    assert_eq!(transmitter.decides_at(ns(990)), ns(990));
    assert_eq!(transmitter.decides_at(ns(991)), ns(1_024), "a DLLP is not interrupted");
    assert_eq!(transmitter.free_for_dllps_at(), ns(1_024));
    // An ordered set fell due at 1,000 ns and goes behind it until 1,040, whoever looks when.
    transmitter.settle(ns(1_010), wire, effects);
    assert_eq!(transmitter.busy_until, ns(1_040));
    assert_eq!(transmitter.decides_at(ns(1_010)), ns(1_024));
    assert_eq!(transmitter.decides_at(ns(1_030)), ns(1_030), "behind the ordered set, at once");
    assert_eq!(transmitter.free_for_dllps_at(), ns(1_024));
    let sent = bench.send(ns(1_030));
    assert_eq!(sent.head, ns(1_044));
    assert_eq!(bench.transmitter.decides_at(ns(1_030)), ns(1_184));
}

#[test]
fn the_replay_timer_runs_while_something_is_not_acknowledged() {
    let mut bench = Bench::new();
    let period = Span::from_us(1);
    bench.send(ns(0));
    assert_eq!(bench.transmitter.arm_replay_timer(1, period), Some(ns(1_144)), "from the end of the TLP");
    bench.send(ns(144));
    assert_eq!(bench.transmitter.arm_replay_timer(2, period), None, "it is looked at already");
    assert_eq!(bench.transmitter.next_deadline(2), (ns(1_144), Timer::Replay));
    bench.transmitter.acknowledge(Sequence::new(0), ns(400), period);
    assert_eq!(bench.transmitter.look_at_replay_timer(1, ns(1_144), period), (ns(1_400), false));
    assert_eq!(bench.transmitter.look_at_replay_timer(1, ns(1_400), period), (ns(2_400), true));
    assert_eq!(bench.transmitter.look_at_replay_timer(0, ns(2_400), period), (Time::NEVER, false));
    assert_eq!(bench.transmitter.next_deadline(0).0, Time::NEVER);
}

#[test]
fn flow_control_is_initialised_when_every_class_of_every_channel_is_advertised() {
    let mut transmitter: Transmitter<u32> = Transmitter::new([Scale::One; 3], Bytes::from_kib(1), &wire());
    let (mut beyond, pool) = (ChannelCredits::new([Scale::One; 3], 1), CreditPool::finite(4, 4));
    assert_eq!(transmitter.next_deadline(0), (ns(0), Timer::InitFlowControl));
    assert!(!transmitter.is_down(), "it comes up");
    assert_eq!(transmitter.take_init(ns(0)), Some(InitFlowControl::First));
    assert_eq!(transmitter.take_init(ns(33_999)), None);
    assert_eq!(transmitter.take_init(ns(34_000)), Some(InitFlowControl::First));
    for channel in [0, 1] {
        for class in FlowClass::ALL {
            assert_eq!(transmitter.state, LinkState::InitFlowControl1);
            transmitter.hear_init(Some(&mut beyond), channel, class, pool, ns(40_000));
        }
    }
    assert_eq!(transmitter.state, LinkState::InitFlowControl2);
    assert_eq!(transmitter.take_init(ns(40_000)), Some(InitFlowControl::Second));
    let posted = FlowClass::Posted;
    beyond.consume(1, posted, Credits::new(1, 4));
    transmitter.hear_init(Some(&mut beyond), 1, posted, pool, ns(40_001));
    assert_eq!(beyond.of(1)[posted.index()].available(), CreditPool::finite(3, 0), "once and no more");
    transmitter.become_active(Time::ZERO);
    assert_eq!(transmitter.next_deadline(0), (Time::NEVER, Timer::Replay));
    assert!(!transmitter.is_down(), "it is up, and its replay timer stands still");
    transmitter.reset();
    beyond.reset();
    assert!(transmitter.is_down());
    transmitter.hear_init(Some(&mut beyond), 1, posted, pool, ns(90_000));
    assert_eq!(beyond.of(1)[posted.index()].available(), pool, "flow control begins anew on every channel");
}

#[test]
fn credits_of_more_channels_take_memory_by_the_channel() {
    let bytes = |channels| ChannelCredits::new([Scale::One; 3], channels).heap_bytes();
    assert_eq!((bytes(0), bytes(1) * 7), (0, bytes(7)));
    assert!(bytes(1) >= size_of::<[TransmitCredits; 3]>());
}

#[test]
fn a_replay_sends_what_is_not_acknowledged_with_the_same_numbers() {
    let mut bench = Bench::new();
    for tlp in 0..3 {
        bench.send(ns(144 * tlp));
    }
    bench.transmitter.acknowledge(Sequence::new(0), ns(500), Span::from_us(1));
    bench.transmitter.retry.start_replay();
    let mut again = Vec::new();
    bench.settle(ns(500));
    let Bench { transmitter, wire, effects, .. } = &mut bench;
    while let Some((packet, bytes, departure)) = transmitter.send_again(ns(500), wire, effects) {
        again.push((packet, bytes.get(), departure.sequence.get(), departure.head));
    }
    assert_eq!(again, [(2, 36, 1, ns(504)), (3, 36, 2, ns(648))]);
    assert_eq!(bench.spent(Use::Replay), Span::from_ns(288));
}

#[test]
fn a_nullified_tlp_is_not_kept_and_leaves_its_number_to_the_next() {
    let mut bench = Bench::new();
    let Bench { transmitter, wire, effects, .. } = &mut bench;
    let spans = TlpSpans { payload: Span::ZERO, header: Span::from_ns(48), framing: Span::from_ns(32) };
    let nullified = transmitter.send_nullified(spans, ns(0), wire, effects);
    assert_eq!((nullified.sequence, nullified.tail), (Sequence::new(0), ns(84)));
    assert_eq!(bench.send(ns(80)).sequence, Sequence::new(0));
    assert_eq!(bench.transmitter.retry.unacknowledged(), 1);
}

/// What a driver may do when the wire is free.
#[derive(Clone, Copy, Debug)]
enum Step {
    Tlp,
    Dllp,
    Replay,
    Ack,
    Rest(u64),
}

proptest! {
    /// Every instant of the wire is stated once, and nothing is put on it before the last has passed.
    #[test]
    fn all_time_is_stated_once(
        generation in prop::sample::select(vec![Generation::Gen1, Generation::Gen3, Generation::Gen5]),
        width in prop::sample::select(vec![Width::X1, Width::X8, Width::X12]),
        steps in prop::collection::vec(
            (0u64..3_000, prop_oneof![
                4 => Just(Step::Tlp), 2 => Just(Step::Dllp), 1 => Just(Step::Replay), 2 => Just(Step::Ack),
                1 => (0u64..5_000).prop_map(Step::Rest),
            ]),
            1..80,
        ),
    ) {
        let mut bench = Bench::with(CreditPool::INFINITE);
        bench.wire = timing(LinkMode::new(generation, width), 700);
        let (mut now, mut rested) = (Time::ZERO, Span::ZERO);
        for (after, step) in steps {
            now = bench.transmitter.busy_until.max(now) + Span::from_ticks(after * 512);
            bench.settle(now);
            let before = bench.transmitter.busy_until;
            prop_assert!(before >= now);
            match step {
                Step::Tlp if bench.gate().is_ok() && !bench.transmitter.retry.replaying() => {
                    let departure = bench.send(now);
                    prop_assert!(departure.head >= before + bench.wire.propagation);
                    prop_assert_eq!(departure.tail, bench.transmitter.busy_until + bench.wire.propagation);
                }
                Step::Dllp => {
                    bench.transmitter.send_dllp(now, &bench.wire, &mut bench.effects);
                }
                Step::Replay => {
                    bench.transmitter.retry.start_replay();
                    bench.transmitter.send_again(now, &bench.wire, &mut bench.effects);
                }
                Step::Ack => {
                    let last = bench.transmitter.retry.acknowledged().get();
                    bench.transmitter.acknowledge(Sequence::new((last + 1) % 4096), now, Span::from_us(1));
                }
                Step::Rest(ns) => {
                    rested += Span::from_ns(ns);
                    bench.transmitter.rest_until(before + Span::from_ns(ns), &bench.wire);
                }
                Step::Tlp => {}
            }
            prop_assert_eq!(bench.stated() + rested, bench.transmitter.busy_until - Time::ZERO);
        }
        let between = bench.effects.iter().all(|(at, _)| *at <= now);
        prop_assert!(between);
    }
}
