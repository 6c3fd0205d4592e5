//! Address translation at the root complex: a finite cache of translations (IOTLB), and walks of the page tables for those
//! that are not in it.
//!
//! A translation is looked up by requester and page. One that misses waits for a walker, which reads the tables in memory
//! step by step. The cache takes the translation when the walk ends, and the entry that was used longest ago makes room then. Until
//! then, requests for the same page wait for the same walk, of which the walks that are asked for keep a list. Posted writes of one root
//! port stay in order, so that one behind a walk waits with it; reads do not, and a write with Relaxed
//! Ordering passes those before it (PCIe Base 6.3 Table 2-42, A2b: it may. Assumed: it does). Sources: Intel Virtualization
//! Technology for Directed I/O, Architecture Specification, ch. 6 (caching of translations); Intel's event UNC_IIO_IOMMU0.MISSES of
//! Xeon Scalable, "counts when this page translation is written to IOTLB"; gem5's SMMUv3 and US 12,032,489, in both of which
//! requests for a page that is walked for wait for that walk; Neugebauer et al., Understanding
//! PCIe performance for end host networking, SIGCOMM 2018, §6.5 (what it costs). Assumed: the list has room for all that ask. Left out:
//! caches of the tables' upper levels, which show as fewer steps; invalidations; faults. What devices with translation caches of their
//! own ask for (`ats.rs`) is looked up like the rest, and their requests pass it by.

use crate::ats::TRANSLATION;
use crate::config::IommuConfig;
use crate::memory::{Memory, Place};
use crate::packet::{Flags, Packet, RouteEnd};
use crate::ports::LINE;
use crate::server::Book;
use lanewise_units::{Bytes, Span, SpanSum, Time, order};
use std::collections::VecDeque;
use std::ops::Range;

/// One cached translation.
#[derive(Clone, Copy, Debug)]
struct Entry {
    requester: u32,
    page: u64,
    /// Counts up with each use: the least was used longest ago.
    used: u64,
}

