//! The receiver by itself: no fabric, no engine, no clock.

use super::*;
use crate::config::UpdatePolicy;
use crate::link::{DllpSet, Timer};
use lanewise_pcie::ack_nak::Sequence;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flow_control::{CreditPool, Credits, Scale};
use lanewise_pcie::virtual_channel::ChannelArbitration;
use lanewise_units::{Bytes, Span};

mod naive;

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// Settings with these pools for posted requests, at MPS 256: 16 data credits in the largest TLP. An Ack for every fourth TLP or after
/// 100 ns, an UpdateFC for every eighth or after 200 ns, and every 30 us.
fn config(posted: CreditPool) -> PortConfig {
    PortConfig {
        mps: Bytes::new(256),
        retry_buffer: Bytes::from_kib(4),
        credits: [posted, CreditPool::finite(8, 8), CreditPool::INFINITE],
        more_credits: Vec::new(),
        channel_arbitration: ChannelArbitration::Strict,
        scale: [Scale::One; 3],
        ack: AckPolicy { every_tlps: 4, latency: Span::from_ns(100) },
        update_flow_control: UpdatePolicy {
            every_tlps: 8,
            latency: Span::from_ns(200),
            period: Span::from_us(30),
        },
        receive_latency: Span::ZERO,
        replay_timer: Span::from_us(10),
    }
}

/// A posted write of 256 B.
fn write(sequence: u16, at: Time) -> InFlight<u16> {
    InFlight {
        packet: sequence,
        eligible_at: at,
        checked: at,
        sequence: Sequence::new(sequence),
        egress: 0,
        channel: 0,
        data_credits: 16,
        class: FlowClass::Posted,
        fate: Fate::Good,
    }
}

/// The space of such a write.
const WRITE: Space = Space { channel: 0, class: FlowClass::Posted, credits: Credits::new(1, 16) };

/// A receiver with what came of it.
struct Bench {
    receiver: Receiver<u16>,
    policy: ReceiverPolicy,
    effects: Vec<(Time, Effect)>,
}

impl Bench {
    fn new(config: &PortConfig) -> Self {
        let policy = ReceiverPolicy { ack: config.ack, update: config.update_flow_control };
        let mut receiver = Receiver::new(config);
        receiver.add_channels(config);
        Self { receiver, policy, effects: Vec::new() }
    }

    /// With room for 64 writes.
    fn roomy() -> Self {
        Self::new(&config(CreditPool::finite(64, 1024)))
    }

    fn receive(&mut self, tlp: InFlight<u16>) -> Outcome {
        self.receiver.expect(tlp);
        let arrived = self.receiver.take_next();
        assert_eq!(arrived, tlp);
        self.receiver.receive(&arrived, tlp.eligible_at, &self.policy.ack, &mut self.effects)
    }

    /// Good writes with the next sequence numbers, which must be accepted.
    fn accept(&mut self, sequences: std::ops::Range<u16>, at: u64) {
        for sequence in sequences {
            assert_eq!(self.receive(write(sequence, ns(at))), Outcome::Accepted);
        }
    }

    /// The space of a write is free from `free_at` on, which is known at `now`.
    fn drain(&mut self, free_at: u64, now: u64) {
        self.receiver.drain(WRITE, ns(free_at), ns(now), &self.policy.update, &mut self.effects);
    }

    fn deadline(&self) -> (Time, Timer) {
        self.receiver.next_deadline(|| Time::ZERO)
    }

    /// DLLPs that leave at `at`, in the order of their priority.
    fn dllps(&mut self, at: u64) -> Vec<Dllp> {
        self.dllps_at(ns(at))
    }

    fn dllps_at(&mut self, at: Time) -> Vec<Dllp> {
        let Self { receiver, policy, effects } = self;
        let nak = receiver.take_nak(at, &policy.ack, effects).map(Dllp::Nak);
        let ack = receiver.take_ack(at, &policy.ack).map(Dllp::Ack);
        let mut sent: Vec<Dllp> = nak.into_iter().chain(ack).collect();
        if receiver.owes_update(at) {
            for channel in 0..receiver.channels() {
                for class in FlowClass::ALL {
                    sent.extend(receiver.take_update(channel, class, at, &policy.update, effects));
                }
            }
        }
        sent
    }

