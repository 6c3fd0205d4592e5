//! Address translation at the root complex: a finite cache of translations (IOTLB), and walks of the page tables for those
//! that are not in it.
//!
//! A translation is looked up by requester and page. One that misses waits for a walker, which reads the tables in memory
//! step by step; requests for the same page meanwhile wait for the same walk. The entry that was used longest ago makes
//! room. Posted writes of one root port stay in order, so that one behind a walk waits with it; reads do not, and a write with Relaxed
//! Ordering passes those before it (PCIe Base 6.3 Table 2-42, A2b: it may. Assumed: it does). Sources: Intel Virtualization
//! Technology for Directed I/O, Architecture Specification, ch. 6 (caching of translations); Neugebauer et al., Understanding
//! PCIe performance for end host networking, SIGCOMM 2018, §6.5 (what it costs). Left out: caches of the tables' upper levels, which
//! show as fewer steps; invalidations; faults. What devices with translation caches of their own ask for (`ats.rs`) is looked up like the
//! rest, and their requests pass it by.

use crate::ats::TRANSLATION;
use crate::config::IommuConfig;
use crate::memory::{Memory, Place};
use crate::packet::{Flags, Packet, RouteEnd};
use crate::ports::LINE;
use crate::server::Book;
use lanewise_units::{Bytes, Span, SpanSum, Time};
use std::collections::VecDeque;

/// One cached translation.
#[derive(Clone, Copy, Debug)]
struct Entry {
    requester: u32,
    page: u64,
    /// When its walk ends.
    ready: Time,
    /// Counts up with each use: the least was used longest ago.
    used: u64,
}

/// How full the cache was, and how long requests waited for translations.
#[derive(Clone, Copy, Debug, Default)]
struct Cached {
    entries: u32,
    changed_at: Time,
    book: Book,
}

impl Cached {
    /// A request that came at `now` has its translation at `ready`.
    fn look_up(&mut self, now: Time, ready: Time) {
        self.book.waited += ready - now;
        self.book.served += 1;
    }

    /// An entry that was free is taken.
    fn fill(&mut self, now: Time) {
        self.book = self.book_at(now);
        self.changed_at = now;
        self.entries += 1;
    }

    /// The area under the entries in use, up to `at`.
    fn book_at(&self, at: Time) -> Book {
        let area = SpanSum::from(at.saturating_since(self.changed_at)) * u64::from(self.entries);
        Book { busy: self.book.busy + area, ..self.book }
    }
}

/// Turns of walkers: one walk starts, and the next after an interval.
#[derive(Debug, Default)]
struct Turns {
    /// Starts that were still ahead at the last walk that was asked for, and the last of all. Between them turns may go unused.
    ahead: VecDeque<Time>,
    book: Book,
}

impl Turns {
    /// When a walk starts that is asked for now and has a walker at `ready`.
    fn take(&mut self, now: Time, ready: Time, interval: Span) -> Time {
        if interval.is_zero() {
            return ready;
        }
        while self.ahead.len() > 1 && self.ahead.front().is_some_and(|start| *start + interval <= now) {
            self.ahead.pop_front();
        }
        let start = self.ahead.back().map_or(ready, |last| ready.max(*last + interval));
        self.ahead.push_back(start);
        self.book.enter(ready, start, interval);
        start
    }

    /// What the turns have done up to `at`: those taken, less what is still to come.
    fn book_at(&self, at: Time, interval: Span) -> Book {
        let left = |start: &Time| (*start + interval).saturating_since(at.max(*start));
        let ahead: SpanSum = self.ahead.iter().map(left).sum();
        Book { busy: self.book.busy.saturating_sub(ahead), ..self.book }
    }
}

/// The translation unit of one root complex.
pub(crate) struct Iommu {
    config: IommuConfig,
    /// `ways` entries for each set, one set after another.
    entries: Vec<Option<Entry>>,
    sets: u64,
    uses: u64,
    /// When each walker is free.
    walkers: Vec<Time>,
    /// Walks start one at a time, whatever walkers are free.
    turns: Turns,
    book: Book,
    cached: Cached,
    /// For each root port, when the youngest of its posted writes is translated.
    posted: Vec<Time>,
    /// By endpoint, the pages of its own translation cache, if it has one.
    trusted: Vec<Option<Bytes>>,
}

impl Iommu {
    pub(crate) fn new(config: &IommuConfig, ports: usize) -> Self {
        let ways = config.ways.clamp(1, config.entries.max(1));
        let sets = u64::from(config.entries.max(1) / ways);
        Self {
            config: IommuConfig { ways, ..config.clone() },
            entries: vec![None; (sets * u64::from(ways)) as usize],
            sets,
            uses: 0,
            walkers: vec![Time::ZERO; config.walkers.max(1) as usize],
            turns: Turns::default(),
            book: Book::default(),
            cached: Cached::default(),
            posted: vec![Time::ZERO; ports],
            trusted: Vec::new(),
        }
    }