/// A walk that is asked for, and whose translation the cache does not have yet.
#[derive(Clone, Copy, Debug)]
struct Walk {
    requester: u32,
    page: u64,
    /// When it has a walker, and when it has its turn.
    taken: Time,
    start: Time,
    /// When it ends.
    ready: Time,
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
    /// In the order in which they end, those that end together in the order in which they were asked for.
    walks: VecDeque<Walk>,
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
            walks: VecDeque::new(),
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
        self.keep_what_was_found(now);
        let set = self.set_of(page);
        let hit = |entry: &&mut Entry| entry.page == page && entry.requester == requester;
        if let Some(entry) = self.entries[set].iter_mut().flatten().find(hit) {
            self.uses += 1;
            entry.used = self.uses;
            self.cached.look_up(now, now);
            return now;
        }
        let same = |walk: &&Walk| walk.page == page && walk.requester == requester;
        let walk = match self.walks.iter().find(same) {
            Some(walk) => {
                // It waits with whoever asked first; the walk is one.
                self.book.waited += walk.taken.saturating_since(now);
                self.turns.book.waited += walk.start.saturating_since(walk.taken.max(now));
                *walk
            }
            None => self.walk(now, page, requester, memory),
        };
        self.cached.look_up(now, walk.ready);
        walk.ready
    }

    /// The entries in which a page can be.
    fn set_of(&self, page: u64) -> Range<usize> {
        let ways = self.config.ways as usize;
        let first = (page % self.sets) as usize * ways;
        first..first + ways
    }

    /// The cache takes what walks have found that ended by `now`.
    fn keep_what_was_found(&mut self, now: Time) {
        while let Some(walk) = self.walks.front().copied().filter(|walk| walk.ready <= now) {
            self.walks.pop_front();
            let set = self.set_of(walk.page);
            let oldest = set.min_by_key(|at| self.entries[*at].map_or(0, |entry| entry.used));
            let oldest = &mut self.entries[oldest.expect("a set has a way")];
            self.uses += 1;
            let found = Entry { requester: walk.requester, page: walk.page, used: self.uses };
            if oldest.replace(found).is_none() {
                self.cached.fill(walk.ready);
            }
        }
    }

    /// A walk that is asked for now.
    fn walk(&mut self, now: Time, page: u64, requester: u32, memory: &mut Memory) -> Walk {
        let walker = self.walkers.iter_mut().min().expect("there is a walker");
        let taken = now.max(*walker);
        let start = self.turns.take(now, taken, self.config.walk_interval);
        // Bandwidth is taken when the walk is asked for, as reads of devices do.
        let line = |step: u32| Place { address: (page << 3 | u64::from(step)) << 6, owner: RouteEnd::HOST };
        let served =
            (0..self.config.walk_steps).fold(now, |last, step| last.max(memory.serve(now, line(step), LINE)));
        let ready = served.max(start) + self.config.walk_step_latency * u64::from(self.config.walk_steps);
        // A walker whose turn has not come is taken: where turns are the limit, all walkers are.
        self.book.enter(now, taken, ready - taken);
        *walker = ready;
        let walk = Walk { requester, page, taken, start, ready };
        self.walks.insert(self.walks.partition_point(|other| other.ready <= ready), walk);
        walk
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
        let mut book = self.cached.book_at(at);
        // The next lookup enters the walks that have ended since the last.
        let ended = || self.walks.iter().take_while(|walk| walk.ready <= at);
        for (index, walk) in ended().enumerate() {
            let set = self.set_of(walk.page);
            let before = ended().take(index).filter(|other| self.set_of(other.page) == set).count();
            if self.entries[set].iter().filter(|entry| entry.is_none()).count() > before {
                book.busy += at - walk.ready;
            }
        }
        book
    }

    /// A page is walked for twice, for a test of who notices.
    #[cfg(test)]
    pub(crate) fn walk_twice(&mut self) {
        let walk = *self.walks.back().expect("a walk is under way");
        self.walks.push_back(walk);
    }

    /// Whether every page is walked for once at most, and not while the cache has it; and whether as many entries are in use as were filled.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let used = self.entries.iter().flatten().count() as u32;
        if used != self.cached.entries {
            return Err(format!(
                "{} translations were kept, and {used} entries are in use",
                self.cached.entries
            ));
        }
        let mut sought: Vec<_> = self.walks.iter().map(|walk| (walk.requester, walk.page)).collect();
        order::sort(&mut sought);
        if let Some(twice) = sought.windows(2).find(|both| both[0] == both[1]) {
            let (requester, page) = twice[0];
            return Err(format!("two walks look for page {page:#x} of requester {requester}"));
        }
        let mut kept = self.entries.iter().flatten().map(|entry| (entry.requester, entry.page));
        if let Some((requester, page)) = kept.find(|entry| sought.binary_search(entry).is_ok()) {
            return Err(format!("a walk looks for page {page:#x} of requester {requester}, which is cached"));
        }
        Ok(())
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
    use lanewise_engine::random::RandomStream;
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

    /// The walks of a book, and the nanoseconds that those who asked for them waited. Memory takes a few ticks for a walk here.
    fn walks_and_waits(book: Book) -> (u64, f64) {
        (book.served, book.waited.as_ns().round())
    }

    /// One walk for each page that is missing, however many ask for it meanwhile, and all of them wait for its walker and its turn.
    #[test]
    fn requests_for_a_page_that_is_walked_for_join_the_walk() {
        let mut iommu = iommu(4, 4, 1);
        assert_eq!(wait(&mut iommu, 0, 1, 6), WALK);
        assert_eq!(wait(&mut iommu, 50, 1, 7), 2 * WALK - 50, "the walker is free at 200 ns");
        assert_eq!(wait(&mut iommu, 120, 1, 7), 2 * WALK - 120);
        assert_eq!(wait(&mut iommu, 230, 1, 7), 2 * WALK - 230, "it walks for this page by now");
        assert_eq!(walks_and_waits(iommu.book), (2, 150.0 + 80.0));
        assert_eq!(walks_and_waits(iommu.cached.book), (4, 200.0 + 350.0 + 280.0 + 170.0));
        iommu.config.walk_interval = Span::from_ns(1_000);
        wait(&mut iommu, 2_000, 1, 1);
        assert_eq!(
            wait(&mut iommu, 2_300, 1, 2),
            700 + WALK,
            "a walker is free, and the next turn is at 3,000 ns"
        );
        assert_eq!(wait(&mut iommu, 2_400, 1, 2), 600 + WALK);
        assert_eq!(walks_and_waits(iommu.book), (4, 150.0 + 80.0));
        assert_eq!(walks_and_waits(iommu.turns.book), (2, 700.0 + 600.0));
    }

    #[test]
    fn a_translation_takes_its_entry_when_its_walk_ends() {
        let mut iommu = iommu(1, 1, 4);
        wait(&mut iommu, 0, 1, 1);
        assert_eq!(wait(&mut iommu, 1_000, 1, 2), WALK);
        assert_eq!(wait(&mut iommu, 1_000 + WALK - 1, 1, 1), 0, "the entry is still that of page 1");
        assert_eq!(wait(&mut iommu, 1_000 + WALK + 1, 1, 2), 0);
        assert_eq!(wait(&mut iommu, 1_000 + WALK + 1, 1, 1), WALK);
        // More walks than the cache has entries: each answers all that wait for it.
        for page in 3..6 {
            assert_eq!(wait(&mut iommu, 3_000, 1, page), WALK);
            assert_eq!(wait(&mut iommu, 3_100, 1, page), WALK - 100);
        }
        assert_eq!(wait(&mut iommu, 4_000, 1, 5), 0, "it was found last");
    }

    /// Entries count as used from the end of their walks on, whether or not a lookup followed.
    #[test]
    fn the_cache_fills_as_walks_end() {
        let mut iommu = iommu(2, 1, 4);
        let used = |iommu: &Iommu, at_ns: u64| iommu.cache_at(at(at_ns)).busy.as_ns().round();
        for page in [0, 1, 2] {
            wait(&mut iommu, 0, 1, page);
        }
        assert_eq!(used(&iommu, WALK), 0.0);
        // Pages 0 and 2 have one entry to take turns in.
        assert_eq!(used(&iommu, WALK + 100), 2.0 * 100.0);
        wait(&mut iommu, 1_000, 1, 2);
        assert_eq!(used(&iommu, 1_000), 2.0 * 800.0);
    }

    /// Part of the requests that are walked for, of so many that come every so many nanoseconds, once the cache is warm.
    fn walked_part(iommu: &mut Iommu, every: u64, mut page: impl FnMut(u64) -> u64) -> f64 {
        let warm = 2_000;
        let requests = 40_000;
        (0..warm).for_each(|number| _ = wait(iommu, number * every, 1, page(number)));
        let before = iommu.book.served;
        (warm..warm + requests).for_each(|number| _ = wait(iommu, number * every, 1, page(number)));
        assert_eq!(iommu.audit(), Ok(()));
        (iommu.book.served - before) as f64 / requests as f64
    }

    /// Pages in turn are all found where they fit, and none is where one more is used.
    #[test]
    fn pages_in_turn_are_found_if_all_fit() {
        for (pages, expected) in [(63, 0.0), (64, 0.0), (65, 1.0), (500, 1.0)] {
            let part = walked_part(&mut iommu(64, 64, 1), 1_000, |number| number % pages);
            assert_eq!(part, expected, "{pages} pages");
        }
    }

    /// Of `pages` at random, the cache has `entries`, and requests find those that are walked for, too: of the `before` requests that came
    /// during the last walk, the part that is walked for. So this part is 1 − (`entries` + part × `before`) / `pages`.
    #[test]
    fn pages_at_random_are_found_in_the_cache_or_walked_for() {
        for (entries, pages, every) in
            [(64, 64, 1_000), (64, 256, 1_000), (64, 256, 10), (16, 64, 5), (1, 4_096, 5)]
        {
            let mut random = RandomStream::new(1, "iommu", "pages");
            let part = walked_part(&mut iommu(entries, entries, 64), every, |_| random.below(pages));
            let before = (WALK - 1) / every;
            let expected = (pages - u64::from(entries)) as f64 / (pages + before) as f64;
            assert!(
                (part - expected).abs() < 0.01,
                "{entries} of {pages} every {every} ns: {part}, not {expected}"
            );
        }
    }

    #[test]
    fn an_audit_finds_a_page_that_is_walked_for_twice() {
        let mut iommu = iommu(4, 4, 4);
        wait(&mut iommu, 0, 1, 7);
        assert_eq!(iommu.audit(), Ok(()));
        let walk = iommu.walks[0];
        iommu.walk_twice();
        assert!(iommu.audit().is_err_and(|what| what.contains("two walks look for page 0x7")));
        iommu.walks.pop_back();
        iommu.keep_what_was_found(at(WALK + 1));
        iommu.walks.push_back(walk);
        assert!(iommu.audit().is_err_and(|what| what.contains("which is cached")));
        iommu.walks.clear();
        iommu.entries[0] = None;
        assert!(iommu.audit().is_err_and(|what| what.contains("1 translations were kept, and 0 entries")));
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