    fn saw_kind(&self, is: impl Fn(&Effect) -> bool) -> usize {
        self.effects.iter().filter(|(_, found)| is(found)).count()
    }

    fn saw(&self, effect: Effect) -> usize {
        self.effects.iter().filter(|(_, found)| *found == effect).count()
    }
}

fn ack(sequence: u16) -> Dllp {
    Dllp::Ack(Sequence::new(sequence))
}

fn nak(sequence: u16) -> Dllp {
    Dllp::Nak(Sequence::new(sequence))
}

fn update(header: u16, data: u16) -> Dllp {
    Dllp::UpdateFlowControl { channel: 0, class: FlowClass::Posted, header, data }
}

#[test]
fn at_rest_nothing_is_owed() {
    let bench = Bench::roomy();
    assert_eq!((bench.deadline().0, bench.receiver.acts_at()), (Time::NEVER, Time::NEVER));
    assert!(!bench.receiver.owes_update(ns(1_000_000)));
}

#[test]
fn an_ack_is_owed_the_latency_after_the_first_tlp() {
    let mut bench = Bench::roomy();
    bench.accept(0..1, 10);
    bench.accept(1..3, 90);
    assert_eq!(bench.deadline(), (ns(110), Timer::Ack));
    assert_eq!(bench.dllps(109), []);
    assert_eq!(bench.dllps(110), [ack(2)]);
    assert_eq!(bench.deadline().0, Time::NEVER);
}

#[test]
fn the_fourth_tlp_is_acknowledged_at_once() {
    let mut bench = Bench::roomy();
    bench.accept(0..3, 10);
    bench.accept(3..4, 50);
    assert_eq!(bench.deadline(), (ns(50), Timer::Ack));
    assert_eq!(bench.dllps(50), [ack(3)]);
    bench.accept(4..5, 60);
    assert_eq!(bench.deadline(), (ns(160), Timer::Ack), "counting starts anew");
}

#[test]
fn an_ack_leaves_out_a_tlp_whose_lcrc_is_not_checked_yet() {
    let mut bench = Bench::roomy();
    bench.accept(0..1, 0);
    let begun = InFlight { checked: ns(150), ..write(1, ns(90)) };
    assert_eq!(bench.receive(begun), Outcome::Accepted);
    assert_eq!(bench.dllps(100), [ack(0)]);
    assert_eq!(bench.deadline(), (ns(250), Timer::Ack));
    assert_eq!(bench.dllps(250), [ack(1)]);
}

#[test]
fn a_gap_is_refused_with_one_nak_in_place_of_the_ack() {
    let mut bench = Bench::roomy();
    bench.accept(0..2, 0);
    assert_eq!(bench.receive(write(3, ns(20))), Outcome::Refused);
    assert_eq!(bench.receive(write(4, ns(30))), Outcome::RefusedAgain);
    assert_eq!(bench.deadline(), (ns(20), Timer::Nak));
    assert_eq!(bench.dllps(30), [nak(1)]);
    assert_eq!(bench.deadline().0, Time::NEVER, "a Nak acknowledges too, and is not repeated");
    assert_eq!((bench.saw_kind(|e| matches!(e, Effect::BadTlp { .. })), bench.saw(Effect::NakSent)), (1, 1));
    bench.accept(2..5, 300);
    assert_eq!(bench.dllps(400), [ack(4)]);
}

/// The transmitter may replay of its own accord before a Nak that waits for the wire has left.
#[test]
fn a_nak_that_leaves_late_says_what_has_come_meanwhile() {
    let mut bench = Bench::roomy();
    bench.accept(0..1, 0);
    assert_eq!(bench.receive(write(2, ns(20))), Outcome::Refused);
    bench.accept(1..3, 40);
    assert_eq!(bench.dllps(50), [nak(2)]);
    assert_eq!(bench.deadline().0, Time::NEVER, "all is acknowledged");
}

#[test]
fn a_damaged_tlp_is_refused_whatever_its_number() {
    for fate in [Fate::Damaged, Fate::Misframed] {
        let mut bench = Bench::roomy();
        assert_eq!(bench.receive(InFlight { fate, ..write(0, ns(5)) }), Outcome::Refused);
        assert_eq!(bench.receive(InFlight { fate, ..write(1, ns(6)) }), Outcome::RefusedAgain);
        assert_eq!(bench.dllps(6), [nak(4095)]);
        assert_eq!(bench.saw_kind(|e| matches!(e, Effect::BadTlp { .. })), 2);
        assert_eq!(bench.receiver.buffer(0, FlowClass::Posted).credits.held(), Credits::NONE);
    }
}

