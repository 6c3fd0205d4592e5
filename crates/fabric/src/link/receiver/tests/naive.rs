//! The receiver beside one that is written to be read: it looks at each instant and foresees nothing.

use super::*;
use proptest::prelude::*;

/// How long a DLLP takes on the wire.
const DLLP: Span = Span::from_ns(4);

/// What happens to a receiver.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The next TLP arrives, or one that is not: what is added to its sequence number, modulo 4096. It is checked so many ns later,
    /// but not before the one before it.
    Arrive { class: FlowClass, data_credits: u16, beside: u16, fate: Fate, check_ns: u64 },
    /// The oldest TLP of a class that is still held leaves: its space is free after so many ns.
    Drain { class: FlowClass, after_ns: u64 },
}

/// A buffer that is told of each TLP when its space is free, and not before.
struct NaiveBuffer {
    pool: [Option<u16>; 2],
    step: u64,
    every: u64,
    /// With less than this the transmitter may lack credits for its next TLP.
    least: [u64; 2],
    allocated: [u64; 2],
    received: [u64; 2],
    told: [u64; 2],
    freed: u64,
    update_due: Time,
    /// TLPs that are here, and those that leave, with the time.
    held: Vec<[u64; 2]>,
    leaving: Vec<(Time, [u64; 2])>,
}

impl NaiveBuffer {
    fn new(class: FlowClass, config: &PortConfig) -> Self {
        let pool = [config.credits[class.index()].header, config.credits[class.index()].data];
        let step = u64::from(config.scale[class.index()].factor());
        let largest = if class == FlowClass::NonPosted { 1 } else { 16 };
        let quarter = |pool: Option<u16>, each: u64| {
            pool.map_or(u64::MAX, |pool| (u64::from(pool) / each / 4).max(step.div_ceil(each)))
        };
        let every = u64::from(config.update_flow_control.every_tlps);
        let allocated = pool.map(|credits| u64::from(credits.unwrap_or(0)));
        Self {
            pool,
            step,
            every: every.min(quarter(pool[0], 1)).min(quarter(pool[1], largest)).max(1),
            least: [step, largest.max(step)],
            allocated,
            received: [0; 2],
            told: allocated.map(|credits| credits / step * step),
            freed: 0,
            update_due: Time::NEVER,
            held: Vec::new(),
            leaving: Vec::new(),
        }
    }

    fn counts(&self) -> bool {
        self.pool != [None, None]
    }

    fn left(&self, part: usize) -> u64 {
        self.pool[part].map_or(u64::MAX, |_| self.told[part] - self.received[part])
    }

    fn is_low(&self) -> bool {
        (0..2).any(|part| self.left(part) < self.least[part])
    }

    fn fill(&mut self, credits: [u64; 2], now: Time) {
        self.held.push(credits);
        (0..2).for_each(|part| self.received[part] += credits[part]);
        if self.counts() && self.freed > 0 && self.is_low() {
            self.update_due = self.update_due.min(now);
        }
    }

    /// Space that is free at `now`.
    fn free(&mut self, now: Time, latency: Span) {
        while let Some(position) = self.leaving.iter().position(|(at, _)| *at <= now) {
            let (_, credits) = self.leaving.remove(position);
            (0..2).for_each(|part| self.allocated[part] += credits[part]);
            self.freed += 1;
            let at_once = self.freed >= self.every || self.is_low();
            self.update_due = self.update_due.min(if at_once { now } else { now + latency });
        }
    }

    /// What an UpdateFC of `now` says.
    fn tell(&mut self, now: Time, period: Span) -> (u16, u16) {
        self.told = self.allocated.map(|credits| credits / self.step * self.step);
        self.freed = 0;
        self.update_due = now + period;
        let said = |part: usize, modulus: u64| {
            self.pool[part].map_or(0, |_| (self.told[part] % (modulus * self.step)) as u16)
        };
        (said(0, 256), said(1, 4096))
    }
}