    /// An endpoint translates its addresses itself, page by page. Before the run.
    pub(crate) fn trust_translations_of(&mut self, endpoint: RouteEnd, page: Bytes) {
        let index = endpoint.0 as usize;
        if self.trusted.len() <= index {
            self.trusted.resize(index + 1, None);
        }
        self.trusted[index] = Some(page);
    }

    /// Pages of an endpoint that translates its addresses itself.
    fn trusted(&self, endpoint: RouteEnd) -> Option<Bytes> {
        self.trusted.get(endpoint.0 as usize).copied().flatten()
    }

    /// When all translations are found that an endpoint asks for: one for each page from an address on.
    pub(crate) fn translate_for(&mut self, now: Time, request: &Packet, memory: &mut Memory) -> Time {
        let page = self.trusted(request.requester).expect("only who has a cache asks for translations");
        let count = Bytes::new(u64::from(request.length)).div_ceil(TRANSLATION);
        let pages = (0..count).map(|each| request.address + page.get() * each);
        pages.fold(now, |last, address| last.max(self.find(now, address, request.requester, memory)))
    }

    /// When the address of a posted write of a root port is translated, and those of the writes before it, which one with Relaxed Ordering
    /// does not wait for.
    pub(crate) fn posted(&mut self, now: Time, packet: &Packet, port: u16, memory: &mut Memory) -> Time {
        let translated = self.translate(now, packet, memory);
        let youngest = &mut self.posted[usize::from(port)];
        *youngest = translated.max(*youngest);
        if packet.flags.has(Flags::RELAXED) { translated } else { *youngest }
    }

    /// When the address of a request is translated. Requests do not cross 4 KiB, so each has one page.
    pub(crate) fn translate(&mut self, now: Time, packet: &Packet, memory: &mut Memory) -> Time {
        // AT 10b: the device has translated it.
        if packet.destination == RouteEnd::HOST && self.trusted(packet.requester).is_some() {
            return now;
        }
        self.find(now, packet.address, packet.requester, memory)
    }

    /// When the translation of an address of a requester is there.
    fn find(&mut self, now: Time, address: u64, requester: RouteEnd, memory: &mut Memory) -> Time {
        let page = address / self.config.page.get();
        let requester = requester.0;
        self.uses += 1;
        let first = (page % self.sets * u64::from(self.config.ways)) as usize;
        let set = first..first + self.config.ways as usize;
        let uses = self.uses;
        let hit = |entry: &&mut Entry| entry.page == page && entry.requester == requester;
        if let Some(entry) = self.entries[set.clone()].iter_mut().flatten().find(hit) {
            entry.used = uses;
            let ready = entry.ready.max(now);
            self.cached.look_up(now, ready);
            return ready;
        }
        let ready = self.walk(now, page, memory);
        let oldest = set.min_by_key(|at| self.entries[*at].map_or(0, |entry| entry.used));
        let oldest = &mut self.entries[oldest.expect("a set has a way")];
        if oldest.replace(Entry { requester, page, ready, used: uses }).is_none() {
            self.cached.fill(now);
        }
        self.cached.look_up(now, ready);
        ready
    }

    /// When a walk that is asked for now ends.
    fn walk(&mut self, now: Time, page: u64, memory: &mut Memory) -> Time {
        let walker = self.walkers.iter_mut().min().expect("there is a walker");
        let taken = now.max(*walker);
        let start = self.turns.take(now, taken, self.config.walk_interval);
        // Bandwidth is taken when the walk is asked for, as reads of devices do.
        let line = |step: u32| Place { address: (page << 3 | u64::from(step)) << 6, owner: RouteEnd::HOST };
        let served =
            (0..self.config.walk_steps).fold(now, |last, step| last.max(memory.serve(now, line(step), LINE)));
        let end = served.max(start) + self.config.walk_step_latency * u64::from(self.config.walk_steps);
        // A walker whose turn has not come is taken: where turns are the limit, all walkers are.
        self.book.enter(now, taken, end - taken);
        *walker = end;
        end
    }

    /// Walks in progress at a time.
    pub(crate) fn walkers(&self) -> u32 {
        self.walkers.len() as u32
    }

    /// The least time between two walks, and what these turns have done up to `at`; none where walks wait for none.
    pub(crate) fn turns_at(&self, at: Time) -> Option<(Span, Book)> {
        let interval = self.config.walk_interval;
        (!interval.is_zero()).then(|| (interval, self.turns.book_at(at, interval)))
    }

    /// Translations that the cache holds at most.
    pub(crate) fn entries(&self) -> u32 {
        self.entries.len() as u32
    }

