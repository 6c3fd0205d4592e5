//! IOmeter's workload: workers, targets, access specifications.
//!
//! A worker is a thread with a number of I/O slots on each of its targets. Whenever a slot is free it draws the next
//! transaction: a line of the access specification by the lines' shares *of accesses* (so 67 % of large reads and
//! 33 % of small writes are 91 % of reads in bytes), then read or write, then random or sequential. The choices are
//! dealt from [`super::deck`]s of a hundred. Every worker keeps its own sequential position on each target, reads and
//! writes together.
//!
//! Which worker gets which target: the user selects drives for a manager and IOmeter spreads them over its workers
//! (User's Guide, quick start), so the default is [`TargetAssignment::Split`]; the same drives may also be given to
//! each worker by hand, which is [`TargetAssignment::Shared`]. With "4 workers, 16 logical drives" and one outstanding
//! I/O, the former has 16 I/Os in flight, one a drive, the latter 64, four a drive from the same positions.
//!
//! Source: behaviour of Iometer 2004.07.30 and its User's Guide. Leaves out: connection rate testing, network targets.

use super::deck::Deck;
use crate::load::LoadName;
use lanewise_engine::random::RandomStream;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// What offsets are aligned to when a line does not say: a disk sector.
const SECTOR: u64 = 512;

/// One line of an access specification.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessLine {
    /// Bytes of the request; not zero.
    pub size: Bytes,
    /// Share of the transactions, %; the lines add up to 100.
    pub percent: u32,
    /// Share of reads among them, %.
    pub read_percent: u32,
    /// Share of random positions among them, %.
    pub random_percent: u32,
    /// Pause of the worker before each burst.
    pub delay: Span,
    /// Transactions in a burst; at least one.
    pub burst_length: u32,
    /// Positions are multiples of this; zero for sectors.
    pub alignment: Bytes,
    /// Bytes that go the other way after the request, as part of the same transaction; zero for none.
    pub reply: Bytes,
}

impl AccessLine {
    /// A line of sequential accesses without delay, bursts or reply.
    pub const fn sequential(size: Bytes, percent: u32, read_percent: u32) -> Self {
        Self {
            size,
            percent,
            read_percent,
            random_percent: 0,
            delay: Span::ZERO,
            burst_length: 1,
            alignment: Bytes::ZERO,
            reply: Bytes::ZERO,
        }
    }
}

/// How targets are given to workers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TargetAssignment {
    /// In turn, so that each target has one worker; IOmeter's own doing.
    #[default]
    Split,
    /// Every worker has every target.
    Shared,
}

/// A group of workers with one access specification.
#[derive(Clone, Debug, PartialEq)]
pub struct IometerConfig {
    /// Name in the results.
    pub name: LoadName,
    /// Machines that its workers run on, each with as many of them; at least one. All share the simulated host.
    pub managers: u32,
    /// Number of worker threads of all managers together; at least one each.
    pub workers: u32,
    /// Indexes of the drives.
    pub targets: Vec<usize>,
    /// Which worker uses which target.
    pub assignment: TargetAssignment,
    /// I/Os in flight for each worker on each of its targets ("# of Outstanding I/Os", 1 unless told otherwise).
    pub outstanding: u32,
    /// The access specification.
    pub access: Vec<AccessLine>,
}

impl IometerConfig {
    /// The largest request or reply.
    pub(crate) fn largest(&self) -> Bytes {
        let sizes = self.access.iter().map(|line| line.size.max(line.reply));
        sizes.max().unwrap_or(Bytes::ZERO)
    }

    /// Which manager a worker belongs to.
    pub(crate) fn manager_of(&self, worker: u32) -> u32 {
        worker / self.workers.div_ceil(self.managers)
    }

    /// The targets of one of its workers.
    pub(crate) fn targets_of(&self, worker: u32) -> Vec<usize> {
        let turn = |index: usize| index % self.workers as usize == worker as usize;
        let numbered = self.targets.iter().copied().enumerate();
        match self.assignment {
            TargetAssignment::Shared => self.targets.clone(),
            TargetAssignment::Split => numbered.filter(|(i, _)| turn(*i)).map(|(_, drive)| drive).collect(),
        }
    }

    /// # Panics
    /// When the specification is not one.
    pub(crate) fn check(&self) {
        assert!(self.workers > 0 && self.outstanding > 0, "{}: no I/O in flight", self.name);
        assert!(
            self.managers > 0 && self.managers <= self.workers,
            "{}: a manager without workers",
            self.name
        );
        let shares: u32 = self.access.iter().map(|line| line.percent).sum();
        assert!(shares == 100, "{}: shares of the access lines add up to {shares} %", self.name);
        for line in &self.access {
            assert!(line.size > Bytes::ZERO && line.burst_length > 0, "{}: an empty access line", self.name);
            assert!(line.read_percent <= 100 && line.random_percent <= 100, "{}: over 100 %", self.name);
        }
    }
}

/// One request or reply that a worker asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Io {
    /// Read or write.
    pub read: bool,
    /// First byte on the drive.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// What a worker does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Issues an I/O in one of its slots.
    Issue(u32, Io),
    /// Pauses until then.
    Sleep(Time),
    /// Waits for a completion.
    Wait,
}

