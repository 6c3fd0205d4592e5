//! What was recorded of one port, in the order in which it was stated.
//!
//! When a log is full, facts that the recording keeps no longer are taken out, down to what those that are left need to know of what led
//! up to them: TLPs that wait, what has been on the wire since the first of them could leave, and what was held up then.

use crate::packed::{self, BLOCKED, QUEUED, Record, UNBLOCKED};
use crate::{Fact, HeldUp, WireFact};
use lanewise_units::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// What was recorded of one port.
#[derive(Default)]
pub(crate) struct PortLog {
    words: Vec<u64>,
    /// The number of a fact is that in its record and this.
    base: u64,
}

/// Most words of a record.
const LONGEST: usize = 16;

/// Words that there is room for at first.
const SMALLEST: usize = 64;

impl PortLog {
    /// A fact that was asked for. Those with numbers up to `gone` are so no longer; with none, everything stays until it is cleared.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Time, fact: &WireFact, number: u64, gone: Option<u64>) {
        let number = self.make_room(now, number, gone);
        packed::pack(now, fact, number, &mut self.words);
    }

    /// An unselected one that waits need.
    #[inline(always)]
    pub(crate) fn push_unasked(&mut self, now: Time, fact: &WireFact, gone: Option<u64>) {
        self.make_room(now, self.base, gone);
        packed::pack_unasked(now, fact, &mut self.words);
    }

    #[cold]
    pub(crate) fn push_error(&mut self, now: Time, fact: &Fact, number: u64, gone: Option<u64>) {
        let number = self.make_room(now, number, gone);
        packed::pack_error(now, fact, number, &mut self.words);
    }

    /// Returns a number as the log counts them.
    #[inline(always)]
    fn make_room(&mut self, now: Time, number: u64, gone: Option<u64>) -> u32 {
        if self.words.capacity() - self.words.len() < LONGEST || number - self.base >= u64::from(u32::MAX) {
            self.thin_or_grow(now, gone);
        }
        number.saturating_sub(self.base) as u32
    }

    #[cold]
    #[inline(never)]
    fn thin_or_grow(&mut self, now: Time, gone: Option<u64>) {
        if let Some(gone) = gone {
            self.thin(now, gone);
        }
        if self.words.len() + LONGEST > self.words.capacity() / 4 {
            self.words.reserve_exact((2 * self.words.capacity()).max(SMALLEST) - self.words.len());
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
        self.words.clear();
        self.base = number;
    }

    /// Takes out facts that neither the recording nor waits need.
    fn thin(&mut self, now: Time, gone: u64) {
        let gone_here = gone.saturating_sub(self.base).min(u64::from(u32::MAX)) as u32;
        let LedUp { until, needed, waiting } = self.led_up(now, gone_here);
        let words = &mut self.words;
        let (mut at, mut end, mut held) = (0, 0, Vec::new());
        let mut waiting = waiting.into_iter().peekable();
        // What is kept is no longer than what it was made of, so it never gets in the way of what comes next.
        while at < until {
            let (first, begin) = (words[at], at);
            at += packed::length(first);
            match packed::tag(first) {
                QUEUED if waiting.next_if_eq(&begin).is_none() => {} // It has left.
                QUEUED => put(words, begin..at, &mut end),
                BLOCKED => held.push(Held::of(&words[begin..at])),
                UNBLOCKED => {
                    let goes_on = Held::of(&words[begin..at]);
                    let place = held.iter().position(|held: &Held| held.whom == goes_on.whom);
                    let begun = place.map(|place| held.swap_remove(place));
                    if words[begin + 1] > needed {
                        begun.into_iter().for_each(|begun| begun.put(words, &mut end));
                        goes_on.put(words, &mut end);
                    }
                }
                _ if packed::ends_at(&words[begin..at]) > needed => {
                    match packed::carried(&words[begin..at]) {
                        Some(carried) => {
                            words[end..end + carried.len()].copy_from_slice(&carried);
                            end += carried.len();
                        }
                        None => put(words, begin..at, &mut end),
                    }
                }
                _ => {}
            }
        }
        held.into_iter().for_each(|held| held.put(words, &mut end));
        let all = words.len();
        put(words, until..all, &mut end);
        words.truncate(end);
        if gone_here > u32::MAX / 2 {
            self.renumber(gone);
        }
    }

    /// Numbers count from `gone` on.
    #[cold]
    fn renumber(&mut self, gone: u64) {
        let (by, mut at) = (gone - self.base, 0);
        while at < self.words.len() {
            let first = &mut self.words[at];
            let number = u64::from(packed::number(*first)).saturating_sub(by);
            *first = packed::renumbered(*first, number as u32);
            at += packed::length(*first);
        }
        self.base = gone;
    }

    fn led_up(&self, now: Time, gone: u32) -> LedUp {
        let mut waiting: [VecDeque<Waiting>; 3] = Default::default();
        let (words, mut at, mut needed) = (&self.words, 0, now.ticks());
        while at < words.len() && packed::number(words[at]) <= gone {
            let (first, begin) = (words[at], at);
            at += packed::length(first);
            let Some((class, ready_at, which)) = packed::waiting(&words[begin..at]) else { continue };
            let waiting = &mut waiting[class as usize];
            if packed::tag(first) == QUEUED {
                waiting.push_back(Waiting { ready_at, which, place: begin });
            } else {
                leave(waiting, ready_at, which);
            }
        }
        let until = at;
        while at < words.len() {
            needed = needed.min(packed::ready_at(&words[at..]));
            at += packed::length(words[at]);
        }
        needed = waiting.iter().flatten().fold(needed, |needed, waiting| needed.min(waiting.ready_at));
        let mut waiting: Vec<usize> = waiting.iter().flatten().map(|waiting| waiting.place).collect();
        waiting.sort_unstable();
        LedUp { until, needed, waiting }
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let first = *self.words.get(at)?;
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
    /// Where the TLPs stand that joined before and wait when it happens.
    waiting: Vec<usize>,
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

/// What is held up, with the record.
struct Held {
    whom: HeldUp,
    words: [u64; LONGEST],
    length: usize,
}

impl Held {
    fn of(record: &[u64]) -> Self {
        let mut words = [0; LONGEST];
        words[..record.len()].copy_from_slice(record);
        Self { whom: packed::whom(record), words, length: record.len() }
    }

    fn put(&self, words: &mut [u64], end: &mut usize) {
        words[*end..*end + self.length].copy_from_slice(&self.words[..self.length]);
        *end += self.length;
    }
}

/// Moves words to the end of what is kept.
fn put(words: &mut [u64], range: Range<usize>, end: &mut usize) {
    let length = range.len();
    words.copy_within(range, *end);
    *end += length;
}

#[cfg(test)]
mod tests;