#[test]
fn a_duplicate_is_acknowledged_again_at_once_and_takes_no_room() {
    let mut bench = Bench::roomy();
    bench.accept(0..2, 0);
    assert_eq!(bench.dllps(100), [ack(1)]);
    assert_eq!(bench.receive(write(0, ns(500))), Outcome::Duplicate);
    assert_eq!(bench.deadline().0, Time::NEVER, "until it has been checked");
    bench.receiver.drop_duplicate(ns(500));
    assert_eq!(bench.deadline(), (ns(500), Timer::Ack));
    assert_eq!(bench.dllps(500), [ack(1)]);
    assert_eq!(bench.saw_kind(|e| matches!(e, Effect::Duplicate { .. })), 1);
    assert_eq!(bench.receiver.buffer(0, FlowClass::Posted).credits.held(), Credits::new(2, 32));
}

/// A cut-through switch takes a TLP in before it is checked. What leaves before answers no duplicate.
#[test]
fn a_duplicate_is_acknowledged_when_it_is_checked_whatever_left_before() {
    let mut bench = Bench::roomy();
    bench.accept(0..2, 450);
    let duplicate = InFlight { checked: ns(600), ..write(0, ns(500)) };
    assert_eq!(bench.receive(duplicate), Outcome::Duplicate);
    assert_eq!(bench.deadline(), (ns(550), Timer::Ack), "of the TLPs before");
    assert_eq!(bench.dllps(550), [ack(1)]);
    bench.receiver.drop_duplicate(ns(600));
    assert_eq!(bench.deadline(), (ns(600), Timer::Ack));
    assert_eq!(bench.dllps(620), [ack(1)]);
    assert_eq!(bench.deadline().0, Time::NEVER);
}

#[test]
fn a_nullified_tlp_has_no_number_of_its_own() {
    let mut bench = Bench::roomy();
    let nullified = InFlight { fate: Fate::Nullified, ..write(0, ns(5)) };
    assert_eq!(bench.receive(nullified), Outcome::Nullified);
    assert_eq!(
        (bench.effects.as_slice(), bench.deadline().0),
        (&[(ns(5), Effect::Nullified)][..], Time::NEVER)
    );
    bench.accept(0..1, 10);
}

#[test]
fn a_quarter_of_the_pool_is_told_at_once_and_less_after_the_latency() {
    // Headers and data of the pool, and how many writes are a quarter of it: at most the eight of the policy.
    for (headers, data, quarter) in [(64, 1024, 8), (64, 256, 4), (16, 1024, 4), (64, 128, 2), (64, 127, 1)] {
        let mut bench = Bench::new(&config(CreditPool::finite(headers, data)));
        bench.accept(0..quarter, 0);
        bench.dllps(1_000);
        for freed in 1..=quarter {
            let at = 1_000 + u64::from(freed);
            bench.drain(at, at);
            let due = if freed < quarter { ns(1_201) } else { ns(at) };
            assert_eq!(bench.deadline(), (due, Timer::UpdateFlowControl), "{freed} of {headers}/{data}");
        }
        let at = 1_000 + u64::from(quarter);
        assert_eq!(bench.dllps(at), [update((headers + quarter) % 256, data + 16 * quarter)]);
        assert_eq!(bench.deadline().0, ns(at) + Span::from_us(30), "and again in a period");
    }
}

#[test]
fn what_will_be_free_is_told_when_it_is_free() {
    let mut bench = Bench::new(&config(CreditPool::finite(64, 256)));
    bench.accept(0..4, 0);
    bench.dllps(100);
    (0..4).for_each(|space| bench.drain(300 + 10 * space, 200));
    assert_eq!(bench.deadline(), (ns(330), Timer::UpdateFlowControl));
    assert_eq!(bench.saw(Effect::BufferFreed { class: FlowClass::Posted, bytes: 16 + 256 }), 0);
    assert_eq!(bench.dllps(330), [update(68, 320)]);
    assert_eq!(
        bench.effects.last(),
        Some(&(ns(330), Effect::BufferFreed { class: FlowClass::Posted, bytes: 272 }))
    );
}

