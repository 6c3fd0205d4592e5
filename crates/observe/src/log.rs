//! What was recorded of one port, in the order in which it was stated.
//!
//! When a log is full, facts that the recording keeps no longer are taken out, down to what those that are left need to know of what led
//! up to them: TLPs that wait, what has been on the wire since the first of them could leave, and what was held up then.

use crate::packed::{self, BLOCKED, LONGEST, QUEUED, Record, Room, UNBLOCKED};
use crate::{Fact, HeldUp, WireFact};
use lanewise_units::{Time, order};
use std::collections::VecDeque;
use std::ops::Range;

/// What was recorded of one port.
#[derive(Default)]
pub(crate) struct PortLog {
    /// Records, one behind the other up to `end`, and room for more.
    words: Vec<u64>,
    end: usize,
    /// The number of a fact is that in its record and this.
    base: u64,
}

/// How many facts that were asked for there have been, and how many of the last of them are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) seen: u64,
    /// Without a limit, everything stays until it is cleared.
    pub(crate) most: Option<u64>,
}

impl Kept {
    /// Facts with numbers up to this are kept no longer.
    fn gone(self) -> Option<u64> {
        self.most.map(|most| self.seen.saturating_sub(most))
    }
}

/// Words that there is room for at first.
const SMALLEST: usize = 64;

impl PortLog {
    /// The last of the facts that were asked for.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Time, fact: &WireFact, kept: &Kept) {
        let number = self.make_room(now, kept);
        self.end += packed::pack(now, fact, number, self.room());
    }

    /// An unselected one that waits need.
    #[inline(always)]
    pub(crate) fn push_unasked(&mut self, now: Time, fact: &WireFact, kept: &Kept) {
        self.make_room(now, kept);
        self.end += packed::pack_unasked(now, fact, self.room());
    }

    #[cold]
    pub(crate) fn push_error(&mut self, now: Time, fact: &Fact, kept: &Kept) {
        let number = self.make_room(now, kept);
        self.end += packed::pack_error(now, fact, number, self.room());
    }

    /// Returns the number of the last fact as the log counts them.
    #[inline(always)]
    fn make_room(&mut self, now: Time, kept: &Kept) -> u32 {
        if self.words.len() - self.end < LONGEST || kept.seen - self.base >= u64::from(u32::MAX) {
            self.thin_or_grow(now, kept.gone());
        }
        (kept.seen - self.base) as u32
    }

    #[inline(always)]
    fn room(&mut self) -> &mut Room {
        self.words[self.end..].first_chunk_mut().expect("room was made")
    }

    #[cold]
    #[inline(never)]
    fn thin_or_grow(&mut self, now: Time, gone: Option<u64>) {
        if let Some(gone) = gone {
            self.thin(now, gone);
        }
        if self.end + LONGEST > self.words.len() / 4 {
            self.words.resize((2 * self.words.len()).max(SMALLEST), 0);
        }
    }

    /// Each record and its number; zero for unselected facts.
    pub(crate) fn records(&self, port: u32) -> impl Iterator<Item = (u64, Record)> {
        self.ranges().map(move |range| {
            let record = packed::unpack(&self.words[range], port);
            (if record.number == 0 { 0 } else { self.base + u64::from(record.number) }, record)
        })
    }

    /// All has been read, up to this number.
    pub(crate) fn clear(&mut self, number: u64) {
        (self.end, self.base) = (0, number);
    }

    /// Takes out facts that neither the recording nor waits need.
    fn thin(&mut self, now: Time, gone: u64) {
        let gone_here = gone.saturating_sub(self.base).min(u64::from(u32::MAX)) as u32;
        let LedUp { until, needed, from, apart } = LedUp::to(gone_here, now, &self.words[..self.end]);
        let mut kept = Moved { words: &mut self.words, end: 0 };
        let mut apart = apart.into_iter().peekable();
        while let Some(place) = apart.next_if(|place| *place < from) {
            kept.put(place..place + packed::length(kept.words[place]));
        }
        let mut at = from;
        while at < until {
            let begin = at;
            at += packed::length(kept.words[begin]);
            let record = &kept.words[begin..at];
            if apart.next_if_eq(&begin).is_some() {
                kept.put(begin..at);
            } else if packed::ends_at(record) > needed {
                match packed::carried(record) {
                    Some(carried) => kept.put_words(&carried),
                    None => kept.put(begin..at),
                }
            }
        }
        kept.put(until..self.end);
        self.end = kept.end;
        if gone_here > u32::MAX / 2 {
            self.renumber(gone);
        }
    }

    /// Numbers count from `gone` on.
    #[cold]
    fn renumber(&mut self, gone: u64) {
        let (by, mut at) = (gone - self.base, 0);
        while at < self.end {
            let first = &mut self.words[at];
            let number = u64::from(packed::number(*first)).saturating_sub(by);
            *first = packed::renumbered(*first, number as u32);
            at += packed::length(*first);
        }
        self.base = gone;
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let first = *self.words[..self.end].get(at)?;
            let range = at..at + packed::length(first);
            at = range.end;
            Some(range)
        })
    }
}