struct Naive {
    policy: ReceiverPolicy,
    /// TLPs accepted so far, when those not checked yet will be, and how many have been.
    accepted: u64,
    unchecked: Vec<Time>,
    checked: u64,
    nak_scheduled: bool,
    nak: Option<Time>,
    unacknowledged: u32,
    ack_due: Time,
    buffers: [NaiveBuffer; 3],
}

impl Naive {
    fn last(&self) -> u16 {
        ((self.checked + 4095) % 4096) as u16
    }

    /// LCRCs that are checked at `now`.
    fn check(&mut self, now: Time) {
        let all = self.unchecked.len();
        self.unchecked.retain(|at| *at > now);
        for _ in self.unchecked.len()..all {
            self.checked += 1;
            self.unacknowledged += 1;
            let by_count = self.unacknowledged >= self.policy.ack.every_tlps;
            self.ack_due = self.ack_due.min(if by_count { now } else { now + self.policy.ack.latency });
        }
    }

    fn next_due(&self) -> Time {
        let nak = self.nak.unwrap_or(Time::NEVER);
        self.buffers.iter().fold(nak.min(self.ack_due), |at, buffer| at.min(buffer.update_due))
    }

    fn free(&mut self, now: Time) {
        self.buffers.iter_mut().for_each(|buffer| buffer.free(now, self.policy.update.latency));
    }

    fn dllps(&mut self, now: Time, sent: &mut Vec<(Time, Dllp)>) {
        if let Some(at) = self.nak
            && at <= now
        {
            (self.nak, self.ack_due, self.unacknowledged) = (None, Time::NEVER, 0);
            sent.push((now, nak(self.last())));
        }
        if self.ack_due <= now {
            (self.ack_due, self.unacknowledged) = (Time::NEVER, 0);
            sent.push((now, ack(self.last())));
        }
        for class in FlowClass::ALL {
            let buffer = &mut self.buffers[class.index()];
            if buffer.update_due <= now {
                let (header, data) = buffer.tell(now, self.policy.update.period);
                sent.push((now, Dllp::UpdateFlowControl { channel: 0, class, header, data }));
            }
        }
    }

    fn drop_duplicate(&mut self, now: Time) {
        self.ack_due = self.ack_due.min(now);
    }

    /// Takes a TLP in; false if it is not the next one.
    fn arrive(&mut self, tlp: &InFlight<u16>, now: Time) -> bool {
        let behind = (self.accepted + 4096 - u64::from(tlp.sequence.get())) % 4096;
        if tlp.fate == Fate::Good && behind == 0 {
            self.accepted += 1;
            self.nak_scheduled = false;
            self.unchecked.push(tlp.checked);
            self.check(now);
            self.buffers[tlp.class.index()].fill([1, u64::from(tlp.data_credits)], now);
            return true;
        }
        let is_duplicate = tlp.fate == Fate::Good && behind <= 2048;
        if !is_duplicate && !self.nak_scheduled {
            self.nak_scheduled = true;
            self.nak = Some(tlp.checked);
        }
        false
    }
}

/// Both receivers, and the wire on which what they owe leaves.
struct Pair {
    bench: Bench,
    naive: Naive,
    wire_free_at: [Time; 2],
    sent: [Vec<(Time, Dllp)>; 2],
    last_checked: Time,
    /// When TLPs that came before will have been checked.
    duplicates: VecDeque<Time>,
}

impl Pair {
    fn new(config: &PortConfig) -> Self {
        let bench = Bench::new(config);
        let naive = Naive {
            policy: bench.policy,
            accepted: 0,
            unchecked: Vec::new(),
            checked: 0,
            nak_scheduled: false,
            nak: None,
            unacknowledged: 0,
            ack_due: Time::NEVER,
            buffers: FlowClass::ALL.map(|class| NaiveBuffer::new(class, config)),
        };
        Self {
            bench,
            naive,
            wire_free_at: [Time::ZERO; 2],
            sent: Default::default(),
            last_checked: Time::ZERO,
            duplicates: VecDeque::new(),
        }
    }