#[test]
fn space_that_is_free_at_an_instant_is_free_at_it_and_in_the_order_in_which_it_was_left() {
    let mut bench = Bench::roomy();
    bench.accept(0..1, 0);
    assert_eq!(bench.receive(InFlight { data_credits: 1, ..write(1, ns(0)) }), Outcome::Accepted);
    bench.drain(300, 200);
    let small = Space { credits: Credits::new(1, 1), ..WRITE };
    bench.receiver.drain(small, ns(300), ns(200), &bench.policy.update, &mut bench.effects);
    let is_empty_by = |at| bench.receiver.buffer(0, FlowClass::Posted).is_empty_by(ns(at));
    assert_eq!([299, 300].map(is_empty_by), [false, true]);
    bench.receiver.release_drained(FlowClass::Posted, ns(300), &mut bench.effects);
    let freed = |bytes| (ns(300), Effect::BufferFreed { class: FlowClass::Posted, bytes });
    assert!(bench.effects.ends_with(&[freed(16 + 256), freed(16 + 16)]));
}

#[test]
fn a_transmitter_that_may_lack_credits_is_told_at_once() {
    // Room for three writes, and the second freed is not a quarter by the policy: at MPS 256 one is.
    let mut settings = config(CreditPool::finite(64, 512));
    settings.update_flow_control.every_tlps = 100;
    let mut bench = Bench::new(&settings);
    bench.accept(0..30, 0);
    bench.dllps(100);
    bench.drain(200, 200);
    assert_eq!(bench.deadline(), (ns(400), Timer::UpdateFlowControl), "two are left to it");
    bench.accept(30..32, 250);
    assert_eq!(bench.deadline().0, ns(250), "none are, and one is free");
    assert_eq!(bench.dllps(250), [update(65, 528)]);
}

#[test]
fn infinite_credits_are_free_at_once_and_never_told() {
    let mut bench = Bench::roomy();
    let completion = InFlight { class: FlowClass::Completion, ..write(0, ns(0)) };
    assert_eq!(bench.receive(completion), Outcome::Accepted);
    bench.dllps(100);
    let space = Space { class: FlowClass::Completion, ..WRITE };
    bench.receiver.drain(space, ns(900), ns(300), &bench.policy.update, &mut bench.effects);
    let freed = Effect::BufferFreed { class: FlowClass::Completion, bytes: 272 };
    assert_eq!(bench.effects.last(), Some(&(ns(300), freed)));
    assert_eq!(bench.deadline().0, Time::NEVER);
}

#[test]
fn periods_start_with_the_link_and_stop_in_its_sleep() {
    let mut bench = Bench::roomy();
    let period = bench.policy.update.period;
    bench.receiver.start_updates(ns(0), period);
    assert_eq!(bench.deadline(), (ns(0) + period, Timer::UpdateFlowControl));
    assert!(bench.receiver.only_repeats(ns(30_000)));
    bench.receiver.stop_updates(ns(30_000), &bench.policy.update);
    assert_eq!(bench.deadline().0, Time::NEVER);
    bench.receiver.resume_updates(ns(50_000), period);
    assert_eq!(bench.deadline().0, ns(80_000));
    assert_eq!(bench.dllps(80_000).len(), 2, "posted and non-posted: completions are infinite");
}

/// Space that is still draining is no news yet, and is told when it is free.
#[test]
fn an_update_put_off_in_sleep_goes_out_when_space_is_free() {
    let mut bench = Bench::roomy();
    bench.receiver.start_updates(ns(0), bench.policy.update.period);
    bench.accept(0..1, 10);
    bench.dllps(110);
    bench.drain(30_500, 20);
    assert!(bench.receiver.only_repeats(ns(30_000)) && !bench.receiver.only_repeats(ns(30_500)));
    bench.receiver.stop_updates(ns(30_000), &bench.policy.update);
    let due = ns(30_500) + bench.policy.update.latency;
    assert_eq!(bench.deadline(), (due, Timer::UpdateFlowControl));
}