/// A target as one worker sees it.
#[derive(Clone, Debug)]
struct Position {
    capacity: u64,
    offset: u64,
    last_size: u64,
    random: RandomStream,
}

/// A slot's transaction.
#[derive(Clone, Copy, Debug)]
struct Transaction {
    target: u32,
    line: u32,
    read: bool,
    reply_due: bool,
    started: Time,
}

/// A worker thread.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    access: Vec<AccessLine>,
    positions: Vec<Position>,
    first_slot: u32,
    transactions: Vec<Transaction>,
    available: VecDeque<u32>,
    lines: Deck,
    reads: Deck,
    randoms: Deck,
    line: u32,
    left_in_burst: u32,
    asleep_until: Option<Time>,
}

impl Worker {
    /// A worker whose slots are numbered from `first_slot`, target by target. `capacities` and `streams` are those
    /// of its targets; `lines`, `reads` and `randoms` shuffle the decks that choices are dealt from.
    pub(crate) fn new(
        config: &IometerConfig,
        first_slot: u32,
        targets: Vec<(Bytes, RandomStream)>,
        [lines, reads, randoms]: [RandomStream; 3],
    ) -> Self {
        let outstanding = config.outstanding;
        let slot =
            |target| Transaction { target, line: 0, read: true, reply_due: false, started: Time::ZERO };
        let transactions: Vec<Transaction> =
            (0..targets.len() as u32 * outstanding).map(|index| slot(index / outstanding)).collect();
        let position = |(capacity, random): (Bytes, RandomStream)| Position {
            capacity: capacity.get(),
            offset: 0,
            last_size: 0,
            random,
        };
        Self {
            access: config.access.clone(),
            positions: targets.into_iter().map(position).collect(),
            first_slot,
            available: (first_slot..first_slot + transactions.len() as u32).collect(),
            transactions,
            lines: Deck::new(lines),
            reads: Deck::new(reads),
            randoms: Deck::new(randoms),
            line: 0,
            left_in_burst: 0,
            asleep_until: None,
        }
    }

    /// What to do now. After [`Next::Issue`], ask again.
    pub(crate) fn next(&mut self, now: Time) -> Next {
        match self.asleep_until {
            Some(until) if until > now => return Next::Wait,
            _ => self.asleep_until = None,
        }
        let Some(&slot) = self.available.front() else { return Next::Wait };
        let index = (slot - self.first_slot) as usize;
        if !self.transactions[index].reply_due {
            if self.left_in_burst == 0 {
                let delay = self.draw_line();
                if !delay.is_zero() {
                    self.asleep_until = Some(now + delay);
                    return Next::Sleep(now + delay);
                }
            }
            self.left_in_burst -= 1;
            self.open_transaction(index);
        }
        self.available.pop_front();
        Next::Issue(slot, self.place(index))
    }

    /// The I/O of [`Next::Issue`] starts now.
    pub(crate) fn issued(&mut self, slot: u32, now: Time) {
        let transaction = &mut self.transactions[(slot - self.first_slot) as usize];
        if !transaction.reply_due {
            transaction.started = now;
        }
    }

    /// The I/O of a slot is over. Returns how long its transaction took, when it is over too.
    pub(crate) fn completed(&mut self, slot: u32, now: Time) -> Option<Span> {
        self.available.push_back(slot);
        let transaction = &mut self.transactions[(slot - self.first_slot) as usize];
        let has_reply = self.access[transaction.line as usize].reply > Bytes::ZERO;
        if has_reply && !transaction.reply_due {
            transaction.reply_due = true;
            return None;
        }
        transaction.reply_due = false;
        Some(now - transaction.started)
    }

    fn draw_line(&mut self) -> Span {
        let mut ticket = self.lines.deal();
        let drawn = self.access.iter().position(|line| {
            let hit = ticket < line.percent;
            ticket = ticket.saturating_sub(line.percent);
            hit
        });
        self.line = drawn.expect("the shares add up to 100") as u32;
        let line = &self.access[self.line as usize];
        self.left_in_burst = line.burst_length;
        line.delay
    }

    fn open_transaction(&mut self, index: usize) {
        let transaction = &mut self.transactions[index];
        transaction.line = self.line;
        transaction.read = self.reads.deal() < self.access[self.line as usize].read_percent;
    }

    /// Places the request, or the reply, which goes the other way.
    fn place(&mut self, index: usize) -> Io {
        let transaction = &self.transactions[index];
        let line = &self.access[transaction.line as usize];
        let size = if transaction.reply_due { line.reply } else { line.size };
        let random = self.randoms.deal() < line.random_percent;
        let position = &mut self.positions[transaction.target as usize];
        let offset = position.seek(random, size.get(), line.alignment.get());
        Io { read: transaction.read != transaction.reply_due, offset, size: size.get() }
    }
}

impl Position {
    /// The next offset: anywhere, or after the last I/O; aligned upwards; from the start when the end is too near.
    fn seek(&mut self, random: bool, size: u64, alignment: u64) -> u64 {
        let start = if random { self.random.below(self.capacity) } else { self.offset + self.last_size };
        let aligned = start.next_multiple_of(if alignment == 0 { SECTOR } else { alignment });
        self.offset = if aligned + size > self.capacity { 0 } else { aligned };
        self.last_size = size;
        self.offset
    }
}

#[cfg(test)]
mod tests;