/// What led up to the facts that are asked for.
struct LedUp {
    /// The first of those facts stands there.
    until: usize,
    /// What ended before is of no use to any TLP that is asked about, or waits, or may come; ticks.
    needed: u64,
    /// What was on the wire when it mattered stands from there on.
    from: usize,
    /// Where that stands, in order, which is needed whenever it was: TLPs that joined before and wait when it happens, and what was held up.
    apart: Vec<usize>,
}

/// Words between two places of a log of which it is known until when the wire was in use before.
const STRIDE: usize = 256;

impl LedUp {
    /// To facts with numbers beyond `gone`.
    fn to(gone: u32, now: Time, words: &[u64]) -> Self {
        let mut waiting: [VecDeque<Waiting>; 3] = Default::default();
        let (mut holds, mut marks) = (Vec::new(), Vec::new());
        let (mut at, mut latest, mut next_mark) = (0, 0, 0);
        while at < words.len() && packed::number(words[at]) <= gone {
            let (first, begin) = (words[at], at);
            if begin >= next_mark {
                marks.push((begin, latest));
                next_mark = begin + STRIDE;
            }
            at += packed::length(first);
            let record = &words[begin..at];
            match packed::tag(first) {
                QUEUED => {
                    let (class, ready_at, which) = packed::joins(record);
                    waiting[class as usize].push_back(Waiting { ready_at, which, place: begin });
                }
                BLOCKED | UNBLOCKED => holds.push(begin),
                _ => {
                    if let Some((class, ready_at, which)) = packed::leaves(record) {
                        leave(&mut waiting[class as usize], ready_at, which);
                    }
                    latest = latest.max(packed::ends_at(record));
                }
            }
        }
        let until = at;
        let mut needed = now.ticks();
        while at < words.len() {
            needed = needed.min(packed::ready_at(&words[at..]));
            at += packed::length(words[at]);
        }
        needed = waiting.iter().flatten().fold(needed, |needed, waiting| needed.min(waiting.ready_at));
        let in_time = marks.partition_point(|(_, latest)| *latest <= needed);
        let from = marks[..in_time].last().map_or(until, |(place, _)| *place);
        let mut apart = needed_holds(words, &holds, needed);
        apart.extend(waiting.iter().flatten().map(|waiting| waiting.place));
        order::sort(&mut apart);
        Self { until, needed, from, apart }
    }
}

/// Of records of what was held up, and went on, those of what went on later than is `needed`, or not yet.
fn needed_holds(words: &[u64], holds: &[usize], needed: u64) -> Vec<usize> {
    let (mut kept, mut held): (_, Vec<(HeldUp, usize)>) = (Vec::new(), Vec::new());
    for &place in holds {
        let whom = packed::whom(&words[place..]);
        if packed::tag(words[place]) == BLOCKED {
            held.push((whom, place));
            continue;
        }
        let begun = held.iter().position(|(other, _)| *other == whom).map(|nth| held.swap_remove(nth).1);
        if words[place + 1] > needed {
            kept.extend(begun);
            kept.push(place);
        }
    }
    kept.extend(held.into_iter().map(|(_, place)| place));
    kept
}

/// A TLP that has joined and has not left.
struct Waiting {
    ready_at: u64,
    which: u64,
    place: usize,
}

/// Most leave in the order in which they joined.
#[inline(always)]
fn leave(waiting: &mut VecDeque<Waiting>, ready_at: u64, which: u64) {
    let is_it = |it: &Waiting| it.ready_at == ready_at && it.which == which;
    if waiting.front().is_some_and(is_it) {
        waiting.pop_front();
    } else if let Some(place) = waiting.iter().position(is_it) {
        waiting.remove(place);
    }
}

/// Words that are kept move to the front. They are no more than what they were made of, so they never get in the way of what comes next.
struct Moved<'w> {
    words: &'w mut [u64],
    end: usize,
}

impl Moved<'_> {
    fn put(&mut self, range: Range<usize>) {
        let length = range.len();
        self.words.copy_within(range, self.end);
        self.end += length;
    }

    fn put_words(&mut self, words: &[u64]) {
        self.words[self.end..self.end + words.len()].copy_from_slice(words);
        self.end += words.len();
    }
}

#[cfg(test)]
mod tests;