/// What repeats nothing wakes a link from L1: an Ack, a Nak, space that is free (PCIe Base 6.3 §2.6.1.2).
#[test]
fn acks_naks_and_news_of_credits_are_no_repetition() {
    let mut bench = Bench::roomy();
    let only_repeats = |bench: &Bench, times: [u64; 2]| times.map(|at| bench.receiver.only_repeats(ns(at)));
    bench.receiver.start_updates(ns(0), bench.policy.update.period);
    bench.accept(0..1, 10);
    assert_eq!(only_repeats(&bench, [109, 110]), [true, false], "the Ack is due");
    bench.dllps(110);
    assert_eq!(bench.receive(write(2, ns(150))), Outcome::Refused);
    assert_eq!(only_repeats(&bench, [149, 150]), [true, false], "a Nak is");
    bench.dllps(150);
    bench.drain(200, 200);
    assert_eq!(only_repeats(&bench, [399, 400]), [true, false], "an UpdateFC that says more is");
}

#[test]
fn dllps_leave_before_a_tlp_of_the_same_instant_arrives_if_the_wire_is_free() {
    let mut bench = Bench::roomy();
    bench.accept(0..1, 0);
    bench.receiver.expect_ahead(write(1, ns(100)));
    bench.receiver.expect_ahead(write(2, ns(130)));
    assert_eq!(bench.receiver.next_deadline(|| ns(90)), (ns(100), Timer::Ack));
    assert_eq!(bench.receiver.next_deadline(|| ns(101)), (ns(100), Timer::Arrival));
    assert_eq!(bench.receiver.last_arrival(), ns(130));
    for (sequence, at) in [(1, 100), (2, 130)] {
        assert_eq!(bench.receiver.next_deadline(|| Time::NEVER), (ns(at), Timer::Arrival));
        let arrived = bench.receiver.take_next_ahead();
        let outcome = bench.receiver.receive(&arrived, ns(at), &bench.policy.ack, &mut bench.effects);
        assert_eq!((arrived.packet, outcome), (sequence, Outcome::Accepted));
    }
    assert_eq!(bench.receiver.next_deadline(|| Time::NEVER).0, Time::NEVER);
    assert_eq!(bench.dllps(130), [ack(2)]);
}

#[test]
fn only_dllps_that_are_waited_for_count() {
    let mut bench = Bench::roomy();
    let posted = DllpSet::update_of(0, FlowClass::Posted);
    bench.receiver.start_updates(ns(0), bench.policy.update.period);
    bench.accept(0..1, 10);
    assert_eq!(bench.receiver.next_of(DllpSet::NONE, false), Time::NEVER);
    assert_eq!(bench.receiver.next_of(DllpSet::ACK, false), ns(110));
    assert_eq!(bench.receiver.next_of(posted, false), Time::NEVER, "it repeats what is known");
    assert_eq!(bench.receiver.next_of(posted, true), ns(30_000), "but the last one may have been lost");
    bench.drain(50, 20);
    assert_eq!(bench.receiver.next_of(posted, false), ns(250));
    bench.receiver.expect_ahead(write(1, ns(70)));
    assert_eq!(bench.receiver.next_of(posted, false), ns(70), "it may take the last credits");
    assert_eq!(bench.receiver.next_of(DllpSet::ACK, false), ns(70), "it may be the fourth");
}

/// An UpdateFC of VC1 is not sooner for a TLP that arrives, unless credits are free that this may hasten.
#[test]
fn updates_of_other_channels_that_are_waited_for_count() {
    let others = DllpSet::OTHER_CHANNELS;
    let mut settings = config(CreditPool::finite(64, 1024));
    settings.more_credits = vec![[CreditPool::finite(8, 128), CreditPool::INFINITE, CreditPool::INFINITE]];
    let mut bench = Bench::new(&settings);
    bench.receiver.start_updates(ns(0), bench.policy.update.period);
    assert_eq!(bench.receive(InFlight { channel: 1, ..write(0, ns(10)) }), Outcome::Accepted);
    bench.receiver.expect_ahead(write(1, ns(70)));
    assert_eq!(bench.receiver.next_of(others, false), ns(30_000));
    assert_eq!(bench.receiver.next_of(others.and(DllpSet::ACK), false), ns(70), "an Ack may be sooner");
    let space = Space { channel: 1, ..WRITE };
    bench.receiver.drain(space, ns(5_000), ns(20), &bench.policy.update, &mut bench.effects);
    assert_eq!(bench.receiver.next_of(others, false), ns(70));
    bench.receiver.take_next_ahead();
    assert_eq!(bench.receiver.next_of(others, false), ns(5_200));
    assert_eq!(bench.receiver.next_of(DllpSet::NONE, false), Time::NEVER);
}