    /// Everything that is due by `now`, with `now`; TLPs that came before are dropped behind what is due when they have been checked.
    fn advance(&mut self, now: Time) {
        while let Some(at) = self.duplicates.front().copied().filter(|at| *at <= now) {
            self.duplicates.pop_front();
            self.advance_what_is_owed(at);
            self.bench.receiver.drop_duplicate(at);
            self.naive.drop_duplicate(at);
        }
        self.advance_what_is_owed(now);
    }

    /// In the receiver by its deadlines, in the other instant by instant.
    fn advance_what_is_owed(&mut self, now: Time) {
        let Self { bench, naive, wire_free_at: [ours, theirs], sent: [our_sent, their_sent], .. } = self;
        loop {
            let (at, _) = bench.receiver.next_deadline(|| *ours);
            if at > now {
                break;
            }
            *ours = at;
            for dllp in bench.dllps_at(at) {
                our_sent.push((at, dllp));
                *ours += DLLP;
            }
            assert!(*ours > at, "a DLLP was due at {at:?}, and none left");
        }
        loop {
            let leaving = naive.buffers.iter().flat_map(|buffer| &buffer.leaving).map(|(at, _)| *at).min();
            let checked = naive.unchecked.iter().copied().min().unwrap_or(Time::NEVER);
            let at = naive.next_due().max(*theirs).min(leaving.unwrap_or(Time::NEVER)).min(checked);
            if at > now {
                break;
            }
            naive.free(at);
            naive.check(at);
            if at >= *theirs {
                let before = their_sent.len();
                naive.dllps(at, their_sent);
                *theirs = at.max(*theirs) + DLLP * (their_sent.len() - before) as u64;
            }
        }
    }

    fn step(&mut self, step: Step, now: Time) {
        match step {
            Step::Arrive { class, data_credits, beside, fate, check_ns } => {
                let data_credits =
                    if class == FlowClass::NonPosted { data_credits.min(1) } else { data_credits };
                let number = ((self.naive.accepted + u64::from(beside)) % 4096) as u16;
                let buffer = &self.naive.buffers[class.index()];
                if buffer.left(0) < 1 || buffer.left(1) < u64::from(data_credits) {
                    return; // It would not have been sent.
                }
                self.last_checked = self.last_checked.max(now + Span::from_ns(check_ns));
                let checked = self.last_checked;
                let tlp = InFlight { class, data_credits, fate, checked, ..write(number, now) };
                let outcome = self.bench.receive(tlp);
                if outcome == Outcome::Duplicate {
                    self.duplicates.push_back(checked);
                }
                assert_eq!(
                    outcome == Outcome::Accepted,
                    self.naive.arrive(&tlp, now),
                    "{outcome:?} of {tlp:?}"
                );
            }
            Step::Drain { class, after_ns } => {
                let buffer = &mut self.naive.buffers[class.index()];
                if buffer.held.is_empty() {
                    return;
                }
                let credits = buffer.held.remove(0);
                let at = now + Span::from_ns(after_ns);
                if buffer.counts() {
                    buffer.leaving.push((at, credits));
                }
                let credits = Credits::new(credits[0] as u16, credits[1] as u16);
                let space = Space { channel: 0, class, credits };
                self.bench.receiver.drain(space, at, now, &self.bench.policy.update, &mut self.bench.effects);
            }
        }
        self.naive.free(now);
    }
}

fn class() -> impl Strategy<Value = FlowClass> {
    prop::sample::select(FlowClass::ALL.to_vec())
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let fate = prop_oneof![8 => Just(Fate::Good), 1 => Just(Fate::Damaged)];
    // The next one, a duplicate of the last, or one with a gap before it.
    let beside = prop_oneof![8 => Just(0u16), 1 => Just(4095u16), 1 => Just(1u16)];
    let check_ns = prop_oneof![3 => Just(0u64), 1 => 0u64..120];
    let arrive = (class(), 0u16..=16, beside, fate, check_ns).prop_map(
        |(class, data_credits, beside, fate, check_ns)| Step::Arrive {
            class,
            data_credits,
            beside,
            fate,
            check_ns,
        },
    );
    let drain = (class(), 0u64..300).prop_map(|(class, after_ns)| Step::Drain { class, after_ns });
    let gap = prop_oneof![Just(0u64), 1u64..20, 1u64..400];
    prop::collection::vec((gap, prop_oneof![arrive, drain]), 1..120)
}

