//! The slots: lists of events in order of insertion, and a bitmap of those that hold any.
//!
//! A list is a chain of small chunks in one slab, so that a sparse slot costs two cache lines and a crowded one is
//! read in sequence.

use super::level;
use lanewise_units::Time;

/// Events of a chunk; two cache lines when an event is four bytes.
const CHUNK: usize = 8;
/// Words of the bitmap of slots.
const WORDS: usize = level::SLOTS.div_ceil(64);
/// Words of the bitmap of words.
const SUMMARIES: usize = WORDS.div_ceil(64);
/// The end of a chain.
const NIL: u32 = u32::MAX;

/// A chain of chunks, newest first, of which only the newest may be partly filled.
#[derive(Clone, Copy, Debug)]
struct Slot {
    newest: u32,
    events: u32,
}

impl Slot {
    const EMPTY: Self = Self { newest: NIL, events: 0 };
}

/// Some events of one slot, in order of insertion.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk<E>([(Time, E); CHUNK]);

#[derive(Clone, Debug)]
pub struct Slots<E> {
    chunks: Vec<Chunk<E>>,
    /// For each chunk the next older one of its slot, or the next free one.
    older: Vec<u32>,
    free: u32,
    summaries: [u64; SUMMARIES],
    words: [u64; WORDS],
    slots: Box<[Slot; level::SLOTS]>,
}

impl<E: Copy> Slots<E> {
    /// Adds an event to a slot.
    #[inline(always)]
    pub fn push(&mut self, index: usize, time: Time, event: E) {
        if self.free == NIL {
            self.add_chunk((time, event));
        }
        let slot = &mut self.slots[index];
        let used = slot.events as usize % CHUNK;
        // Whether a chunk is begun here is a coin toss that a branch would mispredict: select with a mask instead.
        let begin = u32::from(used == 0).wrapping_neg();
        let next_free = self.older[self.free as usize];
        self.older[self.free as usize] = select(begin, slot.newest, next_free);
        slot.newest = select(begin, self.free, slot.newest);
        self.free = select(begin, next_free, self.free);
        slot.events += 1;
        self.chunks[slot.newest as usize].0[used] = (time, event);
        self.words[index / 64] |= 1 << (index % 64);
        self.summaries[index / 4096] |= 1 << (index / 64 % 64);
    }

    #[cold]
    #[inline(never)]
    fn add_chunk(&mut self, filler: (Time, E)) {
        self.free = self.older.len() as u32;
        self.older.push(NIL);
        self.chunks.push(Chunk([filler; CHUNK]));
    }

    /// The first slot that holds anything.
    #[inline(always)]
    pub fn first(&self) -> Option<usize> {
        let summary = self.summaries.iter().position(|&summary| summary != 0)?;
        let word = 64 * summary + self.summaries[summary].trailing_zeros() as usize;
        Some(64 * word + self.words[word].trailing_zeros() as usize)
    }

    /// Number of events in a slot.
    #[inline(always)]
    pub fn events(&self, index: usize) -> usize {
        self.slots[index].events as usize
    }

    /// The earliest time in a slot that holds something.
    pub fn earliest(&self, index: usize) -> Time {
        let mut earliest = Time::NEVER;
        self.slots[index].for_each_chunk(&self.older, |chunk, used| {
            let times = self.chunks[chunk as usize].0[..used].iter().map(|&(time, _)| time);
            earliest = times.fold(earliest, Time::min);
        });
        earliest
    }

    /// Moves the events of `index`, which is the first slot, to the end of `taken`.
    #[inline(always)]
    pub fn take_first(&mut self, index: usize, taken: &mut Vec<(Time, E)>) {
        let slot = core::mem::replace(&mut self.slots[index], Slot::EMPTY);
        let word = &mut self.words[index / 64];
        *word &= *word - 1;
        if *word == 0 {
            let summary = &mut self.summaries[index / 4096];
            *summary &= *summary - 1;
        }
        if slot.events as usize > CHUNK {
            return self.take_chain(slot, taken);
        }
        // The whole chunk is copied, then cut: a copy of constant length has no branch to mispredict.
        let end = taken.len() + slot.events as usize;
        taken.extend_from_slice(&self.chunks[slot.newest as usize].0);
        taken.truncate(end);
        self.older[slot.newest as usize] = self.free;
        self.free = slot.newest;
    }

    #[inline(never)]
    fn take_chain(&mut self, slot: Slot, taken: &mut Vec<(Time, E)>) {
        let start = taken.len();
        let mut oldest = slot.newest;
        slot.for_each_chunk(&self.older, |chunk, used| {
            taken.extend(self.chunks[chunk as usize].0[..used].iter().rev());
            oldest = chunk;
        });
        taken[start..].reverse();
        self.older[oldest as usize] = self.free;
        self.free = slot.newest;
    }

    pub fn clear(&mut self) {
        self.chunks.clear();
        self.older.clear();
        self.free = NIL;
        self.summaries.fill(0);
        self.words.fill(0);
        self.slots.fill(Slot::EMPTY);
    }
}

impl Slot {
    /// Visits the chunks, newest first, with the number of events in each.
    #[inline(always)]
    fn for_each_chunk(self, older: &[u32], mut visit: impl FnMut(u32, usize)) {
        let mut chunk = self.newest;
        let mut used = (self.events as usize - 1) % CHUNK + 1;
        while chunk != NIL {
            visit(chunk, used);
            chunk = older[chunk as usize];
            used = CHUNK;
        }
    }
}

impl<E> Default for Slots<E> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            older: Vec::new(),
            free: NIL,
            summaries: [0; SUMMARIES],
            words: [0; WORDS],
            slots: Box::new([Slot::EMPTY; level::SLOTS]),
        }
    }
}

/// `yes` where the bits of `mask` are set, `no` elsewhere.
#[inline(always)]
fn select(mask: u32, yes: u32, no: u32) -> u32 {
    no ^ ((no ^ yes) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_wheel_is_small() {
        assert!(size_of::<[Slot; level::SLOTS]>() + size_of::<Slots<u32>>() <= 38 * 1024);
    }

    #[test]
    fn chunks_are_used_again() {
        let mut slots = Slots::default();
        let mut taken = Vec::new();
        for round in 0..100 {
            let events: Vec<(Time, u32)> = (0..30).map(|event| (Time::from_ticks(round), event)).collect();
            events.iter().for_each(|&(time, event)| slots.push(7, time, event));
            taken.clear();
            slots.take_first(7, &mut taken);
            assert_eq!(taken, events);
            assert_eq!(slots.first(), None);
        }
        let spare = 1;
        assert_eq!(slots.chunks.len(), 30_usize.div_ceil(CHUNK) + spare);
    }
}
