//! The hold model: a queue of constant population, in which each step pops one event and pushes one a little later.

mod binary_heap;

pub use binary_heap::BinaryHeapQueue;

use lanewise_engine::EventQueue;
use lanewise_units::{Span, TICKS_PER_NS, Time};

/// Populations from one chain of ports to several times 4,096 endpoints.
pub const POPULATIONS: [usize; 4] = [16, 1_000, 20_000, 100_000];

/// How far ahead events are pushed: a repeating list of random spans.
pub struct Aheads(Vec<Span>);

/// Entries of the list: many more than a branch predictor remembers, few enough to stay in the cache.
const ENTRIES: usize = 1 << 14;

impl Aheads {
    /// The mix of a fabric, per thousand: 50 at once, 450 for serialising a TLP, 350 for crossing a link, 140 for a
    /// slow stage, 10 for a timer; and one single entry of milliseconds. Assumed: the shares.
    pub fn fabric() -> Self {
        let mut random = Lehmer(0x9e37_79b9_7f4a_7c15);
        let mut spans: Vec<Span> = (0..ENTRIES).map(|_| fabric_span(&mut random)).collect();
        spans[ENTRIES / 2] = Span::from_ms(2);
        Self(spans)
    }

    /// Endpoints that run in step: all events on a grid of 32 ns, a large part of them at the same tick.
    pub fn lockstep() -> Self {
        let mut random = Lehmer(0x9e37_79b9_7f4a_7c15);
        Self((0..ENTRIES).map(|_| Span::from_ns(32) * random.between(1, 8)).collect())
    }

    fn get(&self, step: usize) -> Span {
        self.0[step % ENTRIES]
    }
}

fn fabric_span(random: &mut Lehmer) -> Span {
    let share = random.between(0, 1_000);
    let (from_ns, to_ns) = match share {
        0..50 => return Span::ZERO,
        50..500 => (2, 150),
        500..850 => (50, 300),
        850..990 => (300, 500),
        _ => (1_000, 30_000),
    };
    Span::from_ticks(random.between(from_ns * TICKS_PER_NS, to_ns * TICKS_PER_NS))
}

/// A queue in the steady state of the hold model.
pub struct Hold<Q> {
    queue: Q,
    aheads: Aheads,
    step: usize,
}

impl<Q: EventQueue<u32>> Hold<Q> {
    /// Fills a queue and runs it until its start is forgotten.
    pub fn new(population: usize, aheads: Aheads) -> Self {
        let mut queue = Q::default();
        for event in 0..population {
            queue.push(Time::ZERO + aheads.get(event), event as u32);
        }
        let mut hold = Self { queue, aheads, step: 0 };
        hold.run(20 * population.max(20_000));
        hold
    }

    /// So many pairs of pop and push.
    pub fn run(&mut self, pairs: usize) {
        for _ in 0..pairs {
            let Some((now, event)) = self.queue.pop() else { return };
            self.queue.push(now + self.aheads.get(self.step), event);
            self.step += 1;
        }
    }
}

/// A multiplicative congruential generator, enough to shuffle a benchmark.
struct Lehmer(u128);

impl Lehmer {
    fn between(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0xda94_2042_e4dd_58b5);
        from + ((self.0 >> 64) as u64) % (to - from)
    }
}
