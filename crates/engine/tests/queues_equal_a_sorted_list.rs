//! Every queue against an obvious list: pop the earliest, of these those of the lowest rank, and of these the first inserted.

#[path = "../examples/queue_race/hold/binary_heap.rs"]
mod binary_heap;

use binary_heap::BinaryHeapQueue;
use lanewise_engine::queue::WheelQueue;
use lanewise_engine::{Engine, Event, EventQueue};
use lanewise_units::{Span, Time};
use proptest::prelude::*;

/// An event with one of three ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Numbered(u32);

impl Event for Numbered {
    fn rank(self) -> u32 {
        self.0 * 7 % 3
    }
}

/// The obvious list, in order of insertion.
#[derive(Default)]
struct Model {
    pending: Vec<(Time, Numbered)>,
    now: Time,
}

impl Model {
    fn next_time(&self) -> Option<Time> {
        self.pending.iter().map(|&(time, _)| time).min()
    }

    fn next_at(&self, at: Time) -> Option<Numbered> {
        let of_time = self.pending.iter().filter(|(time, _)| *time == at);
        of_time.map(|(_, event)| *event).min_by_key(|event| event.rank())
    }

    fn pop(&mut self) -> Option<(Time, Numbered)> {
        self.now = self.next_time()?;
        let next = self.next_at(self.now)?;
        let first = self.pending.iter().position(|&(time, event)| (time, event) == (self.now, next))?;
        Some(self.pending.remove(first))
    }

    fn pop_before(&mut self, limit: Time) -> Option<(Time, Numbered)> {
        if self.next_time()? <= limit { self.pop() } else { None }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Push this many events, the first this far ahead of the last popped one, and so far apart.
    Push {
        ahead: u64,
        apart: u64,
        times: usize,
    },
    Pop {
        times: usize,
    },
    PopBefore {
        ahead: u64,
    },
    NextTime,
    Clear,
}

/// Ticks ahead: now, ties, within one slot of any level, the spans of a fabric, and the far end of time.
fn ahead() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0),
        3 => 1_u64..8,
        2 => (1_u64..50).prop_map(|steps| steps * 8_125),
        4 => 2_000_000_u64..500_000_000,
        2 => (0_u32..50, 0_u64..1_000).prop_map(|(bits, low)| (1_u64 << bits) + low),
        1 => Just(u64::MAX),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (ahead(), 1_usize..4).prop_map(|(ahead, times)| Step::Push { ahead, apart: 0, times }),
        1 => (ahead(), 50_usize..200).prop_map(|(ahead, times)| Step::Push { ahead, apart: 0, times }),
        1 => (ahead(), 0_u32..24, 10_usize..100)
            .prop_map(|(ahead, bits, times)| Step::Push { ahead, apart: 1 << bits, times }),
        6 => (1_usize..6).prop_map(|times| Step::Pop { times }),
        1 => (50_usize..300).prop_map(|times| Step::Pop { times }),
        3 => ahead().prop_map(|ahead| Step::PopBefore { ahead }),
        2 => Just(Step::NextTime),
        1 => Just(Step::Clear),
    ]
}

fn agrees<Q: EventQueue<Numbered>>(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut queue = Q::default();
    let mut model = Model::default();
    let mut event = 0;
    for step in steps {
        match *step {
            Step::Push { ahead, apart, times } => {
                for number in 0..times as u64 {
                    let time = model.now.ticks().saturating_add(ahead).saturating_add(number * apart);
                    let time = Time::from_ticks(time);
                    queue.push(time, Numbered(event));
                    model.pending.push((time, Numbered(event)));
                    event += 1;
                }
            }
            Step::Pop { times } => {
                for _ in 0..times {
                    prop_assert_eq!(queue.pop(), model.pop());
                    prop_assert_eq!(queue.next_at(model.now), model.next_at(model.now));
                }
            }
            Step::PopBefore { ahead } => {
                let limit = Time::from_ticks(model.now.ticks().saturating_add(ahead));
                prop_assert_eq!(queue.pop_before(limit), model.pop_before(limit));
            }
            Step::NextTime => prop_assert_eq!(queue.next_time(), model.next_time()),
            Step::Clear => {
                queue.clear();
                model = Model::default();
            }
        }
        prop_assert_eq!(queue.len(), model.pending.len());
        prop_assert_eq!(queue.is_empty(), model.pending.is_empty());
    }
    while let Some(expected) = model.pop() {
        prop_assert_eq!(queue.pop(), Some(expected));
    }
    prop_assert_eq!(queue.pop(), None);
    Ok(())
}

/// A crowd that keeps its size: each popped event is followed by one a short way ahead, on a coarse or fine grid.
fn holds<Q: EventQueue<Numbered>>(population: u32, grid: u64, aheads: &[u64]) -> Result<(), TestCaseError> {
    let mut queue = Q::default();
    let mut model = Model::default();
    for event in (0..population).map(Numbered) {
        queue.push(Time::ZERO, event);
        model.pending.push((Time::ZERO, event));
    }
    for ahead in aheads.iter().cycle().take(4 * population as usize) {
        let popped = model.pop();
        prop_assert_eq!(queue.pop(), popped);
        let (now, event) = popped.expect("the population is held");
        let time = now + Span::from_ticks(ahead / grid * grid);
        queue.push(time, event);
        model.pending.push((time, event));
    }
    Ok(())
}

/// Runs both properties on one queue.
macro_rules! same_as_the_list {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            proptest! {
                #[test]
                fn any_steps(steps in prop::collection::vec(step(), 1..120)) {
                    agrees::<$queue>(&steps)?;
                }

                #[test]
                fn a_held_crowd(
                    population in 1_u32..600,
                    grid in prop::sample::select(vec![1, 8_125, 1_024_000, 102_400_000]),
                    aheads in prop::collection::vec(0_u64..300_000_000, 1..200),
                ) {
                    holds::<$queue>(population, grid, &aheads)?;
                }

                #[test]
                fn the_past_is_refused(now in 1_u64.., back in 1_u64..) {
                    let mut queue = <$queue>::default();
                    queue.push(Time::from_ticks(now), Numbered(0));
                    queue.pop();
                    let past = Time::from_ticks(now.saturating_sub(back));
                    let pushed = std::panic::catch_unwind(move || queue.push(past, Numbered(1)));
                    prop_assert!(pushed.is_err());
                }
            }
        }
    };
}

same_as_the_list!(yardstick, BinaryHeapQueue<Numbered>);
same_as_the_list!(wheel, WheelQueue<Numbered>);

#[test]
fn an_engine_runs_on_any_queue() {
    let mut engine: Engine<u32, BinaryHeapQueue<u32>> = Engine::new();
    engine.schedule(Time::ZERO, 7);
    assert_eq!(engine.next_event(), Some((Time::ZERO, 7)));
}