prop_compose! {
    fn settings()(
        scale in prop::array::uniform3(prop::sample::select(vec![Scale::One, Scale::Four])),
        pools in prop::collection::vec((1u16..20, 16u16..200), 3),
        infinite in any::<bool>(),
        (ack_every, ack_ns) in (1u32..6, 0u64..300),
        (update_every, update_ns, period_ns) in (1u32..10, 0u64..400, 500u64..3_000),
    ) -> PortConfig {
        let pool = |class: usize| {
            let ((headers, data), factor) = (pools[class], scale[class].factor());
            CreditPool::finite(headers * factor, data * factor)
        };
        let completion = if infinite { CreditPool::INFINITE } else { pool(2) };
        PortConfig {
            credits: [pool(0), pool(1), completion],
            scale,
            ack: AckPolicy { every_tlps: ack_every, latency: Span::from_ns(ack_ns) },
            update_flow_control: UpdatePolicy {
                every_tlps: update_every,
                latency: Span::from_ns(update_ns),
                period: Span::from_ns(period_ns),
            },
            ..config(CreditPool::finite(1, 16))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The same DLLPs leave at the same times, whatever arrives and drains when.
    #[test]
    fn what_is_owed_is_what_a_naive_receiver_owes(settings in settings(), steps in steps()) {
        let mut pair = Pair::new(&settings);
        let mut now = Time::ZERO;
        for (after_ns, step) in steps {
            now += Span::from_ns(after_ns);
            pair.advance(now);
            pair.step(step, now);
        }
        pair.advance(now + Span::from_us(4));
        let [ours, theirs] = &pair.sent;
        let differ = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
        let differ = differ.unwrap_or(ours.len().min(theirs.len()));
        prop_assert!(ours == theirs, "ours {:?}, theirs {:?}, before {:?}", ours.get(differ), theirs.get(differ), &ours[differ.saturating_sub(3)..differ]);
    }

    /// What is accepted is acknowledged in time by an Ack or Nak that covers it, and what is held is what has not left.
    #[test]
    fn acks_come_in_time_and_credits_are_conserved(settings in settings(), steps in steps()) {
        let mut pair = Pair::new(&settings);
        let (mut now, mut accepted) = (Time::ZERO, Vec::new());
        for (after_ns, step) in steps {
            now += Span::from_ns(after_ns);
            pair.advance(now);
            pair.step(step, now);
            accepted.resize(pair.naive.accepted as usize, pair.last_checked);
        }
        for class in FlowClass::ALL {
            let NaiveBuffer { held, leaving, .. } = &pair.naive.buffers[class.index()];
            let inside = held.iter().chain(leaving.iter().map(|(_, credits)| credits));
            let [headers, data] = inside.fold([0; 2], |sum, credits| [sum[0] + credits[0], sum[1] + credits[1]]);
            pair.bench.receiver.release_drained(class, now, &mut pair.bench.effects);
            let buffer = pair.bench.receiver.buffer(0, class);
            if !buffer.credits.is_infinite() {
                prop_assert_eq!(buffer.credits.held(), Credits::new(headers as u16, data as u16));
            }
        }
        pair.advance(now + Span::from_us(1));
        // Before an Ack that is due, a Nak, an Ack and three UpdateFCs may be on the wire.
        let latest = settings.ack.latency + DLLP * 5;
        for (number, at) in accepted.iter().enumerate() {
            let covers = |(_, dllp): &&(Time, Dllp)| match dllp {
                Dllp::Ack(last) | Dllp::Nak(last) => last.get() < 4095 && usize::from(last.get()) >= number,
                _ => false,
            };
            let first = pair.sent[0].iter().find(covers);
            prop_assert!(first.is_some_and(|(left, _)| *left <= *at + latest), "{number}, at {at:?}: {first:?}");
        }
    }
}