#[test]
fn a_tlp_that_arrives_before_the_ack_is_due_may_bring_it_forward() {
    let mut bench = Bench::roomy();
    bench.accept(0..1, 10);
    assert_eq!(bench.receiver.ack_at_latest(), ns(110));
    bench.receiver.expect_ahead(InFlight { checked: ns(75), ..write(1, ns(70)) });
    assert_eq!((bench.receiver.ack_at_latest(), bench.receiver.ack_at()), (ns(75), ns(110)));
    // Where the driver knows the time of arrival, it plans anew then.
    let mut bench = Bench::roomy();
    bench.accept(0..1, 10);
    bench.receiver.expect(write(1, ns(70)));
    assert_eq!(bench.receiver.ack_at_latest(), ns(110));
}

#[test]
fn each_virtual_channel_has_buffers_of_its_own() {
    let mut settings = config(CreditPool::finite(64, 1024));
    settings.more_credits =
        vec![[CreditPool::finite(2, 32), CreditPool::finite(1, 1), CreditPool::finite(1, 16)]];
    let mut bench = Bench::new(&settings);
    assert_eq!(bench.receive(InFlight { channel: 1, ..write(0, ns(0)) }), Outcome::Accepted);
    bench.accept(1..2, 10);
    bench.dllps(110);
    assert_eq!(bench.receiver.buffer(1, FlowClass::Posted).credits.held(), Credits::new(1, 16));
    let space = Space { channel: 1, ..WRITE };
    bench.receiver.drain(space, ns(200), ns(150), &bench.policy.update, &mut bench.effects);
    let told = Dllp::UpdateFlowControl { channel: 1, class: FlowClass::Posted, header: 3, data: 48 };
    assert_eq!((bench.deadline().0, bench.dllps(200)), (ns(200), vec![told]));
    assert_eq!(bench.receiver.buffer(0, FlowClass::Posted).credits.held(), Credits::new(1, 16));
}

#[test]
fn a_tlp_without_credits_overflows() {
    let mut bench = Bench::new(&config(CreditPool::finite(2, 16)));
    bench.accept(0..1, 0);
    assert_eq!(bench.receive(write(1, ns(1))), Outcome::Overflow(Overflow::Data));
}

#[test]
fn after_the_link_was_down_it_counts_anew() {
    let mut bench = Bench::roomy();
    bench.accept(0..3, 0);
    (0..3).for_each(|_| bench.drain(10, 5));
    bench.receiver.release_drained(FlowClass::Posted, ns(10), &mut bench.effects);
    bench.receiver.reset();
    assert_eq!(bench.deadline().0, Time::NEVER);
    assert_eq!(bench.receiver.buffer(0, FlowClass::Posted).credits.limit(), (64, 1024));
    bench.accept(0..1, 1_000);
}

#[test]
fn memory_is_that_of_queues_and_of_what_few_receivers_have() {
    let mut bench = Bench::roomy();
    assert_eq!(bench.receiver.heap_bytes(), 0);
    bench.accept(0..1, 0);
    bench.drain(20, 10);
    // A queue begins with four slots.
    let queues = 4 * (size_of::<InFlight<u16>>() + size_of::<(Time, Credits)>());
    assert_eq!(bench.receiver.heap_bytes(), queues);
    assert_eq!(bench.receive(write(0, ns(30))), Outcome::Duplicate);
    assert_eq!(bench.receiver.heap_bytes(), queues, "it is checked already: there is nothing to remember");
    let channel = || ChannelBuffers {
        buffers: buffers(&[CreditPool::INFINITE; 3], &config(CreditPool::INFINITE)),
        update_at: [Time::NEVER; 3],
    };
    bench.receiver.rare = Some(Box::new(Rare {
        beyond: vec![channel(), channel()],
        unchecked: VecDeque::with_capacity(3),
        ..Rare::default()
    }));
    let rare = size_of::<Rare>() + 2 * size_of::<ChannelBuffers>() + 3 * size_of::<Time>();
    assert_eq!(bench.receiver.heap_bytes(), queues + rare);
}