    /// How many entries were in use, and how long requests waited for translations, up to `at`.
    pub(crate) fn cache_at(&self, at: Time) -> Book {
        self.cached.book_at(at)
    }

    /// What the walkers have done up to `at`.
    pub(crate) fn book_at(&self, at: Time) -> Book {
        let ahead: SpanSum = self.walkers.iter().map(|free_at| free_at.saturating_since(at)).sum();
        Book { busy: self.book.busy.saturating_sub(ahead), ..self.book }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MemoryConfig;
    use lanewise_pcie::tlp::{Attributes, Tlp};
    use lanewise_units::Rate;

    const WALK: u64 = 200;

    fn iommu(entries: u32, ways: u32, walkers: u32) -> Iommu {
        let config = IommuConfig {
            entries,
            ways,
            page: Bytes::from_kib(4),
            walk_steps: 2,
            walk_step_latency: Span::from_ns(WALK / 2),
            walkers,
            walk_interval: Span::ZERO,
        };
        Iommu::new(&config, 1)
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    fn memory() -> Memory {
        let rate = Rate::from_bytes_per_second(1 << 60);
        Memory::new(&MemoryConfig { rate, channels: 1, interleave: Bytes::from_kib(4), banks: None })
    }

    /// Nanoseconds that the translation of a page takes, asked for at `now`.
    fn wait(iommu: &mut Iommu, now: u64, requester: u32, page: u64) -> u64 {
        let mut memory = memory();
        let read = Tlp::memory_read(page << 12, Bytes::new(64));
        let packet = Packet::new(&read, RouteEnd::HOST, RouteEnd(requester), at(now));
        (iommu.translate(at(now), &packet, &mut memory) - at(now)).ticks() / Span::from_ns(1).ticks()
    }

    #[test]
    fn a_page_is_walked_for_once() {
        let mut iommu = iommu(4, 4, 1);
        assert_eq!(wait(&mut iommu, 0, 1, 7), WALK);
        assert_eq!(wait(&mut iommu, 150, 1, 7), WALK - 150, "the rest of the same walk");
        assert_eq!(wait(&mut iommu, 1_000, 1, 7), 0);
        assert_eq!(wait(&mut iommu, 1_000, 2, 7), WALK, "another requester has tables of its own");
    }

    #[test]
    fn the_page_used_longest_ago_makes_room() {
        let mut iommu = iommu(2, 2, 4);
        for (now, page) in [(0, 1), (1_000, 2), (2_000, 1), (3_000, 3)] {
            wait(&mut iommu, now, 1, page);
        }
        assert_eq!(wait(&mut iommu, 4_000, 1, 1), 0);
        assert_eq!(wait(&mut iommu, 4_000, 1, 2), WALK);
    }

    #[test]
    fn pages_of_one_set_drive_each_other_out() {
        let mut iommu = iommu(4, 1, 4);
        wait(&mut iommu, 0, 1, 0);
        wait(&mut iommu, 1_000, 1, 4);
        assert_eq!(wait(&mut iommu, 2_000, 1, 0), WALK, "4 was in its place");
        assert_eq!(wait(&mut iommu, 3_000, 1, 1), WALK);
        assert_eq!(wait(&mut iommu, 4_000, 1, 0), 0, "1 was not");
    }

    /// By the columns of the ordering table: a relaxed write passes the others, and none passes it that is not.
    #[test]
    fn a_relaxed_write_does_not_wait_for_the_walks_before_it() {
        let strict = Flags::of(Attributes::NONE);
        for (of_first, of_second, waits) in
            [(strict, strict, WALK), (strict, Flags::RELAXED, 0), (Flags::RELAXED, strict, WALK)]
        {
            let mut iommu = iommu(4, 4, 1);
            wait(&mut iommu, 0, 1, 7);
            let mut posted = |page: u64, flags| {
                let write = Tlp::memory_write(page << 12, Bytes::new(64));
                let mut packet = Packet::new(&write, RouteEnd::HOST, RouteEnd(1), at(1_000));
                packet.flags = packet.flags.with(flags);
                let mut memory = memory();
                (iommu.posted(at(1_000), &packet, 0, &mut memory) - at(1_000)).ticks()
                    / Span::from_ns(1).ticks()
            };
            assert_eq!(posted(8, of_first), WALK, "a page that is not cached");
            assert_eq!(posted(7, of_second), waits, "one that is, {of_first:?} before {of_second:?}");
        }
    }

    #[test]
    fn walks_wait_for_a_walker() {
        let mut iommu = iommu(64, 64, 2);
        let waits: Vec<u64> = (0..5).map(|page| wait(&mut iommu, 0, 1, page)).collect();
        assert_eq!(waits, [WALK, WALK, 2 * WALK, 2 * WALK, 3 * WALK]);
    }
}
