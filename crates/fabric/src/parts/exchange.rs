//! What parts exchange at the end of each window, and how they wait for each other.

use crate::packet::Packet;
use crate::port::{Flying, PortId};
use lanewise_pcie::dllp::Dllp;
use lanewise_units::{Span, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What one part has sent to another in a window.
#[derive(Default)]
pub(crate) struct Mail {
    /// To which port, what, and when it is at its pins.
    pub(crate) dllps: Vec<(PortId, Dllp, Time)>,
    /// To which port; its first byte there in `eligible_at`, its last in `checked`.
    pub(crate) tlps: Vec<(PortId, Flying, Packet)>,
}

/// How far a part is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    /// Nothing more happens in it before, and nothing that it has sent arrives before.
    pub(crate) next: Time,
    /// Nothing more happens in it unless another part sends it something.
    pub(crate) is_over: bool,
    /// Events so far.
    pub(crate) events: u64,
    /// Of these, those of the last window.
    pub(crate) events_of_window: u64,
    /// TLPs sent so far.
    pub(crate) hops: u64,
    /// Transfers, accesses and timers that are open.
    pub(crate) open: u64,
    /// Of these, timers.
    pub(crate) timers: u64,
}

/// A report where others can read it, in cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Board([AtomicU64; 7]);

impl Board {
    fn write(&self, report: Report) {
        let Report { next, is_over, events, events_of_window, hops, open, timers } = report;
        let words = [next.ticks(), u64::from(is_over), events, events_of_window, hops, open, timers];
        self.0.iter().zip(words).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    }

    fn read(&self) -> Report {
        let [next, is_over, events, events_of_window, hops, open, timers] =
            [0, 1, 2, 3, 4, 5, 6].map(|place: usize| self.0[place].load(Ordering::Relaxed));
        let (next, is_over) = (Time::from_ticks(next), is_over != 0);
        Report { next, is_over, events, events_of_window, hops, open, timers }
    }
}

/// Where all parts wait for each other. They spin, for a window is a few microseconds; after that they let others run, for there may be
/// more parts than cores.
#[derive(Default)]
#[repr(align(128))]
struct Barrier {
    waiting: AtomicUsize,
    round: AtomicUsize,
    is_broken: AtomicBool,
}

/// Looks at the barrier before a thread lets others run: about 10 us.
const SPINS: u32 = 1 << 11;

/// A part was given up: the others need not wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Broken;

impl Barrier {
    /// Waits until all `parts` are here. What they wrote before is there to be read then.
    fn wait(&self, parts: usize) -> Result<(), Broken> {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == parts {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return Ok(());
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.is_broken.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

/// What all parts share.
pub(crate) struct Exchange {
    parts: usize,
    /// A packet that is sent within a window has no effect before its end.
    window: Span,
    /// Mail by the parity of the window, sender and receiver: one is read while the next is written.
    mail: [Vec<Mutex<Mail>>; 2],
    boards: [Vec<Board>; 2],
    barrier: Barrier,
}

/// When parts stop for the simulation that drives them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    /// After everything up to then.
    pub(crate) end: Time,
    /// At the end of the window in which so many events are reached, over all parts.
    pub(crate) events: u64,
    /// When no TLP was sent for so long, and no workload has a timer.
    pub(crate) silence: Span,
}

/// How far all parts are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// Everything before has happened.
    pub(crate) before: Time,
    /// Events so far, over all parts.
    pub(crate) events: u64,
    /// TLPs sent so far, and since when it is so many.
    pub(crate) hops: (u64, Time),
    /// Nothing is open in any part.
    pub(crate) is_finished: bool,
    /// Nothing more happens, or has for long.
    pub(crate) is_stalled: bool,
    /// Windows so far.
    pub(crate) windows: u64,
    /// Events of the part that had most of them in each window, added up: no run on more threads is faster.
    pub(crate) longest_way: u64,
}

impl Reached {
    pub(crate) const NOTHING: Self = Self {
        before: Time::ZERO,
        events: 0,
        hops: (0, Time::ZERO),
        is_finished: false,
        is_stalled: false,
        windows: 0,
        longest_way: 0,
    };
}

/// A part, as the loop over windows sees it.
pub(crate) trait Part {
    /// Does everything up to `end`.
    fn run(&mut self, end: Time);
    /// Puts what it has sent into the mail of each part, and says how far it is.
    fn send(&mut self, end: Time, mail: &mut [Mail]) -> Report;
    /// Takes in what another part has sent it, when everything up to `end` has happened.
    fn take(&mut self, end: Time, mail: &mut Mail);
}

impl Exchange {
    pub(crate) fn new(parts: usize, window: Span) -> Self {
        let mail = || (0..parts * parts).map(|_| Mutex::default()).collect();
        let boards = || (0..parts).map(|_| Board::default()).collect();
        Self {
            parts,
            window,
            mail: [mail(), mail()],
            boards: [boards(), boards()],
            barrier: Barrier::default(),
        }
    }

    /// A part is given up.
    pub(crate) fn give_up(&self) {
        self.barrier.is_broken.store(true, Ordering::Relaxed);
    }

    fn mail(&self, parity: usize, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        let mail = &self.mail[parity][from * self.parts + to];
        mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `part`, which is number `me`, window by window, while the others do the same. All stop at the same window, and come to the
    /// same result.
    ///
    /// # Errors
    /// When a part was given up.
    pub(crate) fn run(
        &self,
        part: &mut impl Part,
        me: usize,
        mut reached: Reached,
        until: Until,
    ) -> Result<Reached, Broken> {
        let mut outbox: Vec<Mail> = (0..self.parts).map(|_| Mail::default()).collect();
        while reached.before <= until.end {
            let last = reached.before + self.window - Span::from_ticks(1);
            let end = last.min(until.end);
            part.run(end);
            let parity = (reached.windows % 2) as usize;
            self.boards[parity][me].write(part.send(end, &mut outbox));
            for (to, mail) in outbox.iter_mut().enumerate().filter(|(to, _)| *to != me) {
                std::mem::swap(mail, &mut *self.mail(parity, me, to));
            }
            self.barrier.wait(self.parts)?;
            for from in (0..self.parts).filter(|from| *from != me) {
                part.take(end, &mut self.mail(parity, from, me));
            }
            reached = self.after(parity, end, reached, until);
            let is_enough = reached.events >= until.events || reached.is_finished || reached.is_stalled;
            if is_enough {
                break;
            }
        }
        Ok(reached)
    }

    /// How far all are after a window that ended at `end`: every part works out the same.
    fn after(&self, parity: usize, end: Time, before: Reached, until: Until) -> Reached {
        let reports = self.boards[parity].iter().map(Board::read);
        let (mut next, mut is_over) = (Time::NEVER, true);
        let (mut events, mut hops, mut open, mut timers, mut most) = (0, 0, 0, 0, 0);
        for report in reports {
            next = next.min(report.next);
            is_over &= report.is_over;
            events += report.events;
            most = most.max(report.events_of_window);
            hops += report.hops;
            open += report.open;
            timers += report.timers;
        }
        let hops = if hops == before.hops.0 && timers == 0 { before.hops } else { (hops, end) };
        Reached {
            before: next.max(end + Span::from_ticks(1)).min(until.end.max(end) + Span::from_ticks(1)),
            events,
            hops,
            is_finished: open == 0,
            is_stalled: is_over && open > 0 || end.saturating_since(hops.1) >= until.silence,
            windows: before.windows + 1,
            longest_way: before.longest_way + most,
        }
    }
}
