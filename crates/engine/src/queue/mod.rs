//! Event queues: pending events in order of time, at one time in order of rank, and of one rank in order of insertion.
//!
//! A queue is monotone: nothing may be pushed before the last event popped. That is what a simulation does anyway, and what
//! a fast queue lives on (ADR 3).

mod wheel;

pub use wheel::WheelQueue;

use lanewise_units::Time;

/// The fastest queue over the populations that a fabric has, from one chain to thousands of endpoints.
pub type DefaultQueue<E> = WheelQueue<E>;

/// An event, which knows its place among others of the same time.
pub trait Event: Copy {
    /// Of events at one time, those of a lower rank come first. Those of one rank come in the order of insertion.
    fn rank(self) -> u32;
}

/// Plain values have no rank.
macro_rules! without_rank {
    ($($value:ty),*) => {
        $(impl Event for $value {
            #[inline(always)]
            fn rank(self) -> u32 {
                0
            }
        })*
    };
}

without_rank!(i32, u32, u64, &str);

/// Pending events, earliest first, at one time by rank, and of one rank in the order of insertion.
pub trait EventQueue<E: Event>: Default {
    /// Adds `event` at `at`, after every event of its rank already pending at that time.
    ///
    /// # Panics
    /// When `at` is before the last popped time.
    fn push(&mut self, at: Time, event: E);

    /// Takes the first event.
    fn pop(&mut self) -> Option<(Time, E)>;

    /// Takes the first event unless it is later than `limit`.
    #[inline]
    fn pop_before(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.next_time()? <= limit { self.pop() } else { None }
    }

    /// The next event, if its time is `at`, to which the last popped event has brought the queue.
    fn next_at(&self, at: Time) -> Option<E>;

    /// Time of the first event. Looking does not close the time up to it: earlier events may still be pushed.
    fn next_time(&mut self) -> Option<Time>;

    /// Number of pending events.
    fn len(&self) -> usize;

    /// Whether nothing is pending.
    #[inline]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets every event and the last popped time, and keeps the memory.
    fn clear(&mut self);
}

/// Reports the broken invariant that no event is scheduled in the past; out of line, to keep `push` small.
#[cold]
#[inline(never)]
fn refuse_past(at: Time, now: Time) -> ! {
    panic!("event at {at:?} is before now, {now:?}");
}
